import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Fenced } from '../../../src/core/errors.ts';
import type { Mapped, Stream } from '../../../src/core/stream.ts';
import { Batch } from '../../../src/load/batch.ts';
import { pruneRejects } from '../../../src/load/rejects.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { batchOf, loadBatch, makeLab, memberFlow, members, rowsOf, thing, thingFlow } from './things.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await makeLab(database.warehouse);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.warehouse.pool.query(
    'truncate lab.things, lab.thing_tags, lab.thing_notes, lab.members, ops.rejects',
  );
});

const names = () =>
  rowsOf(database.warehouse, 'select id, name from lab.things where _deleted_at is null order by id');
test('a batch loaded twice leaves the same rows and writes none the second time', async () => {
  const { warehouse } = database;
  const records = [thing(1, 'a', 10n, { tags: [{ thing_id: 1, tag: 'x', weight: 1 }] }), thing(2, null, 10n)];
  const first = await loadBatch(warehouse, batchOf(thingFlow, records));
  expect(first.counts).toMatchObject({ received: 2, inserted: 2 });
  const before = await rowsOf(
    warehouse,
    'select id, xmin from lab.things union all select 0, xmin from lab.thing_tags',
  );
  const second = await loadBatch(warehouse, batchOf(thingFlow, records), { runId: '2' });
  expect(second.counts).toMatchObject({ received: 2, inserted: 0, updated: 0, unchanged: 2 });
  expect(
    await rowsOf(warehouse, 'select id, xmin from lab.things union all select 0, xmin from lab.thing_tags'),
  ).toEqual(before);
});

test('the larger order wins whichever comes last; a forced resync wins over all', async () => {
  const { warehouse } = database;
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'new', 20n)]));
  const older = await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'old', 10n)]), { runId: '2' });
  expect(older.counts).toMatchObject({ superseded: 1, updated: 0 });
  expect(await names()).toEqual([['1', 'new']]);
  const forced = await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'old', 10n)]), {
    runId: '3',
    force: true,
  });
  expect(forced.counts).toMatchObject({ updated: 1 });
  expect(await names()).toEqual([['1', 'old']]);
});

test('with equal order the later fetch wins, and a later run wins over an earlier one', async () => {
  const { warehouse } = database;
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'second fetch', 10n)], [2000n]));
  const early = await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'first fetch', 10n)], [1000n]));
  expect(early.counts).toMatchObject({ superseded: 1 });
  expect(await names()).toEqual([['1', 'second fetch']]);
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'next run', 10n)], [500n]), { runId: '2' });
  expect(await names()).toEqual([['1', 'next run']]);
});

test.each([
  ['newer first', [thing(1, 'new', 20n), thing(1, 'old', 10n)]],
  ['newer last', [thing(1, 'old', 10n), thing(1, 'new', 20n)]],
])('the same key twice in a batch: the newer is taken (%s)', async (_, records) => {
  const loaded = await loadBatch(database.warehouse, batchOf(thingFlow, records));
  expect(loaded.counts).toMatchObject({ received: 2, inserted: 1, deduplicated: 1 });
  expect(await names()).toEqual([['1', 'new']]);
});

test('children are replaced with their parent: relations go, entities become tombstones and rise again', async () => {
  const { warehouse } = database;
  const tags = (...list: string[]) => list.map((tag) => ({ thing_id: 1, tag, weight: tag.length }));
  const note = (id: number, body: string) => ({ id, thing_id: 1, body });
  await loadBatch(
    warehouse,
    batchOf(thingFlow, [
      thing(1, 'a', 10n, { tags: tags('x', 'y', 'y'), notes: [note(7, 'hi'), note(8, 'ho')] }),
    ]),
  );
  const next = await loadBatch(
    warehouse,
    batchOf(thingFlow, [thing(1, 'a', 11n, { tags: tags('y', 'long'), notes: [note(8, 'ho!')] })]),
    { runId: '2' },
  );
  expect(next.deleted).toBe(2);
  expect(await rowsOf(warehouse, 'select tag, weight from lab.thing_tags order by 1')).toEqual([
    ['long', '4'],
    ['y', '1'],
  ]);
  const notes = 'select id, body, _deleted_at is not null from lab.thing_notes order by id';
  expect(await rowsOf(warehouse, notes)).toEqual([
    ['7', 'hi', 'true'],
    ['8', 'ho!', 'false'],
  ]);
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 12n, { tags: [], notes: [note(7, 'hi')] })]), {
    runId: '3',
  });
  expect(await rowsOf(warehouse, notes)).toEqual([
    ['7', 'hi', 'false'],
    ['8', 'ho!', 'true'],
  ]);
  expect(await rowsOf(warehouse, 'select * from lab.thing_tags')).toEqual([]);
});

