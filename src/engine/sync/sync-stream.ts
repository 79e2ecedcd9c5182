/** One stream of a run: what it needs now, and its reading by the strategy for its kind. */

import type { Stream } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { Problem } from '../context/problems.ts';
import type { RunContext, Tally } from '../context/run-context.ts';
import { hasOpenRejects } from '../state/run-state.ts';
import { confirmed } from '../verify.ts';
import { planChanges, syncChanges } from './changes.ts';
import { planDays, syncDays } from './days.ts';
import { planList, syncOwners } from './list.ts';
import { type Planning, type Request, type StreamPlan, standingOf } from './plan.ts';

/**
 * The walk that a stream needs now, from what the warehouse and the source state. The plan is undefined where
 * there is nothing to do (a backfill of a list, of days that the source does not have).
 */
export async function planStream(
  of: Omit<Planning, 'checkpoint' | 'coverage'>,
): Promise<{ readonly planning: Planning; readonly plan: StreamPlan | undefined }> {
  const { deps, sourceId, stream, signal } = of;
  const planning = { ...of, ...(await standingOf(deps, sourceId, stream, signal)) };
  if (stream.by === 'days') return { planning, plan: await planDays(planning, stream.days) };
  if (stream.by === 'changes') return { planning, plan: await planChanges(planning, stream.windows) };
  return { planning, plan: planList(planning) };
}

/** Reads what the stream needs in this run. Gives what kept it from being complete. */
export async function syncStream(
  context: RunContext,
  stream: Stream,
  request: Request,
  tally: Tally,
): Promise<Problem | undefined> {
  const { deps, run, clock, signal } = context;
  // A stream after one that was stopped knows its owners only in part.
  signal.throwIfAborted();
  const { sourceId } = run;
  const resolves = await withRetry(() => hasOpenRejects(deps.warehouse.db, sourceId, stream.name));
  const of = { deps, sourceId, stream, request, clock, signal };
  const { planning, plan } = await confirmed(() => planStream(of));
  const syncing = { ...planning, context, tally, resolves };
  if (plan === undefined) {
    const none =
      stream.by === 'days'
        ? 'the source has nothing of the days that were asked for'
        : 'it has no time to cut a window from';
    return { status: 'skipped', reason: none };
  }
  if (stream.by === 'days') return syncDays(syncing, plan, stream.days);
  if (stream.by === 'changes') return syncChanges(syncing, plan, stream.windows);
  return syncOwners(syncing, plan);
}
