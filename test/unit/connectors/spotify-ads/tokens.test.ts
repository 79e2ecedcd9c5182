import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { listing } from '../../../../src/connectors/spotify-ads/lists.ts';
import {
  type ClientDeps,
  type ClientSettings,
  openClient,
} from '../../../../src/connectors/spotify-ads/source.ts';
import { type TokenStore, tokenFile } from '../../../../src/connectors/spotify-ads/tokens.ts';
import { AuthFailed, Misconfigured, Unreachable } from '../../../../src/core/errors.ts';
import type { Http, Json } from '../../../../src/core/stream.ts';
import { exclusive } from '../../../../src/embedded/locks.ts';
import { pages } from '../../../../src/reading/pages.ts';
import * as play from '../../../support/misbehaving-server.ts';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const secrets = { client: 's3cret-of-client', refresh: 'r3fresh-0', given: 'g1ven-token' };
const signal = (): AbortSignal => new AbortController().signal;
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it resolved'),
    (error: unknown) => error,
  );
const get = { method: 'GET', path: '/x', endpoint: '/x' } as const;

const serve = async (...script: Parameters<typeof play.misbehaving>): Promise<play.Misbehaving> => {
  const server = await play.misbehaving(...script);
  closing.push(server.close);
  return server;
};

/** An authorization server that takes every refresh token once and gives the next; `script` may answer in its stead. */
const issuer = async (script: (n: number) => play.Reply | undefined = () => undefined, life = 3600) => {
  let used = 0;
  const server = await serve(({ body }, n) => {
    const scripted = script(n);
    if (scripted !== undefined) return scripted;
    if (new URLSearchParams(body).get('refresh_token') !== `r3fresh-${used}`)
      return { ...play.json({ error: 'invalid_grant', error_description: body }, {}, 400), name: 'spent' };
    used++;
    const tokens = { access_token: `access-${used}`, refresh_token: `r3fresh-${used}` };
    return { ...play.json({ ...tokens, token_type: 'Bearer', expires_in: life }), name: 'issued' };
  });
  return { ...server, tokenUrl: `${server.url}/api/token`, issued: () => used };
};

/** A platform that takes the access tokens for which `accepts` says so. */
const platform = (accepts: (token: string) => boolean = () => true) =>
  serve(({ headers }) =>
    accepts((headers.authorization ?? '').replace('Bearer ', ''))
      ? play.json({ paging: { offset: 0, page_size: 50, total_results: 1 }, things: [{ id: 'a' }] })
      : play.json({ messages: ['token expired'], sp_trace_id: 't-1' }, {}, 401),
  );

const client = (baseUrl: string, tokenUrl: string | undefined, deps: Partial<ClientDeps> = {}): Http => {
  const credentials: ClientSettings['credentials'] =
    tokenUrl === undefined
      ? { kind: 'token', accessToken: { reveal: () => secrets.given } }
      : {
          kind: 'refresh',
          clientId: 'client-1',
          clientSecret: { reveal: () => secrets.client },
          refreshToken: { reveal: () => secrets.refresh },
          tokenUrl,
        };
  const rates = { concurrency: 8, requestsPerSecond: 0, reportRequestsPerSecond: 0 };
  const http = openClient(
    { baseUrl, credentials, sdkHeader: 'X-Service-Ads-Sdk', ...rates },
    { ...deps, http: { version: '1.2.3', retry: { baseMs: 1, capMs: 5 }, ...deps.http } },
  );
  closing.push(() => http.close());
  return http;
};

const many = (http: Http, count: number) =>
  Promise.all(Array.from({ length: count }, () => http.send(get, signal())));

test('all requests share a renewal, which sends id, secret and a form to the token endpoint, never an access token', async () => {
  const tokens = await issuer();
  const ads = await platform((token) => token === 'access-2');
  await many(client(ads.url, tokens.tokenUrl), 20);
  const sent = ads.requests.map(({ headers }) => headers.authorization);
  expect([new Set(sent), sent.at(-1)]).toEqual([
    new Set(['Bearer access-1', 'Bearer access-2']),
    'Bearer access-2',
  ]);
  expect(tokens.fired).toEqual(['issued', 'issued']);
  for (const [n, { method, url, headers, body }] of tokens.requests.entries()) {
    expect([method, url]).toEqual(['POST', '/api/token']);
    const basic = Buffer.from(`client-1:${secrets.client}`).toString('base64');
    const type = 'application/x-www-form-urlencoded';
    expect(headers).toMatchObject({ authorization: `Basic ${basic}`, 'content-type': type });
    const form = { grant_type: 'refresh_token', refresh_token: `r3fresh-${n}` };
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual(form);
    expect(JSON.stringify(headers)).not.toContain('access-');
  }
});

