import { describe, expect, onTestFinished, test } from 'vitest';
import { AuthFailed, ForeignOrigin, RateLimited, Unreachable } from '../../../src/core/errors.ts';
import type { Http, Request } from '../../../src/core/stream.ts';
import { type Auth, basic, bearer, clientCredentials } from '../../../src/http/auth.ts';
import type { HttpOptions } from '../../../src/http/http-options.ts';
import { get, httpTo } from '../../support/http-to.ts';
import * as play from '../../support/misbehaving-server.ts';

const secret = 's3cret-of-client';
const hidden = (value: string) => ({ reveal: () => value });
const signal = (): AbortSignal => new AbortController().signal;
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it resolved'),
    (error: unknown) => error,
  );

const serve = async (script: Parameters<typeof play.misbehaving>[0]): Promise<play.Misbehaving> => {
  const server = await play.misbehaving(script);
  onTestFinished(server.close);
  return server;
};

/** A token endpoint that gives `access-1`, `access-2`, … for `life` seconds; `script` may answer in its stead. */
const issuer = async (script: (n: number) => play.Reply | undefined = () => undefined, life?: number) => {
  let issued = 0;
  const server = await serve((_, n) => {
    const given = () => ({ access_token: `access-${++issued}`, token_type: 'Bearer', expires_in: life });
    return script(n) ?? { ...play.json(given()), name: 'issued' };
  });
  const login = (about: { scope?: string; audience?: string } = {}): Auth =>
    clientCredentials({
      tokenUrl: `${server.url}/oauth/token`,
      clientId: 'client-1',
      clientSecret: hidden(secret),
      ...about,
    });
  return { ...server, login };
};

/** A source that takes the access tokens for which `accepts` says so. */
const source = (accepts: (token: string) => boolean = () => true) =>
  serve(({ headers }) =>
    accepts((headers.authorization ?? '').replace('Bearer ', '')) ? play.json({}) : play.status(401),
  );

const open = (url: string, auth: Auth, options: Partial<HttpOptions> = {}): Http => {
  const http = httpTo(url, { auth, ...options });
  onTestFinished(() => http.close());
  return http;
};
const many = (http: Http, count: number, request: Request = get('/x')) =>
  Promise.all(Array.from({ length: count }, () => http.send(request, signal())));
const sentTo = (server: play.Misbehaving) => server.requests.map(({ headers }) => headers.authorization);

test.each<[string, Auth, string]>([
  [
    'a user and a password',
    basic('me@example.com', hidden('pa:ss')),
    `Basic ${btoa('me@example.com:pa:ss')}`,
  ],
  ['a token', bearer(hidden('t0ken')), 'Bearer t0ken'],
])('%s are sent with every request', async (_, auth, expected) => {
  const server = await source();
  await many(open(server.url, auth), 2);
  expect(sentTo(server)).toEqual([expected, expected]);
});

