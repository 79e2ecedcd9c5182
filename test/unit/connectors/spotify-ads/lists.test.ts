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
import type { Json, ReadSide, Slice, SliceContext, WalkEnd } from '../../../../src/core/stream.ts';
import { readingOf } from '../../../../src/reading/pages.ts';
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
  records: Json[] = [],
): Promise<{ readonly records: readonly Json[]; readonly end: WalkEnd }> => {
  const reading =
    stream.read !== undefined
      ? await stream.read(slice, given, signal)
      : stream.pages !== undefined && readingOf(ads.http, await stream.pages(slice, signal), signal);
  if (reading === false) throw new Error(`${stream.name} can neither be walked nor read`);
  for (let step = await reading.pages.next(); ; step = await reading.pages.next()) {
    if (step.done === true) return { records, end: step.value };
    for (const record of step.value.records) {
      records.push(record);
      expect(JSON.parse(reading.bytes(record, step.value).toString())).toEqual(record);
    }
  }
};

/** The records that come before the reading fails, and by what. */
const readTo = async (at: Reader, stream: ReadSide, slice: Slice, given: SliceContext) => {
  const records: Json[] = [];
  const [result] = await Promise.allSettled([read(at, stream, slice, given, records)]);
  if (result.status === 'fulfilled') throw new Error(`${stream.name} did not fail`);
  return { records, failure: result.reason };
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
type Open = (ads: Reader['ads']) => ReadSide;
const lists: readonly (readonly [path: string, open: Open, sort: string | null])[] = [
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
  const title = 'gives every record of %s once, in pages of any size, oldest first where it can order them';
  test.each(lists)(title, async (path, stream, sort) => {
    const sizes = path.endsWith('a1/campaigns') ? ['0/50', '50/50', '137/50', '137/7', '3/1'] : ['57/50'];
    for (const [count = 0, most] of sizes.map((size) => size.split('/').map(Number))) {
      const list = some('x', count).map((one) => ({ ...one, change_id: one.id }));
      const at = await opened({ lists: { [path]: list }, tongue, most: most ?? 50 });
      const { records, end } = await read(at, stream(at.ads), slice);
      expect(records).toEqual(list);
      const expected = tongue === 'vendor' ? count : null;
      expect(end).toMatchObject({ matched: true, read: count, expected });
      for (const { url } of at.server.requests) {
        const { limit, sort_field, sort_direction } = Object.fromEntries(
          new URL(url, 'http://x').searchParams,
        );
        const order = sort === null ? {} : { sort_field: sort, sort_direction: 'ASC' };
        expect({ limit, sort_field, sort_direction }).toEqual({ limit: '50', ...order });
      }
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
  ['data, total and meta', (page, total) => ({ data: page, total, meta: { trace: 'x' } })],
])('a list of one in %s is not requested after its end', async (_, envelope) => {
  const at = await served(({ url }) =>
    url.includes('offset=') ? refusal('no such page', 404) : play.json(envelope(some('x', 1), 1)),
  );
  expect((await read(at, campaigns(at.ads), slice)).records).toEqual(some('x', 1));
});

test.each([
  [-60, 'too small is not believed', { matched: true }],
  [5, 'too large does not match', { matched: false, expected: 125, read: 120 }],
])('a total that is wrong by %i costs no record: %s', async (wrong, _, end) => {
  const list = some('x', 120);
  const at = await opened({ lists: { '/ad_accounts/a1/ads': list }, total: (n) => n + wrong });
  expect(await read(at, ads(at.ads), slice)).toMatchObject({ records: list, end });
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

test('an answer without its list is never an empty list, unless it says that there is nothing', async () => {
  const answered = async (body: Entity) => {
    const at = await opened({ lists: {}, entities: { '/ad_accounts/a1/ads': body } });
    return read(at, ads(at.ads), slice);
  };
  const bare = { id: 'x', paging: { total_results: 0, offset: 0, page_size: 50 } };
  for (const body of [bare, { ...bare, ads: null }])
    expect(await answered(body)).toMatchObject({ records: [] });
  const odd = answered({ id: 'x', messages: ['soon'], warnings: [] });
  await expect(odd).rejects.toBeInstanceOf(UnexpectedContent);
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

  test('are asked for one by one where it has none, those that the ads name and those that were seen before', async () => {
    const at = await opened({ lists: {}, entities: { ...account, ...byPath(sets) } });
    const stream = streams.adSets(at.ads);
    const { records, end } = await read(at, stream, slice, given);
    expect(sorted(records)).toEqual(sorted(sets));
    expect(end).toMatchObject({ matched: true, expected: 130, read: 130 });
    await read(at, stream, slice, given);
    const lists = at.server.requests.filter(({ url }) => url.includes('/ad_sets?'));
    expect(lists).toHaveLength(1);
  });

  test.each([
    ['whose list', { lists: { '/ad_accounts/a1/ad_sets': sets }, entities: account }, '/ad_sets'],
    ['that', { lists: {}, entities: { ...account, ...byPath(sets) } }, ''],
  ])('of an account %s is closed are forbidden; another account is read whole', async (_, options, path) => {
    const at = await opened({ ...options, closed: [`/ad_accounts/a2${path}`] });
    const stream = streams.adSets(at.ads);
    const [closed, open] = await Promise.allSettled(
      ['a2', 'a1'].map((id) => read(at, stream, { partition: { ad_account_id: id } }, given)),
    );
    expect(closed).toMatchObject({ reason: expect.any(Forbidden) });
    const { records, end } = open?.status === 'fulfilled' ? open.value : expect.fail('not read');
    expect(sorted(records)).toEqual(sorted(sets));
    expect(end).toMatchObject({ matched: true, expected: 130 });
  });

  test('that are not there keep their rows, fail nothing and are noted', async () => {
    const at = await opened({ lists: {}, entities: { ...account, ...byPath(sets.slice(3)) } });
    const { records, end } = await read(at, streams.adSets(at.ads), slice, given);
    expect(sorted(records)).toEqual(sorted(sets.slice(3)));
    expect(end).toMatchObject({ matched: true, expected: 127, read: 127 });
    expect(at.notes).toEqual([
      expect.stringContaining('3 of 130 are not there and keep their rows: s-0, s-1, s-2'),
    ]);
  });

  test('of an account that is not there are missing: that says nothing about the list', async () => {
    const at = await opened({ lists: { '/ad_accounts/a1/ad_sets': sets }, entities: account });
    const stream = streams.adSets(at.ads);
    await expect(read(at, stream, { partition: { ad_account_id: 'gone' } }, given)).rejects.toBeInstanceOf(
      Missing,
    );
    expect((await read(at, stream, slice, given)).records).toEqual(sets);
  });

  test.each([
    ['fails', refusal('broken', 500), Transient],
    ['is closed', refusal('not yours', 403), Forbidden],
    ['is refused', refusal('no', 422), Refused],
    ['answers with another one', play.json({ id: 'other' }), UnexpectedContent],
  ])('are all read but the one that %s; the error names it', async (_, odd, error) => {
    const oddly = { '/ad_accounts/a1/ad_sets/s-0': odd };
    const at = await opened({ lists: {}, entities: { ...account, ...byPath(sets) }, oddly });
    const { records, failure } = await readTo(at, streams.adSets(at.ads), slice, given);
    expect(failure).toBeInstanceOf(error);
    expect(sorted(records)).toEqual(sorted(sets.slice(1)));
    expect(String(failure)).toMatch(/\{ad_set_id\}: 1 of 130 failed: s-0 \(/);
  });

  test('are not all requested where none answers', async () => {
    const at = await opened({ lists: {}, entities: account, closed: ['/ad_accounts/a1/ad_sets/'] });
    const { records, failure } = await readTo(at, streams.adSets(at.ads), slice, given);
    expect(failure).toBeInstanceOf(Forbidden);
    expect(records).toEqual([]);
    expect(at.server.requests.filter(({ url }) => url.includes('/ad_sets/')).length).toBeLessThan(30);
  });
});

describe('ad accounts', () => {
  const a = (id: string): Entity => ({ id, name: `Account ${id}` });
  const entities = { '/ad_accounts/a1': a('a1'), '/ad_accounts/a2': a('a2'), '/ad_accounts/a3': a('a3') };
  const owners = lending({ 'ads.businesses': [{ id: 'b1' }, { id: 'b2' }] });

  test('are those that are configured, requested in the case in which they are', async () => {
    const at = await opened({ lists: {}, entities: { ...entities, '/ad_accounts/A1': a('a1') } }, [
      'A1',
      'a3',
    ]);
    expect(await read(at, streams.adAccounts(at.ads))).toMatchObject({
      records: [a('a1'), a('a3')],
      end: { matched: true, expected: 2 },
    });
    expect(streams.businesses(at.ads).optional).toBe(true);
  });

  test('are found through the businesses where none is configured', async () => {
    const lists = {
      '/businesses/b1/ad_accounts': [{ id: 'a1' }, { id: 'a2' }],
      '/businesses/b2/ad_accounts': [{ id: 'a2' }, { id: 'a3' }],
    };
    for (const whole of [[], Object.keys(lists)]) {
      const at = await opened({ lists, entities, whole });
      const { records } = await read(at, streams.adAccounts(at.ads), {}, owners);
      expect(records).toEqual(Object.values(entities));
    }
  });

  test('that cannot be found must be named', async () => {
    const at = await opened({ lists: {}, entities });
    await expect(read(at, streams.adAccounts(at.ads), {}, owners)).rejects.toThrow(/ADS_ACCOUNT_IDS/);
    await expect(read(at, streams.adAccounts(at.ads))).rejects.toBeInstanceOf(Misconfigured);
  });

  test.each([
    ['a2', Forbidden, /1 of 3 failed: a2 \(.*403/],
    ['typo', Refused, /1 of 3 failed: typo \(.*404.*is its id right/],
  ])(
    'are read but the one (%s) that is closed or missing; the error names it',
    async (id, error, message) => {
      const at = await opened({ lists: {}, entities, closed: ['/ad_accounts/a2'] }, ['a1', id, 'a3']);
      const { records, failure } = await readTo(at, streams.adAccounts(at.ads), {}, owners);
      expect(records).toEqual([a('a1'), a('a3')]);
      expect(failure).toBeInstanceOf(error);
      expect(String(failure)).toMatch(message);
    },
  );

  test('are read without one that is no longer there', async () => {
    const at = await opened({ lists: {}, entities }, ['a1', 'gone', 'a3']);
    const before = lending({ 'ads.ad_accounts': [{ id: 'gone' }] });
    const { end } = await read(at, streams.adAccounts(at.ads), {}, before);
    expect(end).toMatchObject({ matched: true, read: 2 });
  });

  test('restrict what is read below them, in either case, whatever their names hold', () => {
    expect(accounts({ accountIds: [] }).where).toBe('_deleted_at is null');
    expect(accounts({ accountIds: ['A1', "o'b"] }).where).toBe(
      `_deleted_at is null and lower(id collate "C") in ('a1', 'o''b')`,
    );
  });
});
