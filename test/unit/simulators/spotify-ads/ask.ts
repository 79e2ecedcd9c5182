import { expect, onTestFinished } from 'vitest';
import { type AdsOptions, type AdsSimulator, startAds } from '../../../../simulators/spotify-ads/server.ts';

/** What bodies of all endpoints are made of; each has some of it. */
export interface AdsBody {
  readonly id: string;
  readonly paging?: Readonly<Record<string, number>>;
  readonly rows: readonly AdsRow[];
  readonly continuation_token?: string | null;
  readonly messages?: readonly string[];
  readonly error_codes?: readonly { readonly code: string }[];
  readonly status?: string;
  readonly report_url?: string;
  readonly [other: string]: unknown;
}

export interface AdsRow {
  readonly entity_id: string;
  readonly entity_name: string;
  readonly start_time: string | null;
  readonly end_time: string | null;
  readonly insight_value?: string;
  readonly stats: readonly { readonly field_type: string; readonly field_value: number }[];
}

export interface AdsReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: AdsBody;
}

type Query = Readonly<Record<string, string | number | readonly string[]>>;

/** Asks the platform as its client does. Lists in a query are repeated parameters. */
export const adsAsk = (ads: AdsSimulator) => {
  const headers = { authorization: `Bearer ${ads.tokens.token}`, [ads.sdkHeader]: 'test/1.0' };
  const send = async (
    method: string,
    path: string,
    {
      query = {},
      body,
      as = headers,
    }: { query?: Query; body?: unknown; as?: Readonly<Record<string, string>> } = {},
  ): Promise<AdsReply> => {
    const parameters = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
      ),
    );
    const response = await fetch(`${ads.url}${path}?${parameters}`, {
      method,
      headers: as,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? {} : JSON.parse(text),
    };
  };
  const [account = ''] = ads.state.accounts.keys();
  return {
    send,
    /** Path of the first account. */
    account: `/ad_accounts/${account}`,
    get: (path: string, query: Query = {}) => send('GET', path, { query }),
    post: (path: string, body: unknown = {}) => send('POST', path, { body }),
    patch: (path: string, body: unknown) => send('PATCH', path, { body }),
    /** All rows of a report, page by page. */
    rows: async (path: string, query: Query): Promise<readonly AdsRow[]> => {
      const found: AdsRow[] = [];
      let next: Query = query;
      for (;;) {
        const { status, body, text } = await send('GET', `${path}/aggregate_reports`, { query: next });
        if (status !== 200) throw new Error(`the report answered ${status}: ${text}`);
        found.push(...body.rows);
        if (!body.continuation_token) return found;
        next = { continuation_token: body.continuation_token };
      }
    },
  };
};

/** A platform for one test, and how it is asked. It must make no errors. */
export const simulated = async (options: AdsOptions) => {
  const ads = await startAds({ now: new Date('2026-06-30T02:00:00Z'), ...options });
  onTestFinished(async () => {
    expect(ads.errors).toEqual([]);
    await ads.close();
  });
  return { ads, ask: adsAsk(ads) };
};

/** One number of a row. */
export const stat = (row: AdsRow | undefined, field: string): number | undefined =>
  row?.stats.find(({ field_type }) => field_type === field)?.field_value;

/** The items of a list. */
export const items = (body: AdsBody, key: string): readonly Readonly<Record<string, unknown>>[] => {
  const list = body[key];
  if (!Array.isArray(list)) throw new Error(`no list ${key} in ${Object.keys(body)}`);
  return list;
};