describe('an entity that goes from one parent to another', () => {
  const note = (thing_id: number) => ({ notes: [{ id: 7, thing_id, body: 'hi' }] });
  const owner = () =>
    rowsOf(database.warehouse, 'select thing_id from lab.thing_notes where id = 7 and _deleted_at is null');

  test.each([
    ['first', [thing(1, 'a', 10n, note(1)), thing(2, 'b', 10n, note(2))], [2000n, 1000n], '1'],
    ['last', [thing(1, 'a', 10n, note(1)), thing(2, 'b', 10n, note(2))], [1000n, 2000n], '2'],
  ])(
    'while they are read, and comes with both, belongs to the one read last (%s in the batch)',
    async (_, records, fetchedAt, last) => {
      await loadBatch(database.warehouse, batchOf(thingFlow, records, fetchedAt));
      expect(await owner()).toEqual([[last]]);
      // Known already, too.
      await loadBatch(
        database.warehouse,
        batchOf(
          thingFlow,
          records.map((one) => ({ ...one, row: { ...one.row, name: 'other', updated_at: 11n } })),
          fetchedAt,
        ),
      );
      expect(await owner()).toEqual([[last]]);
    },
  );

  test('stays with the parent that was read last, whichever batch is committed first', async () => {
    const { warehouse } = database;
    await loadBatch(warehouse, batchOf(thingFlow, [thing(2, 'b', 10n, note(2))], [2000n]));
    await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n, note(1))], [1000n]));
    expect(await owner()).toEqual([['2']]);
    // The next run reads the one that it left without it, and the one that has it is as it was.
    await loadBatch(
      warehouse,
      batchOf(thingFlow, [thing(1, 'a', 11n, { notes: [] }), thing(2, 'b', 10n, note(2))]),
      {
        runId: '2',
      },
    );
    expect(await owner()).toEqual([['2']]);
  });

  test('stays where a later run saw it, whatever a record that was fetched before says when it is replayed', async () => {
    const { warehouse } = database;
    await loadBatch(warehouse, batchOf(thingFlow, [thing(2, 'b', 10n, note(2))], [2000n]), { runId: '2' });
    await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n, note(1))], [1000n]), {
      runId: '3',
      late: true,
    });
    expect(await owner()).toEqual([['2']]);
  });

  test('goes back, also by the word of a process whose clock is behind', async () => {
    const { warehouse } = database;
    await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n, note(1))], [5000n]));
    await loadBatch(
      warehouse,
      batchOf(thingFlow, [thing(2, 'b', 10n, note(2)), thing(1, 'a', 11n, { notes: [] })]),
      {
        runId: '2',
      },
    );
    expect(await owner()).toEqual([['2']]);
    await loadBatch(warehouse, batchOf(thingFlow, [thing(2, 'b', 11n, { notes: [] })], [9000n]), {
      runId: '3',
    });
    expect(await owner()).toEqual([]);
    await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 12n, note(1))], [500n]), { runId: '3' });
    expect(await owner()).toEqual([['1']]);
  });
});

test('children that were not delivered stay as they are', async () => {
  const { warehouse } = database;
  const tags = [{ thing_id: 1, tag: 'x', weight: null }];
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n, { tags })]));
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'b', 11n)]), { runId: '2' });
  expect(await rowsOf(warehouse, 'select tag from lab.thing_tags')).toEqual([['x']]);
});

