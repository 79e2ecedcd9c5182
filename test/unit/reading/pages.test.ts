import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ForeignOrigin,
  Interrupted,
  Missing,
  PagingLoop,
  Refused,
  TidemarkError,
  Transient,
  UnexpectedContent,
} from '../../../src/core/errors.ts';
import type { Http, Json, Page, PageWalk, Paging, Request } from '../../../src/core/stream.ts';
import { pages, sourceBytes, type WalkEnd, type WalkLimits } from '../../../src/reading/pages.ts';
import {
  bareArray,
  cursor,
  firstThatFits,
  linkHeader,
  offset,
  pageToken,
} from '../../../src/reading/paginators.ts';
import { httpTo } from '../../support/http-to.ts';
import * as play from '../../support/misbehaving-server.ts';

const values = (body: Json): readonly Json[] => {
  if (Array.isArray(body)) return body;
  const list = typeof body === 'object' && body !== null && 'values' in body ? body.values : undefined;
  if (!Array.isArray(list)) throw new UnexpectedContent('no list of values');
  return list;
};
const walkOf = (paging: Paging, extra: Partial<Request> = {}): PageWalk => ({
  first: { method: 'GET', path: '/list', endpoint: '/list', query: { maxResults: 4 }, ...extra },
  paging,
  list: values,
  id: (record) => (typeof record === 'string' ? record : ''),
});

interface Walked {
  readonly ids: readonly Json[];
  readonly pages: readonly Page[];
  readonly end: WalkEnd;
}
const walked = async (http: Http, walk: PageWalk, limits: Partial<WalkLimits> = {}): Promise<Walked> => {
  const all: Page[] = [];
  const reading = pages(http, walk, new AbortController().signal, limits);
  for (;;) {
    const step = await reading.next();
    if (step.done === true)
      return { ids: all.flatMap(({ records }) => records), pages: all, end: step.value };
    all.push(step.value);
  }
};
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('resolved'),
    (error: unknown) => error,
  );

const serve = async (script: Parameters<typeof play.misbehaving>[0]) => {
  const server = await play.misbehaving(script);
  const http = httpTo(server.url);
  onTestFinished(async () => {
    await http.close();
    await server.close();
  });
  return { server, http };
};
/** The records of a walk that fails, and its error. */
const failing = async (http: Http, walk: PageWalk) => {
  const got: Json[] = [];
  const reading = async (): Promise<void> => {
    for await (const { records } of pages(http, walk, new AbortController().signal)) got.push(...records);
  };
  return { error: await caught(reading()), got };
};
const startAtOf = (arrived: play.Arrived): number => Number(parameter(arrived, 'startAt') ?? 0);
const parameter = (arrived: play.Arrived, name: string): string | null =>
  new URL(arrived.url, 'http://x').searchParams.get(name);
/** Takes a record out of the list, and gives it. */
const remove = (list: string[], record: string): string[] =>
  list.includes(record) ? list.splice(list.indexOf(record), 1) : [record];
const names = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `k${String(i).padStart(3, '0')}`);
/** The page of `list` that was asked for, of at most `most` records. */
const slice = (list: readonly string[], arrived: play.Arrived, most = 4, extra: object = {}): play.Reply => {
  const startAt = startAtOf(arrived);
  const maxResults = Math.min(most, Number(parameter(arrived, 'maxResults')));
  return play.json({
    startAt,
    maxResults,
    total: list.length,
    values: list.slice(startAt, startAt + maxResults),
    ...extra,
  });
};

