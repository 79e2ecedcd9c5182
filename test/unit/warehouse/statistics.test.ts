import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refreshStatistics } from '../../../src/warehouse/statistics.ts';
import { asOwner, type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
  await rows('insert into ref.holidays select current_date + n, n::text from generate_series(1, 5) n');
  await refresh();
});

afterAll(() => database.drop());

const refresh = () => refreshStatistics(database.warehouse.pool);

async function rows(query: string): Promise<readonly unknown[][]> {
  return (await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' })).rows;
}

/** Rows that the planner counts with, and whether it knows their values. */
const known = async (table: string) =>
  (
    await rows(`select reltuples::int, exists (select from pg_statistic where starelid = oid)
      from pg_class where oid = '${table}'::regclass`)
  )[0];

const reports = (from: number, to: number, day = '2024-03-01') =>
  rows(`insert into ads.report_daily (source_id, ad_account_id, entity_type, entity_id, day)
    select 1, 'a', 'AD', n::text, '${day}' from generate_series(${from}, ${to}) n`);

test('tables of five rows and empty ones are known', async () => {
  expect(await known('ref.holidays')).toEqual([5, true]);
  expect(await known('tracker.issues')).toEqual([0, false]);
});

test('nothing changed: nothing is analyzed', async () => {
  expect(await refresh()).toEqual([]);
});

test('more than a tenth must change, also in another session', async () => {
  const { warehouse } = database;
  await rows(`insert into tracker.users (source_id, id) select 1, n from generate_series(1, 1000) n`);
  expect(await refresh()).toContain('tracker.users');
  expect(await known('tracker.users')).toEqual([1000, true]);
  await rows(`update tracker.users set display_name = 'Ann' where id::int <= 100`);
  expect(await refresh()).not.toContain('tracker.users');
  // Two idle sessions, each of which reported just now and keeps for itself what it changes next.
  const [one, two] = await Promise.all([warehouse.pool.connect(), warehouse.pool.connect()]);
  await one.query('select pg_stat_force_next_flush()');
  await one.query(`update tracker.users set display_name = 'Bob' where id = '7'`);
  one.release();
  two.release();
  expect(await refresh()).toContain('tracker.users');
});

test('a partitioned table is known, and again when its parts have changed', async () => {
  await reports(1, 100);
  expect(await refresh()).toEqual(['ads.report_daily']);
  expect(await known('ads.report_daily')).toEqual([100, true]);
  expect(await known('ads.report_daily_2024')).toEqual([100, true]);
  expect(await refresh()).toEqual([]);
  await reports(1, 20, '2025-03-01');
  expect(await refresh()).toEqual(['ads.report_daily']);
  expect(await known('ads.report_daily')).toEqual([120, true]);
});

test('a table that another session holds is left out, and analyzed the next time', async () => {
  await rows(`insert into tracker.groups (source_id, id, name) values (1, 'g', 'G')`);
  await rows(`insert into tracker.projects (source_id, id, key, name) values (1, 1, 'P', 'P')`);
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  try {
    await holder.query('begin; lock table tracker.groups in share update exclusive mode');
    expect(await refresh()).toEqual(['tracker.projects']);
    await holder.query('commit');
    expect(await refresh()).toEqual(['tracker.groups']);
  } finally {
    await holder.end();
  }
});

test('a reader in an open transaction holds nothing up', async () => {
  await rows(`insert into tracker.boards (source_id, id, name) values (1, 1, 'B')`);
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  try {
    await reader.query('begin; select * from bi.boards');
    expect(await refresh()).toEqual(['tracker.boards']);
  } finally {
    await reader.end();
  }
});

test('a user who may not analyze is not stopped by it', async () => {
  const name = `guest_${database.name}`;
  await asOwner(async (owner) => {
    await owner.query(`create role ${name} login password 'guest'; grant usage on schema ops, tracker to ${name};
      grant select, insert on all tables in schema ops, tracker to ${name}`);
  }, database.name);
  const guest = Object.assign(new URL(database.url), { username: name, password: 'guest' });
  const pool = new pg.Pool({ connectionString: guest.href });
  try {
    await pool.query(`insert into tracker.priorities (source_id, id, name) values (1, 1, 'Urgent')`);
    expect(await refreshStatistics(pool)).toEqual([]);
  } finally {
    await pool.end();
    await asOwner(async (owner) => {
      await owner.query(`drop owned by ${name}; drop role ${name}`);
    }, database.name);
  }
});

test('the rest is left out when the signal aborts', async () => {
  await rows(`insert into tracker.fields (source_id, id, name, custom) values (1, 'f', 'F', true)`);
  expect(await refreshStatistics(database.warehouse.pool, AbortSignal.abort())).toEqual([]);
  expect(await refresh()).toContain('tracker.fields');
});
