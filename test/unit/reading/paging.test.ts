import { describe, expect, test } from 'vitest';
import { UnexpectedContent } from '../../../src/core/errors.ts';
import type { Request } from '../../../src/core/stream.ts';
import {
  bareArray,
  cursor,
  firstThatFits,
  linkHeader,
  offset,
  pageToken,
  single,
} from '../../../src/reading/paginators.ts';

const search: Request = { method: 'POST', path: '/s', endpoint: '/s', body: { jql: 'x', maxResults: 100 } };
const list: Request = { method: 'GET', path: '/l', endpoint: '/l', query: { maxResults: 100 } };
const at = (request: Request, startAt: number): Request =>
  request.body === undefined
    ? { ...request, query: { ...request.query, startAt } }
    : { ...request, body: { ...request.body, startAt } };

describe('offset', () => {
  const { next, total, rewind } = offset();

  test.each<[string, object, Request, number, number | undefined, number, number]>([
    ['a first page', { startAt: 0, maxResults: 100, total: 250 }, search, 100, undefined, 99, 1],
    ['a query', { startAt: 0, maxResults: 100, total: 250 }, list, 100, undefined, 99, 1],
    ['a lowered size', { startAt: 99, maxResults: 50, total: 250 }, at(list, 99), 50, 1, 148, 1],
    ['a size lowered twice', { startAt: 148, maxResults: 20, total: 250 }, at(list, 148), 20, 1, 167, 1],
    ['a single record', { startAt: 0, maxResults: 1, total: 3 }, list, 1, undefined, 1, 0],
    ['a second one', { startAt: 1, maxResults: 1, total: 3 }, at(list, 1), 1, 0, 2, 0],
  ])('goes on one record before the end of %s', (_, body, sent, count, repeated, startAt, overlap) =>
    expect(next(body, sent, count, repeated)).toEqual({ request: at(sent, startAt), overlap }),
  );

  test('ends at the total, at isLast, and at a page with nothing new', () => {
    for (const [body, count, repeated] of [
      [{ startAt: 198, maxResults: 100, total: 250 }, 52, 1],
      [{ startAt: 0, maxResults: 100, total: 3 }, 3, 0],
      [{ startAt: 0, maxResults: 100, total: 0 }, 0, 0],
      [{ startAt: 0, maxResults: 100, total: 900, isLast: true }, 100, 0],
      [{ startAt: 100, total: 900 }, 0, 0],
      [{ startAt: 899, maxResults: 100 }, 1, 1],
    ] as const)
      expect(next(body, at(list, 7), count, repeated), JSON.stringify(body)).toBeUndefined();
  });

  test('does not end at a short page, nor at a total that is missing, passed or none', () => {
    for (const said of [
      { total: 80 },
      {},
      { total: -1 },
      { total: 3 },
      { total: '50' },
      { total: 50, isLast: false },
    ])
      expect(next({ startAt: 0, maxResults: 100, ...said }, list, 50), JSON.stringify(said)).toEqual({
        request: at(list, 49),
        overlap: 1,
      });
  });

  test('reads backwards, never before the first, and never names offset 0', () => {
    expect(rewind?.(at(search, 99), 40)).toEqual(at(search, 59));
    expect(rewind?.(at(search, 99), 100)).toEqual(search);
    expect(rewind?.(at(list, 99), 99)).toEqual({ ...list, query: { maxResults: 100, startAt: undefined } });
  });

  test('believes only totals that can be one', () => {
    expect([{ total: 5 }, { total: 0 }].map(total)).toEqual([5, 0]);
    const none = [{ total: -1 }, { total: 1.5 }, { total: '5' }, {}, [], null];
    expect(none.map(total).filter((one) => one !== undefined)).toEqual([]);
  });
});

describe('cursor', () => {
  const { next } = cursor();

  test('follows a URL, or what looks like one, as it is, and sends a mere cursor as the parameter', () => {
    for (const url of [
      'https://x.example/field?cursor=abc',
      '//evil',
      '/\\evil',
      'https://api@evil',
      '\thttps://evil',
      'evil:8080/x',
    ])
      expect(next({ isLast: false, nextPage: url }, list, 5)).toEqual({
        request: { ...list, url },
        overlap: 0,
      });
    expect(next({ isLast: false, nextPage: 'YWJj-_=' }, list, 5)).toEqual({
      request: { ...list, query: { maxResults: 100, cursor: 'YWJj-_=' } },
      overlap: 0,
    });
  });

  test('ends at isLast, at a total that is reached, or where a next page is named as none, and nowhere else', () => {
    expect(next({ isLast: true, nextPage: 'https://x.example/more' }, list, 5)).toBeUndefined();
    expect(next({ startAt: 5, total: 10 }, list, 5)).toBeUndefined();
    for (const body of [{ nextPage: null }, { nextPage: '' }]) expect(next(body, list, 5)).toBeUndefined();
    const followed = [
      { ...list, url: 'https://x.example/field?cursor=b' },
      { ...list, query: { cursor: 'b' } },
    ];
    for (const request of followed) {
      expect(next({}, request, 5)).toBeUndefined();
      expect(() => next({ isLast: false }, request, 5)).toThrow(UnexpectedContent);
    }
    const odd = [{}, { isLast: false }, { isLast: false, nextPage: '' }, { startAt: 0, total: 10 }];
    for (const body of [...odd, { nextPage: null, total: 10 }])
      expect(() => next(body, list, 5)).toThrow(UnexpectedContent);
  });
});