describe('an offset walk', () => {
  test('delivers each record once with its bytes, by no request too many', async () => {
    const list = names(10);
    const { server, http } = await serve((arrived) => slice(list, arrived));
    const { ids, end, pages: all } = await walked(http, walkOf(offset()));
    expect(ids).toEqual(list);
    expect(end).toEqual({ expected: 10, read: 10, passes: 1, matched: true });
    expect(server.requests.map((one) => parameter(one, 'startAt'))).toEqual([null, '3', '6']);
    expect(all.map((page) => page.offset)).toEqual([0, 3, 6]);
    for (const page of all)
      for (const record of page.records)
        expect(String(sourceBytes(record, page, walkOf(offset())))).toBe(JSON.stringify(record));
  });

  test.each<[string, unknown, boolean]>([
    ['missing', undefined, true],
    ['−1', -1, true],
    ['too small', 2, true],
    ['text', '9', true],
    ['too large', 40, false],
  ])('a total that is %s neither ends the walk early nor keeps it going', async (_, total, matched) => {
    const list = names(9);
    const { http, server } = await serve((arrived) => slice(list, arrived, 4, { total }));
    const { ids, end } = await walked(http, walkOf(offset()));
    expect(ids).toEqual(list);
    expect(end.matched).toBe(matched);
    expect(end.passes).toBe(matched ? 1 : 3);
    expect(server.requests.length).toBeLessThan(20);
  });

  test.each<[string, number, number, (list: string[]) => unknown, number]>([
    ['a record is added', 9, 2, (list) => list.unshift('added'), 2],
    ['a record is deleted', 12, 1, (list) => list.splice(1, 1), 1],
    ['whole pages are deleted, so that the next one is empty', 9, 2, (list) => list.splice(0, 7), 1],
  ])('%s before the place, and nothing is missed', async (_, count, nth, change, passes) => {
    const list = names(count);
    const { http } = await serve((arrived, n) => {
      if (n === nth) change(list);
      return slice(list, arrived);
    });
    const { ids, end } = await walked(http, walkOf(offset()));
    expect(ids).toEqual(expect.arrayContaining(list));
    expect(new Set(ids).size).toBe(ids.length);
    expect(end).toMatchObject({ passes, matched: true });
  });

  test('a list that never adds up is read three times and said not to match', async () => {
    const { http } = await serve((arrived) => slice(names(5), arrived, 4, { total: 7 }));
    const { end } = await walked(http, walkOf(offset()));
    expect(end).toEqual({ expected: 7, read: 5, passes: 3, matched: false });
  });

  test('records without an id are delivered, and not twice at a seam', async () => {
    const list = [{ a: 1 }, { a: 2 }, 'k'];
    const { http } = await serve((arrived) => {
      const startAt = startAtOf(arrived);
      return play.json({ startAt, maxResults: 4, total: 3, values: list.slice(startAt, startAt + 4) });
    });
    const { ids, end } = await walked(http, walkOf(offset()));
    expect(ids).toEqual(list);
    expect(end).toMatchObject({ read: 3, matched: true });
  });
});

