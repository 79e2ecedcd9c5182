import { expect, test } from 'vitest';
import { until } from '../../support/processes.ts';
import { openLab, thing, thingFlow } from './things.ts';

const emptied = 'lab.things, lab.thing_tags, lab.thing_notes';
const lab = openLab(thingFlow, emptied);
const { put, rows } = lab;

const tag = (thingId: number, name: string, weight: number) => ({ thing_id: thingId, tag: name, weight });
const note = (id: number, thingId: number, body: string) => ({ id, thing_id: thingId, body });

test('new records and their children have the same columns whether they were copied or merged', async () => {
  const records = [1, 2].map((id) =>
    thing(id, `näme ${id}`, BigInt(id), {
      tags: [tag(id, 'x', 1), tag(id, 'y', 2)],
      notes: [note(id, id, 'hi')],
    }),
  );
  const columns = () =>
    Promise.all([
      rows('select *, extract(epoch from _synced_at) from lab.things order by 2'),
      rows(`select source_id, thing_id, tag, weight, _run_id, _synced_at > now() - interval '1 min'
        from lab.thing_tags order by 2, 3`),
      rows('select *, extract(epoch from _synced_at) from lab.thing_notes order by 2'),
    ]);
  const how = { sourceId: 3, runId: '9007199254740993' };
  const copied = await put(records, how);
  expect(copied.counts).toMatchObject({ received: 2, inserted: 2, updated: 0, unchanged: 0 });
  const seen = await columns();
  expect(seen.map(({ length }) => length)).toEqual([2, 4, 2]);
  // A row that a scope is replaced by is merged, never copied.
  await rows(`truncate ${emptied}`);
  await put(records, { ...how, lists: { equal: {} } });
  expect(await columns()).toEqual(seen);
});

test('a new record whose child is stored already is merged, and nothing is lost', async () => {
  await rows(`insert into lab.thing_tags (source_id, thing_id, tag, weight) values (1, 2, 'left behind', 7)`);
  const { counts } = await put([
    thing(1, 'a', 10n, { tags: [tag(1, 'x', 1)], notes: [note(5, 1, 'hi')] }),
    thing(2, 'b', 10n, { tags: [tag(2, 'left behind', 8), tag(2, 'new', 1)] }),
  ]);
  expect(counts).toMatchObject({ received: 2, inserted: 2, updated: 0, unchanged: 0 });
  const stored = await rows('select thing_id, tag, weight from lab.thing_tags order by 1, 2');
  expect(stored.join(' ')).toBe('1,x,1 2,left behind,8 2,new,1');
  expect(await rows('select id, body from lab.thing_notes')).toEqual([['5', 'hi']]);
});

test.each([
  ['newer', 20n, 'theirs', { inserted: 1, superseded: 1 }],
  ['older', 5n, 'ours', { inserted: 1, updated: 1 }],
])(
  'a record that another session writes at the same moment is merged: theirs is %s',
  async (_, order, wins, counts) => {
    const other = await lab.warehouse.pool.connect();
    try {
      await other.query('begin');
      await other.query(
        `insert into lab.things (source_id, id, name, updated_at, _row_hash, _run_id)
       values (1, 2, 'theirs', timestamptz 'epoch' + $1 * interval '1 microsecond', 42, 7)`,
        [String(order)],
      );
      const loading = put([thing(1, 'ours', 10n), thing(2, 'ours', 10n)]);
      const waiting = `select 1 from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock' and query ilike '%; copy "lab"."things"%'`;
      await until('the COPY waits for the other transaction', async () => (await rows(waiting)).length === 1);
      await other.query('commit');
      expect((await loading).counts).toMatchObject({ received: 2, ...counts });
    } finally {
      other.release();
    }
    expect((await rows('select id, name from lab.things order by 1')).join(' ')).toBe(`1,ours 2,${wins}`);
  },
);
