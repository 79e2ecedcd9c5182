import type { TrackerSimulator } from '../../../simulators/jira/server.ts';

/** An issue as it came. */
export interface Got {
  readonly id: string;
  readonly key: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly changelog?: {
    readonly total: number;
    readonly histories: readonly { readonly id: string; readonly created: string }[];
  };
}

/** Members of pages and errors of all endpoints; each has some of them. */
export interface Body {
  readonly startAt: number;
  readonly maxResults: number;
  readonly total: number;
  readonly isLast: boolean;
  readonly nextPage?: string;
  readonly nextPageToken?: string;
  readonly issues: readonly Got[];
  readonly values: readonly Readonly<Record<string, unknown>>[];
  readonly errorMessages?: readonly string[];
  readonly count?: number;
  readonly [other: string]: unknown;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

export const basic = (tracker: Pick<TrackerSimulator, 'email' | 'token'>): string =>
  `Basic ${Buffer.from(`${tracker.email}:${tracker.token}`).toString('base64')}`;

export type Ask = ReturnType<typeof ask>;

/** Sends requests as the simulator's account; other headers replace those of the account. */
export const ask = (tracker: TrackerSimulator) => {
  const send = async (path: string, init: RequestInit): Promise<Reply> => {
    const response = await fetch(path.startsWith('http') ? path : `${tracker.url}${path}`, {
      redirect: 'manual',
      ...init,
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : {} };
  };
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    send(path, { headers: { authorization: basic(tracker), ...headers } });
  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    send(path, {
      method: 'POST',
      headers: { authorization: basic(tracker), 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const search = (body: unknown) => post('/rest/api/3/search/jql', body);
  return {
    get,
    post,
    search,
    /** All issues of a query, page by page, in either dialect. */
    walk: async (
      jql: string,
      {
        fields = ['*all'],
        size = 100,
        ...more
      }: { fields?: readonly string[]; size?: number; expand?: string } = {},
    ): Promise<readonly Got[]> => {
      const found: Got[] = [];
      let next: Readonly<Record<string, unknown>> = more;
      for (;;) {
        const { status, body, text } = await search({ jql, fields, maxResults: size, ...next });
        if (status !== 200) throw new Error(`search answered ${status}: ${text}`);
        found.push(...body.issues);
        if (body.nextPageToken !== undefined) next = { ...next, nextPageToken: body.nextPageToken };
        else if (typeof body.total === 'number' && body.startAt + body.maxResults < body.total)
          next = { ...next, startAt: body.startAt + body.maxResults };
        else return found;
      }
    },
  };
};