describe('a list that changes under an offset walk', () => {
  type Change = { readonly kind: 'insert' | 'delete'; readonly at: number };

  /** Walks a list that changes by script before each request but the first. */
  const run = async (count: number, size: number, script: readonly (readonly Change[])[]) => {
    let list: readonly string[] = names(count);
    const before = list;
    const changes = [[], ...script];
    let changed = 0;
    const send: Http['send'] = async ({ query = {} }) => {
      for (const { kind, at } of changes.shift() ?? [])
        list = list.toSpliced(
          at % (list.length + 1),
          kind === 'insert' ? 0 : 1,
          ...(kind === 'insert' ? [`new${changed++}`] : []),
        );
      const startAt = Number(query.startAt ?? 0);
      const values = list.slice(startAt, startAt + size);
      const body = { startAt, maxResults: size, total: list.length, values };
      const raw = Buffer.from(JSON.stringify(body));
      return { status: 200, headers: {}, raw, body, date: undefined };
    };
    const http = { ...httpTo('http://127.0.0.1:9'), send };
    const result = await walked(http, walkOf(offset(), { query: { maxResults: size } }));
    return { ...result, last: list, lasting: before.filter((id) => list.includes(id)) };
  };
  const script = (...kinds: readonly Change['kind'][]) =>
    fc.array(fc.array(fc.record({ kind: fc.constantFrom(...kinds), at: fc.nat(60) }), { maxLength: 5 }), {
      maxLength: 40,
    });

  test('every record that was there during the entire walk is delivered, and none twice', async () => {
    let ended = 0;
    const walks = fc.asyncProperty(
      fc.nat(30),
      fc.integer({ min: 2, max: 6 }),
      script('insert', 'delete'),
      async (count, size, changes) => {
        const outcome = await run(count, size, changes).catch((error: unknown) => error);
        // Enough records inserted and deleted around the place look like a circle; then it is said, and nothing is claimed.
        if (outcome instanceof PagingLoop) return;
        if (outcome instanceof Error) throw outcome;
        const { ids, lasting, end } = outcome as Awaited<ReturnType<typeof run>>;
        ended++;
        expect(ids).toEqual(expect.arrayContaining(lasting));
        expect(new Set(ids).size).toBe(ids.length);
        expect(end.read).toBe(ids.length);
      },
    );
    await fc.assert(walks, { numRuns: 300 });
    expect(ended).toBeGreaterThan(250);
  });

  test.each(['insert', 'delete'] as const)(
    'where it only sees %ss, matched means that nothing is missing at the end',
    async (kind) => {
      let matched = 0;
      const walks = fc.asyncProperty(
        fc.nat(30),
        fc.integer({ min: 1, max: 6 }),
        script(kind),
        async (count, size, changes) => {
          const { ids, end, last } = await run(count, size, changes);
          if (!end.matched) return;
          matched++;
          expect(ids).toEqual(expect.arrayContaining([...last]));
        },
      );
      await fc.assert(walks, { numRuns: 200 });
      expect(matched).toBeGreaterThan(50);
    },
  );
});

describe('other ways of paging', () => {
  test('a page token is followed over empty and short pages to its stated end', async () => {
    const replies = [
      { values: ['a', 'b'], nextPageToken: 't1', isLast: false },
      { values: [], nextPageToken: 't2', isLast: false },
      { values: ['c'], nextPageToken: 't3' },
      { values: ['d'], isLast: true },
    ];
    const { server, http } = await serve((_, n) => play.json(replies[n]));
    const { ids, end } = await walked(http, walkOf(firstThatFits(pageToken(), offset())));
    expect(ids).toEqual(['a', 'b', 'c', 'd']);
    expect(end).toEqual({ expected: null, read: 4, passes: 1, matched: true });
    expect(server.requests.map((one) => parameter(one, 'nextPageToken'))).toEqual([null, 't1', 't2', 't3']);
  });

  test('nextPage URLs are followed; one of another origin is refused and nothing is sent there', async () => {
    const elsewhere = await serve(() => play.json({ values: ['stolen'], isLast: true }));
    const page = (record: string, nextPage: string) =>
      play.json({ values: [record], isLast: false, nextPage });
    const { server, http } = await serve((arrived) =>
      parameter(arrived, 'cursor') === null
        ? page('a', `${server.url}/list?cursor=2`)
        : page('b', `${elsewhere.server.url}/list?cursor=3`),
    );
    const { error, got } = await failing(http, walkOf(cursor()));
    expect(error).toBeInstanceOf(ForeignOrigin);
    expect(got).toEqual(['a', 'b']);
    expect(elsewhere.server.connections()).toBe(0);
  });

  test('a bare array is walked until a page has nothing new, though a record is missing for a moment', async () => {
    const list = names(9);
    const { http } = await serve((arrived, n) => {
      const startAt = startAtOf(arrived);
      // One replica lacks the third record for now: the page begins after it, and the beginning is shown again.
      const held = n === 1 ? list.filter((id) => id !== 'k002') : list;
      return play.json(held.slice(startAt, startAt + 3));
    });
    const { ids, end } = await walked(http, walkOf(bareArray()));
    expect(ids).toEqual(list);
    expect(end).toMatchObject({ expected: null, read: 9, matched: true });
  });

  test.each<[string, unknown]>([
    ['an error in a page of 200', { error: 'no' }],
    ['a list that is none', { values: {} }],
    ['null', null],
    ['an empty object', {}],
  ])('%s is UnexpectedContent, not the end of the data', async (_, body) => {
    const { server, http } = await serve(() => play.json(body));
    expect(await caught(walked(http, walkOf(offset())))).toBeInstanceOf(UnexpectedContent);
    expect(server.fired).toEqual(['json']);
  });
});

