import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { Interrupted, Misconfigured, Unreachable } from '../../../src/core/errors.ts';
import type { Http } from '../../../src/core/stream.ts';
import type { HttpOptions } from '../../../src/http/http-options.ts';
import { type Proxies, proxyFor } from '../../../src/http/proxy.ts';
import { download } from '../../../src/reading/download.ts';
import { good, key, other } from '../../support/certificates.ts';
import { type ForwardProxy, forwardProxy } from '../../support/forward-proxy.ts';
import { get, httpTo, token } from '../../support/http-to.ts';
import * as play from '../../support/misbehaving-server.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const signal = (): AbortSignal => new AbortController().signal;
const page = play.json({ values: [1, 2, 3] });

/** A server with this certificate (as a rule that of other.example), or of plain http. */
const site = async (reply: play.Reply = page, tls: string | null = other): Promise<play.Misbehaving> => {
  const server = await play.misbehaving(() => reply, tls === null ? undefined : { key, cert: tls });
  closing.push(server.close);
  return server;
};
const proxyTo = async (...to: Parameters<typeof forwardProxy>): Promise<ForwardProxy> => {
  const proxy = await forwardProxy(...to);
  closing.push(proxy.close);
  return proxy;
};
const trusting = (cert: string): void => {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  closing.unshift(async () => setDefaultCACertificates(before));
};
const through = (url: string, except: readonly string[] = []): Proxies => {
  const hidden = { reveal: () => url };
  return { http: hidden, https: hidden, except };
};
const open = (url: string, proxies: Proxies, options: Partial<HttpOptions> = {}): Http => {
  const http = httpTo(url, { proxies, ...options });
  closing.unshift(() => http.close());
  return http;
};
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );

