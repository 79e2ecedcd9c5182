import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Mapped, Stream } from '../../../src/core/stream.ts';
import { plainTable } from '../../support/plain-table.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { batchOf, loadBatch, makeLab, rowsOf, thingFlow } from './things.ts';

/** An entity whose key has two columns, with children. */
const seats = plainTable({
  schema: 'lab',
  name: 'seats',
  columns: { hall: 'text', seat: 'bigint', holder: 'text' },
  key: ['hall', 'seat'],
  entity: true,
});
const seatTags = plainTable({
  schema: 'lab',
  name: 'seat_tags',
  columns: { hall: 'text', seat: 'bigint', tag: 'text' },
  key: ['hall', 'seat', 'tag'],
  entity: false,
});
const flow: Stream = {
  ...thingFlow,
  name: 'seats',
  table: seats,
  children: { tags: { table: seatTags, parent: ['hall', 'seat'], absent: 'deleted' } },
};

const seat = (hall: string, number: number, holder: string): Mapped => ({
  row: { hall, seat: number, holder },
  children: { tags: [{ hall, seat: number, tag: holder }] },
});

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await makeLab(database.warehouse);
  await database.warehouse.pool.query(`
    create table lab.seats (source_id smallint, hall text, seat bigint, holder text, _synced_at timestamptz, _run_id bigint,
      _deleted_at timestamptz, _row_hash bigint, primary key (source_id, hall, seat));
    create table lab.seat_tags (source_id smallint, hall text, seat bigint, tag text, _synced_at timestamptz, _run_id bigint,
      primary key (source_id, hall, seat, tag))`);
});
afterAll(() => database.drop());
beforeEach(() => database.warehouse.pool.query('truncate lab.seats, lab.seat_tags'));

const held = () =>
  rowsOf(
    database.warehouse,
    `select s.hall, s.seat, s.holder, t.tag from lab.seats s join lab.seat_tags t using (hall, seat) order by 1, 2`,
  );

test('one row of several with the same first key changes: it alone is written, the others count as unchanged', async () => {
  const { warehouse } = database;
  await loadBatch(warehouse, batchOf(flow, [seat('a', 1, 'ann'), seat('a', 2, 'ben'), seat('b', 1, 'cid')]));
  const changed = batchOf(flow, [seat('a', 1, 'ann'), seat('a', 2, 'dan'), seat('b', 1, 'cid')]);
  const { counts } = await loadBatch(warehouse, changed, { runId: '2' });
  expect(counts).toMatchObject({ received: 3, inserted: 0, updated: 1, unchanged: 2, superseded: 0 });
  expect(await held()).toEqual([
    ['a', '1', 'ann', 'ann'],
    ['a', '2', 'dan', 'dan'],
    ['b', '1', 'cid', 'cid'],
  ]);
});

test('an older fetch beside a new row of the same first key is superseded, with its children', async () => {
  const { warehouse } = database;
  await loadBatch(warehouse, batchOf(flow, [seat('a', 1, 'ann')], [2000n]));
  const { counts } = await loadBatch(
    warehouse,
    batchOf(flow, [seat('a', 1, 'old'), seat('a', 2, 'ben')], [1000n, 3000n]),
  );
  expect(counts).toMatchObject({ received: 2, inserted: 1, updated: 0, unchanged: 0, superseded: 1 });
  expect(await held()).toEqual([
    ['a', '1', 'ann', 'ann'],
    ['a', '2', 'ben', 'ben'],
  ]);
});
