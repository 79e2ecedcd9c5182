import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { csvRows } from '../../../src/connectors/spotify-ads/csv-rows.ts';
import { adSets as adSetEntity } from '../../../src/connectors/spotify-ads/entities.ts';
import * as adsFacts from '../../../src/connectors/spotify-ads/facts.ts';
import { absurdPrices, finalDaily, finalHourly } from '../../../src/connectors/spotify-ads/streams.ts';
import { adsTables } from '../../../src/connectors/spotify-ads/tables.ts';
import type { Mapped, Slice, Stream } from '../../../src/core/stream.ts';
import type { Child, Table } from '../../../src/core/table.ts';
import type { Load } from '../../../src/load/load.ts';
import { csvLine } from '../../support/csv-line.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { batchOf, loadBatch, rowsOf, thingFlow } from '../load/things.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(async () => {
  const names = adsTables.map((table) => `ads.${table.name}`);
  const beside = ['campaign_versions', 'ad_set_versions', 'report_revisions', 'report_csv_revisions'].map(
    (name) => `ads.${name}`,
  );
  await database.warehouse.pool.query(`truncate ${[...names, ...beside].join(', ')} cascade`);
});
const read = (query: string) => rowsOf(database.warehouse, query);

const flow = (
  name: string,
  table: Table,
  transform: Stream['transform'],
  children: Readonly<Record<string, Child>> = {},
): Stream => ({
  ...thingFlow,
  name,
  table,
  children,
  transform,
  absent: 'delete',
});
const adSets = flow('ad_sets', adSetEntity.table, adSetEntity.transform, adSetEntity.children);
const daily = flow('report_daily', adsFacts.daily.table, adsFacts.daily.transform);
const csv = flow('async_reports', csvRows.table, csvRows.transform);
const insights = flow(
  'insight_reports',
  adsFacts.insights.table as Table,
  adsFacts.insights.transform,
  adsFacts.insights.children,
);

const slice: Slice = { partition: { ad_account_id: 'acc', entity_type: 'AD' } };
const load = (of: Stream, records: readonly unknown[], how: Partial<Load> = {}) =>
  loadBatch(
    database.warehouse,
    batchOf(
      of,
      records.map((record): Mapped => of.transform(record, slice)),
    ),
    how,
  );

const days = (column: string, from: string, to: string, equal: Readonly<Record<string, string>>) => ({
  lists: { equal, days: { column, from: new Date(`${from}T00:00:00Z`), to: new Date(`${to}T00:00:00Z`) } },
});
const row = (entity_id: string, day: string, stats: Readonly<Record<string, number>>) => ({
  entity_type: 'AD',
  entity_id,
  start_time: `${day}T00:00:00Z`,
  stats: Object.entries(stats).map(([field_type, field_value]) => ({ field_type, field_value })),
});
const facts = (from: string, to: string) =>
  days('day', from, to, { ad_account_id: 'acc', entity_type: 'AD' });

test('days in different partitions are written, restated and removed as one, and what was said before is kept', async () => {
  const scope = facts('2014-12-30', '2041-01-03');
  const first = [
    row('a', '2014-12-31', { SPEND: 1.5, CLICKS: 3 }),
    row('a', '2024-03-01', { SPEND: 2 }),
    row('b', '2041-01-02', { X: 1 }),
  ];
  expect((await load(daily, first, scope)).counts).toMatchObject({ received: 3, inserted: 3 });
  const again = await load(daily, first, { ...scope, runId: '2' });
  expect(again.counts).toMatchObject({ inserted: 0, updated: 0, unchanged: 3 });
  expect(await read('select distinct _run_id from ads.report_daily')).toEqual([['1']]);
  expect(await read('select * from ads.report_revisions')).toEqual([]);

  const restated = [
    row('a', '2014-12-31', { SPEND: 1.25, CLICKS: 3 }),
    row('a', '2024-03-01', { SPEND: 2, PURCHASES: -5 }),
  ];
  const third = await load(daily, restated, { ...scope, runId: '3' });
  expect(third).toMatchObject({ deleted: 1, counts: { inserted: 0, updated: 2 } });
  expect(
    await read(
      'select entity_id, day::text, spend::text, purchases_suppressed from ads.report_daily order by day',
    ),
  ).toEqual([
    ['a', '2014-12-31', '1.250000', 'false'],
    ['a', '2024-03-01', '2.000000', 'true'],
  ]);
  expect(
    await read(
      'select entity_id, day::text, metric, old_value, new_value from ads.report_revisions order by day, metric',
    ),
  ).toEqual([
    ['a', '2014-12-31', 'spend', '1.500000', '1.250000'],
    ['b', '2041-01-02', 'X', '1', null],
  ]);
});

