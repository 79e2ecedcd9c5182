import { describe, expect, test } from 'vitest';
import { Fenced } from '../../../src/core/errors.ts';
import type { Mapped, Stream } from '../../../src/core/stream.ts';
import type { Row } from '../../../src/core/table.ts';
import type { Load } from '../../../src/load/load.ts';
import { pruneRejects } from '../../../src/load/rejects.ts';
import { batchOf, loadBatch, memberFlow, members, openLab, thing, thingFlow } from './things.ts';

const lab = openLab(
  thingFlow,
  'lab.things, lab.thing_tags, lab.thing_notes, lab.members, lab.ranks, ops.rejects',
  `create table lab.ranks (source_id smallint, club_id text, user_id text, role text,
    _synced_at timestamptz, _run_id bigint, primary key (source_id, club_id, user_id))`,
);
const { put, rows } = lab;

const names = () => rows('select id, name from lab.things where _deleted_at is null order by id');
const tag = (name: string, thing_id = 1) => ({ thing_id, tag: name, weight: name.length });
const tags = (...list: string[]) => ({ tags: list.map((name) => tag(name)) });
const storedTags = () => rows('select tag, weight from lab.thing_tags order by 1');

test('a batch loaded twice leaves the same rows and writes none the second time', async () => {
  const records = [thing(1, 'a', 10n, tags('x')), thing(2, null, 10n)];
  expect((await put(records)).counts).toMatchObject({ received: 2, inserted: 2 });
  const query = 'select id, xmin from lab.things union all select 0, xmin from lab.thing_tags';
  const before = await rows(query);
  const second = await put(records, { runId: '2' });
  expect(second.counts).toMatchObject({ received: 2, inserted: 0, updated: 0, unchanged: 2 });
  expect(await rows(query)).toEqual(before);
});

test('the larger order wins whichever comes last; a forced resync wins over all', async () => {
  await put([thing(1, 'new', 20n)]);
  const older = [thing(1, 'old', 10n)];
  expect((await put(older, { runId: '2' })).counts).toMatchObject({ superseded: 1, updated: 0 });
  expect(await names()).toEqual([['1', 'new']]);
  expect((await put(older, { runId: '3', force: true })).counts).toMatchObject({ updated: 1 });
  expect(await names()).toEqual([['1', 'old']]);
});

test('with equal order the later fetch wins, and a later run wins over an earlier one', async () => {
  await put([thing(1, 'second fetch', 10n)], {}, [2000n]);
  const early = await put([thing(1, 'first fetch', 10n)], {}, [1000n]);
  expect(early.counts).toMatchObject({ superseded: 1 });
  expect(await names()).toEqual([['1', 'second fetch']]);
  await put([thing(1, 'next run', 10n)], { runId: '2' }, [500n]);
  expect(await names()).toEqual([['1', 'next run']]);
});

test.each([
  ['newer first', [thing(1, 'new', 20n), thing(1, 'old', 10n)]],
  ['newer last', [thing(1, 'old', 10n), thing(1, 'new', 20n)]],
])('the same key twice in a batch: the newer is taken (%s)', async (_, records) => {
  expect((await put(records)).counts).toMatchObject({ received: 2, inserted: 1, deduplicated: 1 });
  expect(await names()).toEqual([['1', 'new']]);
});

test('children are replaced with their parent: relations go, entities become tombstones and rise again', async () => {
  const note = (id: number, body: string) => ({ id, thing_id: 1, body });
  await put([thing(1, 'a', 10n, { ...tags('x', 'y', 'y'), notes: [note(7, 'hi'), note(8, 'ho')] })]);
  const second = [thing(1, 'a', 11n, { ...tags('y', 'long'), notes: [note(8, 'ho!')] })];
  expect((await put(second, { runId: '2' })).deleted).toBe(2);
  expect((await storedTags()).join(' ')).toBe('long,4 y,1');
  const notes = 'select id, body, _deleted_at is not null from lab.thing_notes order by id';
  expect((await rows(notes)).join(' ')).toBe('7,hi,true 8,ho!,false');
  await put([thing(1, 'a', 12n, { tags: [], notes: [note(7, 'hi')] })], { runId: '3' });
  expect((await rows(notes)).join(' ')).toBe('7,hi,false 8,ho!,true');
  expect(await storedTags()).toEqual([]);
});

