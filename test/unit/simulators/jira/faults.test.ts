import http from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../../simulators/jira/server.ts';
import * as faults from '../../../../simulators/shared/faults.ts';
import { ask, basic } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const contract = await startTracker({ issues: 300, now });
const vendor = await startTracker({ issues: 300, now, dialect: 'vendor' });
afterAll(async () => {
  expect([...contract.errors, ...vendor.errors]).toEqual([]);
  await Promise.all([contract.close(), vendor.close()]);
});
afterEach(() => {
  contract.script.clear();
  vendor.script.clear();
});
const jql = 'created >= "2000-01-01" ORDER BY key ASC';
const query = { jql, fields: ['summary'], maxResults: 100 };
const { get, search } = ask(contract);

/** One search with this fault on it; fails unless the fault fired exactly once. */
const spoiled = async <T>(
  fault: faults.Fault,
  work: () => Promise<T>,
  tracker: TrackerSimulator = contract,
): Promise<T> => {
  const before = tracker.script.fired.length;
  const rule = tracker.script.at({ endpoint: '/rest/api/3/search/jql' }, fault);
  try {
    return await work();
  } finally {
    expect(rule.fired).toBe(1);
    const fired = tracker.script.fired.slice(before);
    expect(fired).toEqual([
      { name: fault.name, request: tracker.log.findLast((one) => one.faults.includes(fault.name))?.number },
    ]);
  }
};

interface Raw {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly complete: boolean;
  readonly error: NodeJS.ErrnoException | undefined;
}

/** What arrives on the wire, however it ends, or what has arrived after `patience` ms. */
const raw = (patience = 5000, agent?: http.Agent): Promise<Raw> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let response: http.IncomingMessage | undefined;
    let error: NodeJS.ErrnoException | undefined;
    const end = (): void => {
      clearTimeout(timer);
      resolve({
        status: response?.statusCode ?? 0,
        headers: response?.headers ?? {},
        bytes: Buffer.concat(chunks),
        complete: response?.complete ?? false,
        error,
      });
      request.destroy();
    };
    const timer = setTimeout(end, patience);
    const headers = {
      authorization: basic(contract),
      'content-type': 'application/json',
      'accept-encoding': 'gzip',
    };
    const request = http.request(`${contract.url}/rest/api/3/search/jql`, {
      method: 'POST',
      headers,
      ...(agent === undefined ? {} : { agent }),
    });
    request.on('error', (cause) => {
      error = cause;
      end();
    });
    request.on('response', (got) => {
      response = got;
      got.on('data', (chunk: Buffer) => chunks.push(chunk));
      got.on('error', (cause) => {
        error = cause;
      });
      got.on('close', end);
    });
    request.end(JSON.stringify(query));
  });

const good = (await search(query)).text;

describe('answers that are not the one', () => {
  test('a status with its headers and body', async () => {
    const reply = await spoiled(
      faults.status(503, { headers: { 'retry-after': '7' }, body: '{"x":1}' }),
      () => search(query),
    );
    expect([reply.status, reply.headers.get('retry-after'), reply.text]).toEqual([503, '7', '{"x":1}']);
    expect((await search(query)).status).toBe(200);
  });

  test('429 in seconds and as a date', async () => {
    const seconds = await spoiled(faults.tooManyRequests(3), () => search(query));
    expect(seconds.status).toBe(429);
    expect(seconds.headers.get('retry-after')).toBe('3');
    expect(seconds.headers.get('x-ratelimit-reset')).toBe('2026-01-15T12:00:03.000Z');
    expect(seconds.headers.get('x-ratelimit-remaining')).toBe('0');
    const date = await spoiled(faults.tooManyRequests(new Date('2026-01-15T12:05:00Z')), () => search(query));
    expect(date.headers.get('retry-after')).toBe('Thu, 15 Jan 2026 12:05:00 GMT');
    expect(
      (await spoiled(faults.tooManyRequests(), () => search(query))).headers.get('retry-after'),
    ).toBeNull();
  });

  test('a login page, an error with 200, nothing with 200, and 204', async () => {
    const html = await spoiled(faults.htmlPage, () => search(query));
    expect([html.status, html.headers.get('content-type'), html.text.includes('Log in')]).toEqual([
      200,
      'text/html;charset=UTF-8',
      true,
    ]);
    expect((await spoiled(faults.errorWith200, () => search(query))).body).toEqual({
      error: 'upstream is down',
    });
    const empty = await spoiled(faults.empty200, () => search(query));
    expect([empty.status, empty.text, empty.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/json',
    ]);
    const none = await spoiled(faults.noContent, () => search(query));
    expect([none.status, none.text]).toEqual([204, '']);
  });

  test('401 in the middle of a walk', async () => {
    expect((await spoiled(faults.unauthorised, () => search({ ...query, startAt: 100 }))).status).toBe(401);
  });

  test('redirects to the same and to another origin', async () => {
    const same = await spoiled(faults.redirect('/rest/api/3/search/jql', 308), () => search(query));
    expect([same.status, same.headers.get('location')]).toEqual([308, '/rest/api/3/search/jql']);
    const other = await spoiled(faults.redirect('http://127.0.0.2:9/x'), () => search(query));
    expect([other.status, other.headers.get('location')]).toEqual([302, 'http://127.0.0.2:9/x']);
  });
});

