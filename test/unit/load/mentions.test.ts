import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Stream } from '../../../src/core/stream.ts';
import * as core from '../../../src/core/table.ts';
import { Batch } from '../../../src/load/batch.ts';
import { writeMentions } from '../../../src/load/mentions.ts';
import { inTransaction } from '../../../src/load/session.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

const people = core.table(
  'scratch.people',
  'People.',
  {
    id: core.text('Id.').key(),
    name: core.text('Name.').nullable(),
    active: core.bool('Active.').nullable(),
  },
  { relation: true },
);
const things = core.table('scratch.things', 'Things.', { id: core.bigint('Id.').key() });
const stream = { name: 'things', table: things, mentions: people } as unknown as Stream;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.warehouse.pool.query(`
    create schema scratch;
    create table scratch.people (source_id smallint, id text, name text, active boolean, _synced_at timestamptz,
      _run_id bigint, primary key (source_id, id))`);
});
afterAll(() => database.drop());

const row = (id: string, name: string | null, active: boolean | null = null) => ({ id, name, active });

/** Loads what two records name; gives the rows with the run that wrote each. */
const load = async (runId: string, rows: readonly ReturnType<typeof row>[], late = false) => {
  const batch = new Batch(stream);
  const mapped = (id: number) => ({ row: { id, _extra: null }, children: {} });
  batch.add({ ...mapped(1), mentions: rows.slice(0, 1) }, 0n);
  batch.add(mapped(2), 0n, { nested: { mentions: rows.slice(1) } });
  const merge = { sourceId: 1, runId, force: false, ...(late && { late: true as const }) };
  const { pool } = database.warehouse;
  await inTransaction(pool, new AbortController().signal, (session) =>
    writeMentions({ session, batch, merge }, [...batch.mentions.values()]),
  );
  const query = 'select id, name, active, _run_id::text as run from scratch.people order by id';
  return (await pool.query<unknown[]>({ text: query, rowMode: 'array' })).rows;
};

test('what records name is kept once, written where it changed, and never forgotten', async () => {
  expect(await load('1', [row('b', 'Bo', true), row('a', 'Al'), row('b', 'Bob')])).toEqual([
    ['a', 'Al', null, '1'],
    ['b', 'Bob', true, '1'],
  ]);
  expect(await load('2', [row('a', 'Al', false), row('b', 'Bob', null), row('c', 'C\u0000')])).toEqual([
    ['a', 'Al', false, '2'],
    ['b', 'Bob', true, '1'],
    ['c', 'C\uFFFD', null, '2'],
  ]);
  expect(await load('3', [row('a', 'Old name'), row('d', 'Dee')], true)).toEqual([
    ['a', 'Al', false, '2'],
    ['b', 'Bob', true, '1'],
    ['c', 'C\uFFFD', null, '2'],
    ['d', 'Dee', null, '3'],
  ]);
  expect(await load('4', [])).toHaveLength(4);
});
