/**
 * One stream of a run: walks that earlier runs left open are finished, then the stream's own walk is made.
 */

import type { Slice, Stream, Window } from '../../core/stream.ts';
import { hours, type Instant } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { newWalkContext, type WalkContext } from '../batching/walk-context.ts';
import type { Problem } from '../context/problems.ts';
import { type RunContext, type Tally, tell } from '../context/run-context.ts';
import { hasOpenRejects } from '../state/run-state.ts';
import { wasReadBefore } from '../state/slice-state.ts';
import {
  abandonWalk,
  abandonWalks,
  lacksOnlyClosed,
  openWalk,
  openWalks,
  type Walk,
} from '../state/walk-state.ts';
import { confirmed } from '../verify.ts';
import { catchUpSlices, catchUpWords, catchUpWordsLike, isCatchUp } from './catch-up.ts';
import { daysDue, slicesOf, slicesSince } from './days.ts';
import { ownersOf, whichFor } from './partitions.ts';
import { fullWords, planStream, type Request, type Standing, type StreamPlan, standingOf } from './plan.ts';
import { readWalk } from './read-walk.ts';

/** An interrupted list older than this is begun anew; a walk by time is always finished. */
const listGoesStale = hours(6);
/** An interrupted walk over everything that was asked for is begun anew when it is older than this. */
const fullGoesStale = hours(24);

/** The clocks of a run, and the other streams of it. */
export interface Times {
  /** The source's clock at the beginning of the run. */
  readonly clock: Date | undefined;
  /** The moment by the database's clock. */
  readonly now: () => Instant;
  /** Waits until the named streams of this run are done. */
  readonly ready: (names: readonly string[]) => Promise<void>;
}

/** A stream that is being synced. */
interface Syncing {
  readonly context: RunContext;
  readonly stream: Stream;
  readonly request: Request;
  readonly times: Times;
  readonly tally: Tally;
  readonly standing: Standing;
  readonly resolves: boolean;
}

/** Makes every walk that the stream needs in this run: open ones first. */
export async function syncStream(
  context: RunContext,
  stream: Stream,
  request: Request,
  times: Times,
  tally: Tally,
): Promise<Problem | undefined> {
  const { deps, run, signal } = context;
  // A stream after one that was stopped knows its owners only in part.
  signal.throwIfAborted();
  const { db } = deps.warehouse;
  const resolves = await withRetry(() => hasOpenRejects(db, run.sourceId, stream.name));
  const standing = await confirmed(() => standingOf(deps, run.sourceId, stream, signal));
  const syncing: Syncing = { context, stream, request, times, tally, standing, resolves };
  const plan = await confirmed(() =>
    planStream(deps, run.sourceId, stream, request, times.clock, signal, standing),
  );
  if (plan === undefined) return { status: 'skipped', reason: nothingToRead(stream) };
  for (const open of await withRetry(() => openWalks(db, run.sourceId, stream.name))) {
    if (!isOfThisRequest(open, plan)) continue;
    const next = await finishOpen(syncing, open, plan);
    if (next === 'ended') return undefined;
    if (next === 'again') return syncStream(context, stream, request, times, tally);
    if (next === 'changes') return syncStream(context, stream, { ...request, full: false }, times, tally);
    if (next !== 'abandoned') return next;
  }
  return begin(syncing, plan);
}

/** A backfill resumes the walk of the same words only; no other run resumes a backfill. */
const isOfThisRequest = (open: Walk, plan: StreamPlan): boolean => {
  const resumes = open.kind === plan.kind && open.words === plan.words;
  return resumes || (plan.kind !== 'backfill' && (open.kind !== 'backfill' || isCatchUp(open)));
};

const nothingToRead = ({ by }: Stream): string =>
  by === 'days'
    ? 'the source has nothing of the days that were asked for'
    : 'it has no time to cut a window from';

/**
 * ended: nothing is left to do · again: the stream is planned anew · changes: what changed since is read
 * next.
 */
type Next = 'abandoned' | 'ended' | 'again' | 'changes' | Problem;

/** Finishes a walk that an earlier run left open, or abandons it. */
async function finishOpen(syncing: Syncing, open: Walk, plan: StreamPlan): Promise<Next> {
  const { context, stream, request, times, standing } = syncing;
  const { db } = context.deps.warehouse;
  const { runId } = context.run;
  // A list with a closed owner never ends: the rest of it would stay as it was first read.
  const isList = open.window === undefined && open.kind !== 'backfill';
  const isRead = isList && (await withRetry(() => lacksOnlyClosed(db, open.walkId)));
  if (isRead || !isWanted(open, plan, request, standing.coverage.words, times.clock)) {
    await withRetry(() => abandonWalk(db, open.walkId));
    return 'abandoned';
  }
  if (open.runId !== runId)
    tell(context, 'info', `${stream.name}: goes on with the ${open.kind} walk that was interrupted`);
  const isOld = isList && (await withRetry(() => wasReadBefore(db, open, runId)));
  const problem = await readWalk(contextOf(syncing, open), times.clock);
  // What an earlier run read of a list may have changed since.
  if (isOld && (problem === undefined || problem.status === 'forbidden')) return 'again';
  if (problem !== undefined) {
    await catchUp(syncing, open, plan);
    return problem;
  }
  return open.window === undefined || plan.kind === 'backfill' || open.clock === undefined
    ? 'ended'
    : 'changes';
}