describe('bodies that are not whole', () => {
  test('reset before the headers', async () => {
    expect(await spoiled(faults.resetBeforeHeaders, () => raw())).toMatchObject({
      status: 0,
      error: { code: 'ECONNRESET' },
    });
  });

  test.each([0, 1, 5000])('reset at byte %i of the body', async (byte) => {
    const reply = await spoiled(faults.resetAt(byte), () => raw());
    expect(reply).toMatchObject({ status: 200, complete: false, error: { code: 'ECONNRESET' } });
    expect(reply.bytes.length).toBeLessThanOrEqual(byte);
    expect(good.startsWith(reply.bytes.toString())).toBe(true);
  });

  test('fewer bytes than Content-Length says', async () => {
    const reply = await spoiled(faults.longContentLength(50), () => raw());
    expect(reply).toMatchObject({ status: 200, complete: false });
    expect(Number(reply.headers['content-length'])).toBe(Buffer.byteLength(good) + 50);
    expect(reply.bytes.toString()).toBe(good);
  });

  test('JSON that ends early, goes on, or comes twice, with a length to match', async () => {
    const cut = await spoiled(faults.truncatedJson(10), () => raw());
    expect([cut.complete, cut.bytes.toString()]).toEqual([true, good.slice(0, -10)]);
    expect((await spoiled(faults.trailingGarbage('}'), () => raw())).bytes.toString()).toBe(`${good}}`);
    expect((await spoiled(faults.twoDocuments, () => raw())).bytes.toString()).toBe(good + good);
  });

  test('another content type, none, and a byte order mark', async () => {
    expect((await spoiled(faults.contentType('text/plain'), () => raw())).headers['content-type']).toBe(
      'text/plain',
    );
    expect((await spoiled(faults.contentType(undefined), () => raw())).headers).not.toHaveProperty(
      'content-type',
    );
    const marked = await spoiled(faults.byteOrderMark, () => raw());
    expect(marked.bytes.subarray(0, 4).toString('hex')).toBe('efbbbf7b');
  });

  test('a gzip bomb is small on the wire, and JSON inside', async () => {
    const reply = await spoiled(faults.gzipBomb(20), () => raw());
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(reply.bytes.length).toBeLessThan(40_000);
    const inside = gunzipSync(reply.bytes);
    expect(inside.length).toBeGreaterThan(20 * 1024 * 1024);
    expect(JSON.parse(inside.toString())).toHaveProperty('issues', []);
  });

  test('gzip without its end', async () => {
    const reply = await spoiled(faults.truncatedGzip(12), () => raw());
    expect([reply.complete, reply.headers['content-encoding']]).toEqual([true, 'gzip']);
    expect(() => gunzipSync(reply.bytes)).toThrow('unexpected end of file');
  });

  test('a huge page is the page all the same', async () => {
    const reply = await spoiled(faults.hugePage(3_000_000), () => raw());
    expect(reply.bytes.length).toBe(Buffer.byteLength(good) + 3_000_000);
    expect(JSON.parse(reply.bytes.toString())).toEqual(JSON.parse(good));
  });
});

