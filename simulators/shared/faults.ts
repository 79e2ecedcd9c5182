import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Call } from './http.ts';

/** An answer with its body in one piece, as faults see it. */
export interface Whole {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Where a fault acts. */
export interface Scene {
  readonly call: Call;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The simulator's own URL. */
  readonly base: string;
  /** The number of the request. */
  readonly number: number;
  /** The tracker's clock, epoch ms. */
  readonly now: number;
  /** Aborted when the simulator closes or the client goes away: whatever waits stops. */
  readonly signal: AbortSignal;
}

/** A way of going wrong. Each part is optional; several faults on one request are applied in their order, the first `send` sends. */
export interface Fault {
  readonly name: string;
  /** The routes see this call instead. */
  readonly call?: (call: Call) => Call;
  /** The routes are not asked at all. */
  readonly instead?: (scene: Scene) => Whole;
  readonly answer?: (answer: Whole, scene: Scene) => Whole;
  /** Writes the answer, or does not. */
  readonly send?: (answer: Whole, scene: Scene) => Promise<void>;
}

const instead = (
  name: string,
  status: number,
  type: string | undefined,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Fault => ({
  name,
  instead: () => ({
    status,
    headers: { ...(type === undefined ? {} : { 'content-type': type }), ...headers },
    body: typeof body === 'string' ? Buffer.from(body) : body,
  }),
});

const body = (name: string, change: (body: Buffer) => Buffer): Fault => ({
  name,
  answer: (answer) => ({ ...answer, body: change(answer.body) }),
});

/** Rewrites what stands before the list of a page; the list itself stays byte for byte. */
const head = (name: string, change: (head: string, scene: Scene) => string): Fault => ({
  name,
  answer: (answer, scene) => {
    const at =
      /"(?:issues|values|comments|worklogs)":\[/.exec(answer.body.subarray(0, 4096).toString('latin1'))
        ?.index ?? -1;
    if (at === -1) return answer;
    const changed = change(answer.body.subarray(0, at).toString(), scene);
    return { ...answer, body: Buffer.concat([Buffer.from(changed), answer.body.subarray(at)]) };
  },
});

/** Resolves when the text is handed to the system, or the connection is gone. */
const write = (response: ServerResponse, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    response.once('close', resolve);
    response.write(bytes, () => {
      response.off('close', resolve);
      resolve();
    });
  });

const gone = async (scene: Scene): Promise<void> => {
  if (scene.signal.aborted) return;
  await new Promise<void>((resolve) =>
    scene.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
};

/** Waits, unless the client or the simulator ends first. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

/** Any status, with an error body of the tracker unless another is given. */
export const status = (
  code: number,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
): Fault =>
  instead(
    `status ${code}`,
    code,
    'application/json',
    options.body ?? JSON.stringify({ errorMessages: [`simulated ${code}`], errors: {} }),
    options.headers,
  );

/** 429 with the vendor's headers. `retryAfter`: seconds, or a date; undefined sends no such header. */
export const tooManyRequests = (
  retryAfter?: number | Date,
  headers: Readonly<Record<string, string>> = {},
): Fault => ({
  name: '429',
  instead: (scene) => {
    const until = retryAfter instanceof Date ? retryAfter.getTime() : scene.now + (retryAfter ?? 0) * 1000;
    const after =
      retryAfter === undefined
        ? {}
        : { 'retry-after': retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter) };
    return {
      status: 429,
      headers: {
        'content-type': 'application/json',
        ...after,
        'x-ratelimit-limit': '100',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': new Date(until).toISOString(),
        'ratelimit-reason': 'jira-burst-based',
        ...headers,
      },
      body: Buffer.from(JSON.stringify({ errorMessages: ['Rate limit exceeded.'], errors: {} })),
    };
  },
});

/** The connection is reset before anything is answered. */
export const resetBeforeHeaders: Fault = {
  name: 'reset before headers',
  send: async (_answer, { request }) => {
    request.socket.resetAndDestroy();
  },
};

/** The connection is reset when `byte` bytes of the body are out; 0: right after the headers. */
export const resetAt = (byte: number): Fault => ({
  name: `reset at byte ${byte}`,
  send: async (answer, { request, response }) => {
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length });
    response.flushHeaders();
    if (byte > 0) await write(response, answer.body.subarray(0, byte));
    request.socket.resetAndDestroy();
  },
});

