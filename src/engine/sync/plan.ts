/** What the three ways to read a stream share: requests, plans, and how a planned walk is begun. */

import type { Slice, Stream, Window } from '../../core/stream.ts';
import { days, hours } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { newWalkContext, type WalkContext } from '../batching/walk-context.ts';
import type { RunDeps } from '../context/deps.ts';
import type { Problem } from '../context/problems.ts';
import { type RunContext, type Tally, tell } from '../context/run-context.ts';
import { type Coverage, coverageOf } from '../state/coverage.ts';
import {
  type Checkpoint,
  checkpointOf,
  openWalk,
  openWalks,
  type Replaced,
  type Walk,
  type WalkPlan,
} from '../state/walk-state.ts';
import { readWalk } from './read-walk.ts';

/** What a run is asked to do. */
export interface Request {
  readonly full: boolean;
  /** A backfill's window. */
  readonly window: { readonly from: Date; readonly to: Date } | undefined;
}

/** How a plan is called in reports and in `--dry-run`. */
export type Mode = 'list' | 'full' | 'incremental' | 'backfill' | 'created-window' | 'restatement';

export interface StreamPlan extends WalkPlan {
  readonly mode: Mode;
  /** Why everything is read again without a request for it, as a sentence for people. */
  readonly why?: string;
}

/** What was last completed of a stream, and what a walk over all of it would cover now. */
export interface Standing {
  readonly checkpoint: Checkpoint | undefined;
  readonly coverage: Coverage;
}

/** What a plan is made from. `clock`: the source's, at the beginning of the run. */
export interface Planning extends Standing {
  readonly deps: RunDeps;
  readonly sourceId: number;
  readonly stream: Stream;
  readonly request: Request;
  readonly clock: Date | undefined;
  readonly signal: AbortSignal;
}

/** Asks the warehouse, and the source where its answer decides how records are read. */
export async function standingOf(
  { warehouse }: RunDeps,
  sourceId: number,
  stream: Stream,
  signal: AbortSignal,
): Promise<Standing> {
  const checkpoint = await withRetry(() => checkpointOf(warehouse.db, sourceId, stream.name));
  return { checkpoint, coverage: await coverageOf(stream, signal, checkpoint?.fields) };
}

/** A stream that is being synced. */
export interface Syncing extends Planning {
  readonly context: RunContext;
  readonly tally: Tally;
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
}

/** An interrupted list, or backfill of a time that was not over, is begun anew when it is older than this. */
export const staleAfter = hours(6);

/**
 * The words of a walk over everything that a stream is to cover. Forced: what it reads wins over what is
 * stored.
 */
export const fullWords = (scope: string, forced: boolean): string =>
  `full ${forced ? 'forced ' : ''}${scope}`;

/** The plan of a backfill; `scope` is what the configuration restricts the stream to. */
export const backfillPlan = ({ from, to }: { from: Date; to: Date }, scope: string, window: Window) =>
  ({
    mode: 'backfill',
    kind: 'backfill',
    words: `backfill ${from.toISOString()} ${to.toISOString()} ${scope}`,
    window,
  }) satisfies StreamPlan;

/** Days between two walks over everything, of a source that cannot filter by change. */
const fullEvery = 7;

/** Whether everything was read not long ago. */
export const isFresh = (checkpoint: Checkpoint | undefined, clock: Date | undefined): boolean =>
  checkpoint?.fullAt != null && !isDue(checkpoint.fullAt, fullEvery, clock ?? checkpoint.watermark);

/** A run that begins somewhat earlier than the last one still counts as due. */
const slack = hours(6);

/**
 * Whether what is read every `every` days is due, by the source's clock. A last time in the future came from
 * a wrong clock.
 */
export function isDue(last: Date, every: number, clock: Date): boolean {
  const age = clock.getTime() - last.getTime();
  return age >= days(every) - slack || age < -slack;
}

/** The words of a walk that is read while another one cannot be finished. */
export const besideWords = 'beside';

/** The open walks that a plan goes on with or replaces: a backfill's are those of the same window only. */
export async function openWalksFor(
  { deps, sourceId, stream }: Planning,
  plan: StreamPlan,
): Promise<readonly Walk[]> {
  const open = await openWalks(deps.warehouse.db, sourceId, stream.name);
  return open.filter(({ kind, words }) =>
    plan.kind === 'backfill' ? words === plan.words : kind !== 'backfill' || words === besideWords,
  );
}

/** An interrupted forced walk over everything is begun anew when it is older than this. */
const fullGoesStale = hours(24);

/** Whether what an unfinished walk has read counts for the plan. */
export function goesOn(open: Walk, plan: StreamPlan, { coverage, request, clock }: Planning): boolean {
  const began = open.clock?.getTime() ?? 0;
  const age = (clock?.getTime() ?? Date.now()) - began;
  if (open.kind === 'backfill') {
    // A window that was not over when the backfill began has more records now.
    const wasOver = (plan.window?.to?.getTime() ?? 0) <= began;
    return open.words === plan.words && (wasOver || age < staleAfter);
  }
  if (open.kind === 'incremental') return open.kind === plan.kind && open.words === plan.words;
  // What was read of another selection, or by other fields, does not count; a forced walk is finished by force.
  const isForced = open.words === fullWords(coverage.words, true);
  if (request.full) return isForced && age < fullGoesStale;
  return isForced || open.words === fullWords(coverage.words, false);
}

/** Opens a walk, in place of those that it replaces, and reads it. Gives what kept it from being complete. */
export async function beginWalk(
  syncing: Syncing,
  plan: StreamPlan,
  slices: readonly Slice[],
  replaced?: Replaced,
): Promise<Problem | undefined> {
  const { context, sourceId, stream, coverage, clock } = syncing;
  if (plan.why !== undefined) tell(context, 'info', `${stream.name}: everything is read again: ${plan.why}`);
  if (replaced !== undefined && replaced.slices.length > 0)
    tell(context, 'info', `${stream.name}: goes on with the ${plan.kind} walk that was interrupted`);
  const at = { sourceId, stream: stream.name, runId: context.run.runId, fields: coverage.fields };
  const walk = await context.lease.transaction(({ trx }) => openWalk(trx, at, plan, clock, slices, replaced));
  return readWalk(contextOf(syncing, walk));
}

export function contextOf(syncing: Syncing, walk: Walk): WalkContext {
  const { context, stream, tally, coverage, resolves, request, checkpoint } = syncing;
  const isFirst = checkpoint === undefined;
  const force = request.full || walk.words.startsWith(fullWords('', true));
  return newWalkContext(context, { stream, walk, tally, coverage, isFirst, resolves, force });
}
