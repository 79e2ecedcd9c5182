/** The ids that a source has, slice by slice, in a temporary table of one session. */

import { type RawBuilder, sql } from 'kysely';
import pLimit from 'p-limit';
import { Transient } from '../../core/errors.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import { type Db, rowsOf } from '../../queries/db.ts';
import { pages } from '../../reading/pages.ts';
import { tallySlice, tellProgress } from '../context/run-context.ts';
import { cutByCount, mostIds, readAll } from '../sync/cut.ts';
import type { Syncing } from '../sync/plan.ts';

/** The reconciliation of one stream. */
export interface Reconciling extends Syncing {
  /** A session of its own. */
  readonly own: Db;
}

/** The key of a row `t` of the stream's table, as text. */
export const keyOf = ({ table }: Stream): RawBuilder<unknown> =>
  sql`${sql.id('t', table.key[0] ?? 'id')}::text`;

/**
 * Reads every id of the slices into `pg_temp.reconcile_seen`, several slices at once; `low` and `high` are the
 * window in which an id was listed. On a server with coarse times an id near a cut is listed by the slices on
 * both sides: only one of them gives its record. Throws `Transient` where a list did not add up.
 */
export async function readIds(reconciling: Reconciling, slices: readonly Slice[]): Promise<void> {
  const { stream, tally, own } = reconciling;
  await sql`create temp table reconcile_seen (key text, low timestamptz, high timestamptz,
    primary key (key, low))`.execute(own);
  // One session takes the ids of all slices: one page after the other.
  const writing = pLimit(1);
  await readAll(reconciling, slices, async (slice, signal) => {
    const count = (await stream.windows?.count(slice, signal)) ?? 0;
    const parts = cutByCount(slice, count, mostIds, reconciling.clock ?? new Date());
    if (parts === undefined) await readSlice({ ...reconciling, signal }, slice, writing);
    return parts ?? [];
  });
  // An id that two windows list is one: near their cut, and everywhere on a server that takes no notice of windows.
  const counted = sql<{ ids: number }>`select count(distinct key)::float8 as ids from pg_temp.reconcile_seen`;
  const [{ ids } = { ids: 0 }] = await rowsOf(counted, own);
  const { expected, read } = tally.receipt;
  tally.receipt = { expected: expected && expected - (read - ids), read: ids, stored: ids };
  // All ids are compared with all rows, by hash. Row by row, which is what the planner takes for better where
  // it knows nothing of a young table, would read that table once an id.
  await sql`set enable_nestloop = off`.execute(own);
  await sql`analyze pg_temp.reconcile_seen`.execute(own);
}

async function readSlice(reconciling: Reconciling, slice: Slice, writing: ReturnType<typeof pLimit>) {
  const { deps, stream, tally, own, signal } = reconciling;
  const walk = await (stream.ids ?? stream.pages)?.(slice, signal);
  if (walk === undefined) throw new Error(`${stream.name} has no list of ids`);
  const { from = '-infinity', to = 'infinity' } = slice.window ?? {};
  const reading = pages(deps.source.http, walk, signal);
  let step = await reading.next();
  for (; step.done !== true; step = await reading.next()) {
    const keys = step.value.records.map((record) => walk.id(record));
    const keep = sql`insert into pg_temp.reconcile_seen
      select unnest(${keys}::text[]), ${from}::timestamptz, ${to}::timestamptz on conflict do nothing`;
    await writing(() => keep.execute(own));
    tally.received += keys.length;
    tellProgress(reconciling);
  }
  const { read, expected, matched } = step.value;
  tallySlice(tally, { expected, read, stored: read });
  if (!matched) throw new Transient(`${stream.name}: the list kept changing; nothing was concluded from it`);
}
