import type { Slice, Stream, Window } from '../../core/stream.ts';
import { hours, type Instant } from '../../core/time.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import { newStreamContext, type StreamContext } from '../batching/stream-context.ts';
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
import { besideAny, besideWords, isCatchUp, slicesBeside } from './catch-up.ts';
import { daysDue, slicesOf, slicesSince } from './days.ts';
import { finishWalk } from './finish-slice.ts';
import {
  type Asked,
  fullWords,
  ownersOf,
  partitionsFrom,
  planStream,
  type StreamPlan,
  standingOf,
} from './plan.ts';

/** An interrupted list older than this is begun anew; a walk by time is always finished. */
const listGoesStale = hours(6);
/** A walk over everything that somebody asks for is begun anew if the one that was interrupted is older than this. */
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

/** Every walk the stream needs in this run: open ones first. */
export async function walkAll(
  context: RunContext,
  flow: Stream,
  asked: Asked,
  times: Times,
  tally: Tally,
): Promise<Problem | undefined> {
  const { clock, now } = times;
  const { deps, run, signal } = context;
  // A stream behind one that was stopped knows its owners only in part: it must not take them for all.
  if (signal.aborted) throw signal.reason;
  const { db } = deps.warehouse;
  const resolves = await patiently(() => hasOpenRejects(db, run.sourceId, flow.name));
  const standing = await standingOf(deps, run.sourceId, flow, signal);
  const { coverage } = standing;
  const make = (walk: Walk): StreamContext => {
    const force = asked.full || walk.words.startsWith('full forced');
    return newStreamContext(context, { flow, walk, tally, coverage, resolves, force, clock: now });
  };
  const begin = async (what: StreamPlan, beside?: Walk): Promise<Problem | undefined> => {
    if (what.why !== undefined) tell(context, 'info', `${flow.name}: everything is read again: ${what.why}`);
    const at = {
      sourceId: run.sourceId,
      stream: flow.name,
      runId: run.runId,
      fields: coverage.fields,
    };
    const slices = await patiently(() => firstSlices(context, flow, what, beside));
    // Where the answer to it was lost there may be two: the one that nobody reads is the next run's, as any that was interrupted.
    const walk = await patiently(() => openWalk(db, at, what, clock, slices));
    return finishWalk(make(walk), clock);
  };
  const plan = await planStream(deps, run.sourceId, flow, asked, clock, signal, standing);
  if (plan === undefined) return { status: 'skipped', reason: nothingToRead(flow) };
  for (const open of await patiently(() => openWalks(db, run.sourceId, flow.name))) {
    const resumes = open.kind === plan.kind && open.words === plan.words;
    if (!resumes && plan.kind === 'backfill') continue;
    if (open.kind === 'backfill' && !resumes && !isCatchUp(open)) continue;
    // A list that has a closed owner comes to no end: what is open of it would stay as it was first read until the walk goes stale.
    const isList = open.window === undefined && open.kind !== 'backfill';
    const isRead = isList && (await patiently(() => lacksOnlyClosed(db, open.walkId)));
    if (isRead || !wanted(open, plan, asked, coverage.words, clock)) {
      await patiently(() => abandonWalk(db, open.walkId));
      continue;
    }
    // What this run asks for a second time was not interrupted.
    if (open.runId !== run.runId)
      tell(context, 'info', `${flow.name}: goes on with the ${open.kind} walk that was interrupted`);
    const isOld = isList && (await patiently(() => wasReadBefore(db, open, run.runId)));
    const problem = await finishWalk(make(open), clock);
    // A list as it is now: what an earlier run has read of it may have changed since, and what is closed to us is no reason to leave the rest as it was.
    if (isOld && (problem === undefined || problem.status === 'forbidden'))
      return walkAll(context, flow, asked, times, tally);
    if (problem !== undefined) {
      // A slice that never adds up must not keep what is new out of the warehouse; the watermark stays where it is.
      const late = await newSince(context, flow, open, plan);
      if (late !== undefined) {
        await begin({ mode: 'incremental', kind: 'backfill', words: besideWords(open), window: late }, open);
        await patiently(() => abandonWalks(db, run.sourceId, flow.name, besideAny));
      }
      return problem;
    }
    // A backfill is done with that, and a list of which this run has read all. A walk by time that began long ago is followed by what has changed since.
    if (open.window === undefined || plan.kind === 'backfill' || open.clock === undefined) return undefined;
    return walkAll(context, flow, { ...asked, full: false }, times, tally);
  }
  return begin(plan);
}

const nothingToRead = (stream: Stream): string =>
  stream.days === undefined
    ? 'it has no time to cut a window from'
    : 'the source has nothing of the days that were asked for';

/** What has come since a walk began that cannot be finished; undefined where finishing it would bring that, too. */
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
  const before = (ms: number): Date => new Date((open.clock?.getTime() ?? 0) - ms);
  if ((await windows.changes(signal)) === 'updated')
    return open.kind === 'full' ? { field: 'updated', from: before(deps.lookbackMs) } : undefined;
  return plan.kind === 'incremental' ? plan.window : { field: 'created', from: before(deps.createdWindowMs) };
}

/** Whether an open walk of an earlier run is still worth finishing. */
function wanted(open: Walk, plan: StreamPlan, asked: Asked, scope: string, clock: Date | undefined): boolean {
  const begun = open.clock?.getTime() ?? 0;
  const age = (clock?.getTime() ?? Date.now()) - begun;
  // What is new is read again by whoever cannot finish.
  if (isCatchUp(open)) return false;
  // Days that were yet to come when it began have come since.
  if (open.kind === 'backfill') return (plan.window?.to?.getTime() ?? 0) <= begun || age < listGoesStale;
  // What was asked for with force is finished with force, whatever else makes everything be read.
  const isForced = open.kind === 'full' && open.words === fullWords(scope, true);
  if (open.words !== plan.words && open.kind === plan.kind && !(isForced && !asked.full)) return false;
  if (plan.kind === 'full' && open.kind === 'incremental') return false;
  if (open.window === undefined) return age < listGoesStale;
  // What was read of another selection, or by other fields, says nothing of this one.
  if (open.kind === 'full' && open.words !== fullWords(scope, false) && !isForced) return false;
  // Who asks for everything wants it as it is now.
  return !asked.full || age < fullGoesStale;
}

async function firstSlices(
  context: RunContext,
  flow: Stream,
  plan: StreamPlan,
  beside: Walk | undefined,
): Promise<readonly Slice[]> {
  const { partitions: parents } = flow;
  if (parents === undefined) return slicesOf(flow, plan.window, [undefined]);
  const owners = await partitionsFrom(
    context.deps.warehouse.db,
    context.run.sourceId,
    flow.name,
    parents,
    ownersOf(plan),
  );
  const stream = flow;
  const { days } = stream;
  if (days === undefined || plan.window === undefined) return slicesOf(stream, plan.window, owners);
  const { db } = context.deps.warehouse;
  const at = { sourceId: context.run.sourceId, days, clock: context.clock ?? new Date() };
  if (beside !== undefined)
    return slicesBeside(db, { ...at, stream: stream.name }, beside, plan.window, owners);
  if (plan.kind !== 'incremental') return slicesOf(stream, plan.window, owners);
  return slicesSince(db, { ...at, stream }, plan.window, owners);
}
