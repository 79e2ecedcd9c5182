/** How the walk that a stream needs is begun, or an interrupted one goes on: one way for each kind of stream. */

import { CompiledQuery } from 'kysely';
import type { Days, Slice, Window, Windows } from '../../core/stream.ts';
import { earlier, hours, later, midnight } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { tell } from '../context/run-context.ts';
import type { Problem, StreamInRun } from '../context/stream-in-run.ts';
import {
  type OpenSlice,
  openWalk,
  sliceOf,
  slicesOf,
  type Walk,
  type WalkPlan,
  type WalkSlice,
} from '../state/walk-state.ts';
import { confirmed } from '../verify.ts';
import { slicesOfDays } from './cut.ts';
import { ownersOf } from './owners.ts';
import {
  daysSince,
  fullWords,
  planningOf,
  planOf,
  type Request,
  type Syncing,
  windowOf,
  windowSince,
} from './plan.ts';
import { readWalk } from './read-walk.ts';

/** A stream that is being synced by a plan. */
interface Planned extends Syncing {
  readonly plan: WalkPlan;
}

/** Plans what a stream needs now; undefined: nothing. */
export async function planStream(of: StreamInRun, request: Request): Promise<Planned | undefined> {
  const { context, stream, tally } = of;
  const planning = await planningOf({ context, stream, request });
  const plan = await planOf(planning);
  return plan && { ...planning, context, tally, plan };
}

/** The words of a walk that is read while another one cannot be finished. */
const besideWords = 'beside';

/** Whether a walk began not long ago, by the source's clock: what it has read is still as it was. */
const isRecent = ({ clock }: Walk, { context }: Planned): boolean =>
  (context.clock ?? new Date()).getTime() - (clock?.getTime() ?? 0) < hours(6);

/** The open walks that the plan's walk replaces. A backfill replaces only those of the same window. */
const replacedBy = ({ walks, plan }: Planned): readonly Walk[] =>
  walks.filter(({ isOpen, kind, words }) => {
    if (plan.kind === 'backfill') return isOpen && words === plan.words;
    return isOpen && (kind !== 'backfill' || words === besideWords);
  });

/** Whether a walk is unfinished and what it has read counts for the plan. */
function goesOn(walk: Walk, syncing: Planned): boolean {
  const { plan, coverage, request } = syncing;
  const { kind, window } = plan;
  // A walk over everything is finished first, also a forced one; not one by another selection or other fields.
  const isAny = !request.full && kind !== 'backfill';
  const full = isAny ? [false, true].map((forced) => fullWords(coverage.words, forced)) : [];
  if (!walk.isOpen || ![plan.words, ...full].includes(walk.words)) return false;
  // A window that was not over when the backfill began has more records now.
  const isOver = (window?.to?.getTime() ?? 0) <= (walk.clock?.getTime() ?? 0);
  return isAny || (kind === 'backfill' && isOver) || isRecent(walk, syncing);
}

/** The slices of an earlier walk; none without one. */
const slicesOfEarlier = ({ context }: Planned, walk: Walk | undefined): Promise<readonly WalkSlice[]> =>
  withRetry(() => slicesOf(context.deps.warehouse.db, walk?.walkId));

/**
 * Opens the plan's walk, in place of those that are open, and reads it; `kept`: slices of these that it takes
 * over. Gives what kept it from being complete.
 */
export async function beginWalk(
  syncing: Planned,
  slices: readonly Slice[],
  kept: readonly OpenSlice[] = [],
): Promise<Problem | undefined> {
  const { context, stream, coverage, plan } = syncing;
  const { run, clock, lease } = context;
  if (plan.why !== undefined) tell(context, 'info', `${stream.name}: everything is read again: ${plan.why}`);
  const at = { run, stream: stream.name, clock, fields: coverage.fields };
  const walk = await lease.transaction(({ trx }) =>
    openWalk(trx, at, plan, slices, replacedBy(syncing), kept),
  );
  return readOn(syncing, walk);
}

/** Reads what is unread of a walk. */
function readOn(syncing: Planned, walk: Walk): Promise<Problem | undefined> {
  const isFirst = syncing.checkpoint === undefined;
  const force = syncing.request.full || walk.words.startsWith(fullWords('', true));
  return readWalk({ ...syncing, walk, isFirst, force });
}

/**
 * Lists: read whole in each run, owner by owner where the stream has owners. An interrupted list is begun
 * anew, with those owners first that it did not come to. Owners whose records change no more are not read
 * again.
 */
export async function syncList(syncing: Planned): Promise<Problem | undefined> {
  const { plan, walks } = syncing;
  const isFull = plan.kind === 'full';
  const last = walks.findLast(({ isOpen }) => isOpen);
  const read = (await slicesOfEarlier(syncing, last)).filter(({ state }) => state === 'read');
  const wasRead = new Set(read.map(({ owner }) => owner));
  // Whether what an interrupted walk over all owners has read of some counts for this one.
  const counts = isFull && last?.kind === 'full' && isRecent(last, syncing);
  const owners = await ownersOf(syncing, counts ? last.walkId : undefined);
  const due = owners.filter(({ owner, isActive }) => isActive || (isFull && !(counts && wasRead.has(owner))));
  const again = new Set(due.map(({ owner }) => owner));
  const kept = counts ? read.filter(({ owner }) => !again.has(owner)) : [];
  const unreadFirst = due.toSorted((a, b) => Number(wasRead.has(a.owner)) - Number(wasRead.has(b.owner)));
  const slices = unreadFirst.map(({ partition }) => sliceOf(partition));
  return beginWalk(syncing, slices, kept);
}