test('a token that expires in mid-walk is renewed once for all, and the walk goes on where it was', async () => {
  const tokens = await issuer();
  const all = Array.from({ length: 200 }, (_, n) => ({ id: `i${n}` }));
  const server = await serve(({ headers, url }, n) => {
    if (n > 2 && headers.authorization === 'Bearer access-1')
      return play.json({ messages: ['expired'] }, {}, 401);
    const place = Number(new URL(url, 'http://x').searchParams.get('offset') ?? 0);
    const paging = { offset: place, page_size: 50, total_results: all.length };
    return play.json({ paging, things: all.slice(place, place + 50) });
  });
  const http = client(server.url, tokens.tokenUrl);
  const seen: unknown[] = [];
  for await (const { records } of pages(http, listing({ endpoint: '/things', key: 'things' }), signal()))
    seen.push(...records);
  expect(seen).toEqual(all);
  expect(server.fired.filter((name) => name === 'status 401')).toHaveLength(1);
  expect(tokens.issued()).toBe(2);
  const asked = server.requests.map(({ url }) => new URL(url, 'http://x').searchParams.get('offset'));
  expect(asked.filter((place) => place === null)).toHaveLength(1);
});

test('requests that are turned away together renew once; a new token that is not taken either is a failed login', async () => {
  const tokens = await issuer();
  const refused = await platform(() => false);
  const http = client(refused.url, tokens.tokenUrl);
  const failures = await Promise.all(Array.from({ length: 8 }, () => caught(http.send(get, signal()))));
  for (const failure of failures) expect(failure).toBeInstanceOf(AuthFailed);
  expect(tokens.issued()).toBe(2);
  expect(refused.fired).toContain('status 401');
});

test('an access token that is not taken is a failed login, reported in one line with the trace', async () => {
  const ads = await platform(() => false);
  const error = await caught(client(ads.url, undefined).send(get, signal()));
  expect(error).toBeInstanceOf(AuthFailed);
  expect(String(error)).toMatch(/^.*token expired.*\(trace t-1\).*$/);
  expect(ads.requests).toHaveLength(1);
});

test('a token is renewed shortly before it expires, without a refusal', async () => {
  const tokens = await issuer(undefined, 3600);
  const ads = await platform();
  let clock = 0;
  const http = client(ads.url, tokens.tokenUrl, { http: { now: () => clock } });
  await http.send(get, signal());
  clock += 3539_000;
  await http.send(get, signal());
  expect(tokens.issued()).toBe(1);
  clock += 1_500;
  await many(http, 5);
  expect(tokens.issued()).toBe(2);
  expect(ads.fired).not.toContain('status 401');
});

test.each([60, 45, 1])('a token that lives %i s is used until the last tenth of its life', async (life) => {
  const tokens = await issuer(undefined, life);
  let clock = 0;
  const http = client((await platform()).url, tokens.tokenUrl, { http: { now: () => clock } });
  await many(http, 3);
  clock = life * 899;
  await many(http, 3);
  expect(tokens.issued()).toBe(1);
  clock = life * 901;
  await many(http, 3);
  expect(tokens.issued()).toBe(2);
});

const invalid_grant = {
  error: 'invalid_grant',
  error_description: `${secrets.refresh} of client-1:${secrets.client} is unknown`,
};
test.each<[number, Json]>([
  [400, invalid_grant],
  [401, invalid_grant],
  [403, invalid_grant],
  [404, invalid_grant],
  [200, { token: secrets.refresh }],
])(
  'a token endpoint that gives none (%i) is a failed login; no message holds a secret',
  async (status, body) => {
    const tokens = await issuer(() => play.json(body, {}, status));
    const error = await caught(client((await platform()).url, tokens.tokenUrl).send(get, signal()));
    expect(error).toBeInstanceOf(AuthFailed);
    expect(String(error)).toContain(status === 200 ? 'gave no access token' : 'invalid_grant');
    for (const secret of Object.values(secrets)) expect(String(error)).not.toContain(secret);
    expect(tokens.requests).toHaveLength(1);
  },
);

test('a token endpoint that fails for a moment is asked again; one that keeps failing is unreachable', async () => {
  const ads = await platform();
  const passing = await issuer((n) => (n < 2 ? play.status(503) : undefined));
  await client(ads.url, passing.tokenUrl).send(get, signal());
  expect(passing.fired).toEqual(['status 503', 'status 503', 'issued']);
  const lasting = await issuer(() => play.status(503));
  const error = await caught(client(ads.url, lasting.tokenUrl).send(get, signal()));
  expect(error).toBeInstanceOf(Unreachable);
  expect(String(error)).toContain('503');
  expect(lasting.requests.length).toBeGreaterThan(2);
});

