import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Reporting, settingsOf } from '../../../src/bi/settings.ts';
import { shippedTables } from '../../../src/connectors/index.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

const usual: Reporting = {
  timeZone: 'UTC',
  currency: undefined,
  workingDays: [1, 2, 3, 4, 5],
  fiscalYearStart: 1,
  names: 'shown',
  restrictedIssues: 'hidden',
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await migrate(database.warehouse, shippedTables, { settings: settingsOf(usual) });
  await database.warehouse.pool.query(`
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://one');
    insert into tracker.projects (source_id, id, key, name) values (1, 10, 'P', 'Product');
    insert into tracker.users (source_id, id, display_name) values (1, 'ann', 'Ann');
    insert into tracker.statuses (source_id, id, name, category) values (1, 1, 'To Do', 'todo'), (1, 4, 'Done', 'done');
    insert into tracker.sprints (source_id, id, name, state, start_at, end_at, completed_at)
      values (1, 1, 'One', 'closed', '2024-03-03 20:00Z', '2024-03-06Z', '2024-03-05 23:00Z');
    insert into tracker.issues (source_id, id, key, project_id, status_id, security_level, created_at, updated_at) values
      (1, 1, 'P-1', 10, 4, null, '2024-03-03 20:00Z', now()), (1, 2, 'P-2', 10, 1, 'Board', '2024-03-03 20:00Z', now());
    insert into tracker.issue_changelog (source_id, history_id, item, issue_id, changed_at, field_id, field_name, from_id, to_id)
      values (1, 1, 0, 1, '2024-03-04 22:00Z', 'status', 'status', '1', '4');
    insert into tracker.issue_sprints (source_id, issue_id, sprint_id) values (1, 1, 1), (1, 2, 1)`);
});
afterAll(() => database.drop());

const told = (change: Partial<Reporting>) =>
  migrate(database.warehouse, shippedTables, { settings: settingsOf({ ...usual, ...change }) });
const rows = async (query: string): Promise<readonly unknown[][]> =>
  (await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' })).rows;

const days = `
  select 'created', created_date::text from bi.issues where issue_key = 'P-1'
  union all select 'entered', entered_date::text from bi.issue_status_history where issue_key = 'P-1' and is_current
  union all select 'flow', min(date_day)::text from bi.cumulative_flow_daily where status_category = 'done'
  union all select 'week', week_start::text from bi.throughput_weekly where created_issues > 0
  union all select 'burndown', string_agg(concat(date_day::text, ' ', remaining_issues), ', ' order by date_day) from bi.sprint_burndown_daily`;

test('every day and week is one of the reporting time zone, also in stored facts', async () => {
  expect(await rows(days)).toEqual([
    ['created', '2024-03-03'],
    ['entered', '2024-03-04'],
    ['flow', '2024-03-04'],
    ['week', '2024-02-26'],
    ['burndown', '2024-03-03 1, 2024-03-04 0, 2024-03-05 0'],
  ]);
  expect(await told({ timeZone: 'Asia/Tokyo' })).toEqual(['settings']);
  expect(await rows(days)).toEqual([
    ['created', '2024-03-04'],
    ['entered', '2024-03-05'],
    ['flow', '2024-03-05'],
    ['week', '2024-03-04'],
    ['burndown', '2024-03-04 1, 2024-03-05 0, 2024-03-06 0'],
  ]);
  expect(await told({})).toEqual(['settings']);
  expect(await told({})).toEqual([]);
});

test('issues with a security level are in no view and in no count until the configuration shows them', async () => {
  const counts = `select (select count(*)::int from bi.issues), (select sum(created_issues)::int from bi.throughput_weekly),
    (select committed_issues::int from bi.sprints), (select scope_issues::int from bi.sprint_burndown_daily order by date_day limit 1),
    (select count(*)::int from bi.issue_status_history where is_current)`;
  expect(await rows(counts)).toEqual([[1, 1, 1, 1, 1]]);
  await told({ restrictedIssues: 'shown' });
  expect(await rows(counts)).toEqual([[2, 2, 2, 2, 2]]);
  await told({});
  expect(await rows(counts)).toEqual([[1, 1, 1, 1, 1]]);
});

test('people are shown by a pseudonym where the configuration says so', async () => {
  const name = 'select user_name from bi.users';
  expect(await rows(name)).toEqual([['Ann']]);
  await told({ names: 'pseudonyms' });
  const [[shown] = []] = await rows(name);
  expect(shown).not.toContain('Ann');
  await told({});
  expect(await rows(name)).toEqual([['Ann']]);
});

test('working days and the fiscal year follow the configuration', async () => {
  const friday = `select is_working_day, fiscal_year from bi.calendar where date_day = '2024-05-03'`;
  expect(await rows(friday)).toEqual([[true, 2024]]);
  await told({ workingDays: [1, 2], fiscalYearStart: 7 });
  expect(await rows(friday)).toEqual([[false, 2024]]);
  await told({});
});