/**
 * Changes: everything once, by windows of creation; then what changed since the watermark, less a lookback.
 * An interrupted walk is finished first, slice by slice, and what changed since it began is read after it.
 */
export async function syncChanges(syncing: Planned, windows: Windows): Promise<Problem | undefined> {
  const { context, stream, plan, request, walks } = syncing;
  const unfinished = walks.find((walk) => goesOn(walk, syncing));
  if (unfinished === undefined) return beginWalk(syncing, [sliceOf(undefined, plan.window)]);
  tell(context, 'info', `${stream.name}: goes on with the ${unfinished.kind} walk that was interrupted`);
  const problem = await readOn(syncing, unfinished);
  if (unfinished.kind === 'backfill' || unfinished.clock === null) return problem;
  if (problem === undefined) {
    const next = await confirmed(() => planStream(syncing, { ...request, full: false }));
    return next && syncChanges(next, windows);
  }
  const field = await windows.changes(context.signal);
  // The slice of a walk over changes has an open end: it is unread, and read whole when it can be.
  if (unfinished.kind === 'incremental' && field === 'updated') return problem;
  // What changed since a walk began that cannot be finished; this moves no watermark and is not resumed.
  const window = windowSince(context.deps, field, unfinished.clock);
  const beside = { kind: 'backfill', words: besideWords, window } as const;
  await beginWalk({ ...syncing, plan: beside }, [{ window }]);
  return problem;
}

/**
 * Facts by day: everything once; then the days since the last walk, and further back what the source may have
 * restated. Each run opens a walk in place of an unfinished one and takes over its unread slices: an owner
 * that fails or is closed is read from where it was left, and does not hold back the others.
 */
export async function syncDays(syncing: Planned, days: Days): Promise<Problem | undefined> {
  const { plan, walks } = syncing;
  const owners = await ownersOf(syncing);
  const unfinished = walks.findLast((walk) => goesOn(walk, syncing));
  const last = unfinished ?? walks.find(({ isOpen }) => !isOpen && plan.kind === 'incremental');
  const due = unfinished === undefined ? plan.window : await dueSince(syncing, days, unfinished);
  const byOwner = Map.groupBy(await slicesOfEarlier(syncing, last), ({ owner }) => owner);
  const late = await lateIn(syncing, days, last, due?.from);
  const whole = windowOf(syncing);
  const lacking = owners.map(({ partition, owner }) => {
    const own = byOwner.get(owner);
    const window = own === undefined ? whole : lackOf(own, due, late.get(owner), whole?.from);
    // What begins before the window is not part of it.
    const isKept = ({ state, slice }: WalkSlice): boolean =>
      state === 'unread' && (!window?.from || (slice.window?.from ?? window.from) < window.from);
    return { kept: own?.filter(isKept) ?? [], fresh: slicesOfDays(days, window, [partition]) };
  });
  const { kind, words } = unfinished ?? plan;
  const walk = { ...plan, kind, words, window: due ?? plan.window };
  const fresh = lacking.flatMap((one) => one.fresh);
  const kept = lacking.flatMap((one) => one.kept);
  return beginWalk({ ...syncing, plan: walk }, fresh, kept);
}

/** The days that are due since an unfinished walk began, which are read besides it; a backfill has none. */
async function dueSince(syncing: Planned, days: Days, { clock, opened }: Walk): Promise<Window | undefined> {
  return syncing.plan.kind === 'backfill' ? undefined : daysSince(syncing, days, clock ?? new Date(opened));
}

/**
 * The days of an owner that are read besides its unread slices, and in place of those that overlap them: the
 * days that are due, and those since the first that were refused (404) or have late facts, as far as the
 * source has them.
 */
function lackOf(
  own: readonly WalkSlice[],
  due: Window | undefined,
  late: Date | undefined,
  oldest: Date | undefined,
): Window | undefined {
  if (due?.from === undefined) return undefined;
  const first = (of: readonly WalkSlice[], from: Date): Date =>
    of.flatMap(({ slice }) => slice.window?.from ?? []).reduce(earlier, from);
  const refused = own.filter(({ state }) => state === 'refused');
  const since = earlier(midnight(late ?? due.from), first(refused, due.from));
  const from = later(since, oldest ?? since);
  const { to = from } = due;
  const reaches = ({ slice: { window } }: WalkSlice): boolean => (window?.to ?? from) > from;
  const overlapping = own.filter((one) => one.state === 'unread' && reaches(one));
  // One that covers all that is due stays: it may have a report under way.
  const covers = ({ slice: { window } }: WalkSlice): boolean =>
    (window?.from ?? to) <= from && (window?.to ?? from) >= to;
  if (overlapping.length === 1 && overlapping.every(covers)) return undefined;
  return { ...due, from: first(overlapping, from) };
}

/** The first day, by owner, of facts from before `from` that became known after the last walk was opened. */
async function lateIn(
  { context: { deps, run } }: Syncing,
  { joined }: Days,
  last: Walk | undefined,
  from: Date | undefined,
): Promise<ReadonlyMap<string, Date>> {
  if (joined === undefined || last === undefined || from === undefined) return new Map();
  type Late = { readonly owner: string; readonly since: Date | null };
  const text = `select (to_jsonb(late) - 'since')::text as owner, since from (${joined}) late`;
  const query = CompiledQuery.raw(text, [run.sourceId, last.opened, from.toISOString()]);
  const { rows } = await withRetry(() => deps.warehouse.db.executeQuery<Late>(query));
  return new Map(rows.map(({ owner, since }) => [owner, since ?? new Date(0)]));
}