describe('an entity that goes from one parent to another', () => {
  const note = (thing_id: number) => ({ notes: [{ id: 7, thing_id, body: 'hi' }] });
  const ofFirst = thing(1, 'a', 10n, note(1));
  const ofSecond = thing(2, 'b', 10n, note(2));
  const without = (id: number) => thing(id, 'ab'[id - 1] ?? '', 11n, { notes: [] });
  const owner = () => rows('select thing_id from lab.thing_notes where id = 7 and _deleted_at is null');

  test.each([
    ['first', [2000n, 1000n], '1'],
    ['last', [1000n, 2000n], '2'],
  ])('and comes with both belongs to the one read last (%s in the batch)', async (_, fetchedAt, last) => {
    const records = [ofFirst, ofSecond];
    await put(records, {}, fetchedAt);
    expect(await owner()).toEqual([[last]]);
    // Also where both rows are stored already.
    const changed = records.map((one) => ({ ...one, row: { ...one.row, name: 'other', updated_at: 11n } }));
    await put(changed, {}, fetchedAt);
    expect(await owner()).toEqual([[last]]);
  });

  test('stays with the parent that was read last, whichever batch is committed first', async () => {
    await put([ofSecond], {}, [2000n]);
    await put([ofFirst], {}, [1000n]);
    expect(await owner()).toEqual([['2']]);
    // The next run reads the one that it left without it, and the one that has it is as it was.
    await put([without(1), ofSecond], { runId: '2' });
    expect(await owner()).toEqual([['2']]);
  });

  test('stays where a later run saw it when an older record is replayed', async () => {
    await put([ofSecond], { runId: '2' }, [2000n]);
    await put([ofFirst], { runId: '3', late: true }, [1000n]);
    expect(await owner()).toEqual([['2']]);
  });

  test('goes back, also when a process reads it whose clock is late', async () => {
    await put([ofFirst], {}, [5000n]);
    await put([ofSecond, without(1)], { runId: '2' });
    expect(await owner()).toEqual([['2']]);
    await put([without(2)], { runId: '3' }, [9000n]);
    expect(await owner()).toEqual([]);
    await put([thing(1, 'a', 12n, note(1))], { runId: '3' }, [500n]);
    expect(await owner()).toEqual([['1']]);
  });
});

test('children stay that were not delivered, or that an older version of the parent has not', async () => {
  await put([thing(1, 'a', 10n, tags('x'))]);
  await put([thing(1, 'b', 11n)], { runId: '2' });
  expect(await storedTags()).toEqual([['x', '1']]);
  await put([thing(1, 'old', 9n, tags('old')), thing(2, 'b', 1n)], { runId: '3' });
  expect(await storedTags()).toEqual([['x', '1']]);
});

test('a tombstoned row that is seen again is alive again, even unchanged', async () => {
  await put([thing(1, 'a', 10n)]);
  await rows('update lab.things set _deleted_at = now()');
  expect((await put([thing(1, 'a', 10n)], { runId: '2' })).counts).toMatchObject({ updated: 1 });
  expect(await names()).toEqual([['1', 'a']]);
});

const member = (club_id: string, user_id: string | number, more: Row = {}): Mapped => ({
  row: { club_id, user_id: String(user_id), ...more },
  children: {},
});

describe('a complete listing', () => {
  const lists = { equal: { club_id: 'a' } };
  const putMembers = (list: readonly Mapped[], how = {}) =>
    loadBatch(lab.warehouse, batchOf(memberFlow, list), how);

  test('replaces its scope and no other', async () => {
    await putMembers([member('a', 1), member('a', 2), member('b', 1)]);
    const loaded = await putMembers([member('a', 2), member('a', 3)], { lists });
    expect(loaded).toMatchObject({ deleted: 1, counts: { received: 2, inserted: 1, unchanged: 1 } });
    expect((await rows('select club_id || user_id from lab.members order by 1')).join()).toBe('a2,a3,b1');
  });

  test('that is empty removes nothing of a scope with many rows, and says so', async () => {
    await putMembers(Array.from({ length: 21 }, (_, i) => member('a', i)));
    expect(await putMembers([], { lists })).toMatchObject({ isHeld: true, deleted: 0 });
    await rows("delete from lab.members where user_id = '0'");
    expect(await putMembers([], { lists })).toMatchObject({ isHeld: false, deleted: 20 });
  });
});

