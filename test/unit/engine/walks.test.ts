import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fenced } from '../../../src/core/errors.ts';
import type { Slice } from '../../../src/core/stream.ts';
import { checkpointOf, closeIfLast } from '../../../src/engine/state/checkpoint.ts';
import {
  openWalk,
  pruneWalks,
  slicesOf,
  splitSlice,
  type Walk,
  type WalkPlan,
  walksOf,
} from '../../../src/engine/state/walk-state.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { pool } = database.warehouse;
  await pool.query(
    `insert into ops.sources (source_id, name, kind, base_url) overriding system value values (1, 'tracker', 'tracker', 'http://127.0.0.1')`,
  );
  await pool.query(`insert into ops.runs (run_id, pipeline, source_id, kind, trigger, status, app_version, epoch)
    overriding system value values (1, 'tracker', 1, 'sync', 'cli', 'running', '0', 0)`);
});
afterAll(async () => database?.drop());

const unreadSlices = async (walk: Walk) =>
  (await slicesOf(database.warehouse.db, walk.walkId)).map(({ sliceId, owner, slice }) => ({
    sliceId,
    owner,
    slice,
  }));
const day = (n: number): Date => new Date(Date.UTC(2026, 0, n));
const days = (n: number): Slice => ({ window: { field: 'created', from: day(n), to: day(n + 1) } });

const covered = { selection: '', edition: '', mapping: '' };

async function walkOf(slices: number): Promise<Walk> {
  const plan: WalkPlan = {
    kind: 'backfill',
    purpose: 'missing',
    window: { field: 'created', from: day(1), to: day(400) },
  };
  const run = { sourceId: 1, runId: '1', stream: { name: 'issues' }, clock: undefined };
  const at = { ...run, coverage: covered };
  const { db } = database.warehouse;
  return openWalk(
    db,
    at,
    plan,
    Array.from({ length: slices }, (_, n) => days(n + 1)),
  );
}

test('walks and slices come oldest first, also where their numbers gain a digit', async () => {
  const { db } = database.warehouse;
  const opened: string[] = [];
  for (let n = 0; n < 12; n += 1) opened.push((await walkOf(n === 0 ? 120 : 1)).walkId);
  const walks = await walksOf(db, 1, 'issues');
  expect(walks.map(({ walkId }) => walkId)).toEqual(opened);
  const [first] = walks;
  if (first === undefined) throw new Error('no walk');
  const slices = await unreadSlices(first);
  expect(slices.map(({ slice }) => slice)).toEqual(Array.from({ length: 120 }, (_, n) => days(n + 1)));
});

test('a slice is cut once: its halves are given with their numbers, and a second cut is refused', async () => {
  const { db } = database.warehouse;
  const walk = await walkOf(2);
  const [one, other] = await unreadSlices(walk);
  if (one === undefined) throw new Error('no slices');
  const noon = new Date(day(1).getTime() + 43_200_000);
  const cut: Slice[] = [
    { window: { field: 'created', from: day(1), to: noon } },
    { window: { field: 'created', from: noon, to: day(2) } },
  ];
  const split = () => db.transaction().execute((trx) => splitSlice({ trx }, one, cut));
  const halves = await split();
  expect(halves.map(({ slice }) => slice)).toEqual(cut);
  await expect(split()).rejects.toBeInstanceOf(Fenced);
  const numbers = (await unreadSlices(walk)).map(({ sliceId }) => sliceId);
  expect(numbers).toEqual([other, ...halves].map((slice) => slice?.sliceId));
});

