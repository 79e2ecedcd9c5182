import { createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import {
  AuthFailed,
  Forbidden,
  ForeignOrigin,
  Interrupted,
  LockHeld,
  Misconfigured,
  Missing,
  RateLimited,
  Refused,
  TooLarge,
  Transient,
  UnexpectedContent,
  Unreachable,
} from '../../src/core/errors.ts';
import type { Http } from '../../src/core/stream.ts';
import type { HttpEvent, HttpOptions } from '../../src/http/http-options.ts';
import { expired, good, key, other } from '../support/certificates.ts';
import { get, httpTo, token } from '../support/http-to.ts';
import * as play from '../support/misbehaving-server.ts';
import { until } from '../support/processes.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const answering = async (...args: Parameters<typeof play.misbehaving>): Promise<play.Misbehaving> => {
  const server = await play.misbehaving(...args);
  closing.push(server.close);
  return server;
};
const serve = (...replies: readonly [play.Reply, ...play.Reply[]]): Promise<play.Misbehaving> =>
  answering(play.inTurn(...replies));
const open = (url: string, options: Partial<HttpOptions> = {}): Http => {
  const http = httpTo(url, options);
  closing.push(() => http.close());
  return http;
};
const signal = (): AbortSignal => new AbortController().signal;
const send = (http: Http, path = '/x', stop = signal()) => http.send(get(path), stop);
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)?.slice(0, 200)}`),
    (error: unknown) => error,
  );
/** The error of one request for `/x`. */
const failure = (server: play.Misbehaving, options: Partial<HttpOptions> = {}): Promise<unknown> =>
  caught(send(open(server.url, options)));
const page = play.json({ values: [1, 2, 3], isLast: true });

describe('a page that arrives', () => {
  test('comes with its bytes, its body and the clock of the source; the request names its client', async () => {
    const server = await serve(play.json({ a: 'ä' }, { date: 'Sun, 06 Nov 1994 08:49:37 GMT' }));
    const http = open(`${server.url}/ads/v3/`);
    const answer = await http.send(
      {
        method: 'POST',
        path: '/x',
        endpoint: '/x',
        query: { a: ['1', '2'], b: undefined, c: true },
        body: { q: 'ü' },
      },
      signal(),
    );
    expect(answer.body).toEqual({ a: 'ä' });
    expect(answer.raw.toString()).toBe('{"a":"ä"}');
    expect(answer.date).toEqual(new Date('1994-11-06T08:49:37Z'));
    const [request] = server.requests;
    expect(request?.url).toBe('/ads/v3/x?a=1&a=2&c=true');
    expect(request?.body).toBe('{"q":"ü"}');
    expect(request?.headers).toMatchObject({
      'user-agent': 'tidemark/1.2.3',
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from(`me@example.com:${token}`).toString('base64')}`,
    });
    expect(http.counters).toMatchObject({ requests: 1, retries: 0, bytes: answer.raw.length });
  });

  test('may be compressed, may begin with a byte order mark, may be of a type that ends in +json', async () => {
    const text = '\ufeff{"a":[9007199254740993]}';
    const server = await serve(
      play.gzipped(text),
      play.bytes('json type', text, { 'content-type': 'application/vnd.x+json; v=1' }),
    );
    const http = open(server.url);
    const first = await send(http, '/');
    expect(first.raw.toString()).toBe(text);
    const second = await send(http, '/');
    expect(second.body).toEqual(first.body);
    expect(String((first.body as { a: unknown[] }).a[0])).toBe('9007199254740993');
  });
});