/** `Content-Length` promises more bytes than come; then the connection ends properly. */
export const longContentLength = (more = 100): Fault => ({
  name: 'long content-length',
  send: async (answer, { request, response }) => {
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length + more });
    await write(response, answer.body);
    request.socket.end();
  },
});

/** The body ends early, with a length to match: only the JSON shows it. */
export const truncatedJson = (drop = 10): Fault =>
  body('truncated JSON', (bytes) => bytes.subarray(0, Math.max(0, bytes.length - drop)));

/** Text follows the JSON. */
export const trailingGarbage = (text = 'garbage'): Fault =>
  body('trailing garbage', (bytes) => Buffer.concat([bytes, Buffer.from(text)]));

/** A login page with status 200. */
export const htmlPage: Fault = instead(
  'html page',
  200,
  'text/html;charset=UTF-8',
  '<!doctype html><title>Log in</title><h1>Log in to continue</h1>',
);

/** Status 200 and an error in the body. */
export const errorWith200: Fault = instead(
  'error with 200',
  200,
  'application/json',
  '{"error":"upstream is down"}',
);

export const empty200: Fault = instead('empty 200', 200, 'application/json', '');

/** The right body under another content type; undefined: under none. */
export const contentType = (type: string | undefined): Fault => ({
  name: `content-type ${type ?? 'none'}`,
  answer: (answer) => {
    const { 'content-type': _, ...others } = answer.headers;
    return { ...answer, headers: type === undefined ? others : { ...others, 'content-type': type } };
  },
});

export const byteOrderMark: Fault = body('byte order mark', (bytes) =>
  Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
);

/** The body trickles: `bytes` every `everyMs`, until it is out or the client leaves. */
export const trickle = (everyMs: number, bytes = 1): Fault => ({
  name: 'trickle',
  send: async (answer, { response, signal }) => {
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length });
    for (let at = 0; at < answer.body.length && !signal.aborted; at += bytes) {
      await write(response, answer.body.subarray(at, at + bytes));
      await pause(everyMs, signal);
    }
    response.end();
  },
});

/** Headers, then nothing for ever. */
export const silenceAfterHeaders: Fault = {
  name: 'silence after headers',
  send: async (answer, scene) => {
    scene.response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length });
    scene.response.flushHeaders();
    await gone(scene);
  },
};

/** Nothing at all for ever. */
export const silence: Fault = { name: 'silence', send: (_answer, scene) => gone(scene) };

/** A redirect. */
export const redirect = (to: string, code: 301 | 302 | 303 | 307 | 308 = 302): Fault =>
  instead(`redirect ${code}`, code, undefined, '', { location: to });

/** A page of `megabytes` of blanks that takes a thousandth of it on the wire. */
export const gzipBomb = (megabytes = 300): Fault => {
  const blanks = gzipSync(Buffer.alloc(1024 * 1024, 0x20), { level: 9 });
  const start = gzipSync('{"startAt":0,"maxResults":100,"total":0,"isLast":true,"issues":[');
  const bomb = Buffer.concat([start, ...Array.from({ length: megabytes }, () => blanks), gzipSync(']}')]);
  return instead('gzip bomb', 200, 'application/json', bomb, { 'content-encoding': 'gzip' });
};

/** The right answer, compressed, and cut before its trailer. */
export const truncatedGzip = (drop = 12): Fault => ({
  name: 'truncated gzip',
  answer: (answer) => {
    const packed = gzipSync(answer.body);
    return {
      ...answer,
      headers: { ...answer.headers, 'content-encoding': 'gzip' },
      body: packed.subarray(0, Math.max(0, packed.length - drop)),
    };
  },
});

/** The right answer with this many blanks in it. */
export const hugePage = (bytes: number): Fault =>
  body('huge page', (page) =>
    Buffer.concat([page.subarray(0, 1), Buffer.alloc(bytes, 0x20), page.subarray(1)]),
  );

/** The right answer; then the server drops the connection it had promised to keep. */
export const dropAfterwards: Fault = {
  name: 'drop afterwards',
  send: async (answer, { request, response }) => {
    const { socket } = request;
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length });
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      response.end(answer.body, resolve);
    });
    socket.destroySoon();
  },
};

