import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  boardSprintsFromSprints,
  sprintsFromIssues,
} from '../../../../src/connectors/jira/fallbacks/sprints.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const source = 1;
const counted = async (statement: string, run: number) => {
  const { rows } = await database.warehouse.pool.query<{ inserted: string; updated: string }>(statement, [
    source,
    run,
  ]);
  return rows.map(({ inserted, updated }) => [Number(inserted), Number(updated)])[0];
};
const rowsOf = async (query: string): Promise<readonly unknown[]> =>
  (await database.warehouse.pool.query<Record<string, unknown>>(query)).rows.map((row) => Object.values(row));

const told = (
  issue: number,
  sprint: number,
  name: string | null,
  state: string | null,
  syncedAt: string,
  of = source,
) =>
  sql`insert into tracker.issue_sprints (source_id, issue_id, sprint_id, name, state, board_id, start_at, _synced_at)
    values (${of}, ${issue}, ${sprint}, ${name}, ${state}, 7, '2024-01-01T00:00:00Z', ${syncedAt})`.execute(
    database.warehouse.db,
  );

/** The row of an issue as a run of a kind wrote it. */
const written = async (issue: number, kind: 'sync' | 'reconcile', syncedAt: string) => {
  const { db } = database.warehouse;
  await sql`insert into ops.sources (source_id, name, kind, base_url) overriding system value
      values (${source}, 'tracker', 'tracker', 'http://tracker.test')
    on conflict do nothing`.execute(db);
  await sql`with run as (
      insert into ops.runs (pipeline, source_id, kind, status, epoch) values ('tracker', ${source}, ${kind}, 'succeeded', 1) returning run_id
    ) insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, summary, created_at, updated_at, _synced_at, _run_id)
      select ${source}, ${issue}, ${`A-${issue}`}, 1, 1, 1, 'An issue', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z', ${syncedAt}::timestamptz,
        run_id from run`.execute(db);
};

beforeEach(async () => {
  await sql`truncate tracker.issues, tracker.issue_sprints, tracker.sprints, tracker.board_sprints`.execute(
    database.warehouse.db,
  );
});

it.each([
  ['sync', 'active'],
  ['reconcile', 'closed'],
] as const)(
  'what an issue tells as before counts as told where a %s wrote its row: %s',
  async (kind, state) => {
    await told(1, 10, 'Sprint 1', 'active', '2024-02-01T00:00:00Z');
    await told(2, 10, 'Sprint 1', 'closed', '2024-02-02T00:00:00Z');
    await written(1, kind, '2024-02-03T00:00:00Z');
    await written(2, 'sync', '2024-02-02T00:00:00Z');
    await counted(sprintsFromIssues.sql, 5);
    expect(await rowsOf('select id::int, state from tracker.sprints')).toEqual([[10, state]]);
  },
);

it('the same again changes nothing; a change and a return from deletion are told', async () => {
  await told(1, 10, 'Sprint 1', 'active', '2024-02-01T00:00:00Z');
  await told(1, 11, 'Sprint 2', 'future', '2024-02-01T00:00:00Z');
  expect(await counted(sprintsFromIssues.sql, 5)).toEqual([2, 0]);
  expect(await counted(sprintsFromIssues.sql, 6)).toEqual([0, 0]);
  await told(2, 10, 'Sprint 1', 'closed', '2024-02-03T00:00:00Z');
  await sql`update tracker.sprints set _deleted_at = now() where id = 11`.execute(database.warehouse.db);
  expect(await counted(sprintsFromIssues.sql, 7)).toEqual([0, 2]);
  expect(
    await rowsOf('select id::int, state, _deleted_at, _run_id::int from tracker.sprints order by id'),
  ).toEqual([
    [10, 'closed', null, 7],
    [11, 'future', null, 7],
  ]);
});

it('each such sprint shows on its own board, and what a board was seen to show stays', async () => {
  await told(1, 10, 'Sprint 1', 'active', '2024-02-01T00:00:00Z');
  await sql`insert into tracker.board_sprints (source_id, board_id, sprint_id) values (1, 8, 10)`.execute(
    database.warehouse.db,
  );
  await counted(sprintsFromIssues.sql, 5);
  expect(await counted(boardSprintsFromSprints.sql, 5)).toEqual([1, 0]);
  expect(await counted(boardSprintsFromSprints.sql, 6)).toEqual([0, 0]);
  expect(
    await rowsOf('select board_id::int, sprint_id::int from tracker.board_sprints order by board_id'),
  ).toEqual([
    [7, 10],
    [8, 10],
  ]);
});