describe('client credentials', () => {
  test('obtain one token for all requests: id and secret go to the token endpoint only, the token to the source only', async () => {
    const tokens = await issuer(undefined, 3600);
    const server = await source();
    const headers = { 'x-own': 'of the source' };
    await many(open(server.url, tokens.login(), { headers }), 10);
    expect(sentTo(server)).toEqual(Array(10).fill('Bearer access-1'));
    expect(JSON.stringify(server.requests)).not.toContain(secret);
    expect(tokens.requests).toHaveLength(1);
    const [asked] = tokens.requests;
    expect([asked?.method, asked?.url]).toEqual(['POST', '/oauth/token']);
    expect(asked?.headers).toMatchObject({ 'content-type': 'application/x-www-form-urlencoded' });
    for (const name of ['authorization', 'x-own']) expect(asked?.headers).not.toHaveProperty(name);
    const client = { client_id: 'client-1', client_secret: secret };
    const form = Object.fromEntries(new URLSearchParams(asked?.body));
    expect(form).toEqual({ grant_type: 'client_credentials', ...client });
  });

  test('name a scope and an audience where they are given', async () => {
    const tokens = await issuer();
    const about = { scope: 'read:jira-work read:jira-user', audience: 'api.atlassian.com' };
    await many(open((await source()).url, tokens.login(about)), 1);
    const form = new URLSearchParams(tokens.requests[0]?.body);
    expect(Object.fromEntries(form)).toMatchObject(about);
  });

  test('renew a token shortly before it expires, once for all requests and without a refusal', async () => {
    const tokens = await issuer(undefined, 3600);
    const server = await source();
    let clock = 0;
    const http = open(server.url, tokens.login(), { now: () => clock });
    await many(http, 1);
    clock += 3539_000;
    await many(http, 1);
    expect(tokens.requests).toHaveLength(1);
    clock += 1_500;
    await many(http, 10);
    expect(sentTo(server).slice(2)).toEqual(Array(10).fill('Bearer access-2'));
    expect(tokens.requests).toHaveLength(2);
  });

  test('keep a token of unknown life until it is refused', async () => {
    const tokens = await issuer();
    let clock = 0;
    const http = open((await source()).url, tokens.login(), { now: () => clock });
    await many(http, 1);
    clock += 1e12;
    await many(http, 1);
    expect(tokens.requests).toHaveLength(1);
  });

  test('renew a token that the source refuses, once for all requests', async () => {
    const tokens = await issuer(undefined, 3600);
    const server = await source((token) => token === 'access-2');
    await many(open(server.url, tokens.login(), { concurrency: 10 }), 10);
    expect(server.fired).toContain('status 401');
    expect(new Set(sentTo(server))).toEqual(new Set(['Bearer access-1', 'Bearer access-2']));
    expect(tokens.requests).toHaveLength(2);
  });

  test('are a failed login where the source does not take the renewed token either', async () => {
    const tokens = await issuer(undefined, 3600);
    const http = open((await source(() => false)).url, tokens.login());
    expect(await caught(many(http, 3))).toBeInstanceOf(AuthFailed);
    expect(tokens.requests).toHaveLength(2);
  });

  const refusal = { error: 'invalid_client', error_description: `${secret} is not of client-1` };
  test.each<[string, play.Reply, typeof AuthFailed | typeof Unreachable | typeof RateLimited]>([
    ['refuses with 400', play.json(refusal, {}, 400), AuthFailed],
    ['refuses with 401', play.json(refusal, {}, 401), AuthFailed],
    ['refuses with 403', play.json(refusal, {}, 403), AuthFailed],
    ['is not there', play.json(refusal, {}, 404), AuthFailed],
    ['gives no token', play.json({ token: secret }), AuthFailed],
    ['keeps failing', play.json(refusal, {}, 503), Unreachable],
    ['wants a wait of a day', play.status(429, { 'retry-after': '86400' }), RateLimited],
  ])(
    'send nothing to the source where the token endpoint %s; no message holds the secret',
    async (_, reply, kind) => {
      const tokens = await issuer(() => reply);
      const server = await source();
      const error = await caught(open(server.url, tokens.login()).send(get('/x'), signal()));
      expect(error).toBeInstanceOf(kind);
      expect(String(error)).not.toContain(secret);
      expect(tokens.fired).toContain(reply.name);
      expect(server.connections()).toBe(0);
    },
  );

  test('are asked for again where the token endpoint fails for a moment', async () => {
    const tokens = await issuer((n) => (n < 2 ? play.status(503) : undefined));
    await many(open((await source()).url, tokens.login()), 3);
    expect(tokens.fired).toEqual(['status 503', 'status 503', 'issued']);
  });

  test('never give the token to another origin: neither by a next page nor by a redirect', async () => {
    const tokens = await issuer();
    const other = await serve(() => play.json({}));
    const server = await serve(() => play.status(302, { location: `${other.url}/x` }));
    const http = open(server.url, tokens.login());
    const next = get('/x', { url: `${other.url}/x?page=2` });
    expect(await caught(http.send(next, signal()))).toBeInstanceOf(ForeignOrigin);
    await caught(http.send(get('/x'), signal()));
    expect(server.fired).toContain('status 302');
    expect(other.connections()).toBe(0);
    expect(JSON.stringify(tokens.requests)).not.toContain('access-');
  });

  test('are opened by each client for itself: one that closes ends no other', async () => {
    const tokens = await issuer();
    const server = await source();
    const auth = tokens.login();
    const first = open(server.url, auth);
    await many(first, 1);
    await first.close();
    await many(open(server.url, auth), 1);
    expect(sentTo(server)).toEqual(['Bearer access-1', 'Bearer access-2']);
  });

  test('ask at the address as it is written, a slash at its end included', async () => {
    const tokens = await issuer();
    const tokenUrl = `${tokens.url}/o/token/`;
    const auth = clientCredentials({ tokenUrl, clientId: 'c', clientSecret: hidden(secret) });
    await many(open((await source()).url, auth), 1);
    expect(tokens.requests.map(({ url }) => url)).toEqual(['/o/token/']);
  });
});
