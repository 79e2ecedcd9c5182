/**
 * Records that the source has had for long and the warehouse lacks, or has as they were: they were hidden
 * when they last changed (a permission, an archive, an import with old dates), so no walk over changes shows
 * them. A reconciliation meets their ids.
 */

import { sql } from 'kysely';
import { plural } from '../../core/format.ts';
import type { Slice } from '../../core/stream.ts';
import { minutes } from '../../core/time.ts';
import { target } from '../../load/layout.ts';
import { rowsOf } from '../../queries/db.ts';
import { type Problem, tell } from '../context/run-context.ts';
import { isSameCoverage } from '../state/walk-state.ts';
import { beginWalk } from '../sync/plan.ts';
import { keyOf, type Reconciling } from './seen-ids.ts';

const minute = minutes(1);

/**
 * Before this moment nothing is new: a sync has shown what was created until then. Undefined where none was
 * ever complete.
 */
export function dueBefore({ deps, stream, checkpoint, coverage }: Reconciling): Date | undefined {
  const { lookbackMs, historyStart } = deps;
  // Where the selection or the mapping has changed, the next sync reads everything.
  if (stream.by !== 'changes' || !checkpoint || !isSameCoverage(checkpoint, coverage)) return undefined;
  const due = Math.floor((checkpoint.watermark.getTime() - lookbackMs) / minute) * minute;
  return due > historyStart.getTime() ? new Date(due) : undefined;
}

/** All of the stream in slices, cut at `due`. */
export function everything({ deps, stream }: Reconciling, due: Date | undefined): readonly Slice[] {
  if (stream.by !== 'changes') return [{}];
  const window = { field: 'created', from: deps.historyStart } as const;
  if (due === undefined) return [{ window }];
  return [{ window: { ...window, to: due } }, { window: { ...window, from: due } }];
}

/** A window in which records were met that the warehouse lacks. */
interface Lacking {
  readonly from: Date;
  readonly to: Date;
  readonly records: number;
}

/**
 * Looks in the windows before `due` for what is not in the table, or only as a tombstone, or was noted as
 * unseen; notes it until it was read: part of it may be stored by then, and would pass for all. Joins, not
 * subqueries in a disjunction: those would be looked through once an id.
 */
export function lackingBefore(reconciling: Reconciling, due: Date): Promise<readonly Lacking[]> {
  const { sourceId, stream, own } = reconciling;
  const statement = sql<Lacking>`with lacking as (
      select s.low, s.high, s.key from pg_temp.reconcile_seen s
      left join ${target(stream.table)} t
        on t.source_id = ${sourceId} and ${keyOf(stream)} = s.key and t._deleted_at is null
      left join ops.unseen u on u.source_id = ${sourceId} and u.stream = ${stream.name} and u.key = s.key
      where s.high <= ${due} and (t.source_id is null or u.source_id is not null)),
    noted as (
      insert into ops.unseen (source_id, stream, key)
      select distinct ${sourceId}::smallint, ${stream.name}, key from lacking on conflict do nothing)
    select low as "from", high as "to", count(*)::int as records from lacking group by low, high order by low`;
  return rowsOf(statement, own);
}

/**
 * Reads the windows before `due` in which something is lacking, as a sync would; the watermark stays. That also
 * lifts tombstones, with what has changed since. What is cut short is found by the next reconciliation.
 */
export async function readLacking(reconciling: Reconciling, due: Date): Promise<Problem | undefined> {
  const { deps, stream, tally, own, sourceId } = reconciling;
  const lacking = await lackingBefore(reconciling, due);
  if (lacking.length === 0) return undefined;
  const records = lacking.reduce((sum, each) => sum + each.records, 0);
  const text = `${plural(records, 'record')} of long ago came into sight; ${plural(lacking.length, 'window')} of them are read again`;
  tell(reconciling, 'warn', `${stream.name}: ${text}`);
  const whole = { field: 'created', from: deps.historyStart } as const;
  const plan = { kind: 'backfill', purpose: 'missing', window: whole } as const;
  const slices = lacking.map(({ from, to }) => ({ window: { ...whole, from, to } }));
  // The receipt is that of the ids.
  const { slices: read, receipt } = tally;
  const problem = await beginWalk({ ...reconciling, plan }, slices).finally(() =>
    Object.assign(tally, { slices: read, receipt }),
  );
  if (problem === undefined)
    await sql`delete from ops.unseen u using pg_temp.reconcile_seen s
      where u.source_id = ${sourceId} and u.stream = ${stream.name} and u.key = s.key`.execute(own);
  return problem;
}
