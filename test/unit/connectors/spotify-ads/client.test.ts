import { afterEach, expect, test } from 'vitest';
import {
  askAccount,
  type ClientSettings,
  openClient,
} from '../../../../src/connectors/spotify-ads/source.ts';
import {
  AuthFailed,
  Forbidden,
  Missing,
  Refused,
  type TidemarkError,
  Transient,
} from '../../../../src/core/errors.ts';
import type { Http, Request } from '../../../../src/core/stream.ts';
import type { HttpOptions } from '../../../../src/http/http-options.ts';
import * as play from '../../../support/misbehaving-server.ts';
import { reader } from './platform.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const { signal } = new AbortController();
const serve = async (script: Parameters<typeof play.misbehaving>[0]): Promise<play.Misbehaving> => {
  const server = await play.misbehaving(script);
  closing.push(server.close);
  return server;
};
const open = (
  server: play.Misbehaving,
  settings: Partial<ClientSettings> = {},
  http: Partial<HttpOptions> = {},
): Http => {
  const made = openClient(
    {
      baseUrl: `${server.url}/ads/v3`,
      credentials: { kind: 'token', accessToken: { reveal: () => 'g1ven-token' } },
      sdkHeader: 'X-Service-Ads-Sdk',
      concurrency: 8,
      requestsPerSecond: 0,
      reportRequestsPerSecond: 0,
      ...settings,
    },
    { http: { version: '1.2.3', retry: { baseMs: 1, capMs: 5 }, ...http } },
  );
  closing.push(() => made.close());
  return made;
};
const get = (path: string, extra: Partial<Request> = {}): Request => {
  return { method: 'GET', path, endpoint: path, ...extra };
};
const caught = (promise: Promise<unknown>): Promise<TidemarkError> =>
  promise.then(
    () => expect.fail('it resolved'),
    (error) => error,
  );

test('every request carries the bearer and the configured tracking header, and repeats a parameter of an array', async () => {
  const server = await serve(() => play.json({}));
  const query = { statuses: ['ACTIVE', 'PAUSED'] };
  for (const sdkHeader of ['X-Service-Ads-Sdk', 'X-Spotify-Ads-Sdk']) {
    await open(server, { sdkHeader }).send(get('/x', { query }), signal);
    const { url, headers } = server.requests.at(-1) ?? expect.fail('no request');
    expect(url).toBe('/ads/v3/x?statuses=ACTIVE&statuses=PAUSED');
    expect(headers.authorization).toBe('Bearer g1ven-token');
    const tracking = Object.entries(headers).filter(([name]) => name.endsWith('-ads-sdk'));
    expect(tracking).toEqual([[sdkHeader.toLowerCase(), 'tidemark/1.2.3']]);
  }
});

test.each([
  ['X-RateLimit-Reset as seconds', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' }],
  ['Retry-After', { 'retry-after': '1' }],
])('after a 429 nothing leaves before %s is over, and nothing counts as a retry', async (_, headers) => {
  const server = await serve((__, n) => (n === 0 ? play.status(429, headers) : play.json({})));
  const http = open(server);
  await http.send(get('/x'), signal);
  await http.send(get('/y'), signal);
  expect(server.fired).toEqual(['status 429', 'json', 'json']);
  const [first, second] = server.requests;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(950);
  expect(http.counters.retries).toBe(0);
  expect(http.counters.throttledMs).toBeGreaterThan(900);
});

test('all requests share one rate, and the reports a smaller one within it', async () => {
  let clock = 0;
  const all: number[] = [];
  const reports: number[] = [];
  const server = await serve(({ url }) => {
    all.push(clock);
    if (url.includes('_reports')) reports.push(clock);
    return play.json({});
  });
  const sleeping = new Set<{ readonly until: number; readonly wake: () => void }>();
  const http = open(
    server,
    { requestsPerSecond: 50, reportRequestsPerSecond: 5 },
    { now: () => clock, sleep: (ms) => new Promise((wake) => sleeping.add({ until: clock + ms, wake })) },
  );
  const kinds = ['aggregate_reports', 'insight_reports', 'async_reports'];
  const endpoints = Array.from(
    { length: 212 },
    (_, n) => `/ad_accounts/{id}/${n < 12 ? kinds[n % 3] : `list${n % 4}`}`,
  );
  let answered = 0;
  const sent = endpoints.map(async (endpoint) => {
    await http.send(get(endpoint.replace('{id}', 'a'), { endpoint }), signal);
    answered++;
  });
  // Time passes only when everybody waits for it.
  while (answered < endpoints.length) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (answered < http.counters.requests || sleeping.size === 0) continue;
    clock = Math.min(...[...sleeping].map(({ until }) => until));
    for (const one of sleeping)
      if (one.until <= clock) {
        sleeping.delete(one);
        one.wake();
      }
  }
  await Promise.all(sent);
  const within = (ms: readonly number[], window: number): number =>
    Math.max(...ms.map((from) => ms.filter((other) => other >= from && other < from + window).length));
  expect([all.length, reports.length]).toEqual([212, 12]);
  // A report leaves when both rates allow it: its place among all the others may be one report's distance old.
  expect(within(all, 1000)).toBeLessThanOrEqual(51);
  expect(within(all, 1000)).toBeGreaterThan(45);
  expect(clock).toBeGreaterThanOrEqual(211 * 20);
  expect(within(reports, 1000)).toBeLessThanOrEqual(5);
  expect(reports.every((ms, n) => n === 0 || ms - (reports[n - 1] ?? 0) >= 199)).toBe(true);
  // Behind 200 others once, then at their own pace.
  expect(clock).toBeLessThan(212 * 20 + 12 * 200);
});