test('when a row first came is kept while it is restated', async () => {
  await load(daily, [row('a', '2024-03-01', { SPEND: 1 })], facts('2024-03-01', '2024-03-02'));
  const [[before] = []] = await read('select _first_synced_at::text from ads.report_daily');
  await load(daily, [row('a', '2024-03-01', { SPEND: 2 })], {
    ...facts('2024-03-01', '2024-03-02'),
    runId: '2',
  });
  expect(await read('select _first_synced_at::text, spend::text, _run_id from ads.report_daily')).toEqual([
    [before, '2.000000', '2'],
  ]);
});

test('an ad set is replaced with its targets, caps and placements, and its versions are kept', async () => {
  const record = {
    id: 's',
    status: 'ACTIVE',
    budget: { micro_amount: 5_000_000, type: 'DAILY', currency: 'EUR' },
    targets: { genders: ['FEMALE', 'MALE'], placements: ['MUSIC'] },
    frequency_caps: [{ frequency_unit: 'DAY', frequency_period: 1, max_impressions: 5 }],
  };
  await load(adSets, [record]);
  await load(adSets, [{ ...record, name: 'renamed' }], { runId: '2' });
  await load(
    adSets,
    [
      {
        ...record,
        budget: { ...record.budget, micro_amount: 7_500_000 },
        targets: { genders: ['MALE'] },
        frequency_caps: [],
      },
    ],
    { runId: '3' },
  );
  expect(await read('select dimension, value from ads.ad_set_targets')).toEqual([['genders', 'MALE']]);
  expect(
    await read(
      'select count(*) from ads.ad_set_frequency_caps union all select count(*) from ads.ad_set_placements',
    ),
  ).toEqual([['0'], ['0']]);
  expect(
    await read(
      'select status, budget::text, budget_type, valid_to is null, _run_id from ads.ad_set_versions order by valid_from',
    ),
  ).toEqual([
    ['ACTIVE', '5.000000', 'DAILY', 'false', '1'],
    ['ACTIVE', '7.500000', 'DAILY', 'true', '3'],
  ]);
});

test('rows of a CSV report that repeat all their names are all kept', async () => {
  const cells = { DATE: '2024-03-01', CAMPAIGN_NAME: 'C', AD_NAME: 'A' };
  const records = ['1', '2', '1'].map((spend) => csvLine({ ...cells, SPEND: spend }));
  const scope = days('day', '2024-03-01', '2024-03-02', { ad_account_id: 'acc' });
  expect((await load(csv, records, scope)).counts).toMatchObject({ received: 3, inserted: 3 });
  expect(await read('select occurrence, spend::text from ads.report_csv order by 1')).toEqual([
    ['0', '1.000000'],
    ['1', '1.000000'],
    ['2', '2.000000'],
  ]);
  const again = await load(csv, [...records].reverse(), { ...scope, runId: '2' });
  expect(again.counts).toMatchObject({ unchanged: 3 });
});

test('snapshots of other days stay when a new one arrives', async () => {
  const asked = (asked_on: string, values: readonly string[]) => ({
    entity_type: 'AD_SET',
    entity_id: 's',
    dimension: 'AGE',
    state: values.length === 0 ? 'not_enough_data' : 'ok',
    asked_on,
    rows: values.map((insight_value) => ({
      insight_value,
      stats: [{ field_type: 'REACH', field_value: 9 }],
    })),
  });
  await load(insights, [asked('2024-03-01', ['18-24', '25-34'])]);
  await load(insights, [asked('2024-03-02', ['18-24'])], { runId: '2' });
  await load(insights, [asked('2024-03-03', [])], { runId: '3' });
  expect(
    await read('select value, captured_on::text, reach from ads.insight_snapshots order by 2, 1'),
  ).toEqual([
    ['18-24', '2024-03-01', '9'],
    ['25-34', '2024-03-01', '9'],
    ['18-24', '2024-03-02', '9'],
  ]);
  expect(await read('select state, asked_on::text from ads.insight_states')).toEqual([
    ['not_enough_data', '2024-03-03'],
  ]);
});