describe('what may pass is tried again', () => {
  const text = JSON.stringify({ values: [{ id: 1 }, { id: 2 }], isLast: true });
  const packed = gzipSync(text);
  test.each<[string, play.Reply]>([
    ...[408, 425, 500, 502, 503, 504, 520].map((code): [string, play.Reply] => [
      `status ${code}`,
      play.status(code),
    ]),
    ['reset before headers', play.reset],
    ['reset after headers', play.cutAt(text, 0)],
    ['a content length larger than the body', play.tooShort(text, 5)],
    ['a chunked body that never ends properly', play.unterminated(text)],
    ['what is not HTTP', play.raw('no HTTP', 'garbage\r\n\r\n')],
    [
      'a chunk without a length',
      play.raw(
        'no chunk',
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${text}`,
      ),
    ],
    ['truncated JSON', play.bytes('truncated', text.slice(0, -1))],
    ['two documents', play.bytes('two', text + text)],
    ['trailing garbage', play.bytes('garbage', `${text}<!-- -->`)],
    ['a gzip trailer that is missing', play.gzipped(text, packed.length - 8)],
    ['gzip that is none', play.bytes('no gzip', text, { 'content-encoding': 'gzip' })],
  ])('%s', async (_, fault) => {
    const server = await serve(fault, page);
    const http = open(server.url);
    expect((await send(http)).body).toEqual({ values: [1, 2, 3], isLast: true });
    expect(server.fired).toEqual([fault.name, 'json']);
    expect(http.counters).toMatchObject({ requests: 2, retries: 1 });
  });

  test('a connection that breaks at any byte of the body, plain or compressed, is never a shorter page', async () => {
    for (const body of [text, packed]) {
      const headers = {
        'content-length': String(body.length),
        ...(body === packed && { 'content-encoding': 'gzip' }),
      };
      const faults = Array.from({ length: body.length - 1 }, (_, keep) => play.endedAt(body, keep, headers));
      const server = await answering((_, n) =>
        n % 2 === 0 ? (faults[n / 2] ?? page) : play.bytes('ok', text),
      );
      const http = open(server.url, { retry: { baseMs: 0.01, budgetFloor: 1000 } });
      for (const _ of faults) expect((await send(http)).body).toEqual(JSON.parse(text));
      expect(server.fired.filter((name) => name === 'cut')).toHaveLength(faults.length);
    }
  });

  test('at most six times in all, after waits with full jitter: uniform below base × 2^k, capped', async () => {
    const server = await serve(play.status(503));
    const slept: number[] = [];
    const dice = [0.5, 0.999, 0, 0.25, 0.5];
    const error = await failure(server, {
      retry: { baseMs: 500, capMs: 3000 },
      random: () => dice.shift() ?? 0,
      sleep: async (ms) => void slept.push(ms),
    });
    expect(error).toBeInstanceOf(Transient);
    expect(error).toHaveProperty('message', 'GET /x answered 503 (6 tries)');
    expect(server.fired).toHaveLength(6);
    expect(slept).toEqual([250, 999, 0, 750, 1500]);
  });

  test('requests that are not idempotent are sent once', async () => {
    const server = await serve(play.status(503), page);
    const request = get('/x', { method: 'POST', idempotent: false });
    expect(await caught(open(server.url).send(request, signal()))).toBeInstanceOf(Transient);
    expect(server.fired).toHaveLength(1);
  });

  test('the retry budget ends a storm: 20 retries, then each request is sent once', async () => {
    const server = await serve(play.status(500));
    const http = open(server.url);
    for (let i = 0; i < 20; i++) expect(await caught(send(http))).toBeInstanceOf(Transient);
    expect(http.counters.retries).toBe(20);
    expect(server.fired).toHaveLength(40);
  });
});

describe('deadlines', () => {
  test.each<[string, play.Reply, RegExp]>([
    ['a server that says nothing', play.silent, /did not come within/],
    ['a server that says nothing after its headers', play.silentAfterHeaders, /whole answer/],
    ['a server that drips for ever', play.drip(10), /whole answer/],
  ])('%s is given up, and its connection is free again', async (_, fault, message) => {
    const server = await answering((_arrived, n) => (n < 2 ? fault : page));
    const http = open(server.url, {
      concurrency: 1,
      // On a busy machine even prompt headers take a while.
      timeouts: { headersMs: fault === play.silent ? 500 : 10_000, bodyMs: 100 },
      retry: { tries: 2 },
    });
    const error = await caught(send(http));
    expect(error).toBeInstanceOf(Transient);
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(server.fired).toEqual([fault.name, fault.name]);
    expect((await send(http)).status).toBe(200);
  });
});

describe('connections that do not come about', () => {
  /** A client whose server is gone, after `answers` answers. */
  const abandoned = async (answers: number, options: Partial<HttpOptions> = {}) => {
    const server = await play.misbehaving(() => page);
    const http = open(server.url, options);
    for (let n = 0; n < answers; n++) await send(http);
    await server.close();
    return { http, port: server.port };
  };

  test.each([
    ['is tried three times', 0, 2],
    ['of a source that has answered before, as one that restarts does, is tried six times', 1, 5],
  ])('a refused connection %s, then Unreachable', async (_, answers, retries) => {
    const seen: HttpEvent[] = [];
    const { http } = await abandoned(answers, { observe: (event) => seen.push(event) });
    const error = await caught(send(http));
    expect(error).toBeInstanceOf(Unreachable);
    expect(error).toHaveProperty('message', expect.stringMatching(/\(ECONNREFUSED\): nothing listens there/));
    expect(seen).toHaveLength(retries);
  });

  test('are waited for by all requests together, outside the budget: none gives up before the others', async () => {
    // Alone, the first would have tried six times before any other tries again.
    const dice = [0, 0.9, 0.9];
    let thrown = 0;
    const random = (): number => dice[thrown++ % dice.length] ?? 0;
    const { http, port } = await abandoned(1, {
      retry: { baseMs: 50, budgetFloor: 0, budgetRatio: 0 },
      random,
    });
    const sent = Promise.allSettled([1, 2, 3].map((n) => send(http, `/${n}`)));
    await until('more was tried than one alone may', () => http.counters.retries >= 6);
    await answering(() => page, undefined, port);
    expect((await sent).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  });

  test('are waited for within a limit; later tries count against the budget', async () => {
    const { http } = await abandoned(1, {
      retry: { outageMs: 40, budgetFloor: 0, budgetRatio: 0, baseMs: 20 },
      random: () => 0.9,
    });
    expect(await caught(send(http))).toBeInstanceOf(Unreachable);
    // It waited 18 ms and 36 ms.
    expect(http.counters.retries).toBe(2);
  });

  test.each([
    ['a self-signed certificate', good, false, /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ['an expired certificate', expired, true, /CERT_HAS_EXPIRED/],
    ["another host's certificate", other, true, /ERR_TLS_CERT_ALTNAME_INVALID/],
  ])('%s is Unreachable, is not tried again and gets no request', async (_, cert, trusted, message) => {
    const before = getCACertificates('default');
    if (trusted) setDefaultCACertificates([...before, cert]);
    closing.push(async () => setDefaultCACertificates(before));
    const server = await answering(() => page, { key, cert });
    const error = await failure(server);
    expect(error).toBeInstanceOf(Unreachable);
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect([server.connections(), server.requests.length]).toEqual([1, 0]);
  });
});

describe('rate limits', () => {
  const gapAfter = (server: play.Misbehaving, n: number): number =>
    (server.requests[n + 1]?.at ?? 0) - (server.requests[n]?.at ?? 0);

  test('after a 429 no request of any endpoint leaves before Retry-After is over, and nothing counts as failed', async () => {
    const server = await serve(play.status(429, { 'retry-after': '1' }), page);
    const events: HttpEvent[] = [];
    const http = open(server.url, { retry: { tries: 1 }, observe: (event) => events.push(event) });
    const from = performance.now();
    const first = send(http, '/a');
    await expect.poll(() => events.length).toBe(1);
    const others = ['/b', '/c', '/d'].map((path) => send(http, path));
    for (const answer of await Promise.all([first, ...others])) expect(answer.status).toBe(200);
    expect(performance.now() - from).toBeGreaterThan(1000);
    expect(gapAfter(server, 0)).toBeGreaterThan(995);
    expect(server.fired).toEqual(['status 429', 'json', 'json', 'json', 'json']);
    expect(http.counters.retries).toBe(0);
    expect(http.counters.throttledMs).toBeGreaterThan(2000);
    expect(events).toMatchObject([{ type: 'throttled', endpoint: '/a' }]);
  });

  const now = Date.parse('2026-01-01T00:00:00Z');
  const date = (at: string): string => `Thu, 01 Jan 2026 ${at} GMT`;
  test.each<[string, Record<string, string>, number, number?]>([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['a date of the server', { 'retry-after': date('01:00:09'), date: date('01:00:00') }, 9000],
    ['a date that is over', { 'retry-after': date('01:00:00'), date: date('01:00:00') }, 0],
    ['an ISO instant', { 'x-ratelimit-reset': '2026-01-01T00:00:08Z', date: date('00:00:00') }, 8000],
    ['X-RateLimit-Reset in seconds', { 'x-ratelimit-reset': '12' }, 12_000],
    ['seconds since 1970', { 'x-ratelimit-reset': `${now / 1000 + 8}`, date: date('00:00:00') }, 8000],
    ['seconds of a 503', { 'retry-after': '4' }, 4000, 503],
    ['seconds of a 403', { 'retry-after': '4' }, 4000, 403],
    ['RateLimit-Reset in seconds', { 'ratelimit-remaining': '0', 'ratelimit-reset': '6' }, 6000],
    ['the tightest of several limits', { 'beta-ratelimit': '"day";r=9;t=900, "burst";r=0;t=3' }, 3000],
    ['a 403 with nothing left', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' }, 9000, 403],
    ['nothing that can be read', { 'retry-after': 'soon', 'x-ratelimit-reset': 'tomorrow' }, 0],
    ['a negative number', { 'retry-after': '-5' }, 0],
  ])('the wait is at least what the server asks, as %s', async (_, headers, expected, code = 429) => {
    const server = await serve(play.status(code, headers), page);
    let clock = 0;
    const http = open(server.url, {
      random: () => 0,
      now: () => clock,
      wall: () => now,
      sleep: async (ms) => {
        clock += ms;
      },
    });
    await send(http);
    expect(clock).toBe(expected);
    expect(http.counters.throttledMs).toBe(code === 503 ? 0 : expected);
    expect(server.fired).toEqual([`status ${code}`, 'json']);
  });

  test.each([429, 503])(
    'a %d that asks for more than 15 minutes ends the request at once and keeps the time',
    async (code) => {
      const server = await serve(play.status(code, { 'retry-after': '901' }), page);
      const error = await failure(server);
      expect(error).toBeInstanceOf(RateLimited);
      expect(error).toHaveProperty('retryAfterMs', 901_000);
      expect(server.fired).toHaveLength(1);
    },
  );

  test('a limit that a good answer says is used up is respected by the next request', async () => {
    const server = await serve(
      play.json({}, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' }),
      page,
    );
    const http = open(server.url);
    await send(http);
    await send(http, '/y');
    expect(gapAfter(server, 0)).toBeGreaterThan(990);
  });

  /** How long a request is held back, in ms, after the answer with these headers to one for /x. */
  const heldBack = async (headers: Record<string, string>, ...paths: readonly string[]) => {
    const server = await serve(play.json({}, { date: date('00:00:00'), ...headers }), page);
    let clock = 0;
    const sleep = async (ms: number): Promise<void> => {
      clock += ms;
    };
    const http = open(server.url, { now: () => clock, wall: () => now, sleep });
    await send(http);
    const held: number[] = [];
    for (const path of paths) {
      const from = clock;
      await send(http, path);
      held.push(clock - from);
    }
    return held;
  };

  // Jira and Spotify (vendor-facts 1.5 and 2.8), and the draft of RateLimit headers that Jira announces as Beta-RateLimit.
  test.each<[string, Record<string, string>, readonly number[]]>([
    ['near a limit without numbers', { 'x-ratelimit-nearlimit': 'true' }, [100, 100]],
    [
      'a fifth is left, reset as an ISO instant',
      {
        'x-ratelimit-limit': '100',
        'x-ratelimit-remaining': '20',
        'x-ratelimit-reset': '2026-01-01T00:00:10Z',
      },
      [500, 500],
    ],
    [
      'a tenth is left, reset in seconds',
      { 'ratelimit-limit': '150', 'ratelimit-remaining': '15', 'ratelimit-reset': '3' },
      [200, 200],
    ],
    [
      'one of several limits is near',
      {
        'beta-ratelimit-policy': '"quota";q=65000;w=3600, "burst";q=100;w=1',
        'beta-ratelimit': '"quota";r=60000;t=1800, "burst";r=10;t=1',
      },
      [100, 100],
    ],
    [
      'much time is left: a second at most',
      { 'ratelimit-policy': '"q";q=10', ratelimit: '"q";r=2;t=60' },
      [1000, 1000],
    ],
    ['more than a fifth is left', { 'ratelimit-policy': '"q";q=100', ratelimit: '"q";r=21;t=60' }, [0, 0]],
    ['what is left cannot be read', { 'ratelimit-limit': 'many', 'ratelimit-remaining': 'few' }, [0, 0]],
  ])('requests keep their distance before a limit is used up: %s', async (_, headers, expected) => {
    expect(await heldBack(headers, '/x', '/y')).toEqual(expected);
  });

  test.each([
    ['is near', { 'x-ratelimit-nearlimit': 'true' }, 100],
    ['is used up', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4' }, 4000],
  ])('a limit of one endpoint that %s concerns no other', async (_, headers, ms) => {
    const about = { ...headers, 'ratelimit-reason': 'jira-burst-based' };
    expect(await heldBack(about, '/y', '/x')).toEqual([0, ms]);
    const all = { ...headers, 'ratelimit-reason': 'jira-quota-tenant-based' };
    expect(await heldBack(all, '/y')).toEqual([ms]);
  });

  test('429 for ever ends as RateLimited at the deadline of the run, as Interrupted when it is stopped', async () => {
    const server = await serve(play.status(429, { 'retry-after': '1' }));
    const http = open(server.url);
    expect(await caught(http.send(get('/x'), AbortSignal.timeout(200)))).toBeInstanceOf(RateLimited);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    expect(await caught(send(http, '/x', stop.signal))).toBeInstanceOf(Interrupted);
    expect(server.fired).toContain('status 429');
  });

  test('429 for ever without a deadline ends after an hour of waiting', async () => {
    const server = await serve(play.status(429, { 'retry-after': '600' }));
    let clock = 0;
    const sleep = async (ms: number): Promise<void> => {
      clock += ms;
    };
    expect(await failure(server, { now: () => clock, sleep })).toBeInstanceOf(RateLimited);
    expect([server.fired.length, clock]).toEqual([7, 3_600_000]);
  });

  test('a request waits for every rate of its endpoint and holds up no other', async () => {
    const server = await serve(page);
    let clock = 0;
    const http = open(server.url, {
      rates: [
        { name: 'slow', perSecond: 2, burst: 2, covers: (endpoint) => endpoint === '/slow' },
        { name: 'all', perSecond: 100, burst: 100, covers: () => true },
      ],
      now: () => clock,
      sleep: async (ms) => {
        clock += ms;
      },
    });
    const starts: [string, number][] = [];
    for (const path of ['/slow', '/slow', '/slow', '/slow', '/fast']) {
      await send(http, path);
      starts.push([path, clock]);
    }
    expect(starts).toEqual([
      ['/slow', 0],
      ['/slow', 0],
      ['/slow', 500],
      ['/slow', 1000],
      ['/fast', 1000],
    ]);
  });

  test('no more requests are under way than there are connections', async () => {
    let under = 0;
    let most = 0;
    const server = await answering(() => ({
      name: 'slow page',
      run: async (response) => {
        most = Math.max(most, ++under);
        await new Promise((resolve) => setTimeout(resolve, 20));
        under--;
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      },
    }));
    const http = open(server.url, { concurrency: 3 });
    await Promise.all(Array.from({ length: 12 }, () => send(http)));
    expect([most, server.fired.length]).toEqual([3, 12]);
    expect(server.connections()).toBeLessThanOrEqual(3);
  });
});

describe('answers that say no', () => {
  const kinds = [
    [Refused, 400, 409, 413, 414, 415, 422],
    [AuthFailed, 401],
    [Forbidden, 403],
    [Missing, 404, 405, 410, 501],
  ] as const;
  test.each(kinds.flatMap(([kind, ...codes]) => codes.map((code) => [code, kind] as const)))(
    '%d is not asked again',
    async (code, kind) => {
      const server = await serve(play.status(code), page);
      const error = await failure(server);
      expect(error).toBeInstanceOf(kind);
      expect(error).toHaveProperty('message', expect.stringContaining(`GET /x answered ${code}`));
      if (error instanceof Refused || error instanceof Missing) expect(error.status).toBe(code);
      expect(server.fired).toEqual([`status ${code}`]);
    },
  );

  test.each<[string, unknown, readonly string[]]>([
    [
      'Jira',
      { errorMessages: ['Unbounded JQL'], errors: { jql: 'is wrong' } },
      ['Unbounded JQL', 'jql: is wrong'],
    ],
    ['problem+json', { type: 'x', title: 'Bad', detail: "Cannot convert 'abc'" }, ["Cannot convert 'abc'"]],
    ['{error}', { error: 'no such thing' }, ['no such thing']],
    ['{error: {message}}', { error: { code: 7, message: 'deep' } }, ['deep']],
    ['{message}', { message: 'plain' }, ['plain']],
    ['HTML', '<h1>no</h1>', []],
    ['control characters and line breaks', { message: 'a\r\n\u001b[31mb\u202ec' }, ['a [31mb c']],
    ['a long one', { message: 'x'.repeat(5000) }, ['x'.repeat(5000)]],
    ['an odd one', { errorMessages: [1, null, { a: 1 }], errors: 'x', message: 7 }, ['x']],
  ])("the server's messages are kept: %s", async (name, body, messages) => {
    const type = name === 'problem+json' ? 'application/problem+json' : 'application/json';
    const error = await failure(
      await serve(
        typeof body === 'string'
          ? play.status(400, { 'content-type': 'text/html' }, body)
          : play.json(body, { 'content-type': type }, 400),
      ),
    );
    expect(error).toHaveProperty('messages', messages);
    expect(error).toHaveProperty('message', expect.stringMatching(/^[^\r\n]{1,400}$/));
  });

  test('no message holds a credential, even where the server echoes it', async () => {
    const basic = Buffer.from(`me@example.com:${token}`).toString('base64');
    for (const code of [400, 401, 403, 404, 500, 302]) {
      const server = await serve(
        play.status(
          code,
          { 'content-type': 'application/json', location: `https://x.example/${token}?t=${token}` },
          JSON.stringify({ message: `${token} and Basic ${basic} and me@example.com:${token}` }),
        ),
      );
      const error = await failure(server, { retry: { tries: 1 } });
      const all = `${error instanceof Error ? `${error.stack}${error.message}` : ''}${JSON.stringify(error)}`;
      expect(all).toContain(`${code}`);
      expect(all).not.toContain(token);
      expect(all).not.toContain(basic);
    }
  });
});