describe('an entity whose record in a complete listing is rejected', () => {
  const listedFlow: Stream = { ...thingFlow, children: {}, absent: 'delete' };
  const first = thing(1, 'a', 10n);
  const nine = thing(9, 'nine', 10n);
  const reason = { stage: 'encode', code: 'bad_text', field: 'name', message: 'NUL', slice: {} } as const;
  const listing = (shown: readonly Mapped[], rejects: readonly string[], runId: string) => {
    const batch = batchOf(listedFlow, shown);
    for (const key of rejects) batch.reject({ key, payload: Buffer.from(key), ...reason });
    return loadBatch(lab.warehouse, batch, { runId, lists: { equal: {} } });
  };

  test('is not gone; what the list does not show is', async () => {
    await listing([first, nine, thing(10, 'ten', 10n)], [], '1');
    expect(await listing([first], ['9'], '2')).toMatchObject({ isHeld: false, deleted: 1 });
    expect((await names()).join(' ')).toBe('1,a 9,nine');
    expect(await listing([first], [], '3')).toMatchObject({ deleted: 1 });
    expect(await names()).toEqual([['1', 'a']]);
  });

  test('and has no name: nothing of the scope is removed, and the rows are counted', async () => {
    await listing([first, nine], [], '1');
    const spared = await listing([first], ['', '7'], '2');
    expect(spared).toMatchObject({ isHeld: false, spared: 1, deleted: 0 });
    expect(await names()).toHaveLength(2);
    expect((await listing([first, nine], [''], '3')).spared).toBeUndefined();
  });

  test('and has a name that no row can have: it keeps nothing', async () => {
    await listing([first, nine], [], '1');
    expect(await listing([first], ['9\u0000'], '2')).toMatchObject({ deleted: 1 });
    expect(await rows('select record_key from ops.rejects')).toEqual([['9\\x00']]);
  });

  test('does not count against what may go at once', async () => {
    const many = Array.from({ length: 40 }, (_, i) => thing(i, 'x', 10n));
    await listing(many, [], '1');
    const names25 = Array.from({ length: 25 }, (_, i) => String(i));
    expect(await listing(many.slice(26), names25, '2')).toMatchObject({ isHeld: false, deleted: 1 });
  });

  test('is kept with its exact bytes, once however often it comes, and resolved by a good version', async () => {
    const payload = Buffer.from('{"id":1,"name":"\\u0000"}');
    for (let run = 1; run <= 10; run += 1) {
      const batch = batchOf(thingFlow, [thing(2, 'b', 10n)]);
      for (let n = 0; n < 2; n += 1) batch.reject({ key: '1', payload, ...reason });
      const loaded = await loadBatch(lab.warehouse, batch, { runId: String(run) });
      expect(loaded.counts).toMatchObject({ received: 3, rejected: 2 });
    }
    const query =
      "select record_key, encode(payload, 'escape'), attempts, status, first_run_id, last_run_id from ops.rejects";
    expect(await rows(query)).toEqual([['1', '{"id":1,"name":"\\\\u0000"}', '10', 'open', '1', '10']]);
    await put([thing(1, 'good', 11n)], { runId: '11' });
    expect(await rows('select status from ops.rejects')).toEqual([['resolved']]);
  });
});