/** The right answer, later. */
export const delay = (ms: number): Fault => ({
  name: `delay ${ms}`,
  send: async (answer, { response, signal }) => {
    await pause(ms, signal);
    if (signal.aborted) return;
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length });
    response.end(answer.body);
  },
});

/** Another total than the true one; undefined: none. */
export const total = (change: number | undefined | ((true_: number) => number)): Fault =>
  head('total', (text) =>
    change === undefined
      ? text.replace(/"total":\d+,/, '')
      : text.replace(
          /"total":(\d+)/,
          (_, n: string) => `"total":${typeof change === 'number' ? change : change(Number(n))}`,
        ),
  );

/** The server lowers its page size below its own limit, and says so in `maxResults`. */
export const loweredMaxResults = (to: number): Fault => ({
  name: `maxResults ${to}`,
  call: (call) => ({ ...call, cap: to }),
});

/** Fewer items than the page could hold, and `maxResults` does not tell. */
export const shortPage = (items: number): Fault => ({
  ...head('short page', (text, { call }) => {
    const asked =
      /"maxResults":(\d+)/.exec(call.body.toString())?.[1] ?? call.query.get('maxResults') ?? '50';
    return text.replace(/"maxResults":\d+/, `"maxResults":${asked}`);
  }),
  call: (call) => ({ ...call, cap: items }),
});

/** The page's envelope with nothing in its list; a token or total stays. */
export const emptyPage: Fault = {
  name: 'empty page',
  answer: (answer) => {
    const text = answer.body.toString('latin1');
    const at = /"(?:issues|values)":\[/.exec(text);
    if (at === null) return answer;
    return { ...answer, body: Buffer.from(`${text.slice(0, at.index + at[0].length)}]}`, 'latin1') };
  },
};

const withoutNext = (text: string): string =>
  text
    .replace(/"isLast":true/, '"isLast":false')
    .replace(/"(?:nextPageToken|nextPage)":"(?:[^"\\]|\\.)*",/, '');

const isSearch = (call: Call): boolean => call.path.endsWith('/search/jql');

/** The page sends the client to itself: the request's own token again (or this one), or a `nextPage` that leads to the same page. */
export const repeatedToken = (token?: string): Fault =>
  head('repeated token', (text, { call, base }) => {
    if (!isSearch(call))
      return withoutNext(text).replace(
        '{',
        `{"nextPage":${JSON.stringify(`${base}${call.path}?${call.query}`)},`,
      );
    const own = /"nextPageToken":("(?:[^"\\]|\\.)*")/.exec(call.body.toString())?.[1];
    const again = token === undefined ? own : JSON.stringify(token);
    return again === undefined ? text : withoutNext(text).replace('{', `{"nextPageToken":${again},`);
  });

/** Whatever page is asked for, the first one comes, with a token or `nextPage` never seen before. */
export const firstPageAgain: Fault = {
  ...head('first page again', (text, { call, base, number }) => {
    const next = isSearch(call)
      ? `"nextPageToken":"again-${number}"`
      : `"nextPage":"${base}${call.path}?cursor=again-${number}"`;
    return /"isLast":/.test(text) ? withoutNext(text).replace('{', `{${next},`) : text;
  }),
  call: (call) => {
    const query = new URLSearchParams(call.query);
    for (const name of ['startAt', 'cursor', 'after', 'nextPageToken']) query.delete(name);
    if (call.body.length === 0) return { ...call, query };
    const {
      startAt: _,
      nextPageToken: __,
      ...body
    }: Record<string, unknown> = JSON.parse(call.body.toString());
    return { ...call, query, body: Buffer.from(JSON.stringify(body)) };
  },
};

/** `nextPage` leads here, whatever here is; `isLast` false. */
export const foreignNextPage = (url: string): Fault =>
  head('foreign nextPage', (text) =>
    text
      .replace(/"isLast":true/, '"isLast":false')
      .replace(/"nextPage":"(?:[^"\\]|\\.)*",/, '')
      .replace('{', `{"nextPage":${JSON.stringify(url)},`),
  );

/** 401 in the middle of a walk. */
export const unauthorised: Fault = { ...status(401), name: '401' };