describe('answers that are no page', () => {
  test.each<[string, play.Reply]>([
    ['an HTML login page', play.bytes('html', '<html>', { 'content-type': 'text/html' })],
    ['an empty body', play.bytes('empty', '')],
    ['204', play.status(204)],
    ['206', play.status(206, { 'content-type': 'application/json' }, '{}')],
    ['JSON as text/plain', play.bytes('text', '{"values":[]}', { 'content-type': 'text/plain' })],
    ['no content type', play.status(200, {}, '{"values":[]}')],
  ])('%s is UnexpectedContent after a second look', async (_, fault) => {
    const server = await serve(fault);
    expect(await failure(server)).toBeInstanceOf(UnexpectedContent);
    expect(server.fired).toEqual([fault.name, fault.name]);
  });

  test('a redirect is not followed, here or elsewhere', async () => {
    const elsewhere = await serve(page);
    for (const code of [301, 302, 303, 307, 308])
      for (const location of [`${elsewhere.url}/x`, '/other', 'http://[bad']) {
        const server = await serve(play.status(code, { location }), page);
        const error = await failure(server);
        expect(error).toBeInstanceOf(UnexpectedContent);
        expect(error).toHaveProperty('message', expect.stringContaining('base URL'));
        expect(server.fired).toEqual([`status ${code}`]);
      }
    expect([elsewhere.connections(), elsewhere.requests.length]).toEqual([0, 0]);
  });

  test('encodings that were not asked for, and nested ones, are refused', async () => {
    for (const encoding of ['gzip, gzip', 'zstd', 'compress', '__proto__']) {
      const server = await serve(
        play.bytes('encoded', gzipSync(gzipSync('{}')), { 'content-encoding': encoding }),
      );
      expect(await failure(server)).toBeInstanceOf(UnexpectedContent);
      expect(server.fired).toContain('encoded');
    }
  });
});

