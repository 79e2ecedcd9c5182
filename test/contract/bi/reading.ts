import { afterAll, beforeAll, expect } from 'vitest';
import { checks } from '../../../docs/bi/checks.ts';
import { committed } from '../../../docs/bi/schema.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

/** A warehouse for the tests of a file, and queries to it. */
export interface Reading {
  /** Rows as arrays of what Postgres writes: instants are cast to text in the query, numbers stay exact text. */
  table(query: string): Promise<readonly (readonly unknown[])[]>;
  /** Rows as lines: cells with bars between, a dash for null, midnights in UTC as days. */
  read(query: string): Promise<readonly string[]>;
  /** Expects these lines of a query. */
  shows(query: string, lines: readonly unknown[]): Promise<void>;
  /** Inserts rows given as SQL values, in the order of the columns. */
  insert(into: string, values: readonly string[]): Promise<void>;
}

/**
 * `load` fills the warehouse. Declare it at the top of a file. At the end, the keys and relations of the contract must hold for the rows that the
 * file's tests made.
 */
export function reading(load: () => Promise<unknown>): Reading {
  let database: TestDatabase;
  const table = async (query: string) =>
    (await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' })).rows;
  const read = async (query: string) => {
    const cell = (value: unknown): string => String(value ?? '-').replace(' 00:00:00+00', '');
    return (await table(query)).map((row) => row.map(cell).join(' | '));
  };
  beforeAll(async () => {
    database = await testDatabase();
    await load();
  });
  afterAll(async () => {
    for (const { says, query } of checks(committed())) expect([says, ...(await read(query))]).toEqual([says]);
    await database.drop();
  });
  return {
    table,
    read,
    shows: async (query, lines) => expect(await read(query)).toEqual(lines),
    insert: async (into, values) =>
      void (await table(`insert into ${into} values ${values.map((row) => `(${row})`).join(', ')}`)),
  };
}

/** Names of all relations of the reading schema. */
export const relations = (read: Reading['read']) =>
  read(
    `select relname from pg_class where relnamespace = 'bi'::regnamespace and relkind in ('r', 'v') order by relname`,
  );

/** Reads every value of every row, which a count(*) does not. */
export const readWhole = (relation: string): string =>
  `select count(t)::integer as count from (select * from bi.${relation} offset 0) t`;

/** Two trackers, so that ids repeat; the vocabulary of the first. */
export async function loadVocabulary(insert: Reading['insert']): Promise<void> {
  await insert('ops.sources (name, kind, base_url)', [
    `'tracker', 'tracker', 'http://one'`,
    `'elsewhere', 'tracker', 'http://two'`,
  ]);
  await insert('tracker.projects (source_id, id, key, name, lead_user_id)', [
    `1, 10, 'PROJ', 'Product', 'ann'`,
    `1, 20, 'OPS', 'Operations', 'bob'`,
    `2, 10, 'ELSE', 'Elsewhere', null`,
  ]);
  await insert('tracker.users (source_id, id, display_name, email, active, time_zone)', [
    `1, 'ann', 'Ann', 'ann@example.com', true, 'Europe/Berlin'`,
    `1, 'bob', 'Bob', 'bob@example.com', true, 'America/Los_Angeles'`,
    `1, 'cid', 'Cid', 'cid@example.com', false, 'Mars/Olympus_Mons'`,
  ]);
  await insert('tracker.statuses (source_id, id, name, category, _deleted_at)', [
    `1, 1, 'To Do', 'todo', null`,
    `1, 2, 'Doing', 'in_progress', null`,
    `1, 3, 'Review', 'in_progress', null`,
    `1, 4, 'Done', 'done', null`,
    `1, 5, 'Parked', 'todo', now()`,
    `1, 6, 'Closed', 'done', null`,
    `2, 4, 'Idea', 'todo', null`,
  ]);
  await insert('tracker.issue_types (source_id, id, name)', [`1, 1, 'Bug'`, `1, 2, 'Task'`, `2, 1, 'Wish'`]);
}

export const issueColumns =
  'tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, creator_id, story_points, created_at, updated_at, _deleted_at)';
export const changeColumns =
  'tracker.issue_changelog (source_id, history_id, item, issue_id, changed_at, author_id, field_id, field_name, from_id, from_text, to_id, to_text)';

/** Values of a status change for `changeColumns`, in source 1. */
export const statusChange = (
  [history, item]: readonly [number, number],
  issue: number,
  at: string,
  [from, fromText]: readonly [string, string],
  [to, toText]: readonly [string, string],
): string =>
  `1, ${history}, ${item}, ${issue}, '${at}', 'ann', 'status', 'status', '${from}', '${fromText}', '${to}', '${toText}'`;

export const toDo = ['1', 'To Do'] as const;
export const doing = ['2', 'Doing'] as const;
export const review = ['3', 'Review'] as const;
export const done = ['4', 'Done'] as const;