test('rows older than everything that is read again become final, and stay so when they are restated after all', async () => {
  const clock = new Date('2024-06-30T15:00:00Z');
  const of = (day: string, spend: number) => row('a', day, { SPEND: spend });
  await load(
    daily,
    [of('2024-03-31', 1), of('2024-04-01', 1), of('2024-06-30', 1)],
    facts('2024-03-31', '2024-07-01'),
  );
  const { pool } = database.warehouse;
  expect((await pool.query(finalDaily(90).sql, [1, '1', clock])).rowCount).toBe(1);
  expect((await pool.query(finalDaily(90).sql, [1, '1', clock])).rowCount).toBe(0);
  expect(await read('select day::text from ads.report_daily where is_final')).toEqual([['2024-03-31']]);
  await load(daily, [of('2024-03-31', 2)], { ...facts('2024-03-31', '2024-04-01'), runId: '2' });
  expect(await read(`select spend::text, is_final from ads.report_daily where day = '2024-03-31'`)).toEqual([
    ['2.000000', 'true'],
  ]);
  expect(await read('select metric, old_value, new_value from ads.report_revisions')).toEqual([
    ['spend', '1.000000', '2.000000'],
  ]);
});

test('hours become final with the two weeks that the source keeps', async () => {
  const { pool } = database.warehouse;
  await pool.query(`insert into ads.report_hourly (source_id, entity_type, entity_id, ad_account_id, hour_start) values
    (1, 'AD', 'a', 'acc', '2025-06-15 23:00Z'), (1, 'AD', 'a', 'acc', '2025-06-16 00:00Z'), (2, 'AD', 'a', 'acc', '2025-06-01 00:00Z')`);
  await pool.query(finalHourly(14).sql, [1, '1', new Date('2025-06-30T15:00:00Z')]);
  expect(await read('select hour_start::text from ads.report_hourly where is_final')).toEqual([
    ['2025-06-15 23:00:00+00'],
  ]);
});

test.each([
  ['units taken for micros', 0.00001, ['0.00001']],
  ['micros taken for units', 12_000_000, ['12000000']],
  ['right', 12, undefined],
  ['right in a currency of small units', 400_000, undefined],
])('prices tell when a unit was mistaken: %s', async (_, cpm, told) => {
  const { pool } = database.warehouse;
  await pool.query(
    `insert into ads.ad_accounts (source_id, id, name, currency_code) values (1, 'acc', 'Account', 'EUR')`,
  );
  await pool.query(
    `insert into ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id, spend, impressions, _run_id)
     select 1, 'AD', 'ad ' || n, '2024-03-01', 'acc', $1::numeric * 1000000 / 1000, 1000000, 7 from generate_series(1, 20) n`,
    [cpm],
  );
  const ask = async (run: string) =>
    (await pool.query<{ warning: string }>(absurdPrices.sql, [1, run, new Date('2024-03-02T00:00:00Z')]))
      .rows;
  const warnings = await ask('7');
  if (told === undefined) expect(warnings).toEqual([]);
  else {
    expect(warnings).toHaveLength(1);
    for (const part of ['Account', 'EUR', ...told]) expect(warnings[0]?.warning).toContain(part);
  }
  expect(await ask('8')).toEqual([]);
});

