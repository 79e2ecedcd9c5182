import { afterEach, describe, expect, test } from 'vitest';
import { accounts } from '../../../../src/connectors/spotify-ads/ads.ts';
import {
  Forbidden,
  Misconfigured,
  Missing,
  Refused,
  Transient,
  UnexpectedContent,
} from '../../../../src/core/errors.ts';
import type { WalkEnd } from '../../../../src/core/paging.ts';
import type { Json } from '../../../../src/core/request.ts';
import type { ReadSide, Slice, SliceContext } from '../../../../src/core/stream.ts';
import { readingOf } from '../../../../src/reading/open-reading.ts';
import * as play from '../../../support/misbehaving-server.ts';
import {
  type Entity,
  lending,
  type PlatformOptions,
  platform,
  type Reader,
  reader,
  streamNamed,
} from './platform.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const signal = new AbortController().signal;

type Opened = Reader & { readonly server: play.Misbehaving };
const on = (server: play.Misbehaving, accountIds: readonly string[] = []): Opened => {
  const made = reader(server.url, accountIds);
  closing.push(server.close, () => made.ads.http.close());
  return { ...made, server };
};
const opened = async (options: PlatformOptions, accountIds: readonly string[] = []): Promise<Opened> =>
  on(await platform(options), accountIds);
const served = async (script: Parameters<typeof play.misbehaving>[0]): Promise<Opened> =>
  on(await play.misbehaving(script));
const offsetOf = ({ url }: play.Arrived): number =>
  Number(new URL(url, 'http://x').searchParams.get('offset') ?? 0);
const refusal = (message: string, code: number): play.Reply => play.json({ messages: [message] }, {}, code);

const read = async (
  { ads }: Reader,
  stream: ReadSide,
  slice: Slice = {},
  given: SliceContext = lending({}),
): Promise<{ readonly records: readonly Json[]; readonly end: WalkEnd }> => {
  const reading =
    stream.read !== undefined
      ? await stream.read(slice, given, signal)
      : stream.pages !== undefined && readingOf(ads.http, await stream.pages(slice, signal), signal);
  if (reading === false) throw new Error(`${stream.name} can neither be walked nor read`);
  const records: Json[] = [];
  for (let step = await reading.pages.next(); ; step = await reading.pages.next()) {
    if (step.done === true) return { records, end: step.value };
    for (const record of step.value.records) {
      records.push(record);
      expect(JSON.parse(reading.bytes(record, step.value).toString())).toEqual(record);
    }
  }
};

const byId = (one: Json, other: Json): number => JSON.stringify(one).localeCompare(JSON.stringify(other));

/** The records that come before the reading fails, and by what. */
const readTo = async (
  stream: ReadSide,
  of: Slice,
  given: SliceContext,
): Promise<{ readonly records: readonly Json[]; readonly failure: unknown }> => {
  const reading = await stream.read?.(of, given, signal);
  const records: Json[] = [];
  try {
    for (let step = await reading?.pages.next(); step?.done === false; step = await reading?.pages.next())
      records.push(...step.value.records);
  } catch (failure) {
    return { records, failure };
  }
  throw new Error(`${stream.name} did not fail`);
};