const fresh = (n: number): readonly string[] => [`r${n}`];
const tokens =
  (next: (n: number) => string, values: (n: number) => readonly string[]) => (_: unknown, n: number) =>
    play.json({ values: values(n), nextPageToken: next(n), isLast: false });
const firstPage = (startAt: number | undefined) =>
  play.json({ startAt, maxResults: 4, total: 100, values: names(4) });

test.each<[string, Paging, Parameters<typeof play.misbehaving>[0], number]>([
  ['the same token for ever', pageToken(), tokens(() => 't', fresh), 3],
  ['two tokens in turn', pageToken(), tokens((n) => `t${n % 2}`, fresh), 4],
  ['new tokens for the same records', pageToken(), tokens(String, () => ['a', 'b']), 5],
  ['new tokens for nothing', pageToken(), tokens(String, () => []), 53],
  ['new records beyond the page limit', pageToken(), tokens(String, fresh), 62],
  ['an ignored startAt', offset(), () => firstPage(0), 9],
  ['an ignored startAt that is denied', offset(), (arrived) => firstPage(startAtOf(arrived)), 9],
  [
    'a nextPage that leads to itself',
    cursor(),
    (_, n) => play.json({ values: fresh(n), isLast: false, nextPage: '/list?cursor=x' }),
    3,
  ],
])('a circle ends as PagingLoop in bounded time: %s', async (_, paging, script, most) => {
  const { server, http } = await serve(script);
  expect(await caught(walked(http, walkOf(paging), { pages: 60 }))).toBeInstanceOf(PagingLoop);
  expect(server.requests.length).toBeLessThanOrEqual(most);
});

describe('a walk by Link headers', () => {
  /** Page `page` of the list, and where the next one is, as GitHub's REST API says it. */
  const numbered = (list: readonly string[], { url, headers }: play.Arrived): play.Reply => {
    const page = Number(new URL(url, 'http://x').searchParams.get('page') ?? 1);
    const link = (to: number, rel: string) =>
      `<http://${headers.host}/repositories/1/list?page=${to}>; rel="${rel}"`;
    const isLast = page * 4 >= list.length;
    const links = [...(page > 1 ? [link(1, 'first')] : []), ...(isLast ? [] : [link(page + 1, 'next')])];
    return play.json(
      list.slice((page - 1) * 4, page * 4),
      links.length === 0 ? {} : { link: links.join(', ') },
    );
  };

  test.each([0, 3, 4, 10])(
    'reads a list of %i records, with its bytes, by no request too many',
    async (count) => {
      const list = names(count);
      const { server, http } = await serve((arrived) => numbered(list, arrived));
      const { ids, end, pages: all } = await walked(http, walkOf(linkHeader()));
      expect(ids).toEqual(list);
      expect(end).toEqual({ expected: null, read: count, passes: 1, matched: true });
      expect(server.requests).toHaveLength(Math.max(1, Math.ceil(count / 4)));
      for (const page of all)
        for (const record of page.records)
          expect(String(sourceBytes(record, page, walkOf(linkHeader())))).toBe(JSON.stringify(record));
    },
  );

  test('newest change first: a record that changes meanwhile hides no other, and none comes twice', async () => {
    const list = names(12);
    const { http, server } = await serve((arrived, n) => {
      // Read already, not read yet, and new.
      if (n === 1) for (const changed of ['k001', 'k010', 'new']) list.unshift(...remove(list, changed));
      return numbered(list, arrived);
    });
    const { ids } = await walked(http, walkOf(linkHeader()));
    expect([...ids].sort()).toEqual(names(12).filter((name) => name !== 'k010'));
    expect(server.requests.length).toBeGreaterThan(2);
  });

  test('a list that states a total is read again where that changes on the way', async () => {
    const list = names(12);
    const { http } = await serve((arrived, n) => {
      if (n === 1) list.shift();
      return numbered(list, arrived);
    });
    const paging: Paging = { ...linkHeader(), total: () => list.length };
    const { ids, end } = await walked(http, walkOf(paging));
    expect([...ids].sort()).toEqual(names(12));
    expect(end).toMatchObject({ passes: 2, matched: true });
  });

  test('a next page at another origin is refused, and nothing is sent there', async () => {
    const other = await serve(() => play.json([]));
    const { http } = await serve(() =>
      play.json(['a'], { link: `<${other.server.url}/list?page=2>; rel="next"` }),
    );
    const { error, got } = await failing(http, walkOf(linkHeader()));
    expect(error).toBeInstanceOf(ForeignOrigin);
    expect(got).toEqual(['a']);
    expect(other.server.connections()).toBe(0);
  });
});