describe('pageToken', () => {
  const { next } = pageToken();

  test('sends the token beside what was sent before, also after an empty page', () => {
    expect(next({ nextPageToken: 't1', isLast: false }, search, 0)).toEqual({
      request: { ...search, body: { ...search.body, nextPageToken: 't1' } },
      overlap: 0,
    });
  });

  test('ends at an answer without a token, or that is the last', () => {
    const last = [{ isLast: true }, { isLast: true, nextPageToken: 't' }];
    for (const body of [{}, { nextPageToken: null }, { nextPageToken: '' }, ...last])
      expect(next(body, search, 5)).toBeUndefined();
  });

  test('an answer that is not the last and has no readable token is no end', () => {
    expect(() => next({ isLast: false }, search, 5)).toThrow(UnexpectedContent);
    expect(() => next({ nextPageToken: 7 }, search, 5)).toThrow(UnexpectedContent);
  });
});

describe('linkHeader', () => {
  const nextOf = (link?: string) => linkHeader().next([], list, 5, 0, link === undefined ? {} : { link });
  const url = 'https://api.example/repositories/8514/issues?page=2';

  test.each<[string, string]>([
    ['alone', `<${url}>; rel="next"`],
    [
      'beside others',
      `<https://api.example/x?page=26>; rel="last", <${url}>; rel="next", <https://a>; rel=first`,
    ],
    ['without quotes, in capitals', `<${url}>;REL=Next`],
    ['among several relations', `<${url}>; rel="prefetch next"`],
    ['after other parameters', `<${url}>; title="a, b; \\"c\\" <d>"; hreflang=de; x; rel = "next"`],
  ])('follows the URL of the relation next, %s', (_, link) => {
    expect(nextOf(link)).toEqual({ request: { ...list, url }, overlap: 0 });
  });

  test.each<[string, string | undefined]>([
    ['no header', undefined],
    ['an empty header', ''],
    [
      'other relations only',
      '<https://api.example/x?page=1>; rel="prev", <https://api.example/x>; rel="first"',
    ],
    [
      'the word elsewhere',
      '<https://api.example/next>; rel="prev"; title="x; rel=next"; xrel=next, <https://a>',
    ],
    ['a relation that only contains it', '<https://api.example/x>; rel="next-archive"'],
  ])('ends at %s', (_, link) => {
    expect(nextOf(link)).toBeUndefined();
  });

  test.each(['next', `<${url}`, `<${url}>; rel="next`, `${url}; rel="next"`])(
    'a header that cannot be read is no end: %s',
    (link) => {
      expect(() => nextOf(link)).toThrow(UnexpectedContent);
    },
  );

  test('is followed within firstThatFits', () => {
    const { next } = firstThatFits(pageToken(), linkHeader());
    expect(next([], list, 5, 0, { link: `<${url}>; rel="next"` })?.request.url).toBe(url);
  });
});

describe('bareArray and single', () => {
  test('a bare array goes on until a page has nothing new, never ending at a short page', () => {
    const { next } = bareArray();
    expect(next([1, 2, 3], list, 3)).toEqual({ request: at(list, 2), overlap: 1 });
    expect(next([3], at(list, 2), 1, 1)).toBeUndefined();
    expect(next([], at(list, 2), 0)).toBeUndefined();
    expect(next([4], at(list, 2), 1, 0)).toEqual({ request: at(list, 3), overlap: 0 });
  });

  test('a single answer is all', () => expect(single().next({ total: 5 }, list, 1)).toBeUndefined());
});

describe('firstThatFits', () => {
  const { next } = firstThatFits(pageToken(), offset());
  const withToken = { ...search, body: { ...search.body, nextPageToken: 't0' } };

  test('the search is read in the dialect that it answers in', () => {
    expect(next({ startAt: 0, maxResults: 100, total: 250 }, search, 100)?.request).toEqual(at(search, 99));
    expect(next({ nextPageToken: 't1', isLast: false }, search, 100)?.request.body).toMatchObject({
      nextPageToken: 't1',
    });
    expect(next({ isLast: true }, search, 100)).toBeUndefined();
  });

  test('the token leads where both are there, and a walk stays in its dialect', () => {
    expect(next({ nextPageToken: 't1', total: 100, startAt: 0 }, search, 100)?.request.body).toMatchObject({
      nextPageToken: 't1',
    });
    expect(next({ total: 900 }, withToken, 100)).toBeUndefined();
    expect(next({ issues: [] }, at(search, 99), 100, 1)?.request).toEqual(at(search, 198));
  });

  test('an envelope or a bare array, a cursor or an offset', () => {
    const people = firstThatFits(offset(), bareArray());
    expect(people.next([1, 2], list, 2)?.request).toEqual(at(list, 1));
    expect(people.next({ startAt: 0, total: 2 }, list, 2)).toBeUndefined();
    const fields = firstThatFits(cursor(), offset());
    expect(fields.next({ isLast: false, startAt: 0, maxResults: 2, total: 9 }, list, 2)?.request).toEqual(
      at(list, 1),
    );
    expect(fields.next({ isLast: false, nextPage: 'c1' }, list, 2)?.request.query).toMatchObject({
      cursor: 'c1',
    });
    const page = { isLast: false, startAt: 0, total: 9 };
    const onward = 'https://x.example/field/search?maxResults=2&startAt=2';
    expect(fields.next({ ...page, nextPage: onward }, list, 2)?.request).toEqual(at(list, 1));
    expect(fields.next({ startAt: 0, nextPage: onward }, list, 2)?.request).toEqual(at(list, 1));
    const url = 'https://x.example/field/search?cursor=c1';
    expect(fields.next({ ...page, nextPage: url }, list, 2)?.request).toEqual({ ...list, url });
  });
});