test('an older version of the parent does not bring back its old children', async () => {
  const { warehouse } = database;
  const tag = (name: string) => ({ tags: [{ thing_id: 1, tag: name, weight: null }] });
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'new', 20n, tag('new'))]));
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'old', 10n, tag('old')), thing(2, 'b', 1n, {})]), {
    runId: '2',
  });
  expect(await rowsOf(warehouse, 'select tag from lab.thing_tags')).toEqual([['new']]);
});

test('a tombstoned row that is seen again is alive again, even unchanged', async () => {
  const { warehouse } = database;
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n)]));
  await warehouse.pool.query('update lab.things set _deleted_at = now()');
  const loaded = await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n)]), { runId: '2' });
  expect(loaded.counts).toMatchObject({ updated: 1 });
  expect(await names()).toEqual([['1', 'a']]);
});

test('a complete listing replaces its scope and no other', async () => {
  const { warehouse } = database;
  const member = (club_id: string, user_id: string) => ({ row: { club_id, user_id }, children: {} });
  await loadBatch(warehouse, batchOf(memberFlow, [member('a', '1'), member('a', '2'), member('b', '1')]));
  const loaded = await loadBatch(warehouse, batchOf(memberFlow, [member('a', '2'), member('a', '3')]), {
    lists: { equal: { club_id: 'a' } },
  });
  expect(loaded).toMatchObject({ deleted: 1, counts: { received: 2, inserted: 1, unchanged: 1 } });
  expect(await rowsOf(warehouse, 'select club_id, user_id from lab.members order by 1, 2')).toEqual([
    ['a', '2'],
    ['a', '3'],
    ['b', '1'],
  ]);
});

test('an empty listing of a scope with many rows removes nothing and says so', async () => {
  const { warehouse } = database;
  const many = Array.from({ length: 21 }, (_, i) => ({
    row: { club_id: 'a', user_id: String(i) },
    children: {},
  }));
  await loadBatch(warehouse, batchOf(memberFlow, many));
  const loaded = await loadBatch(warehouse, new Batch(memberFlow), { lists: { equal: { club_id: 'a' } } });
  expect(loaded).toMatchObject({ isHeld: true, deleted: 0 });
  await warehouse.pool.query("delete from lab.members where user_id = '0'");
  const small = await loadBatch(warehouse, new Batch(memberFlow), { lists: { equal: { club_id: 'a' } } });
  expect(small).toMatchObject({ isHeld: false, deleted: 20 });
});

describe('an entity whose record in a complete listing is rejected', () => {
  const listedFlow: Stream = { ...thingFlow, children: {}, absent: 'delete' };
  const rejected = (key: string) =>
    ({
      key,
      payload: Buffer.from(key),
      stage: 'encode',
      code: 'bad_text',
      field: 'name',
      message: 'NUL',
      slice: {},
    }) as const;
  const listing = async (shown: readonly Mapped[], rejects: readonly string[], runId: string) => {
    const batch = batchOf(listedFlow, shown);
    for (const key of rejects) batch.reject(rejected(key));
    return loadBatch(database.warehouse, batch, { runId, lists: { equal: {} } });
  };

  test('is not gone; what the list does not show is', async () => {
    await listing([thing(1, 'a', 10n), thing(9, 'nine', 10n), thing(10, 'ten', 10n)], [], '1');
    expect(await listing([thing(1, 'a', 10n)], ['9'], '2')).toMatchObject({ isHeld: false, deleted: 1 });
    expect(await names()).toEqual([
      ['1', 'a'],
      ['9', 'nine'],
    ]);
    expect(await listing([thing(1, 'a', 10n)], [], '3')).toMatchObject({ deleted: 1 });
    expect(await names()).toEqual([['1', 'a']]);
  });

  test('and has no name: nothing of the scope is removed, and the rows are counted', async () => {
    await listing([thing(1, 'a', 10n), thing(9, 'nine', 10n)], [], '1');
    expect(await listing([thing(1, 'a', 10n)], ['', '7'], '2')).toMatchObject({
      isHeld: false,
      spared: 1,
      deleted: 0,
    });
    expect(await names()).toEqual([
      ['1', 'a'],
      ['9', 'nine'],
    ]);
    const whole = await listing([thing(1, 'a', 10n), thing(9, 'nine', 10n)], [''], '3');
    expect(whole.spared).toBeUndefined();
  });

  test('and has a name that no row can have: it keeps nothing', async () => {
    await listing([thing(1, 'a', 10n), thing(9, 'nine', 10n)], [], '1');
    expect(await listing([thing(1, 'a', 10n)], ['9\u0000'], '2')).toMatchObject({ deleted: 1 });
    expect(await rowsOf(database.warehouse, 'select record_key from ops.rejects')).toEqual([['9\\x00']]);
  });

  test('does not count against what may go at once', async () => {
    const many = Array.from({ length: 40 }, (_, i) => thing(i, 'x', 10n));
    await listing(many, [], '1');
    const names25 = Array.from({ length: 25 }, (_, i) => String(i));
    expect(await listing(many.slice(26), names25, '2')).toMatchObject({ isHeld: false, deleted: 1 });
  });
});