describe('waiting', () => {
  test('a trickle comes byte by byte and stops when the client leaves', async () => {
    const reply = await spoiled(faults.trickle(20), () => raw(300));
    expect(reply.status).toBe(200);
    expect(reply.bytes.length).toBeGreaterThan(0);
    expect(reply.bytes.length).toBeLessThan(40);
  });

  test('silence, and silence after the headers', async () => {
    expect(await spoiled(faults.silence, () => raw(200))).toMatchObject({ status: 0, complete: false });
    const headers = await spoiled(faults.silenceAfterHeaders, () => raw(200));
    expect(headers).toMatchObject({ status: 200, complete: false });
    expect(headers.bytes.length).toBe(0);
  });

  test('a delay, then the right answer', async () => {
    const began = performance.now();
    const reply = await spoiled(faults.delay(150), () => raw());
    expect(performance.now() - began).toBeGreaterThanOrEqual(145);
    expect(reply.bytes.toString()).toBe(good);
  });

  test('latency on every answer', async () => {
    const slow = await startTracker({ issues: 1, now, latencyMs: 80 });
    const began = performance.now();
    await ask(slow).get('/rest/api/3/myself');
    expect(performance.now() - began).toBeGreaterThanOrEqual(75);
    await slow.close();
  });

  test('a connection that was to be kept is dropped after the answer', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const closed = new Promise<void>((resolve) =>
      agent.once('free', (socket: NodeJS.EventEmitter) => socket.once('close', () => resolve())),
    );
    const reply = await spoiled(faults.dropAfterwards, () => raw(5000, agent));
    expect([reply.complete, reply.headers.connection, reply.bytes.toString()]).toEqual([
      true,
      'keep-alive',
      good,
    ]);
    await closed;
    agent.destroy();
  });
});

describe('pages that lie', () => {
  test.each([
    [-1, -1],
    [5, 5],
    [(n: number) => n + 100, 400],
  ])('total %s', async (change, total) => {
    const { body } = await spoiled(faults.total(change), () => search(query));
    expect(body.total).toBe(total);
    expect(body.issues).toHaveLength(100);
  });

  test('no total', async () => {
    const { body } = await spoiled(faults.total(undefined), () => search(query));
    expect(Object.keys(body)).toEqual(['startAt', 'maxResults', 'issues']);
  });

  test('a lowered page size says so, a short page does not', async () => {
    const lowered = await spoiled(faults.loweredMaxResults(20), () => search(query));
    expect([lowered.body.maxResults, lowered.body.issues.length, lowered.body.total]).toEqual([20, 20, 300]);
    const short = await spoiled(faults.shortPage(20), () => search(query));
    expect([short.body.maxResults, short.body.issues.length, short.body.total]).toEqual([100, 20, 300]);
    contract.script.at({ endpoint: '/rest/api/3/user/search' }, faults.loweredMaxResults(3));
    expect((await get('/rest/api/3/user/search?maxResults=1000')).body).toMatchObject({ maxResults: 3 });
  });

  test('an empty page with a token, after which the walk goes on', async () => {
    const site = ask(vendor);
    const page = await spoiled(faults.emptyPage, () => site.search(query), vendor);
    expect(page.body.issues).toEqual([]);
    expect(page.body.isLast).toBe(false);
    const next = await site.search({ ...query, nextPageToken: page.body.nextPageToken });
    expect(next.body.issues).toHaveLength(100);
  });

  test('the same token again, also on what was the last page', async () => {
    const site = ask(vendor);
    const first = await site.search(query);
    const nextPageToken = first.body.nextPageToken;
    const stuck = await spoiled(
      faults.repeatedToken(),
      () => site.search({ ...query, nextPageToken }),
      vendor,
    );
    expect(stuck.body.nextPageToken).toBe(nextPageToken);
    const last = await spoiled(
      faults.repeatedToken('AAAA'),
      () => site.search({ jql: 'project = PAY' }),
      vendor,
    );
    expect([last.body.nextPageToken, last.body.isLast]).toEqual(['AAAA', false]);
  });

  test('the first page again and again under ever new tokens', async () => {
    const site = ask(vendor);
    vendor.script.at({ endpoint: '/rest/api/3/search/jql', times: 2 }, faults.firstPageAgain);
    const one = await site.search(query);
    const two = await site.search({ ...query, nextPageToken: one.body.nextPageToken });
    expect(two.body.issues).toEqual(one.body.issues);
    expect(two.body.nextPageToken).not.toBe(one.body.nextPageToken);
    expect(vendor.script.fired.slice(-2).map((one) => one.name)).toEqual([
      'first page again',
      'first page again',
    ]);
  });

  test('a nextPage of the cursor list that leads elsewhere, or nowhere new', async () => {
    const fields = '/rest/api/3/field/search?maxResults=10';
    contract.script.at(
      { endpoint: '/rest/api/3/field/search' },
      faults.foreignNextPage('http://evil.example/x?cursor=1'),
    );
    expect((await get(fields)).body).toMatchObject({
      nextPage: 'http://evil.example/x?cursor=1',
      isLast: false,
    });
    contract.script.at({ endpoint: '/rest/api/3/field/search' }, faults.repeatedToken());
    expect((await get(fields)).body).toMatchObject({ nextPage: `${contract.url}${fields}`, isLast: false });
  });
});