test('a good slice resolves the rejects of its own days and owner, and no other', async () => {
  const span = (from: string, to: string, partition?: Readonly<Record<string, string>>) => ({
    window: { field: 'day' as const, from: new Date(from), to: new Date(to) },
    ...(partition && { partition }),
  });
  const own = { club_id: 'a' };
  const slices = {
    'all of its days': span('2026-06-10', '2026-06-20', own),
    'one of its days': span('2026-06-19', '2026-06-20', own),
    'the day before': span('2026-06-09', '2026-06-10', own),
    'the day after': span('2026-06-20', '2026-06-21', own),
    'its days and one before': span('2026-06-09', '2026-06-20', own),
    'its days and one after': span('2026-06-10', '2026-06-21', own),
    'its days of another owner': span('2026-06-10', '2026-06-20', { club_id: 'b' }),
    'its days without an owner': span('2026-06-10', '2026-06-20'),
  };
  const why = { stage: 'transform', code: 'bad_integer', field: 'n', message: 'bad' } as const;
  const rejected = batchOf(memberFlow, []);
  for (const [text, slice] of Object.entries(slices))
    rejected.reject({ ...why, key: '', slice, payload: Buffer.from(text) });
  await loadBatch(lab.warehouse, rejected, { runId: '1' });
  const days = { column: 'day', from: new Date('2026-06-10'), to: new Date('2026-06-20') };
  const still = () =>
    rows("select convert_from(payload, 'UTF8') from ops.rejects where status = 'open' order by reject_id");
  const good = (how: Partial<Load>) =>
    loadBatch(lab.warehouse, batchOf({ ...memberFlow, absent: 'keep' }, []), {
      runId: '2',
      lists: { equal: own, days },
      ...how,
    });
  await good({ resolves: false });
  await good({ runId: '1' });
  expect((await still()).flat()).toEqual(Object.keys(slices));
  await good({});
  expect((await still()).flat()).toEqual(Object.keys(slices).slice(2));
});

test('a batch whose lease is lost leaves no trace', async () => {
  const guard = () => Promise.reject(new Fenced('another took it'));
  await expect(put([thing(1, 'a', 10n)], { guard })).rejects.toThrow(Fenced);
  expect(await names()).toEqual([]);
});

test('what was fetched long ago wins over nothing that was written since, whichever run wrote it', async () => {
  const ranks = { ...members, name: 'ranks', columns: { ...members.columns, role: 'text' } } as const;
  const flow: Stream = { ...memberFlow, table: ranks };
  const write = (roles: Readonly<Record<string, string>>, at: bigint, runId: string, late = true) => {
    const list = Object.entries(roles).map(([user_id, role]) => member('c', user_id, { role }));
    return loadBatch(lab.warehouse, batchOf(flow, list, [at, at]), { runId, late });
  };
  const stored = () =>
    rows("select string_agg(user_id || ' ' || role, ', ' order by user_id) from lab.ranks");
  await write({ u: 'new' }, 2_000n, '2', false);
  await write({ u: 'old', v: 'old' }, 1_000n, '3');
  expect(await stored()).toEqual([['u new, v old']]);
  await write({ u: 'newer' }, 3_000n, '4');
  expect(await stored()).toEqual([['u newer, v old']]);
});

test('what was fetched long ago revives nothing that was deleted since, only what was deleted before', async () => {
  await put([thing(1, 'a', 10n, tags('old')), thing(2, 'b', 10n)]);
  await rows(`update lab.things set _deleted_at = 'epoch'::timestamptz + interval '2 seconds'`);
  const versions = [thing(1, 'a2', 11n, tags('new')), thing(2, 'b2', 11n, { tags: [tag('new', 2)] })];
  const { counts } = await put(versions, { runId: '2', late: true }, [1_000_000n, 3_000_000n]);
  expect(counts).toMatchObject({ updated: 1, superseded: 1 });
  const query =
    'select name, _deleted_at is null, tag from lab.things join lab.thing_tags on id = thing_id order by id';
  expect((await rows(query)).join(' ')).toBe('a,false,old b2,true,new');
});

test('unchanged rows are not even locked', async () => {
  const records = Array.from({ length: 2_000 }, (_, i) => thing(i, `name ${i}`, 10n));
  await put(records);
  const query =
    'select count(*), min(xmin::text::bigint), max(xmin::text::bigint), max(xmax::text::bigint) from lab.things';
  const before = await rows(query);
  await put(records, { runId: '2' });
  expect(await rows(query)).toEqual(before);
});

test('two loads of the same keys at once end in one of the two orders', async () => {
  const version = (name: string, at: bigint) =>
    Array.from({ length: 300 }, (_, i) => thing(i, name, at, { tags: [tag(name, i)] }));
  for (let round = 0; round < 5; round += 1) {
    const at = BigInt(round * 10);
    await Promise.all([put(version('old', at)), put(version('new', at + 1n).reverse())]);
    expect(await rows('select distinct name from lab.things')).toEqual([['new']]);
    expect(await rows('select tag, count(*) from lab.thing_tags group by 1')).toEqual([['new', '300']]);
  }
});

test('rejects that were resolved long ago are deleted with their bytes; one that is open stays, whatever its age', async () => {
  const { db, pool } = lab.warehouse;
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