test('a batch whose lease is lost leaves no trace', async () => {
  const { warehouse } = database;
  const fenced = loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n)]), {
    guard: async () => {
      throw new Fenced('another took it');
    },
  });
  await expect(fenced).rejects.toThrow(Fenced);
  expect(await names()).toEqual([]);
});

test('a poison record is kept with its exact bytes, once however often it comes, and resolved by a good version', async () => {
  const { warehouse } = database;
  const payload = Buffer.from('{"id":1,"name":"\\u0000"}');
  const poison = {
    key: '1',
    payload,
    stage: 'encode',
    code: 'bad_text',
    field: 'name',
    message: 'NUL',
    slice: {},
  } as const;
  for (let run = 1; run <= 10; run += 1) {
    const batch = batchOf(thingFlow, [thing(2, 'b', 10n)]);
    batch.reject(poison);
    batch.reject(poison);
    const loaded = await loadBatch(warehouse, batch, { runId: String(run) });
    expect(loaded.counts).toMatchObject({ received: 3, rejected: 2 });
  }
  const query =
    "select record_key, encode(payload, 'escape'), attempts, status, first_run_id, last_run_id from ops.rejects";
  expect(await rowsOf(warehouse, query)).toEqual([
    ['1', '{"id":1,"name":"\\\\u0000"}', '10', 'open', '1', '10'],
  ]);
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'good', 11n)]), { runId: '11' });
  expect(await rowsOf(warehouse, 'select status from ops.rejects')).toEqual([['resolved']]);
});

test('what was fetched long ago wins over nothing that was written since, whichever run wrote it', async () => {
  const { warehouse } = database;
  await warehouse.pool.query(`create table lab.ranks (source_id smallint, club_id text, user_id text, role text,
    _synced_at timestamptz, _run_id bigint, primary key (source_id, club_id, user_id))`);
  const ranks = { ...members, name: 'ranks', columns: { ...members.columns, role: 'text' } } as const;
  const flow: Stream = { ...memberFlow, table: ranks };
  const member = (user: string, role: string): Mapped => ({
    row: { club_id: 'c', user_id: user, role },
    children: {},
  });
  await loadBatch(warehouse, batchOf(flow, [member('u', 'new')], [2_000n]), { runId: '2' });
  await loadBatch(warehouse, batchOf(flow, [member('u', 'old'), member('v', 'old')], [1_000n, 1_000n]), {
    runId: '3',
    late: true,
  });
  const query = 'select user_id, role from lab.ranks order by 1';
  expect(await rowsOf(warehouse, query)).toEqual([
    ['u', 'new'],
    ['v', 'old'],
  ]);
  await loadBatch(warehouse, batchOf(flow, [member('u', 'newer')], [3_000n]), { runId: '4', late: true });
  expect(await rowsOf(warehouse, query)).toEqual([
    ['u', 'newer'],
    ['v', 'old'],
  ]);
});