describe('the script', () => {
  test('acts on the n-th fitting request, as often as it is told', async () => {
    const rule = contract.script.at(
      { endpoint: '/rest/agile/1.0/sprint/{id}/issue', method: 'GET', nth: 2, times: 2 },
      faults.status(500),
    );
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) {
      statuses.push((await get('/rest/agile/1.0/sprint/1/issue')).status);
      await search(query);
    }
    expect(statuses).toEqual([200, 500, 500, 200, 200]);
    expect(rule.fired).toBe(2);
  });

  test('acts on the request with a number, or by what it holds', async () => {
    contract.script.at(contract.log.length + 2, faults.status(418));
    expect((await search(query)).status).toBe(200);
    expect((await search(query)).status).toBe(418);
    contract.script.at(
      {
        match: (request) => JSON.stringify(request.body).includes('"startAt":200'),
        times: Number.POSITIVE_INFINITY,
      },
      faults.status(502),
    );
    expect((await search({ ...query, startAt: 100 })).status).toBe(200);
    expect((await search({ ...query, startAt: 200 })).status).toBe(502);
    expect((await search({ ...query, startAt: 200 })).status).toBe(502);
  });

  test('changes the source just before a page is answered', async () => {
    const doomed = contract.state.create('PAY');
    const rule = contract.script.at({ endpoint: '/rest/api/3/search/jql', nth: 2 }, ({ state, clock }) => {
      clock.advance(1000);
      state.delete(doomed.id);
    });
    const first = await search(query);
    const second = await search({ ...query, startAt: 100 });
    expect([first.body.total, second.body.total]).toEqual([301, 300]);
    expect(rule.fired).toBe(1);
    expect(contract.clock.now()).toEqual(new Date(now.getTime() + 1000));
  });

  test('a mutation and two faults act on one request', async () => {
    contract.script.at(
      { endpoint: '/rest/api/3/search/jql' },
      ({ state }) => state.addLabel('10050', 'scripted'),
      faults.total(7),
      faults.delay(30),
    );
    const { body } = await search({ ...query, jql: 'id = 10050', fields: ['labels'] });
    expect(body.total).toBe(7);
    expect(body.issues[0]?.fields.labels).toContain('scripted');
    expect(contract.log.at(-1)?.faults).toEqual(['total', 'delay 30']);
  });

  test('a fault that another leaves no room for has not fired', async () => {
    const first = contract.script.at({}, faults.status(500));
    const second = contract.script.at({}, faults.status(501));
    expect((await search(query)).status).toBe(500);
    expect([first.fired, second.fired]).toEqual([1, 0]);
    expect(contract.script.fired.at(-1)?.name).toBe('status 500');
  });

  test('a rule that is taken out does nothing', async () => {
    const rule = contract.script.at({}, faults.status(500));
    rule.cancel();
    expect((await search(query)).status).toBe(200);
    expect(rule.fired).toBe(0);
  });
});

test('answers are compressed for those who take it, if the tracker does that', async () => {
  const packing = await startTracker({ issues: 100, now, gzip: true });
  const site = ask(packing);
  const reply = await site.search({ jql, maxResults: 50 });
  expect(reply.headers.get('content-encoding')).toBe('gzip');
  expect(reply.body.issues).toHaveLength(50);
  const plain = await site.post('/rest/api/3/search/jql', { jql }, { 'accept-encoding': 'identity' });
  expect(plain.headers.get('content-encoding')).toBeNull();
  await packing.close();
});