describe('a page token that expires half-way', () => {
  test.each([400, 410, 422])(
    '(%d) restarts the walk once; nothing is lost and nothing comes twice',
    async (code) => {
      let expired = false;
      const { server, http } = await serve((arrived) => {
        const place = Number(parameter(arrived, 'nextPageToken')?.slice(1) ?? 0);
        if (place === 4 && !expired) {
          expired = true;
          return play.json({ errorMessages: ['Der Token ist abgelaufen'] }, {}, code);
        }
        return play.json({
          values: names(8).slice(place, place + 2),
          ...(place < 6 ? { nextPageToken: `t${place + 2}` } : {}),
        });
      });
      const { ids, end } = await walked(http, walkOf(pageToken()));
      expect(ids).toEqual(names(8));
      expect(end).toMatchObject({ read: 8, passes: 2, matched: true });
      expect(server.fired).toContain(`status ${code}`);
    },
  );

  test('twice fails with what the server said', async () => {
    const { server, http } = await serve((arrived) =>
      parameter(arrived, 'nextPageToken') === null
        ? play.json({ values: ['a'], nextPageToken: 't' })
        : play.json({ message: 'expired' }, {}, 410),
    );
    expect(await caught(walked(http, walkOf(pageToken())))).toBeInstanceOf(Missing);
    expect(server.fired).toEqual(['json', 'status 410', 'json', 'status 410']);
  });

  test('a first request that is refused is not sent again, nor an offset', async () => {
    const first = await serve(() => play.json({ errorMessages: ['Unbounded JQL'] }, {}, 400));
    expect(await caught(walked(first.http, walkOf(pageToken())))).toBeInstanceOf(Refused);
    expect(first.server.fired).toEqual(['status 400']);
    const later = await serve((arrived, n) => (n === 0 ? slice(names(9), arrived) : play.status(400)));
    expect(await caught(walked(later.http, walkOf(offset())))).toBeInstanceOf(Refused);
    expect(later.server.fired).toEqual(['json', 'status 400']);
  });
});

