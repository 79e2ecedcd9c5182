import { expect, test } from 'vitest';
import type { Mapped, Stream } from '../../../src/core/stream.ts';
import { plainTable } from '../../support/plain-table.ts';
import { openLab, thingFlow } from './things.ts';

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

const { put, rows } = openLab(
  flow,
  'lab.seats, lab.seat_tags',
  `create table lab.seats (source_id smallint, hall text, seat bigint, holder text, _synced_at timestamptz, _run_id bigint,
     _deleted_at timestamptz, _row_hash bigint, primary key (source_id, hall, seat));
   create table lab.seat_tags (source_id smallint, hall text, seat bigint, tag text, _synced_at timestamptz, _run_id bigint,
     primary key (source_id, hall, seat, tag))`,
);
const held = () =>
  rows(
    'select s.hall || s.seat, s.holder, t.tag from lab.seats s join lab.seat_tags t using (hall, seat) order by 1',
  );

test('one row of several with the same first key changes: it alone is written, the others count as unchanged', async () => {
  await put([seat('a', 1, 'ann'), seat('a', 2, 'ben'), seat('b', 1, 'cid')]);
  const changed = [seat('a', 1, 'ann'), seat('a', 2, 'dan'), seat('b', 1, 'cid')];
  const { counts } = await put(changed, { runId: '2' });
  expect(counts).toMatchObject({ received: 3, inserted: 0, updated: 1, unchanged: 2, superseded: 0 });
  expect((await held()).join(' ')).toBe('a1,ann,ann a2,dan,dan b1,cid,cid');
});

test('an older fetch beside a new row of the same first key is superseded, with its children', async () => {
  await put([seat('a', 1, 'ann')], {}, [2000n]);
  const { counts } = await put([seat('a', 1, 'old'), seat('a', 2, 'ben')], {}, [1000n, 3000n]);
  expect(counts).toMatchObject({ received: 2, inserted: 1, updated: 0, unchanged: 0, superseded: 1 });
  expect((await held()).join(' ')).toBe('a1,ann,ann a2,ben,ben');
});