const vendorError = {
  sp_trace_id: 'trace-1',
  messages: ['entity id is malformed', 'try\nanother'],
  error_codes: [{ code: 'ILLEGAL.ID', definition: 'an id is a UUID' }],
};

const repeated = { messages: ['no such thing', 'no such thing'] };
const ofDraft = { validation_entity_type: 'AD', validation_entity_id: '1', message: 'needs an asset' };
const skill = { error: { message: 'no', code: 400 }, path: '/x', timestamp: 'now' };
const { error_codes, ...camel } = vendorError;
const first = 'entity id is malformed; try another; ILLEGAL.ID: an id is a UUID (trace trace-1)';
test.each<[string, object, Record<string, string>, string]>([
  ['the vendor’s', vendorError, {}, first],
  ['with another key’s casing', { ...camel, errorCodes: error_codes }, {}, first],
  ['the skill’s', skill, { sp_trace_id: 'trace-3' }, 'answered 400: no (trace trace-3)'],
  ['a plain message', { message: 'no' }, {}, 'answered 400: no'],
  [
    'a repetitive',
    { ...repeated, error_codes: [{ code: 'NOT_FOUND', definition: 'no such thing' }] },
    {},
    'answered 400: no such thing; NOT_FOUND',
  ],
  ['a draft’s', { validation_errors: [ofDraft] }, {}, 'answered 400: needs an asset'],
])('an error of %s shape ends in one readable line', async (_, body, headers, line) => {
  const server = await serve(() => play.json(body, headers, 400));
  const error = await caught(open(server).send(get('/x'), signal));
  expect(error).toBeInstanceOf(Refused);
  expect(error.message).toContain(line);
  expect(error.message).not.toContain('\n');
  expect(server.requests).toHaveLength(1);
});

test('a request that creates something is not sent again by itself', async () => {
  const server = await serve(() => play.status(503));
  await caught(open(server).send(get('/x', { method: 'POST', body: {}, idempotent: false }), signal));
  expect(server.fired).toEqual(['status 503']);
});

const asked = async (server: play.Misbehaving, accountIds: readonly string[] = []) => {
  const { ads } = reader(server.url, accountIds);
  closing.push(() => ads.http.close());
  return askAccount(ads, signal);
};

test('one request shows the account and the source’s clock', async () => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const server = await serve(() =>
    play.json({ businesses: [{ id: 'b1', name: 'ACME' }, { id: 'b2' }] }, { date }),
  );
  expect(await asked(server)).toEqual({ account: 'ACME, b2', clock: new Date(date), words: 'businesses: 2' });
  expect(server.requests).toHaveLength(1);
});

test('where the businesses or one of the configured accounts fail for good, another account is shown', async () => {
  for (const businesses of [403, 500]) {
    const server = await serve(({ url }) =>
      url.endsWith('/ad_accounts/a2')
        ? play.json({ id: 'a2', name: 'Shoes' })
        : play.json({ message: 'no' }, {}, url.includes('/businesses') ? businesses : 500),
    );
    expect(await asked(server, ['a1', 'a2'])).toMatchObject({ account: 'Shoes' });
  }
  const broken = await serve(() => play.json({ message: 'no' }, {}, 500));
  expect(await caught(asked(broken, ['a1']))).toBeInstanceOf(Transient);
});

test('a token that is not accepted, or to which nothing is open, is a failed login; no platform at all is missing', async () => {
  const answering = (code: number) => serve(() => play.json({ message: 'no' }, {}, code));
  expect(await caught(asked(await answering(401)))).toBeInstanceOf(AuthFailed);
  const closed = await caught(asked(await answering(403), ['a1']));
  expect(closed).toBeInstanceOf(AuthFailed);
  expect(closed.cause).toBeInstanceOf(Forbidden);
  expect(await caught(asked(await answering(404), ['a1']))).toBeInstanceOf(Missing);
});