test('levels that do not add up are said once for each level, beyond rounding and what the last days may differ by', async () => {
  const { pool } = database.warehouse;
  await pool.query(
    `insert into ads.ad_accounts (source_id, id, name, currency_code) values (1, 'acc', 'Account', 'EUR')`,
  );
  const put = (day: string, level: string, ids: readonly string[], spend: number, run = 1) =>
    pool.query(
      `insert into ads.report_daily (source_id, ad_account_id, entity_type, entity_id, day, spend, impressions, clicks, _run_id)
       select 1, 'acc', $2, id, $1, $4, 10, 1, $5 from unnest($3::text[]) id`,
      [day, level, ids, spend, run],
    );
  const gaps = async (run: number | null) => {
    const { rows } = await pool.query<{ warning: string }>(
      `select warning from ads.level_gaps(1::smallint, $1, '2024-03-20T02:00:00Z')`,
      [run],
    );
    return rows.map(({ warning }) => warning);
  };
  // A day that differs by rounding alone, one on which an ad is missing, one without ads, one that is young.
  for (const day of ['2024-03-01', '2024-03-02', '2024-03-03', '2024-03-19'])
    for (const [level, id] of [
      ['AD_ACCOUNT', 'acc'],
      ['CAMPAIGN', 'c'],
      ['AD_SET', 's'],
    ] as const)
      await put(day, level, [id], 10);
  await pool.query(`update ads.report_daily set impressions = 20, clicks = 2`);
  await put('2024-03-01', 'AD', ['a', 'b'], 4.999999);
  await put('2024-03-02', 'AD', ['a'], 5);
  await put('2024-03-19', 'AD', ['a', 'b'], 4.96);
  expect(await gaps(1)).toEqual([
    'Account (acc): AD lacks 15 EUR of spend, 30 impressions, 3 clicks that another level has, on 2 days from 2024-03-02 to 2024-03-03; see bi.ad_level_checks',
  ]);
  expect(await gaps(null)).toEqual(await gaps(1));
  expect(await gaps(2), 'days that another run read').toEqual([]);
  // An account that reports less than its ads: the account is what lacks something.
  await put('2024-03-05', 'AD', ['a'], 7, 3);
  expect(await gaps(3)).toEqual(
    ['AD_ACCOUNT', 'AD_SET', 'CAMPAIGN'].map((level) =>
      expect.stringContaining(`${level} lacks 7 EUR of spend`),
    ),
  );
});

test('what only reports name becomes a row, keeps its newest name, and is whole once a list shows it', async () => {
  const { pool } = database.warehouse;
  const put = (
    level: string,
    id: string,
    day: string,
    name: string | null,
    parent: string | null,
    run: number,
  ) =>
    pool.query(
      `insert into ads.report_daily (source_id, ad_account_id, entity_type, entity_id, day, entity_name, entity_status, parent_entity_id, _run_id)
       values (1, 'acc', $1, $2, $3, $4, 'ARCHIVED', $5, $6)`,
      [level, id, day, name, parent, run],
    );
  const add = async (run: number) => {
    const { rows } = await pool.query(
      `select * from ads.add_unlisted(1::smallint, $1, '2024-03-20T02:00:00Z')`,
      [run],
    );
    return rows;
  };
  const named = () =>
    read(`select id, name, status, ad_set_id, is_listed from ads.ads
      union all select id, name, status, campaign_id, is_listed from ads.ad_sets
      union all select id, name, status, null, is_listed from ads.campaigns order by 1`);
  await put('AD', 'a', '2024-03-01', 'Old name', 's', 1);
  await put('AD', 'a', '2024-03-02', 'Name', 's', 1);
  await put('AD_SET', 's', '2024-03-02', null, null, 1);
  await put('CAMPAIGN', 'c', '2024-03-02', 'Campaign', null, 1);
  await put('AD_ACCOUNT', 'acc', '2024-03-02', 'Account', null, 1);
  expect(await add(1)).toEqual([{ inserted: '3', updated: '0' }]);
  expect(await named()).toEqual([
    ['a', 'Name', 'ARCHIVED', 's', 'false'],
    ['c', 'Campaign', 'ARCHIVED', null, 'false'],
    ['s', null, 'ARCHIVED', null, 'false'],
  ]);
  expect(await add(1)).toEqual([{ inserted: '0', updated: '0' }]);
  await put('CAMPAIGN', 'c', '2024-03-03', 'Renamed', null, 2);
  expect(await add(2)).toEqual([{ inserted: '0', updated: '1' }]);
  await load(adSets, [{ id: 's', name: 'Listed', campaign_id: 'c' }], { runId: '3' });
  await put('AD_SET', 's', '2024-03-04', 'As reported', null, 3);
  expect(await add(3)).toEqual([{ inserted: '0', updated: '0' }]);
  expect(await named()).toContainEqual(['s', 'Listed', null, 'c', 'true']);
});