describe('a source that is reached through a proxy', () => {
  test('is read by https through a tunnel: the proxy sees the host alone, and its credentials stay with it', async () => {
    trusting(other);
    const server = await site();
    const proxy = await proxyTo(server.port);
    const http = open('https://other.example', through(proxy.url.replace('//', '//me%40corp:p%2Fw@')));
    const answers = await Promise.all([1, 2, 3].map((n) => http.send(get(`/x/${n}`), signal())));
    expect(answers.map(({ body }) => body)).toEqual(Array(3).fill({ values: [1, 2, 3] }));
    expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT other.example:443']));
    expect(new Set(proxy.shown)).toEqual(new Set([`Basic ${Buffer.from('me@corp:p/w').toString('base64')}`]));
    for (const { headers } of server.requests) {
      expect(headers).not.toHaveProperty('proxy-authorization');
      expect(headers).toMatchObject({
        host: 'other.example',
        authorization: expect.stringMatching(/^Basic /),
      });
    }
  });

  test('is read by http as proxies forward it, body and query included', async () => {
    const server = await site(page, null);
    const proxy = await proxyTo(server.port);
    const http = open('http://other.example:8080/base', through(proxy.url));
    await http.send(
      { method: 'POST', path: '/x', endpoint: '/x', query: { a: 1 }, body: { q: 'ü' } },
      signal(),
    );
    expect(proxy.asked).toEqual(['POST http://other.example:8080/base/x?a=1']);
    expect(server.requests[0]).toMatchObject({ url: '/base/x?a=1', body: '{"q":"ü"}' });
  });

  test('must show its own certificate: one that is not valid for it gets no request', async () => {
    trusting(good);
    const server = await site(page, good);
    const proxy = await proxyTo(server.port);
    const error = await caught(open('https://other.example', through(proxy.url)).send(get('/x'), signal()));
    expect(error).toBeInstanceOf(Unreachable);
    expect(error).toHaveProperty(
      'message',
      expect.stringContaining(`through the proxy 127.0.0.1:${proxy.port}`),
    );
    expect([proxy.asked.length, server.requests.length]).toEqual([1, 0]);
  });

  test('fails as misconfigured, once, where the proxy wants a user', async () => {
    for (const origin of ['https://other.example', 'http://other.example']) {
      const proxy = await proxyTo(1, 407);
      const error = await caught(
        open(origin, through(proxy.url.replace('//', '//me:wrong-pw@'))).send(get('/x'), signal()),
      );
      expect(error).toBeInstanceOf(Misconfigured);
      expect(error).toHaveProperty(
        'message',
        expect.stringContaining(`the proxy 127.0.0.1:${proxy.port} wants a user`),
      );
      expect(`${error}`).not.toContain('wrong-pw');
      expect(`${error}`).not.toContain(token);
      expect(proxy.asked).toHaveLength(1);
    }
  });

  test.each([
    [403, 1],
    [429, 3],
    [502, 3],
    ['breaks off', 3],
    ['silent', 3],
    ['is gone', 0],
  ] as const)(
    'is unreachable through a proxy that answers %s, which is named; tries: %i',
    async (answer, tries) => {
      const proxy = await forwardProxy(1, answer === 'is gone' ? 'silent' : answer);
      if (answer === 'is gone') await proxy.close();
      else closing.push(proxy.close);
      const http = open('https://other.example', through(proxy.url), { timeouts: { connectMs: 100 } });
      const error = await caught(http.send(get('/x'), signal()));
      expect(error).toBeInstanceOf(Unreachable);
      expect(error).toHaveProperty('message', expect.stringContaining(`the proxy 127.0.0.1:${proxy.port}`));
      expect(proxy.asked).toHaveLength(tries);
    },
  );

  test('is left at once where the proxy is silent', async () => {
    const proxy = await proxyTo(1, 'silent');
    const leaving = new AbortController();
    const sent = caught(open('https://other.example', through(proxy.url)).send(get('/x'), leaving.signal));
    await expect.poll(() => proxy.asked.length, { interval: 5 }).toBe(1);
    const began = performance.now();
    leaving.abort(new Interrupted('enough'));
    expect(await sent).toBeInstanceOf(Interrupted);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test('gives its files through it, too', async () => {
    trusting(other);
    const server = await site(
      play.bytes('file', 'a,b\n1,2\n', { 'content-type': 'text/csv', 'content-length': '8' }),
    );
    const proxy = await proxyTo(server.port);
    const chunks = download(
      {
        what: 'the report',
        address: async () => 'https://other.example/file.csv?signature=s3cret',
        hosts: { own: 'https://api.example', hosts: ['other.example'] },
        proxies: through(proxy.url),
      },
      signal(),
    );
    expect(Buffer.concat(await Array.fromAsync(chunks)).toString()).toBe('a,b\n1,2\n');
    expect(proxy.asked).toEqual(['CONNECT other.example:443']);
  });
});

test('this machine is reached without', async () => {
  const server = await site(page, null);
  const proxy = await proxyTo(server.port);
  await open(server.url, through(proxy.url)).send(get('/x'), signal());
  expect([server.requests.length, proxy.asked.length]).toEqual([1, 0]);
});

test.each([
  ['https://jira.corp', [], true],
  ['https://jira.corp', ['*'], false],
  ['https://jira.corp', ['corp'], false],
  ['https://jira.corp', ['.corp'], false],
  ['https://JIRA.corp.', ['*.CORP'], false],
  ['https://corp', ['*.corp'], true],
  ['https://jira.corp', ['jira.corp:443'], false],
  ['https://jira.corp', ['jira.corp:8443'], true],
  ['https://jira.corp:8443', ['jira.corp:8443'], false],
  ['https://myjira.corp', ['jira.corp'], true],
  ['http://10.1.2.3', ['10.0.0.0/8'], false],
  ['http://11.1.2.3', ['10.0.0.0/8'], true],
  ['http://10.1.2.3', ['10.1.2.3'], false],
  ['http://10.1.2.3', ['2.3'], true],
  ['http://10.1.2.3', ['10.0.0.0/99', 'fd00::/8', 'nonsense/8'], true],
  ['http://10.1.2.3', ['0.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8.5', '10.0.0.0/1e0'], true],
  ['http://10.1.2.3', ['0.0.0.0/0'], false],
  ['http://[fd00::1]:81', ['fd00::/8'], false],
  ['http://[fd00::1]:81', ['[fd00::1]:81'], false],
  ['http://[fd00::1]:81', ['fd00::1'], false],
  ['http://localhost:8080', [], false],
  ['http://api.localhost', [], false],
  ['http://127.0.0.53', [], false],
  ['http://[::1]:8080', [], false],
])('of %s with the exceptions %j: through the proxy is %j', (origin, except, expected) => {
  const found = proxyFor(origin, through('http://proxy.corp:3128', except));
  expect(found !== undefined).toBe(expected);
});

test('each kind of address has its own proxy', () => {
  const https = { reveal: () => 'http://secure.corp:3128' };
  expect(proxyFor('https://jira.corp', { https, except: [] })?.hostname).toBe('secure.corp');
  expect(proxyFor('http://jira.corp', { https, except: [] })).toBeUndefined();
});
