/**
 * Changes: everything once, by windows of creation; then what changed since the watermark, less a lookback.
 * An interrupted walk is finished first, slice by slice, and what changed since it began is read after it.
 */

import { sql } from 'kysely';
import type { Windows } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { Problem } from '../context/problems.ts';
import { tell } from '../context/run-context.ts';
import { whyAgain } from '../state/coverage.ts';
import type { Checkpoint, Walk } from '../state/walk-state.ts';
import { confirmed } from '../verify.ts';
import { syncOwners } from './list.ts';
import {
  backfillPlan,
  beginWalk,
  besideWords,
  contextOf,
  fullWords,
  goesOn,
  isFresh,
  openWalksFor,
  type Planning,
  type StreamPlan,
  type Syncing,
  standingOf,
} from './plan.ts';
import { readWalk } from './read-walk.ts';

const changesWords = 'changes';

/** Everything, or what changed since the watermark; a backfill reads exactly its window. */
export async function planChanges(planning: Planning, windows: Windows): Promise<StreamPlan> {
  const { deps, request, checkpoint, coverage, clock, signal } = planning;
  if (request.window !== undefined)
    return backfillPlan(request.window, windows.scope, { field: 'created', ...request.window });
  const everything: StreamPlan = {
    mode: 'full',
    kind: 'full',
    words: fullWords(coverage.words, request.full),
    window: { field: 'created', from: deps.historyStart },
  };
  if (request.full || checkpoint === undefined) return everything;
  const why = whyAgain(checkpoint, coverage);
  if (why !== undefined) return { ...everything, why };
  if ((await windows.changes(signal)) === 'updated') {
    const low = await withRetry(() => lowMark(planning, checkpoint));
    const window = { field: 'updated', from: new Date(low - deps.lookbackMs) } as const;
    return { mode: 'incremental', kind: 'incremental', words: changesWords, window };
  }
  if (!isFresh(checkpoint, clock))
    return { ...everything, why: 'the source cannot tell what changed, and a week has passed' };
  const since = Math.min((clock ?? checkpoint.watermark).getTime(), checkpoint.watermark.getTime());
  const window = { field: 'created', from: new Date(since - deps.createdWindowMs) } as const;
  return { mode: 'created-window', kind: 'incremental', words: 'recent', window };
}

/**
 * Where changes are read from, before the lookback: the clock of the last walk that showed all changes, or
 * the newest change in the warehouse if that is older (a source whose index lags does not show its
 * changes when the clock says it should; guarantee G4). Records dated in the future do not count, nor does a
 * watermark that was moved by a read of recent records only: older records may have changed.
 */
async function lowMark(
  { deps, sourceId, stream }: Planning,
  { watermark, fullAt }: Checkpoint,
): Promise<number> {
  const { order, schema, name } = stream.table;
  const newest =
    order === undefined
      ? sql`null`
      : sql`(select max(${sql.id(order)}) from ${sql.id(schema, name)}
          where source_id = ${sourceId} and ${sql.id(order)} <= ${watermark})`;
  const { rows } = await sql<{ low: Date }>`
    select least(${watermark}::timestamptz, greatest(max(source_clock), ${fullAt}::timestamptz), ${newest}) as low
    from ops.walks where source_id = ${sourceId} and stream = ${stream.name} and status = 'done'
      and kind = 'incremental' and words = ${changesWords}`.execute(deps.warehouse.db);
  return (rows[0]?.low ?? watermark).getTime();
}

/** Finishes what an earlier run left open, then reads what changed. */
export async function syncChanges(
  syncing: Syncing,
  plan: StreamPlan,
  windows: Windows,
): Promise<Problem | undefined> {
  const { context, deps, sourceId, stream, request, signal } = syncing;
  // Of owners, as of lists, those come first that the interrupted walk did not come to.
  if (stream.partitions !== undefined) return syncOwners(syncing, plan);
  const open = await withRetry(() => openWalksFor(syncing, plan));
  const unfinished = open.find((walk) => goesOn(walk, plan, syncing));
  if (unfinished === undefined) {
    const walkIds = open.map(({ walkId }) => walkId);
    return beginWalk(syncing, plan, [{ ...(plan.window && { window: plan.window }) }], {
      walkIds,
      slices: [],
    });
  }
  if (unfinished.runId !== context.run.runId)
    tell(context, 'info', `${stream.name}: goes on with the ${unfinished.kind} walk that was interrupted`);
  const problem = await readWalk(contextOf(syncing, unfinished));
  if (problem !== undefined) await readBeside(syncing, unfinished, windows);
  if (problem !== undefined || unfinished.kind === 'backfill' || unfinished.clock === undefined)
    return problem;
  const next = await confirmed(async () => {
    const standing = await standingOf(deps, sourceId, stream, signal);
    const then = { ...syncing, ...standing, request: { ...request, full: false } };
    return { then, plan: await planChanges(then, windows) };
  });
  return syncChanges(next.then, next.plan, windows);
}

/**
 * Reads what changed since a walk began that cannot be finished. It counts as a backfill: it moves no
 * watermark and is not resumed.
 */
async function readBeside(syncing: Syncing, { kind, clock }: Walk, windows: Windows): Promise<void> {
  const { deps, signal } = syncing;
  const field = await windows.changes(signal);
  // The slice of a walk over changes has an open end: it is unread, and read whole when it can be.
  if (kind === 'backfill' || clock === undefined || (kind === 'incremental' && field === 'updated')) return;
  const back = field === 'updated' ? deps.lookbackMs : deps.createdWindowMs;
  const window = { field, from: new Date(clock.getTime() - back) };
  const plan = { mode: 'incremental', kind: 'backfill', words: besideWords, window } as const;
  await beginWalk(syncing, plan, [{ window }]);
}