describe('sizes', () => {
  const mb = 1024 * 1024;

  test('a gzip bomb ends within 8 MB of the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * mb, 0x20));
    const server = await serve(play.bytes('bomb', bomb, { 'content-encoding': 'gzip' }));
    for (const [limits, most] of [
      [{ decodedBytes: 16 * mb, ratio: 1e9 }, 16 * mb],
      [{ ratio: 100 }, 40 * mb],
    ] as const) {
      const http = open(server.url, { limits });
      const before = process.memoryUsage();
      const error = await caught(send(http));
      expect(error).toBeInstanceOf(TooLarge);
      const after = process.memoryUsage();
      expect(after.arrayBuffers + after.external - before.arrayBuffers - before.external).toBeLessThan(
        2 * (most + 8 * mb),
      );
    }
    expect(server.fired).toEqual(['bomb', 'bomb']);
  });

  test('a page beyond the wire limit is TooLarge: announced, in chunks, or compressed', async () => {
    const large = `"${'x'.repeat(2 * mb)}"`;
    for (const reply of [
      play.bytes('announced', large, { 'content-length': String(large.length) }),
      {
        name: 'chunked',
        run: (response: Parameters<play.Reply['run']>[0]) =>
          void response.writeHead(200, { 'content-type': 'application/json' }).end(large.slice(0, -1)),
      },
      play.gzipped(Array.from({ length: 300_000 }, () => Math.random()).join()),
    ]) {
      const server = await serve(reply);
      expect(await failure(server, { limits: { wireBytes: mb } })).toBeInstanceOf(TooLarge);
      expect(server.fired).toEqual([reply.name]);
    }
  });
});

