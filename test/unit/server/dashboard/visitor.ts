import type { FastifyInstance } from 'fastify';

type Texts = Readonly<Record<string, string>>;

/** What an answer says, as a test wants it. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** A browser without a window: keeps cookies, sends forms with what the page gave it. */
export interface Visitor {
  readonly cookies: ReadonlyMap<string, string>;
  get(path: string, headers?: Texts): Promise<Seen>;
  post(path: string, fields: Texts, headers?: Texts): Promise<Seen>;
  /** Loads a page and sends a form with the session's hidden field. */
  send(from: string, path: string, fields?: Texts): Promise<Seen>;
  signIn(token: string): Promise<Seen>;
}

export const host = '127.0.0.1:8080';

export function visitor(app: FastifyInstance): Visitor {
  const cookies = new Map<string, string>();
  const ask = async (method: 'GET' | 'POST', url: string, headers: Texts, payload = ''): Promise<Seen> => {
    const answer = await app.inject({
      method,
      url,
      headers: {
        host,
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
      },
      ...(method === 'POST' && { payload }),
    });
    for (const { name, value, maxAge } of answer.cookies) {
      if (maxAge === 0) cookies.delete(name);
      else cookies.set(name, value);
    }
    const flat = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    return { status: answer.statusCode, headers: Object.fromEntries(flat), body: answer.body };
  };
  const form = { origin: `http://${host}`, 'content-type': 'application/x-www-form-urlencoded' };
  const one: Visitor = {
    cookies,
    get: (path, headers = {}) => ask('GET', path, headers),
    post: (path, fields, headers = {}) =>
      ask('POST', path, { ...form, ...headers }, new URLSearchParams(fields).toString()),
    async send(from, path, fields = {}) {
      const { body } = await one.get(from);
      return one.post(path, { _csrf: csrfOf(body), ...fields });
    },
    signIn: (token) => one.post('/login', { token, next: '/' }),
  };
  return one;
}

/** The hidden field of a page's forms. Throws where the page has none. */
export function csrfOf(page: string): string {
  const found = /name="_csrf" value="([^"]+)"/.exec(page)?.[1];
  if (found === undefined) throw new Error('the page has no form');
  return found;
}

/** A page's text without markup, blanks folded. */
export const textOf = (page: string): string =>
  page
    .replace(/<title>[^<]*<\/title>|<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