test('a checkpoint says which fields its walk asked for from the beginning, not those that a later run would ask for', async () => {
  const { db } = database.warehouse;
  const at = { sourceId: 1, runId: '1', stream: { name: 'projects' }, clock: day(1) };
  const close = (walk: Walk) => {
    const closing = { walk, runId: at.runId, coverage: { ...covered, whole: true } };
    return db.transaction().execute((trx) => closeIfLast({ trx }, closing));
  };
  const walkFor = (kind: 'full' | 'incremental', fields: readonly string[] | undefined) =>
    openWalk(
      db,
      { ...at, coverage: { ...covered, ...(fields && { fields }) } },
      { kind, window: undefined },
      [],
    );
  const fields = async () => (await checkpointOf(db, 1, 'projects'))?.fields;
  await close(await walkFor('full', ['customfield_1']));
  expect((await walksOf(db, 1, 'projects')).map(({ isOpen }) => isOpen)).toEqual([false]);
  expect(await fields()).toEqual(['customfield_1']);
  // A night that asks for all says nothing of what it does not read.
  await close(await walkFor('incremental', undefined));
  expect(await fields()).toEqual(['customfield_1']);
  await close(await walkFor('incremental', ['customfield_1', 'customfield_3']));
  expect(await fields()).toEqual(['customfield_1', 'customfield_3']);
  await close(await walkFor('full', undefined));
  expect(await fields()).toBeNull();
});

/** Has ended walks pruned; a row says stream, kind, status, how many days ago it ended, and its days. */
async function pruned(walks: string): Promise<readonly string[]> {
  const { db, pool } = database.warehouse;
  await pool.query('delete from ops.jobs; delete from ops.slices; delete from ops.walks');
  await pool.query(`with walk as (
      insert into ops.walks (source_id, stream, kind, purpose, status, run_id, closed_at, field, window_from, window_to)
        select 1, stream, kind, case kind when 'backfill' then 'beside' end, status, 1, now() - ago * interval '1 day', case when days > 0 then 'day' end,
          now() - (ago + days) * interval '1 day', now() - ago * interval '1 day'
        from (values ${walks}) as ended (stream, kind, status, ago, days) order by ago desc returning *),
    slice as (insert into ops.slices (walk_id, status) select walk_id, 'done' from walk returning *)
    insert into ops.jobs (source_id, stream, slice_id, attempt, request, status, run_id)
      select 1, stream, slice_id, 1, 'r', 'ready', 1 from slice join walk using (walk_id)`);
  await pruneWalks(db, 1);
  const left = `select concat_ws(' ', w.stream, w.kind, nullif(extract(day from w.window_to - w.window_from), 0), round(extract(epoch from now() - closed_at) / 86400)) as line,
      j.slice_id = s.slice_id as has_job
    from ops.walks w left join ops.slices s using (walk_id) full join ops.jobs j using (slice_id) order by 1`;
  const { rows } = await pool.query<{ line: string; has_job: boolean }>(left);
  expect(
    rows.filter((row) => row.has_job !== true),
    'slices and jobs go with their walk',
  ).toEqual([]);
  return rows.map(({ line }) => line);
}

test('of walks that ended long ago those stay that say since when a stream is stale', async () => {
  const left = await pruned(`('issues', 'full', 'done', 90, 0), ('issues', 'incremental', 'done', 80, 0),
    ('issues', 'incremental', 'done', 70, 0), ('issues', 'backfill', 'done', 60, 0),
    ('boards', 'full', 'abandoned', 50, 0), ('boards', 'full', 'done', 5, 0)`);
  expect(left).toEqual(['boards full 5', 'issues full 90', 'issues incremental 70']);
});

test('of walks over days that ended long ago those stay that say when as many days were last read', async () => {
  const days = (kind: string, ago: number, width: number) => `('daily', '${kind}', 'done', ${ago}, ${width})`;
  const short = [days('incremental', 38, 14), days('incremental', 33, 14), days('incremental', 32, 3)];
  const all = [days('full', 150, 200), days('incremental', 61, 90), ...short, days('incremental', 31, 90)];
  expect(await pruned(all.join())).toEqual(['daily full 200 150', 'daily incremental 90 31']);
  const young = [days('incremental', 31, 90), days('incremental', 3, 14), days('incremental', 1, 3)];
  expect(await pruned(young.join())).toEqual([
    'daily incremental 14 3',
    'daily incremental 3 1',
    'daily incremental 90 31',
  ]);
});
