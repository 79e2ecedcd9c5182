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

/** What pages and errors of all endpoints are made of; each has some of it. */
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

export interface Ask {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  search(body: unknown): Promise<Reply>;
  /** All issues of a query, page by page, in either tongue. */
  walk(
    jql: string,
    options?: { readonly fields?: readonly string[]; readonly size?: number; readonly expand?: string },
  ): Promise<readonly Got[]>;
}

export const basic = (tracker: Pick<TrackerSimulator, 'email' | 'token'>): string =>
  `Basic ${Buffer.from(`${tracker.email}:${tracker.token}`).toString('base64')}`;

/** Asks the simulator as its account does; other headers replace those of the account. */
export const ask = (tracker: TrackerSimulator): Ask => {
  const send = async (path: string, init: RequestInit): Promise<Reply> => {
    const response = await fetch(path.startsWith('http') ? path : `${tracker.url}${path}`, {
      redirect: 'manual',
      ...init,
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : {} };
  };
  const get: Ask['get'] = (path, headers = {}) =>
    send(path, { headers: { authorization: basic(tracker), ...headers } });
  const post: Ask['post'] = (path, body, headers = {}) =>
    send(path, {
      method: 'POST',
      headers: { authorization: basic(tracker), 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const search: Ask['search'] = (body) => post('/rest/api/3/search/jql', body);
  return {
    get,
    post,
    search,
    walk: async (jql, { fields = ['*all'], size = 100, expand } = {}) => {
      const found: Got[] = [];
      let place: Readonly<Record<string, unknown>> = {};
      for (;;) {
        const { status, body, text } = await search({
          jql,
          fields,
          maxResults: size,
          ...(expand === undefined ? {} : { expand }),
          ...place,
        });
        if (status !== 200) throw new Error(`search answered ${status}: ${text}`);
        found.push(...body.issues);
        if (body.nextPageToken !== undefined) place = { nextPageToken: body.nextPageToken };
        else if (typeof body.total === 'number' && body.startAt + body.maxResults < body.total)
          place = { startAt: body.startAt + body.maxResults };
        else return found;
      }
    },
  };
};