test('what was fetched long ago revives nothing that was deleted since, only what was deleted before', async () => {
  const { warehouse } = database;
  const tags = (id: number, tag: string) => ({ tags: [{ thing_id: id, tag, weight: 1 }] });
  await loadBatch(warehouse, batchOf(thingFlow, [thing(1, 'a', 10n, tags(1, 'old')), thing(2, 'b', 10n)]));
  await warehouse.pool.query(
    `update lab.things set _deleted_at = 'epoch'::timestamptz + interval '2 seconds'`,
  );
  const seen = [1_000_000n, 3_000_000n];
  const versions = [thing(1, 'a2', 11n, tags(1, 'new')), thing(2, 'b2', 11n, tags(2, 'new'))];
  const loaded = await loadBatch(warehouse, batchOf(thingFlow, versions, seen), { runId: '2', late: true });
  expect(loaded.counts).toMatchObject({ updated: 1, superseded: 1 });
  expect(await rowsOf(warehouse, 'select id, name, _deleted_at is null from lab.things order by id')).toEqual(
    [
      ['1', 'a', 'false'],
      ['2', 'b2', 'true'],
    ],
  );
  expect(await rowsOf(warehouse, 'select tag from lab.thing_tags order by thing_id')).toEqual([
    ['old'],
    ['new'],
  ]);
});

test('unchanged rows are not even locked', async () => {
  const { warehouse } = database;
  const records = Array.from({ length: 2_000 }, (_, i) => thing(i, `name ${i}`, 10n));
  await loadBatch(warehouse, batchOf(thingFlow, records));
  const state = () =>
    rowsOf(
      warehouse,
      'select count(*), min(xmin::text::bigint), max(xmin::text::bigint), max(xmax::text::bigint) from lab.things',
    );
  const before = await state();
  await loadBatch(warehouse, batchOf(thingFlow, records), { runId: '2' });
  expect(await state()).toEqual(before);
});

test('two loads of the same keys at once end in one of the two orders', async () => {
  const { warehouse } = database;
  const version = (name: string, at: bigint, backwards: boolean) => {
    const list = Array.from({ length: 300 }, (_, i) =>
      thing(i, name, at, { tags: [{ thing_id: i, tag: name, weight: 1 }] }),
    );
    return batchOf(thingFlow, backwards ? list.reverse() : list);
  };
  for (let round = 0; round < 5; round += 1) {
    const at = BigInt(round * 10);
    await Promise.all([
      loadBatch(warehouse, version('old', at, false), { runId: '1' }),
      loadBatch(warehouse, version('new', at + 1n, true), { runId: '1' }),
    ]);
    expect(await rowsOf(warehouse, 'select distinct name from lab.things')).toEqual([['new']]);
    expect(await rowsOf(warehouse, 'select tag, count(*) from lab.thing_tags group by 1')).toEqual([
      ['new', '300'],
    ]);
  }
});

test('rejects that were resolved long ago are deleted with their bytes; one that is open stays, whatever its age', async () => {
  const { db, pool } = database.warehouse;
  await pool.query(`insert into ops.rejects
      (source_id, stream, record_key, sha256, payload, stage, code, message, first_run_id, last_run_id, first_seen_at, status, resolved_at)
    select source_id, 'issues', name, sha256(name::bytea), 'x', 'transform', 'bad_instant', 'bad', 1, 1, now() - interval '1 year', status,
      now() - days * interval '1 day' from (values
        (1, 'open', 'open', null), (1, 'resolved lately', 'resolved', 89), (1, 'resolved long ago', 'resolved', 91),
        (1, 'replayed long ago', 'replayed', 91), (2, 'of another source', 'resolved', 91)
      ) as rejects (source_id, name, status, days)`);
  await pruneRejects(db, 1);
  const { rows } = await pool.query<{ record_key: string }>('select record_key from ops.rejects order by 1');
  expect(rows.map(({ record_key }) => record_key)).toEqual(['of another source', 'open', 'resolved lately']);
});