/** Reads what came since a walk began that cannot be finished; the watermark stays where it is. */
async function catchUp(syncing: Syncing, open: Walk, plan: StreamPlan): Promise<void> {
  const { context, stream } = syncing;
  const window = await newSince(context, stream, open, plan);
  if (window === undefined) return;
  await begin(syncing, { mode: 'incremental', kind: 'backfill', words: catchUpWords(open), window }, open);
  const { deps, run } = context;
  await withRetry(() => abandonWalks(deps.warehouse.db, run.sourceId, stream.name, catchUpWordsLike));
}

/** Opens a walk and reads it. `beside`: the walk that cannot be finished. */
async function begin(syncing: Syncing, plan: StreamPlan, beside?: Walk): Promise<Problem | undefined> {
  const { context, stream, times, standing } = syncing;
  const { deps, run } = context;
  if (plan.why !== undefined) tell(context, 'info', `${stream.name}: everything is read again: ${plan.why}`);
  const { fields } = standing.coverage;
  const at = { sourceId: run.sourceId, stream: stream.name, runId: run.runId, fields };
  const slices = await withRetry(() => firstSlices(context, stream, plan, beside));
  // After a lost answer there may be two: the unread one is resumed by the next run.
  const walk = await withRetry(() => openWalk(deps.warehouse.db, at, plan, times.clock, slices));
  return readWalk(contextOf(syncing, walk), times.clock);
}

function contextOf(
  { context, stream, request, times, tally, standing, resolves }: Syncing,
  walk: Walk,
): WalkContext {
  const force = request.full || walk.words.startsWith(fullWords('', true));
  const { coverage, checkpoint } = standing;
  const isFirst = checkpoint === undefined;
  return newWalkContext(context, {
    stream,
    walk,
    tally,
    coverage,
    isFirst,
    resolves,
    force,
    clock: times.now,
  });
}

/**
 * What has come since a walk began that cannot be finished; undefined where finishing it would bring that,
 * too.
 */
async function newSince(
  { deps, signal, clock }: RunContext,
  { windows, days }: Stream,
  open: Walk,
  plan: StreamPlan,
): Promise<Window | undefined> {
  if (open.kind === 'backfill' || open.clock === undefined) return undefined;
  if (days !== undefined) {
    if (plan.kind === 'incremental') return plan.window;
    // Deeper restatements are due when all has been read once.
    const nightly = { ...days, reread: days.reread.filter(({ every }) => every <= 1) };
    return daysDue(nightly, clock ?? new Date(), open.clock, async () => undefined);
  }
  if (windows === undefined) return undefined;
  const began = open.clock.getTime();
  if ((await windows.changes(signal)) === 'updated')
    return open.kind === 'full' ? { field: 'updated', from: new Date(began - deps.lookbackMs) } : undefined;
  return plan.kind === 'incremental'
    ? plan.window
    : { field: 'created', from: new Date(began - deps.createdWindowMs) };
}

/** Whether an open walk of an earlier run is still worth finishing. */
function isWanted(
  open: Walk,
  plan: StreamPlan,
  request: Request,
  scope: string,
  clock: Date | undefined,
): boolean {
  const began = open.clock?.getTime() ?? 0;
  const age = (clock?.getTime() ?? Date.now()) - began;
  if (isCatchUp(open)) return false;
  // Days that were in the future when the backfill began are over now.
  if (open.kind === 'backfill') return (plan.window?.to?.getTime() ?? 0) <= began || age < listGoesStale;
  // A forced walk is finished with force.
  const isForced = open.kind === 'full' && open.words === fullWords(scope, true);
  if (open.words !== plan.words && open.kind === plan.kind && !(isForced && !request.full)) return false;
  if (plan.kind === 'full' && open.kind === 'incremental') return false;
  if (open.window === undefined) return age < listGoesStale;
  // What was read of another selection, or by other fields, does not count for this one.
  if (open.kind === 'full' && open.words !== fullWords(scope, false) && !isForced) return false;
  return !request.full || age < fullGoesStale;
}

async function firstSlices(
  context: RunContext,
  { name, days, partitions }: Stream,
  plan: StreamPlan,
  beside: Walk | undefined,
): Promise<readonly Slice[]> {
  if (partitions === undefined) return slicesOf({ days }, plan.window, [undefined]);
  const { db } = context.deps.warehouse;
  const at = { sourceId: context.run.sourceId, stream: name };
  const owners = await ownersOf(db, at, partitions, whichFor(plan));
  if (days === undefined || plan.window === undefined) return slicesOf({ days }, plan.window, owners);
  const on = { ...at, days, clock: context.clock ?? new Date() };
  if (beside !== undefined) return catchUpSlices(db, on, beside, plan.window, owners);
  if (plan.kind !== 'incremental') return slicesOf({ days }, plan.window, owners);
  return slicesSince(db, on, plan.window, owners);
}
