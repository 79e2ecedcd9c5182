import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { boardSprintsFromSprints, sprintsFromIssues } from '../../../../src/connectors/jira/streams/agile.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';

let database: TestDatabase;
const rowsOf = async (query: string, parameters: readonly unknown[] = []): Promise<readonly unknown[]> =>
  (await database.warehouse.pool.query({ text: query, values: [...parameters], rowMode: 'array' })).rows;
beforeAll(async () => {
  database = await testDatabase();
  await rowsOf(
    `insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://tracker.test')`,
  );
});
afterAll(() => database.drop());
beforeEach(() =>
  rowsOf('truncate tracker.issues, tracker.issue_sprints, tracker.sprints, tracker.board_sprints cascade'),
);

/** Runs a statement as run `run`; gives how many rows it inserted and updated. */
const counts = async (statement: string, run: number) =>
  (await rowsOf(statement, [1, run])).map((row) => (row as unknown[]).slice(0, 2).map(Number))[0];

/** What an issue says of a sprint, since a day of February 2024. */
const says = (issue: number, sprint: number, state: string, day: number) =>
  rowsOf(
    `insert into tracker.issue_sprints (source_id, issue_id, sprint_id, name, state, board_id, start_at, _synced_at)
     values (1, $1, $2, 'Sprint', $3, 7, '2024-01-01Z', $4)`,
    [issue, sprint, state, `2024-02-0${day}Z`],
  );
/** The row of an issue, written by a run of a kind on a day of February 2024. */
const written = (issue: number, kind: 'sync' | 'reconcile', day: number) =>
  rowsOf(
    `with run as (
       insert into ops.runs (pipeline, source_id, kind, status, epoch) values ('tracker', 1, $2, 'succeeded', 1) returning run_id
     ) insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, summary, created_at, updated_at, _synced_at, _run_id)
       select 1, $1::bigint, 'A-' || $1::bigint, 1, 1, 1, 'An issue', '2024-01-01Z', '2024-01-01Z', $3::timestamptz, run_id from run`,
    [issue, kind, `2024-02-0${day}Z`],
  );

it.each([
  ['sync', 'active'],
  ['reconcile', 'closed'],
] as const)('an issue that a %s wrote last, unchanged, makes its sprint %s', async (kind, state) => {
  await says(1, 10, 'active', 1);
  await says(2, 10, 'closed', 2);
  await written(1, kind, 3);
  await written(2, 'sync', 2);
  await counts(sprintsFromIssues.sql, 5);
  expect(await rowsOf('select id, state from tracker.sprints')).toEqual([['10', state]]);
});

it('what issues say changes nothing twice; a change and a return from deletion are written', async () => {
  await says(1, 10, 'active', 1);
  await says(1, 11, 'future', 1);
  expect(await counts(sprintsFromIssues.sql, 5)).toEqual([2, 0]);
  expect(await counts(sprintsFromIssues.sql, 6)).toEqual([0, 0]);
  await says(2, 10, 'closed', 3);
  await rowsOf('update tracker.sprints set _deleted_at = now() where id = 11');
  expect(await counts(sprintsFromIssues.sql, 7)).toEqual([0, 2]);
  expect(await rowsOf('select id, state, _deleted_at, _run_id from tracker.sprints order by id')).toEqual([
    ['10', 'closed', null, '7'],
    ['11', 'future', null, '7'],
  ]);
});

it('such a sprint is shown by its own board, and stays on other boards', async () => {
  await says(1, 10, 'active', 1);
  await rowsOf('insert into tracker.board_sprints (source_id, board_id, sprint_id) values (1, 8, 10)');
  await counts(sprintsFromIssues.sql, 5);
  expect(await counts(boardSprintsFromSprints.sql, 5)).toEqual([1, 0]);
  expect(await counts(boardSprintsFromSprints.sql, 6)).toEqual([0, 0]);
  const shown = 'select board_id, sprint_id from tracker.board_sprints order by board_id';
  expect(await rowsOf(shown)).toEqual([
    ['7', '10'],
    ['8', '10'],
  ]);
});
