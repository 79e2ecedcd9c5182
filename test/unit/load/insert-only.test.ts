import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { batchOf, loadBatch, makeLab, rowsOf, thing, thingFlow } from './things.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await makeLab(database.warehouse);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.warehouse.pool.query('truncate lab.things, lab.thing_tags, lab.thing_notes');
});

const tag = (thingId: number, name: string, weight: number) => ({ thing_id: thingId, tag: name, weight });
const note = (id: number, thingId: number, body: string) => ({ id, thing_id: thingId, body });

test('new records and their children have the same columns whether they were copied or merged', async () => {
  const { warehouse } = database;
  const records = [1, 2].map((id) =>
    thing(id, `näme ${id}`, BigInt(id), {
      tags: [tag(id, 'x', 1), tag(id, 'y', 2)],
      notes: [note(id, id, 'hi')],
    }),
  );
  const columns = async () => [
    await rowsOf(
      warehouse,
      `select source_id, id, name, updated_at, _row_hash, _run_id, _deleted_at, extract(epoch from _synced_at) from lab.things order by 2`,
    ),
    await rowsOf(
      warehouse,
      'select source_id, thing_id, tag, weight, _run_id, _synced_at > now() - interval $$1 min$$ from lab.thing_tags order by 2, 3',
    ),
    await rowsOf(
      warehouse,
      'select source_id, id, thing_id, body, _row_hash, _run_id, extract(epoch from _synced_at) from lab.thing_notes order by 2',
    ),
  ];
  const copied = await loadBatch(warehouse, batchOf(thingFlow, records), {
    sourceId: 3,
    runId: '9007199254740993',
  });
  expect(copied.counts).toMatchObject({ received: 2, inserted: 2, updated: 0, unchanged: 0 });
  const seen = await columns();
  expect(seen.map((rows) => rows.length)).toEqual([2, 4, 2]);
  // A row that a scope is replaced by is merged, never copied.
  await warehouse.pool.query('truncate lab.things, lab.thing_tags, lab.thing_notes');
  await loadBatch(warehouse, batchOf(thingFlow, records), {
    sourceId: 3,
    runId: '9007199254740993',
    lists: { equal: {} },
  });
  expect(await columns()).toEqual(seen);
});

test('a new record whose child is there already is merged, and nothing is lost', async () => {
  const { warehouse } = database;
  await warehouse.pool.query(
    `insert into lab.thing_tags (source_id, thing_id, tag, weight) values (1, 2, 'left behind', 7)`,
  );
  const loaded = await loadBatch(
    warehouse,
    batchOf(thingFlow, [
      thing(1, 'a', 10n, { tags: [tag(1, 'x', 1)], notes: [note(5, 1, 'hi')] }),
      thing(2, 'b', 10n, { tags: [tag(2, 'left behind', 8), tag(2, 'new', 1)] }),
    ]),
  );
  expect(loaded.counts).toMatchObject({ received: 2, inserted: 2, updated: 0, unchanged: 0 });
  expect(await rowsOf(warehouse, 'select thing_id, tag, weight from lab.thing_tags order by 1, 2')).toEqual([
    ['1', 'x', '1'],
    ['2', 'left behind', '8'],
    ['2', 'new', '1'],
  ]);
  expect(await rowsOf(warehouse, 'select id, body from lab.thing_notes')).toEqual([['5', 'hi']]);
});

test.each([
  ['newer', 20n, 'theirs', { inserted: 1, superseded: 1 }],
  ['older', 5n, 'ours', { inserted: 1, updated: 1 }],
])(
  'a record that somebody writes at the same moment is merged: theirs is %s',
  async (_, theirOrder, wins, counts) => {
    const { warehouse } = database;
    const other = await warehouse.pool.connect();
    try {
      await other.query('begin');
      await other.query(
        `insert into lab.things (source_id, id, name, updated_at, _row_hash, _run_id)
       values (1, 2, 'theirs', timestamptz 'epoch' + $1 * interval '1 microsecond', 42, 7)`,
        [String(theirOrder)],
      );
      const loading = loadBatch(
        warehouse,
        batchOf(thingFlow, [thing(1, 'ours', 10n), thing(2, 'ours', 10n)]),
      );
      await until('the COPY waits for the other transaction', async () => {
        const waiting = await rowsOf(
          warehouse,
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike '%; copy "lab"."things"%'`,
        );
        return waiting.length === 1;
      });
      await other.query('commit');
      expect((await loading).counts).toMatchObject({ received: 2, ...counts });
    } finally {
      other.release();
    }
    expect(await rowsOf(warehouse, 'select id, name from lab.things order by 1')).toEqual([
      ['1', 'ours'],
      ['2', wins],
    ]);
  },
);