describe('reading ahead', () => {
  test('the next page is asked for while this one is worked on, and no more than one', async () => {
    const { server, http } = await serve((arrived) => slice(names(30), arrived));
    const reading = pages(http, walkOf(offset()), new AbortController().signal);
    await reading.next();
    await expect.poll(() => server.requests.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.requests).toHaveLength(2);
    await reading.return({ expected: null, read: 0, passes: 0, matched: false });
  });

  test('a walk that is left aborts the request under way and leaves no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    for (const second of [play.silent, play.status(400), play.reset]) {
      let gone = false;
      const { server, http } = await serve((arrived, n) =>
        n === 0
          ? slice(names(30), arrived)
          : {
              name: second.name,
              run: (response, ...rest) => {
                response.on('close', () => {
                  gone = true;
                });
                return second.run(response, ...rest);
              },
            },
      );
      for await (const page of pages(http, walkOf(offset()), new AbortController().signal)) {
        expect(page.records).toHaveLength(4);
        await expect.poll(() => server.fired.length).toBeGreaterThanOrEqual(2);
        break;
      }
      await expect.poll(() => gone).toBe(true);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(unhandled).toEqual([]);
  });

  test('a failure of the next page comes after this one was delivered', async () => {
    const { http } = await serve((arrived, n) => (n === 0 ? slice(names(30), arrived) : play.status(503)));
    const { error, got } = await failing(http, walkOf(offset()));
    expect(error).toBeInstanceOf(Transient);
    expect(got).toEqual(names(4));
  });

  test('a stop ends the walk at once', async () => {
    const { server, http } = await serve((arrived, n) => (n === 0 ? slice(names(30), arrived) : play.silent));
    const stop = new AbortController();
    const reading = pages(http, walkOf(offset()), stop.signal);
    await reading.next();
    await expect.poll(() => server.fired.length).toBe(2);
    stop.abort();
    expect(await caught(reading.next())).toBeInstanceOf(Interrupted);
  });
});

const first: Request = { method: 'GET', path: '/list', endpoint: '/list' };
const second: Request = { ...first, query: { page: 2 } };
const leads = (next: unknown) => ({ paging: { next: () => next, total: () => undefined } });
const to = (request: unknown, overlap: unknown = 0) => leads({ request, overlap });
const lacks = (name: string) => `Cannot read properties of undefined (reading '${name}')`;
const shape = 'instead of { request, overlap } or undefined';
const fails = (member: string, why: string) => `/list: the connector's ${member} fails: ${why}`;

test.each<[what: string, odd: object, sentence: string]>([
  ['null', leads(null), fails('paging.next', `it gives null ${shape}`)],
  ['a URL', leads('http://x/2'), fails('paging.next', `it gives text ${shape}`)],
  ['a request', leads(second), fails('paging.next', 'it gives nothing as request')],
  ['a number as request', to(2), fails('paging.next', 'it gives a number as request')],
  ['a number as URL', to({ ...first, url: 2 }), fails('paging.next', 'it gives a number as request.url')],
  ['null as URL', to({ ...first, url: null }), fails('paging.next', 'it gives null as request.url')],
  ['no URL', to({ ...first, url: undefined }), fails('paging.next', 'it gives nothing as request.url')],
  ['no path', to({ endpoint: '/list' }), fails('paging.next', 'it gives nothing without / as request.path')],
  ['a URL as path', to({ ...first, path: 'http://x/2' }), fails('paging.next', 'it gives text without / as')],
  ['no overlap', to(second, null), fails('paging.next', 'it gives null as overlap')],
  ['half an overlap', to(second, 0.5), fails('paging.next', 'it gives a number as overlap')],
  [
    'another host',
    to({ ...first, url: 'http://127.0.0.1:1/' }),
    '/list: the next page is at http://127.0.0.1:1',
  ],
  ['the same page', to(first), '/list: the server sends us round in circles: the same page was named twice'],
  [
    'an error',
    { paging: { next: (body: Json) => Object(body).links.next, total: () => undefined } },
    lacks('next'),
  ],
  ['no paging', { paging: undefined }, fails('paging.total', lacks('total'))],
  ['an error of list', { list: (body: Json) => Object(body).data.orders }, fails('list', lacks('orders'))],
  ['an error of id', { id: (record: Json) => Object(record).key.id }, fails('id', lacks('id'))],
])('a connector that says what comes next by %s is named with the member', async (_, odd, sentence) => {
  const { http } = await serve(() => play.json({ values: ['a'] }));
  const { error } = await failing(http, { ...walkOf(linkHeader()), ...odd });
  expect(error).toBeInstanceOf(TidemarkError);
  expect((error as Error).message).toContain(sentence);
});
