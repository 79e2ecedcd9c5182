import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';
import { noteStates, wrongBooks } from './books.ts';

let database: TestDatabase;
const query = async (text: string) => (await database.warehouse.pool.query(text)).rows;

beforeAll(async () => {
  database = await testDatabase();
  await query(noteStates);
  await query(
    `insert into ops.sources (name, kind, base_url) values ('s01', 'jira', ''), ('s02', 'jira', '')`,
  );
});
afterAll(() => database.drop());

test('books in order have no line', async () => {
  expect(await wrongBooks(query)).toEqual([]);
});

test('a lost part, a night that ends before its parts, a second end and a lost tick each have a line', async () => {
  await query(`insert into ops.dag_runs (dag_run_id, part_of, pipeline, does, trigger, asked_by, status, finished_at) values
    ('night', null, 'nightly', 'sync', 'api', 'a test', 'running', null),
    ('night.s01.sync', 'night', 's01', 'sync', 'api', 'a test', 'failed', now() + interval '1 second')`);
  for (const ends of [`'succeeded', now()`, `'running', null`, `'failed', now()`])
    await query(`update ops.dag_runs set (status, finished_at) = (${ends}) where dag_run_id = 'night'`);
  await query(`insert into ops.ticks (pipeline, does, scheduled_for, covers, made_by, dag_run_id, joined) values
    ('s01', 'sync', '2026-01-01T00:00Z', 1, 'a test', 'night.s01.sync', true),
    ('s01', 'sync', '2026-01-01T00:02Z', 1, 'a test', 'night.s01.sync', true)`);
  const lines = await wrongBooks(query);
  expect(lines.map((line) => line.split(':')[0])).toEqual([
    'each due minute has one tick',
    'each request ended once',
    'a night has each pipeline once',
    'a night ended with its last part',
  ]);
});

test('a night lacks a reconcile that was due', async () => {
  await query(`insert into ops.runs (pipeline, source_id, kind, trigger, status, epoch, started_at, finished_at) values
    ('s01', 1, 'sync', 'api', 'succeeded', 1, now() - interval '10 minutes', now() - interval '9 minutes')`);
  await query(`insert into ops.dag_runs (dag_run_id, part_of, pipeline, does, trigger, asked_by, status, finished_at) values
    ('due', null, 'nightly', 'sync', 'api', 'a test', 'succeeded', now()),
    ('due.s01.sync', 'due', 's01', 'sync', 'api', 'a test', 'succeeded', now())`);
  const lines = async () =>
    (await wrongBooks(query)).filter((line) => line.startsWith('a night has the reconcile'));
  expect(await lines()).toEqual(['a night has the reconcile that is due: due.s01.sync']);
  await query(`insert into ops.dag_runs (dag_run_id, part_of, pipeline, does, trigger, asked_by, status, finished_at) values
    ('due.s01.reconcile', 'due', 's01', 'reconcile', 'api', 'a test', 'succeeded', now())`);
  expect(await lines()).toEqual([]);
});
