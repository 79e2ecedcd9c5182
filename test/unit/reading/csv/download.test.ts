import { crc32, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import {
  ForeignOrigin,
  Interrupted,
  TooLarge,
  Transient,
  UnexpectedContent,
} from '../../../../src/core/errors.ts';
import { isPublic, targetOf } from '../../../../src/reading/download/download-url.ts';
import { type Download, download } from '../../../../src/reading/download.ts';
import * as play from '../../../support/misbehaving-server.ts';

const csv = { 'content-type': 'text/csv' };
const file = Buffer.from(Array.from({ length: 20_000 }, (_, n) => `${n},name ${n}\n`).join(''));

const servers: play.Misbehaving[] = [];
const storage = async (...replies: [play.Reply, ...play.Reply[]]): Promise<play.Misbehaving> => {
  const server = await play.misbehaving(play.inTurn(...replies));
  servers.push(server);
  return server;
};
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const whole = (body: Buffer | string = file): play.Reply =>
  play.bytes('whole', body, { ...csv, 'content-length': String(Buffer.byteLength(body)) });

const reportAt = (
  server: play.Misbehaving,
  address: Download['address'],
  options: Partial<Download> = {},
) => ({
  what: 'the report',
  address,
  hosts: { own: 'http://127.0.0.1:1', hosts: [`127.0.0.1:${server.port}`] },
  random: () => 1,
  ...options,
});

/** A whole report, how often its address was requested, and the waits between tries. */
const fetch = async (
  server: play.Misbehaving,
  options: Partial<Download> = {},
  signal: AbortSignal = new AbortController().signal,
) => {
  let addresses = 0;
  const slept: number[] = [];
  const chunks: Buffer[] = [];
  const address = async () => `${server.url}/file-${addresses++}.csv?signature=s3cret`;
  const sleep = async (ms: number) => void slept.push(ms);
  for await (const chunk of download(reportAt(server, address, { sleep, ...options }), signal))
    chunks.push(chunk);
  return { bytes: Buffer.concat(chunks), addresses, slept };
};

/** Bytes of a report in gzip. */
const gzip = (name: string, bytes: Buffer): play.Reply =>
  play.bytes(name, bytes, { ...csv, 'content-encoding': 'gzip', 'content-length': String(bytes.length) });

describe('a report is fetched whole or not at all', () => {
  test('its bytes arrive unchanged, gzip decompressed, and the request carries no credentials', async () => {
    const server = await storage(whole(), gzip('gzip', gzipSync(file)));
    for (const _reply of ['plain', 'gzip']) expect(crc32((await fetch(server)).bytes)).toBe(crc32(file));
    for (const { headers } of server.requests)
      expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
    expect(server.fired).toEqual(['whole', 'gzip']);
  });

  test('a stalled transfer that is left is closed at once', async () => {
    const zipped = gzipSync(file);
    for (const encoding of [{}, { 'content-encoding': 'gzip' }]) {
      const server = await storage({
        name: 'halting',
        run: (response) => {
          response.writeHead(200, { ...csv, ...encoding, 'content-length': String(zipped.length) });
          response.write(zipped.subarray(0, 2_000));
        },
      });
      const began = performance.now();
      const report = reportAt(server, async () => `${server.url}/file.csv`, { limits: { idleMs: 20_000 } });
      const chunks = download(report, new AbortController().signal);
      expect((await chunks.next()).done).toBe(false);
      await chunks.return();
      expect(performance.now() - began).toBeLessThan(10_000);
    }
  });

  const cut = gzipSync(file).subarray(0, 20_000);
  const text = file.toString();

  test.each([
    ['shorter than announced', play.tooShort(text.slice(0, 50_000), 100)],
    ['reset half-way', play.cutAt(text, 100_000, csv)],
    ['chunked without its end', play.unterminated(text.slice(0, 60_000))],
    ['gzip without its end', gzip('gzip cut', cut)],
    ['reset at once', play.reset],
    ['503', play.status(503)],
    ['429', play.status(429, { 'retry-after': '7' })],
  ])('a transfer that is %s is made again, and nothing arrives twice', async (name, fault) => {
    const server = await storage(csvTyped(fault), csvTyped(fault), whole());
    const { bytes, addresses, slept } = await fetch(server);
    expect(bytes.equals(file)).toBe(true);
    expect(server.fired).toEqual([fault.name, fault.name, 'whole']);
    // The same address: it has not expired.
    expect(addresses).toBe(1);
    expect(slept).toEqual(name === '429' ? [7000, 7000] : [500, 1000]);
  });

  test('a transfer that never comes whole ends as a passing fault', async () => {
    const server = await storage(play.cutAt(text, 5000, csv));
    await expect(fetch(server)).rejects.toBeInstanceOf(Transient);
    expect(server.fired).toEqual(['cut', 'cut', 'cut', 'cut']);
  });

  test('another file at the same address is not appended to the part that came before', async () => {
    const other = Buffer.from(file);
    other[10] = 0x58;
    const server = await storage(play.cutAt(text, 100_000, csv), whole(other));
    await expect(fetch(server)).rejects.toThrow('another one than when it was fetched before');
    const short = await storage(play.cutAt(text, 200_000, csv), whole(file.subarray(0, 1000)));
    await expect(fetch(short)).rejects.toThrow('another one than when it was fetched before');
    expect([...server.fired, ...short.fired]).toEqual(['cut', 'whole', 'cut', 'whole']);
  });

  test('a file without a stated end is refused: cut at a line it would look whole', async () => {
    const server = await storage({
      name: 'until close',
      run: (response) => {
        response.socket?.end(
          `HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\nconnection: close\r\n\r\n${text.slice(0, 100)}`,
        );
      },
    });
    await expect(fetch(server)).rejects.toThrow('without saying where the file ends');
    expect(server.fired).toEqual(['until close']);
  });
});

const csvTyped = (fault: play.Reply): play.Reply => ({
  name: fault.name,
  run: (response, arrived, n) => {
    const write = response.writeHead.bind(response);
    Object.assign(response, {
      writeHead: (code: number, headers: Record<string, string>) => write(code, { ...headers, ...csv }),
    });
    return fault.run(response, arrived, n);
  },
});

describe('an expired address', () => {
  test('is answered by 403, 404, 410 or 400: a new one is requested, and the same report comes', async () => {
    for (const code of [403, 404, 410, 400]) {
      const refusal = play.status(code, { 'content-type': 'application/xml' }, '<Error/>');
      const server = await storage(refusal, whole());
      const { bytes, addresses } = await fetch(server);
      expect(bytes.equals(file)).toBe(true);
      expect(addresses).toBe(2);
      expect(server.fired).toEqual([`status ${code}`, 'whole']);
      expect(server.requests.map(({ url }) => url.slice(0, 11))).toEqual(['/file-0.csv', '/file-1.csv']);
    }
  });

  test('may expire during the transfer; nothing is repeated', async () => {
    const server = await storage(play.cutAt(file.toString(), 90_000, csv), play.status(403), whole());
    expect((await fetch(server)).bytes.equals(file)).toBe(true);
    expect(server.fired).toEqual(['cut', 'status 403', 'whole']);
  });

  test('is renewed a limited number of times', async () => {
    const server = await storage(play.status(403));
    const failing = fetch(server);
    await expect(failing).rejects.toThrow('answered 403, also a new one');
    await expect(failing).rejects.toBeInstanceOf(Transient);
    expect(server.fired).toEqual(['status 403', 'status 403', 'status 403']);
  });
});

describe('what is no report is refused', () => {
  test.each([
    [
      'a page',
      play.bytes('page', '<html>', { 'content-type': 'text/html', 'content-length': '6' }),
      'text/html',
    ],
    ['JSON', play.json({ error: 'no' }), 'application/json'],
    ['a redirect', play.status(302, { location: 'http://127.0.0.1:1/x' }), 'a redirect; it was not followed'],
    ['nothing', play.status(204), 'answered 204'],
    [
      'brotli',
      play.bytes('br', 'x', { ...csv, 'content-encoding': 'br', 'content-length': '1' }),
      'content encoding',
    ],
  ])('%s', async (_, reply, message) => {
    const server = await storage(reply);
    const refused = fetch(server);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(UnexpectedContent);
    expect(server.fired).toHaveLength(1);
  });

  test('a report beyond the limits, announced or not, compressed or not', async () => {
    const limits = { wireBytes: 100_000, decodedBytes: 100_000 };
    const bomb = gzipSync(Buffer.alloc(1_000_000, 'a'));
    const server = await storage(whole(), play.bytes('chunked', file, csv), gzip('bomb', bomb));
    for (const fault of ['whole', 'chunked', 'bomb']) {
      await expect(fetch(server, { limits })).rejects.toBeInstanceOf(TooLarge);
      expect(server.fired.at(-1)).toBe(fault);
    }
  });

  test('a server that is silent, or too slow, is left at the deadline', async () => {
    const quiet = await storage(play.silent);
    await expect(fetch(quiet, { limits: { headersMs: 50, tries: 1 } })).rejects.toBeInstanceOf(Transient);
    const dripping = await storage(csvTyped(play.drip(5)));
    await expect(fetch(dripping, { limits: { wholeMs: 100, tries: 1 } })).rejects.toThrow(
      'the whole report did not come',
    );
    expect([quiet.fired, dripping.fired]).toEqual([['silent'], ['drip']]);
  });

  test('an abort ends it at once', async () => {
    const server = await storage(csvTyped(play.drip(5)));
    const stop = new AbortController();
    const fetching = fetch(server, {}, stop.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    stop.abort(new Interrupted('enough'));
    await expect(fetching).rejects.toThrow('enough');
  });
});

describe('addresses of reports', () => {
  const places = { own: 'https://api.example.com', hosts: ['storage.example.com', 'files.example.com:8443'] };
  const local = {
    own: 'http://127.0.0.1:8080',
    hosts: ['127.0.0.1:9000', 'localhost:9000', '10.0.0.1:9000'],
  };

  test.each([
    ['https://storage.example.com/a.csv?x=1', 'https://storage.example.com/a.csv?x=1'],
    ['https://files.example.com:8443/a.csv', 'https://files.example.com:8443/a.csv'],
    ['https://api.example.com/a.csv', 'https://api.example.com/a.csv'],
    // A path alone belongs to the platform itself.
    ['/reports/a.csv?sig=1', 'https://api.example.com/reports/a.csv?sig=1'],
    ['/https://storage.example.com/a', 'https://api.example.com/https://storage.example.com/a'],
  ])('%s is allowed', (address, url) => expect(targetOf('x', address, places).url.href).toBe(url));

  test('other addresses are refused', () => {
    for (const address of [
      'http://storage.example.com/a.csv',
      'https://storage.example.com:444/a.csv',
      'https://storage.example.com.evil.com/',
      'https://storage.example.com./',
      'https://evil.com/storage.example.com',
      'https://storage.example.com@evil.com/',
      'https://user:pass@storage.example.com/',
      'https:\\\\storage.example.com/',
      'https://storage.example.com/a b',
      ' https://storage.example.com/',
      'file:///etc/passwd',
      'gopher://storage.example.com/',
      'http://127.0.0.1:8080/a.csv',
      'https://127.0.0.1/',
      'https://169.254.169.254/latest/meta-data/',
      '//storage.example.com/a.csv',
      'a.csv',
      '/\\storage.example.com/a.csv',
      '',
    ])
      expect(() => targetOf('x', address, places), address).toThrow(ForeignOrigin);
  });

  test('http on loopback is allowed where the platform itself is http on loopback', () => {
    expect(targetOf('x', 'http://127.0.0.1:9000/a', local).mayBe('127.0.0.1')).toBe(true);
    expect(() => targetOf('x', 'http://10.0.0.1:9000/a', local)).toThrow('not https');
    expect(() => targetOf('x', 'https://10.0.0.1:9000/a', local)).toThrow('private network');
    expect(() => targetOf('x', 'http://127.0.0.1:9001/a', local)).toThrow('not one of the hosts');
  });

  test('a name of a private address is refused before a connection is made', async () => {
    const server = await storage(whole());
    const refused = fetch(server, {
      address: async () => `https://localhost:${server.port}/a.csv`,
      hosts: { own: 'https://api.example.com', hosts: [`localhost:${server.port}`] },
    });
    await expect(refused).rejects.toThrow('an address of a private network');
    await expect(refused).rejects.toBeInstanceOf(ForeignOrigin);
    expect(server.connections()).toBe(0);
  });

  test('no message contains the address: it may be signed', async () => {
    const server = await storage(play.status(500));
    const failing = fetch(server, { limits: { tries: 1 } });
    await expect(failing).rejects.not.toThrow('s3cret');
    await expect(failing).rejects.not.toThrow('signature');
  });

  test.each([
    [true, '8.8.8.8 2a00:1450:4001::1'],
    [
      false,
      `10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.31.0.1 192.168.1.1 0.0.0.0 224.0.0.1 255.255.255.255
       ::1 :: fe80::1 fd00:ec2::254 ::ffff:10.0.0.1 ::ffff:127.0.0.1 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1 example.com`,
    ],
  ])('addresses that are public (%s): %s', (expected, addresses) => {
    const wrong = addresses.split(/\s+/).filter((address) => isPublic(address) !== expected);
    expect([wrong, isPublic('')]).toEqual([[], false]);
  });
});