test('one caller’s stop does not take the renewal from the others', async () => {
  const late = play.late(100, play.json({ access_token: 'access-9' }));
  const tokens = await issuer((n) => (n === 0 ? late : undefined));
  const http = client((await platform()).url, tokens.tokenUrl);
  const stop = new AbortController();
  const first = caught(http.send(get, stop.signal));
  const second = http.send(get, signal());
  stop.abort();
  await first;
  expect((await second).status).toBe(200);
  expect(tokens.requests).toHaveLength(1);
});

const directory = (): string => {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-token-'));
  closing.push(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
};
const fileIn = (at: string, configured = secrets.refresh): TokenStore =>
  tokenFile({
    directory: at,
    name: 'ads-token',
    configured: { reveal: () => configured },
    lock: (file, stop) => exclusive(file, 10_000, stop),
  });

test('a refresh token given in exchange is kept before the access token is used, and the next start begins with it', async () => {
  const tokens = await issuer();
  const at = directory();
  const kept: (string | undefined)[] = [];
  const ads = await serve(() => ({
    name: 'looks',
    run: async (response, arrived, n) => {
      kept.push(await fileIn(at).read());
      await play.json({}).run(response, arrived, n);
    },
  }));
  await client(ads.url, tokens.tokenUrl, { tokens: fileIn(at) }).send(get, signal());
  await client(ads.url, tokens.tokenUrl, { tokens: fileIn(at) }).send(get, signal());
  expect(kept).toEqual(['r3fresh-1', 'r3fresh-2']);
  expect(tokens.fired).toEqual(['issued', 'issued']);
});

test('a stop while a token is renewed keeps the refresh token that comes of it', async () => {
  const held = Promise.withResolvers<void>();
  const tokens = await issuer();
  const slow = await serve((arrived) => ({
    name: 'slow',
    run: async (response, _, n) => {
      await held.promise;
      const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
      const issued = await fetch(tokens.tokenUrl, { ...form, body: arrived.body });
      await play.json(await issued.json()).run(response, arrived, n);
    },
  }));
  const ads = await platform();
  const at = directory();
  const stop = new AbortController();
  const http = client(ads.url, `${slow.url}/api/token`, { tokens: fileIn(at) });
  const sent = caught(http.send(get, stop.signal));
  await expect.poll(() => slow.requests.length).toBe(1);
  stop.abort();
  await sent;
  const closed = http.close();
  held.resolve();
  await closed;
  expect(await fileIn(at).read()).toBe('r3fresh-1');
  await client(ads.url, tokens.tokenUrl, { tokens: fileIn(at) }).send(get, signal());
  expect(tokens.fired).toEqual(['issued', 'issued']);
});

test('what is kept is readable by its owner alone, and a newly configured token wins over it', async () => {
  const at = path.join(directory(), 'home');
  const store = fileIn(at);
  await store.alone(() => store.write('r3fresh-1', secrets.refresh), signal());
  expect(await fileIn(at).read()).toBe('r3fresh-1');
  expect(await fileIn(at, 'another').read()).toBeUndefined();
  expect(fs.statSync(path.join(at, 'ads-token.json')).mode & 0o777).toBe(0o600);
  expect(fs.readFileSync(path.join(at, 'ads-token.json'), 'utf8')).not.toContain(secrets.refresh);
  expect(fs.readdirSync(at).filter((name) => name.endsWith('.new'))).toEqual([]);
});

test('a file with something else in it is an error, not overwritten', async () => {
  const at = directory();
  fs.writeFileSync(path.join(at, 'ads-token.json'), 's3cret-of-somebody');
  const error = await caught(fileIn(at).read());
  expect(error).toBeInstanceOf(Misconfigured);
  expect(String(error)).not.toContain('s3cret');
});

test('a store that cannot be written is an error before a token is used up', async () => {
  const at = directory();
  fs.writeFileSync(path.join(at, 'file'), '');
  const tokens = await issuer();
  const http = client((await platform()).url, tokens.tokenUrl, { tokens: fileIn(path.join(at, 'file')) });
  expect(await caught(http.send(get, signal()))).toBeInstanceOf(Misconfigured);
  expect(tokens.requests).toHaveLength(0);
});

test('processes that renew at the same time lose no refresh token', async () => {
  const tokens = await issuer();
  const ads = await platform();
  const at = directory();
  const script = fileURLToPath(new URL('./renewing.ts', import.meta.url));
  const words = [script, ads.url, tokens.tokenUrl, at, secrets.refresh, '5'];
  const children = [1, 2, 3].map(() => spawn(process.execPath, words, { stdio: 'inherit' }));
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  expect(codes).toEqual([0, 0, 0]);
  expect(tokens.fired).toEqual(Array(15).fill('issued'));
  expect(await fileIn(at).read()).toBe('r3fresh-15');
});
