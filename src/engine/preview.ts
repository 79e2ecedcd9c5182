import type { StreamSize } from '../core/run.ts';
import { query } from '../queries/db.ts';
import { sliceContext } from './batching/slice-context.ts';
import { chosenStreams, type RunDeps } from './context/deps.ts';
import type { WalkPlan } from './state/walk-state.ts';
import { sliceOf } from './state/walk-state.ts';
import { slicesOfDays } from './sync/cut.ts';
import { ownersOf } from './sync/owners.ts';
import { modeOf, type Planning, planOf, type SyncOptions, stateOf, turnOf } from './sync/plan.ts';

/**
 * What a run would do for one stream. `slices`: partitions known now; windows are halved further while reading. `records`: where the source can say
 * so cheaply; of days an upper bound.
 */
export interface PlannedStream extends StreamSize {
  readonly from: Date | undefined;
  readonly to: Date | undefined;
  /** Why everything is read again that was not asked for. */
  readonly why: string | undefined;
}

/** Records a page of a windowed stream holds. */
const pageSize = 100;

/**
 * What `sync`, `sync --full` or `backfill` would read. Asks the source for counts, writes no rows and takes
 * no lease.
 */
export async function plan(
  deps: RunDeps,
  { streams, full = false, window }: SyncOptions,
): Promise<readonly PlannedStream[]> {
  // A source that was never read has no id, and 0 is the id of none.
  const { signal, source, warehouse } = deps;
  const { db } = warehouse;
  const sources = await query(db)<{ id: number }>`
    select source_id as id from ops.sources where name = ${source.name}`;
  const [{ id: sourceId } = { id: 0 }] = sources;
  const { clock } = await source.preflight(signal);
  const key = { sourceId, runId: '0', pipeline: source.name, kind: 'sync' } as const;
  const reader = { ...key, deps, db, clock, now: () => clock ?? new Date(), signal };
  const planned: PlannedStream[] = [];
  for (const stream of chosenStreams(deps, streams)) {
    const state = await stateOf(reader, stream);
    const planning = { ...reader, ...state, stream, request: { full, window } };
    const plan = await planOf(planning);
    if (plan === undefined) continue;
    const { why, window: { from, to } = {} } = plan;
    const { name, by } = stream;
    planned.push({ stream: name, by, mode: modeOf(plan), why, from, to, ...(await sizeOf(planning, plan)) });
  }
  return planned;
}

/** The slices of a stream, and its records and requests where the source can say so. */
async function sizeOf(planning: Planning, { kind, window }: WalkPlan) {
  const { stream, signal } = planning;
  const { days, windows, perSecond = 0, partitions } = stream;
  const owners = (await ownersOf(planning)).filter(({ isActive }) => isActive || kind !== 'incremental');
  const size = {
    slices: owners.length,
    ...(partitions && { owners: { count: owners.length, table: partitions.table } }),
    ...(perSecond > 0 && { perSecond }),
    turn: turnOf(planning),
  };
  if (windows !== undefined) {
    const records = window && (await windows.count({ window }, signal));
    if (records === undefined) return size;
    return { ...size, records, requests: Math.max(1, Math.ceil(records / pageSize)) };
  }
  const lent = sliceContext(planning, stream);
  const parts = owners.map(({ partition }) => partition);
  const slices = days ? slicesOfDays(days, window, parts) : parts.map((partition) => sliceOf(partition));
  const totals = { records: 0, requests: 0 };
  for (const slice of slices) {
    totals.records += (await days?.rows(slice, lent)) ?? 0;
    totals.requests += (await stream.requests?.(slice, lent)) ?? 0;
  }
  return { ...size, slices: slices.length, ...(days && totals), ...(stream.requests && totals) };
}