const some = (prefix: string, count: number): readonly Entity[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}-${n}`, name: `${prefix} ${n}` }));

const campaigns = streamNamed('campaigns');
const ads = streamNamed('ads');
const streams = {
  businesses: streamNamed('businesses'),
  adCategories: streamNamed('ad_categories'),
  adAccounts: streamNamed('ad_accounts'),
  adSets: streamNamed('ad_sets'),
};

const slice = { partition: { ad_account_id: 'a1' } };
const lists: readonly (readonly [
  path: string,
  open: (ads: Reader['ads']) => ReadSide,
  sort: string | null,
])[] = [
  ['/ad_accounts/a1/campaigns', campaigns, 'CREATED_AT'],
  ['/ad_accounts/a1/ads', ads, 'CREATED_AT'],
  ['/ad_accounts/a1/assets', streamNamed('assets'), 'CREATED_AT'],
  ['/ad_accounts/a1/audiences', streamNamed('audiences'), 'NAME'],
  ['/ad_accounts/a1/drafts/campaigns', streamNamed('campaign_drafts'), 'CREATED_AT'],
  ['/ad_accounts/a1/drafts/ad_sets', streamNamed('ad_set_drafts'), null],
  ['/ad_accounts/a1/drafts/ads', streamNamed('ad_drafts'), null],
  ['/ad_accounts/a1/change_history', streamNamed('change_history'), 'TIMESTAMP'],
];

describe.each(['vendor', 'bare'] as const)('a server of the %s tongue', (tongue) => {
  test.each(lists)('gives every record of %s once, whatever the size of its pages', async (path, stream) => {
    const sizes = path.endsWith('a1/campaigns')
      ? [
          [0, 50],
          [50, 50],
          [137, 50],
          [137, 7],
          [3, 1],
        ]
      : [[57, 50]];
    for (const [count = 0, most = 50] of sizes) {
      const list = some('x', count).map((one) => ({ ...one, change_id: one.id }));
      const at = await opened({ lists: { [path]: list }, tongue, most });
      const { records, end } = await read(at, stream(at.ads), slice);
      expect(records).toEqual(list);
      expect(end).toMatchObject({
        matched: true,
        fetched: count,
        expected: tongue === 'vendor' ? count : null,
      });
    }
  });

  test('gives businesses and categories whole or by pages', async () => {
    for (const count of [0, 3, 50, 120]) {
      for (const whole of [true, false]) {
        const lists = { '/businesses': some('b', count), '/ad_categories': some('c', count) };
        const at = await opened({ lists, tongue, whole: whole ? Object.keys(lists) : [] });
        expect((await read(at, streams.businesses(at.ads))).records).toEqual(lists['/businesses']);
        expect((await read(at, streams.adCategories(at.ads))).records).toEqual(lists['/ad_categories']);
      }
    }
  });
});

test('businesses and categories of a server that refuses a place after their end are whole', async () => {
  const at = await served((arrived) =>
    offsetOf(arrived) >= 2 ? refusal('no such page', 404) : play.json({ items: some('x', 2) }),
  );
  expect((await read(at, streams.businesses(at.ads))).records).toHaveLength(2);
  expect((await read(at, streams.adCategories(at.ads))).records).toHaveLength(2);
});

test('a list in pages without numbers that grows at its beginning while it is read does not pass for whole', async () => {
  let all = some('x', 120);
  const at = await served((arrived) => {
    const page = all.slice(offsetOf(arrived), offsetOf(arrived) + 50);
    if (offsetOf(arrived) === 0) all = [...some('new', 1), ...all];
    return play.json({ items: page });
  });
  const { records } = await read(at, streams.businesses(at.ads));
  expect(records).toEqual(expect.arrayContaining([...some('x', 120)]));
});

test('a list that is cut off at 50 by a server that refuses any place does not pass for whole', async () => {
  const at = await served(({ url }) =>
    url.includes('offset=') ? refusal('what offset?', 400) : play.json({ items: some('x', 50) }),
  );
  await expect(read(at, streams.businesses(at.ads))).rejects.toThrow();
});

type Envelope = (page: readonly Entity[], total: number) => Readonly<Record<string, Json>>;
test.each<[string, Envelope]>([
  ['items and total_count', (page, total) => ({ items: page, total_count: total })],
  ['data and pagination', (page, total) => ({ data: page, pagination: { total } })],
  ['results and meta', (page, total) => ({ results: page, meta: { total } })],
  ['data, total and meta', (page, total) => ({ data: page, total, meta: { trace: 'x' } })],
  ['data and has_more', (page, total) => ({ data: page, has_more: total > 50 })],
])('a list of one in %s is not requested after its end', async (_, envelope) => {
  const at = await served(({ url }) =>
    url.includes('offset=') ? refusal('no such page', 404) : play.json(envelope(some('x', 1), 1)),
  );
  expect((await read(at, campaigns(at.ads), slice)).records).toEqual(some('x', 1));
});

test.each(lists)(
  '%s is asked for in pages of 50, oldest first where the vendor can order it',
  async (path, stream, sort) => {
    const at = await opened({ lists: { [path]: some('x', 60) } });
    await read(at, stream(at.ads), slice);
    expect(at.server.requests).toHaveLength(2);
    for (const { url } of at.server.requests) {
      const { searchParams } = new URL(url, 'http://x');
      expect(searchParams.get('limit')).toBe('50');
      expect(searchParams.get('sort_field')).toBe(sort);
      expect(searchParams.get('sort_direction')).toBe(sort === null ? null : 'ASC');
    }
  },
);

test('a total that lies costs no record: too small is not believed, too large does not match', async () => {
  const list = some('x', 120);
  const small = await opened({ lists: { '/ad_accounts/a1/ads': list }, total: () => 60 });
  const low = await read(small, ads(small.ads), slice);
  expect(low.records).toEqual(list);
  expect(low.end.matched).toBe(true);
  const large = await opened({ lists: { '/ad_accounts/a1/ads': list }, total: (n) => n + 5 });
  const high = await read(large, ads(large.ads), slice);
  expect(high.records).toEqual(list);
  expect(high.end).toMatchObject({ matched: false, expected: 125, fetched: 120 });
});

test.each([
  [50, 50],
  [51, 50],
  [120, 50],
  [100, 50],
  [120, 20],
])('a total that counts the page alone costs none of %i records in pages of %i', async (count, most) => {
  const list = some('x', count);
  const at = await served((arrived) => {
    const page = list.slice(offsetOf(arrived), offsetOf(arrived) + most);
    return play.json({ data: page, paging: { page_size: most, total: page.length } });
  });
  expect((await read(at, ads(at.ads), slice)).records).toEqual(list);
});

test('an answer without its list is never an empty list', async () => {
  const at = await opened({
    lists: {},
    entities: { '/ad_accounts/a1/ads': { id: 'x', messages: ['soon'], warnings: [] } },
  });
  await expect(read(at, ads(at.ads), slice)).rejects.toBeInstanceOf(UnexpectedContent);
  const nothing = { id: 'x', ads: null, paging: { total_results: 0, offset: 0, page_size: 50 } };
  const none = await opened({ lists: {}, entities: { '/ad_accounts/a1/ads': nothing } });
  expect((await read(none, ads(none.ads), slice)).records).toEqual([]);
  const { ads: _, ...bare } = nothing;
  const unnamed = await opened({ lists: {}, entities: { '/ad_accounts/a1/ads': bare } });
  expect((await read(unnamed, ads(unnamed.ads), slice)).records).toEqual([]);
});

describe('ad sets', () => {
  const sets = some('s', 130);
  const account = { '/ad_accounts/a1': { id: 'a1' }, '/ad_accounts/a2': { id: 'a2' } };
  const given = lending({
    'ads.ads': sets.slice(0, 100).flatMap(({ id }) => [
      { ad_account_id: 'a1', ad_set_id: id },
      { ad_account_id: 'a1', ad_set_id: id },
    ]),
    'ads.ad_sets': sets.slice(90).map(({ id }) => ({ ad_account_id: 'a1', id })),
  });
  const byPath = (list: readonly Entity[]): Readonly<Record<string, Entity>> =>
    Object.fromEntries(list.map((one) => [`/ad_accounts/a1/ad_sets/${one.id}`, one]));
  const sorted = (records: readonly Json[]): readonly string[] =>
    records.map((one) => JSON.stringify(one)).sort();

  test('come from their list where the server has one', async () => {
    const at = await opened({ lists: { '/ad_accounts/a1/ad_sets': sets } });
    const { records, end } = await read(at, streams.adSets(at.ads), slice, given);
    expect(records).toEqual(sets);
    expect(end).toMatchObject({ matched: true, expected: 130 });
  });

  test('are asked for one by one where it has none, those that the ads name and those that were seen before', async () => {
    const at = await opened({ lists: {}, entities: { ...account, ...byPath(sets) } });
    const stream = streams.adSets(at.ads);
    const { records, end } = await read(at, stream, slice, given);
    expect(sorted(records)).toEqual(sorted(sets));
    expect(end).toMatchObject({ matched: true, expected: 130, fetched: 130 });
    await read(at, stream, slice, given);
    const lists = at.server.requests.filter(({ url }) => url.includes('/ad_sets?'));
    expect(lists).toHaveLength(1);
  });

  test('of one account whose list is closed say nothing of the list of another', async () => {
    const oddly = { '/ad_accounts/a2/ad_sets': refusal('not yours', 403) };
    const at = await opened({ lists: { '/ad_accounts/a1/ad_sets': sets }, entities: account, oddly });
    const stream = streams.adSets(at.ads);
    const other = { partition: { ad_account_id: 'a2' } };
    const [closed, open] = await Promise.allSettled([
      read(at, stream, other, given),
      read(at, stream, slice, given),
    ]);
    expect(closed.status === 'rejected' && closed.reason).toBeInstanceOf(Forbidden);
    expect(open.status === 'fulfilled' && open.value.records).toEqual(sets);
  });

  test('that are not there keep their rows, fail nothing and are told of', async () => {
    const at = await opened({ lists: {}, entities: { ...account, ...byPath(sets.slice(3)) } });
    const { records, end } = await read(at, streams.adSets(at.ads), slice, given);
    expect(sorted(records)).toEqual(sorted(sets.slice(3)));
    expect(end).toMatchObject({ matched: true, expected: 127, fetched: 127 });
    expect(at.notes).toEqual([
      expect.stringContaining('3 of 130 are not there and keep their rows: s-0, s-1, s-2'),
    ]);
  });

  test('of an account that is closed are forbidden, and the other account is read', async () => {
    const at = await opened({
      lists: {},
      entities: { ...account, ...byPath(sets) },
      closed: ['/ad_accounts/a2'],
    });
    const stream = streams.adSets(at.ads);
    const other = { partition: { ad_account_id: 'a2' } };
    const [closed, open] = await Promise.allSettled([
      read(at, stream, other, given),
      read(at, stream, slice, given),
    ]);
    expect(closed.status === 'rejected' && closed.reason).toBeInstanceOf(Forbidden);
    expect(open.status === 'fulfilled' && open.value.records).toHaveLength(130);
  });

  test('of an account that is not there are missing: that says nothing about the list', async () => {
    const at = await opened({ lists: { '/ad_accounts/a1/ad_sets': sets }, entities: account });
    const stream = streams.adSets(at.ads);
    await expect(read(at, stream, { partition: { ad_account_id: 'gone' } }, given)).rejects.toBeInstanceOf(
      Missing,
    );
    expect((await read(at, stream, slice, given)).records).toEqual(sets);
  });

  test('that answer with another entity are not taken for it', async () => {
    const entities = { ...account, '/ad_accounts/a1/ad_sets/s-0': { id: 'other' } };
    const at = await opened({ lists: {}, entities });
    const one = lending({ 'ads.ads': [{ ad_account_id: 'a1', ad_set_id: 's-0' }] });
    await expect(read(at, streams.adSets(at.ads), slice, one)).rejects.toBeInstanceOf(UnexpectedContent);
  });

  test.each([
    ['fails', refusal('broken', 500), Transient],
    ['is closed', refusal('not yours', 403), Forbidden],
    ['is refused', refusal('no', 422), Refused],
    ['answers with another one', play.json({ id: 'other' }), UnexpectedContent],
  ])('of which one %s are read but for that one, and the error tells which', async (_, odd, error) => {
    const oddly = { '/ad_accounts/a1/ad_sets/s-0': odd };
    const at = await opened({ lists: {}, entities: { ...account, ...byPath(sets) }, oddly });
    const { records, failure } = await readTo(streams.adSets(at.ads), slice, given);
    expect(failure).toBeInstanceOf(error);
    expect(records.toSorted(byId)).toEqual(sets.slice(1).toSorted(byId));
    expect(failure).toMatchObject({
      message: expect.stringMatching(/\{ad_set_id\}: 1 of 130 failed: s-0 \(/),
    });
  });

  test('of which none answers are not asked for one after the other to the last', async () => {
    const at = await opened({ lists: {}, entities: account, closed: ['/ad_accounts/a1/ad_sets/'] });
    const { records, failure } = await readTo(streams.adSets(at.ads), slice, given);
    expect(failure).toBeInstanceOf(Forbidden);
    expect(records).toEqual([]);
    expect(at.server.requests.filter(({ url }) => url.includes('/ad_sets/')).length).toBeLessThan(30);
  });
});

describe('ad accounts', () => {
  const a = (id: string): Entity => ({ id, name: `Account ${id}` });
  const entities = { '/ad_accounts/a1': a('a1'), '/ad_accounts/a2': a('a2'), '/ad_accounts/a3': a('a3') };
  const owners = lending({ 'ads.businesses': [{ id: 'b1' }, { id: 'b2' }] });

  test('are those that are configured', async () => {
    const at = await opened({ lists: {}, entities }, ['a1', 'a3']);
    const { records, end } = await read(at, streams.adAccounts(at.ads));
    expect(records).toEqual([a('a1'), a('a3')]);
    expect(end).toMatchObject({ matched: true, expected: 2 });
    expect(streams.businesses(at.ads).optional).toBe(true);
  });

  test('are requested as they are configured, in either case', async () => {
    const at = await opened({ lists: {}, entities: { '/ad_accounts/A1': a('a1') } }, ['A1']);
    expect((await read(at, streams.adAccounts(at.ads))).records).toEqual([a('a1')]);
  });

  test('are found through the businesses where none is configured', async () => {
    const lists = {
      '/businesses/b1/ad_accounts': [{ id: 'a1' }, { id: 'a2' }],
      '/businesses/b2/ad_accounts': [{ id: 'a2' }, { id: 'a3' }],
    };
    for (const whole of [[], Object.keys(lists)]) {
      const at = await opened({ lists, entities, whole });
      expect((await read(at, streams.adAccounts(at.ads), {}, owners)).records).toEqual(
        Object.values(entities),
      );
    }
  });

  test('that cannot be found must be named', async () => {
    const at = await opened({ lists: {}, entities });
    await expect(read(at, streams.adAccounts(at.ads), {}, owners)).rejects.toThrow(/ADS_ACCOUNT_IDS/);
    await expect(read(at, streams.adAccounts(at.ads))).rejects.toBeInstanceOf(Misconfigured);
  });

  test('of which one is closed fail and name it; the others are read', async () => {
    const at = await opened({ lists: {}, entities, closed: ['/ad_accounts/a2'] }, ['a1', 'a2', 'a3']);
    const { records, failure } = await readTo(streams.adAccounts(at.ads), {}, lending({}));
    expect(records).toEqual([a('a1'), a('a3')]);
    expect(failure).toBeInstanceOf(Forbidden);
    expect(failure).toMatchObject({ message: expect.stringMatching(/1 of 3 failed: a2 \(.*403/) });
  });

  test('that are configured and not there are a failure, unless they were there before; the others are read', async () => {
    const at = await opened({ lists: {}, entities }, ['a1', 'typo', 'a3']);
    const { records, failure } = await readTo(streams.adAccounts(at.ads), {}, owners);
    expect(records).toEqual([a('a1'), a('a3')]);
    expect(failure).toBeInstanceOf(Refused);
    expect(failure).toMatchObject({
      message: expect.stringMatching(/1 of 3 failed: typo \(.*404.*is its id right/),
    });
    const known = lending({ 'ads.ad_accounts': [{ id: 'typo' }] });
    const gone = await read(at, streams.adAccounts(at.ads), {}, known);
    expect(gone.end).toMatchObject({ matched: true, fetched: 2 });
  });

  test('restrict what is read below them, in either case, whatever their names hold', () => {
    expect(accounts({ accountIds: [] }).where).toBe('_deleted_at is null');
    expect(accounts({ accountIds: ['A1', "o'b"] }).where).toBe(
      `_deleted_at is null and lower(id) in ('a1', 'o''b')`,
    );
  });
});