describe('the origin', () => {
  test('a next page anywhere but at the configured origin is refused before a socket opens', async () => {
    const server = await serve(page);
    const elsewhere = await serve(page);
    const { port } = server;
    const http = open(`http://localhost:${port}`);
    const own = `localhost:${port}/x`;
    const other = `127.0.0.1:${elsewhere.port}/x`;
    const foreign = [
      `http://localhost:${elsewhere.port}/x`,
      `//${other}`,
      `/\\${other}`,
      '//evil',
      '/\\evil',
      '\\\\evil',
      `http://localhost:${port}@${other}`,
      'https://api@evil',
      `http://user@${own}`,
      `http://user:pass@${own}`,
      `https://${own}`,
      `http://localhost.:${port}/x`,
      `http://127.0.0.1:${port}/x`,
      `http://[::1]:${port}/x`,
      `http://2130706433:${port}/x`,
      `\thttp://${own}`,
      ` http://${own}`,
      `ht\ntp://${own}`,
      `http://local\thost:${port}/x`,
      `http://${own}\r\nx: y`,
      'http://',
      'javascript:alert(1)',
      'file:///etc/passwd',
      'data:application/json,{}',
    ];
    for (const url of foreign) {
      const error = await caught(http.send(get('/x', { url }), signal()));
      expect(error, url).toBeInstanceOf(ForeignOrigin);
    }
    expect([server.connections(), elsewhere.connections(), http.counters.requests]).toEqual([0, 0, 0]);
  });

  test('a next page at the configured origin is followed, absolute or relative', async () => {
    const server = await serve(page);
    const http = open(`${server.url}/base`);
    for (const url of [
      `${server.url}/base/y?cursor=a%2Fb`,
      '/base/y?cursor=a%2Fb',
      'y?cursor=a%2Fb',
      `${server.url.replace('http', 'HTTP')}/base/y?cursor=a%2Fb#f`,
    ])
      await http.send(get('/x', { url, query: { startAt: 5 } }), signal());
    expect(server.requests.map(({ url }) => url)).toEqual(Array(4).fill('/base/y?cursor=a%2Fb'));
  });

  test('the next page of a server that does not know the prefix of its paths lies below the prefix', async () => {
    const server = await serve(page);
    const http = open(`${server.url}/base`);
    for (const url of [`${server.url}/x?cursor=2`, '/x?cursor=2', '/base/x?cursor=2'])
      await http.send(get('/x', { url }), signal());
    await http.send(get('/x', { url: '/another?cursor=2' }), signal());
    expect(server.requests.map(({ url }) => url)).toEqual([
      ...Array(3).fill('/base/x?cursor=2'),
      '/another?cursor=2',
    ]);
  });

  test('a base URL that is none is Misconfigured, and is not repeated', () => {
    for (const baseUrl of [
      'example.com',
      'ftp://example.com',
      'https://user:pw@example.com',
      'https://example.com?x=1',
      'https://example.com/#x',
      '',
    ]) {
      expect(() => httpTo(baseUrl), baseUrl).toThrow(Misconfigured);
      expect(() => httpTo(baseUrl), baseUrl).not.toThrow(/pw@/);
    }
  });
});

