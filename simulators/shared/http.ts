import type { IncomingHttpHeaders } from 'node:http';

/** A request as the routes see it. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The values of the route's `{placeholders}`, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** True: the credentials are missing or wrong, and the dialect serves the request all the same. */
  readonly anonymous: boolean;
  /** A page size that the server does not exceed for this request, below its usual limit. */
  readonly cap?: number;
}

/** Bytes in pieces: a page of issues is a few views of what is kept, never copied on its way to the socket. */
export type Body = readonly Buffer[];

/** A complete answer, before any fault touches it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

export const lengthOf = (body: Body): number => body.reduce((sum, one) => sum + one.length, 0);

/** The body in one piece. */
export const wholeOf = (body: Body): Buffer => {
  const [first] = body;
  return body.length === 1 && first !== undefined ? first : Buffer.concat(body);
};

/** One endpoint. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `{placeholders}`, as the contract writes it. */
  readonly path: string;
  /** True for the endpoints of the contract. */
  readonly inContract: boolean;
  handle(call: Call): Answer;
}

/** A refusal on the way to an answer: thrown by handlers, turned into the answer it carries. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(wholeOf(answer.body).toString());
    this.answer = answer;
  }
}

/** JSON whose parts are written already. */
export const pieces = (...parts: readonly (string | Buffer | Body)[]): Body =>
  parts.flatMap((one) => (typeof one === 'string' ? [Buffer.from(one)] : one));

/** Finds the route of a path; `params` are its placeholders. */
export const routeOf = (
  routes: readonly Route[],
  path: string,
): readonly { readonly route: Route; readonly params: Record<string, string> }[] => {
  const parts = path.split('/');
  return routes.flatMap((route) => {
    const pattern = route.path.split('/');
    if (pattern.length !== parts.length) return [];
    const params: Record<string, string> = {};
    for (const [index, wanted] of pattern.entries()) {
      const part = parts[index] ?? '';
      if (!wanted.startsWith('{')) {
        if (wanted !== part) return [];
        continue;
      }
      try {
        params[wanted.slice(1, -1)] = decodeURIComponent(part);
      } catch {
        // A path that is not percent-encoded text names nothing here.
        return [];
      }
    }
    return [{ route, params }];
  });
};
