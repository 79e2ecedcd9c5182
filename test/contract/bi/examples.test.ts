import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillBigWarehouse, type Sizes } from '../../../bench/big-warehouse.ts';
import { examples } from '../../../docs/bi/examples.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { relations } from './reading.ts';

const sizes: Sizes = {
  issues: 1000,
  changes: 8300,
  comments: 500,
  worklogs: 500,
  campaigns: 4,
  days: 40,
  runs: 1200,
  nights: 10,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await fillBigWarehouse(database.warehouse.pool, sizes);
}, 60_000);
afterAll(() => database.drop());

const rowsOf = async (query: string): Promise<readonly (readonly unknown[])[]> =>
  (await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' })).rows;

test('every view has one example question, which reads it', async () => {
  const names = await relations(async (query) => (await rowsOf(query)).map(([name]) => String(name)));
  expect(examples.map(({ view }) => view)).toEqual(names);
  for (const { view, sql } of examples) {
    expect([view, /\bbi\.(\w+)/.exec(sql)?.[1]]).toEqual([view, view]);
    expect([view, (await rowsOf(sql)).length > 0 || mayBeEmpty.has(view)]).toEqual([view, true]);
  }
});

/** Faults, of which a warehouse may have none, and what so small a company may lack. */
const mayBeEmpty = new Set([
  'ad_extra_metrics',
  'ad_level_checks',
  'assets',
  'audiences',
  'dags',
  'data_freshness',
  'issue_links',
  'late_nights',
  'receipts',
  'sprint_issues',
]);

test.each(Object.entries({ status: 'status_id', assignee: 'assignee_id', priority: 'priority_id' }))(
  'the last change of %s in a filled warehouse agrees with the issue',
  async (field, column) => {
    const [[count, different] = []] =
      await rowsOf(`select count(*), count(*) filter (where c.to_id is distinct from i.${column}::text)
      from tracker.issues i join (
        select distinct on (issue_id) issue_id, to_id from tracker.issue_changelog where field_id = '${field}'
        order by issue_id, changed_at desc, history_id desc, item desc) c on c.issue_id = i.id`);
    expect([Number(count) > 100, different]).toEqual([true, '0']);
  },
);

test('a filled warehouse has the rows that were asked for', async () => {
  const tables = ['tracker.issues', 'tracker.issue_changelog', 'tracker.comments', 'tracker.worklogs'];
  const counts = await Promise.all(tables.map((table) => rowsOf(`select count(*)::integer from ${table}`)));
  expect(counts.flat(2)).toEqual([sizes.issues, sizes.changes, sizes.comments, sizes.worklogs]);
});
