/**
 * Records that the source has had for long and the warehouse lacks, or has as they were: they were hidden
 * when they last changed (a permission, an archive, an import with old dates), so no walk over changes shows
 * them. A reconciliation meets their ids.
 */

import { sql } from 'kysely';
import { plural } from '../../core/format.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import { minutes } from '../../core/time.ts';
import { target } from '../../load/layout.ts';
import { rowsOf } from '../../queries/db.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { type RunContext, tell } from '../context/run-context.ts';
import type { Problem } from '../context/stream-in-run.ts';
import { checkpointOf, coverageOf } from '../state/checkpoint.ts';
import { hasOpenRejects } from '../state/run-state.ts';
import { openWalk } from '../state/walk-state.ts';
import { readWalk } from '../sync/read-walk.ts';
import { keyOf, type Reconciling } from './seen-ids.ts';

const minute = minutes(1);

/**
 * Before this moment nothing is new: a sync has shown what was created until then. Undefined where none was
 * ever complete.
 */
export async function dueBefore(
  { deps, run, signal }: RunContext,
  stream: Stream,
): Promise<Date | undefined> {
  if (stream.by !== 'changes') return undefined;
  const checkpoint = await withRetry(() => checkpointOf(deps.warehouse.db, run.sourceId, stream.name));
  // Where the selection or the mapping has changed, the next sync reads everything.
  if (checkpoint?.scope !== (await coverageOf(stream, signal, checkpoint?.fields)).words) return undefined;
  const due = Math.floor((checkpoint.watermark.getTime() - deps.lookbackMs) / minute) * minute;
  return due > deps.historyStart.getTime() ? new Date(due) : undefined;
}

/** All of the stream in slices, cut at `due`. */
export function everything({ deps }: RunContext, { by }: Stream, due: Date | undefined): readonly Slice[] {
  if (by !== 'changes') return [{}];
  const window = { field: 'created', from: deps.historyStart } as const;
  if (due === undefined) return [{ window }];
  return [{ window: { ...window, to: due } }, { window: { ...window, from: due } }];
}

/** A slice in which records were met that the warehouse lacks. */
interface Lacking {
  readonly place: number;
  readonly records: number;
}

/**
 * Looks in these places for what is not in the table, or only as a tombstone, or was noted as unseen; notes
 * it until it was read: part of it may be stored by then, and would pass for all. Joins, not subqueries in a
 * disjunction: those would be looked through once an id.
 */
export function lackingIn(
  { context, stream, db }: Reconciling,
  places: readonly number[],
): Promise<readonly Lacking[]> {
  const { sourceId } = context.run;
  const statement = sql<Lacking>`with lacking as (
      select s.place, s.key from pg_temp.reconcile_seen s
      left join ${target(stream.table)} t
        on t.source_id = ${sourceId} and ${keyOf(stream)} = s.key and t._deleted_at is null
      left join ops.unseen u on u.source_id = ${sourceId} and u.stream = ${stream.name} and u.key = s.key
      where s.place = any (${places}::int[]) and (t.source_id is null or u.source_id is not null)),
    noted as (
      insert into ops.unseen (source_id, stream, key)
      select distinct ${sourceId}::smallint, ${stream.name}, key from lacking on conflict do nothing)
    select place, count(*)::int as records from lacking group by place order by place`;
  return rowsOf(statement, db);
}

/**
 * Reads those of the slices before `due` in which something is lacking, as a sync would; the watermark stays.
 * That also lifts tombstones, with what has changed since. What is cut short is found by the next
 * reconciliation.
 */
export async function readLacking(
  reconciling: Reconciling,
  seen: readonly Slice[],
  due: Date,
): Promise<Problem | undefined> {
  const { context, stream, tally, db } = reconciling;
  const isDue = ({ window }: Slice): boolean => window?.to !== undefined && window.to <= due;
  const places = seen.flatMap((slice, place) => (isDue(slice) ? [place] : []));
  const lacking = await lackingIn(reconciling, places);
  if (lacking.length === 0) return undefined;
  const records = lacking.reduce((sum, each) => sum + each.records, 0);
  tell(
    context,
    'warn',
    `${stream.name}: ${plural(records, 'record')} of long ago came into sight; ${plural(lacking.length, 'window')} of them are read again`,
  );
  // The receipt is that of the ids.
  const { slices, receipt } = tally;
  const problem = await readSlices(
    reconciling,
    lacking.flatMap(({ place }) => seen[place] ?? []),
  ).finally(() => Object.assign(tally, { slices, receipt }));
  if (problem === undefined)
    await sql`delete from ops.unseen u using pg_temp.reconcile_seen s
      where u.source_id = ${context.run.sourceId} and u.stream = ${stream.name} and u.key = s.key`.execute(
      db,
    );
  return problem;
}

async function readSlices(of: Reconciling, slices: readonly Slice[]): Promise<Problem | undefined> {
  const { context, stream } = of;
  const { deps, run, signal, lease } = context;
  const window = { field: 'created', from: deps.historyStart } as const;
  const plan = { kind: 'backfill', words: `reconcile ${run.runId}`, window } as const;
  const at = { run, stream: stream.name };
  const walk = await lease.transaction(({ trx }) => openWalk(trx, at, plan, slices));
  const resolves = await withRetry(() => hasOpenRejects(deps.warehouse.db, run.sourceId, stream.name));
  const coverage = await coverageOf(stream, signal);
  return readWalk({ ...of, walk, coverage, resolves, isFirst: false, force: false });
}