describe('credentials that expire', () => {
  const guarded = (valid: () => string): Promise<play.Misbehaving> =>
    answering(({ headers }) => (headers.authorization === valid() ? page : play.status(401)));

  test('ten requests turned away together share one renewal, and all arrive', async () => {
    let current = 'Bearer old-token';
    let renewals = 0;
    const server = await guarded(() => 'Bearer new-token');
    const http = open(server.url, {
      concurrency: 10,
      auth: () => ({
        authorize: () => ({ authorization: current }),
        renew: async () => {
          renewals++;
          await new Promise((resolve) => setTimeout(resolve, 30));
          current = 'Bearer new-token';
          return true;
        },
      }),
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(http)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(renewals).toBe(1);
    expect(server.fired).toContain('status 401');
  });

  test('credentials that worked for a while are renewed again when they expire again', async () => {
    let generation = 0;
    let valid = 1;
    const server = await guarded(() => `Bearer token-${valid}`);
    const http = open(server.url, {
      auth: () => ({
        authorize: () => ({ authorization: `Bearer token-${generation}` }),
        renew: async () => {
          generation++;
          return true;
        },
      }),
    });
    for (const now of [1, 2, 3]) {
      valid = now;
      expect((await send(http)).status).toBe(200);
    }
    expect(generation).toBe(3);
  });

  test('credentials that another request renewed meanwhile are not renewed again', async () => {
    let current = 'old';
    let renewals = 0;
    const server = await guarded(() => {
      current = 'new';
      return 'Bearer new';
    });
    const http = open(server.url, {
      auth: () => ({
        authorize: () => ({ authorization: `Bearer ${current}` }),
        renew: async () => {
          renewals++;
          return true;
        },
      }),
    });
    expect((await send(http)).status).toBe(200);
    expect(renewals).toBe(0);
  });

  test.each<[string, () => Promise<boolean>]>([
    ['gives the same bad token', async () => true],
    ['gives up', async () => false],
    ['fails', async () => Promise.reject(new Transient('the token endpoint answered 500'))],
  ])('a renewal that %s is not repeated; all requests fail as AuthFailed', async (_, renewal) => {
    let renewals = 0;
    const server = await guarded(() => 'Bearer never');
    const http = open(server.url, {
      auth: () => ({
        authorize: () => ({ authorization: 'Bearer old-token' }),
        renew: () => {
          renewals++;
          return renewal();
        },
      }),
    });
    const errors = await Promise.all(Array.from({ length: 5 }, () => caught(send(http))));
    for (const error of [...errors, await caught(send(http))]) expect(error).toBeInstanceOf(AuthFailed);
    expect(renewals).toBe(1);
  });
});

describe('being stopped', () => {
  test.each<[string, play.Reply]>([
    ['while the server is silent', play.silent],
    ['in the middle of a body', play.silentAfterHeaders],
    ['while waiting for a rate limit', play.status(429, { 'retry-after': '600' })],
    ['while waiting to try again', play.status(503, { 'retry-after': '600' })],
  ])('%s ends the wait at once', async (_, fault) => {
    const server = await serve(fault);
    const http = open(server.url);
    const stop = new AbortController();
    const ending = caught(send(http, '/x', stop.signal));
    await expect.poll(() => server.fired.length).toBe(1);
    const from = performance.now();
    stop.abort();
    expect(await ending).toBeInstanceOf(Interrupted);
    expect(performance.now() - from).toBeLessThan(2000);
  });

  test('the reason of the stop is thrown where it is one of ours; what is stopped before sends nothing', async () => {
    const server = await serve(page);
    const stop = new AbortController();
    stop.abort(new LockHeld('somebody else has it'));
    expect(await caught(open(server.url).send(get('/x'), stop.signal))).toBeInstanceOf(LockHeld);
    expect(server.connections()).toBe(0);
  });

  test('requests that wait for a slot or for a connection end too', async () => {
    const blackHole = createServer(() => {});
    await new Promise<void>((resolve) => blackHole.listen(0, '127.0.0.1', resolve));
    closing.push(async () => void blackHole.close());
    const address = blackHole.address();
    const http = open(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, {
      concurrency: 1,
    });
    const stop = new AbortController();
    const endings = Array.from({ length: 3 }, () => caught(send(http, '/x', stop.signal)));
    setTimeout(() => stop.abort(), 50);
    for (const ending of endings) expect(await ending).toBeInstanceOf(Interrupted);
  });

  test('closing ends what is under way', async () => {
    const server = await serve(play.silent);
    const http = httpTo(server.url);
    const ending = caught(send(http));
    await expect.poll(() => server.fired.length).toBe(1);
    await http.close();
    expect(await ending).toBeInstanceOf(Interrupted);
    expect(await caught(send(http))).toBeInstanceOf(Interrupted);
  });
});
