/** How the walk that a stream needs is begun, or an interrupted one goes on: one way for each kind of stream. */

import { CompiledQuery } from 'kysely';
import type { Days, Slice, Window, Windows } from '../../core/stream.ts';
import { hours } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { tell } from '../context/run-context.ts';
import type { Problem, StreamInRun } from '../context/stream-in-run.ts';
import {
  type OpenSlice,
  openWalk,
  sliceOf,
  slicesOf,
  type Walk,
  type WalkSlice,
} from '../state/walk-state.ts';
import { confirmed } from '../verify.ts';
import { daysThere, earlier, later, midnight, slicesOfDays, span } from './cut.ts';
import { ownersOf } from './owners.ts';
import {
  daysSince,
  fullWords,
  planningOf,
  planOf,
  type Request,
  type StreamPlan,
  type Syncing,
} from './plan.ts';
import { readWalk } from './read-walk.ts';

/** A stream that is being synced by a plan. */
interface Planned extends Syncing {
  readonly plan: StreamPlan;
}

/** Plans what a stream needs now; undefined: nothing. */
export async function planStream(of: StreamInRun, request: Request): Promise<Planned | undefined> {
  const { context, stream, tally } = of;
  const planning = await planningOf({ context, stream, request });
  const plan = await planOf(planning);
  return plan && { ...planning, context, stream, tally, plan };
}

/** An interrupted list, or backfill of a time that was not over, is begun anew when it is older than this. */
const staleAfter = hours(6);

/** An interrupted forced walk over everything is begun anew when it is older than this. */
const fullGoesStale = hours(24);

/** The words of a walk that is read while another one cannot be finished. */
const besideWords = 'beside';

/** Since the walk began, by the source's clock, in milliseconds. */
const ageOf = (walk: Walk | undefined, { context }: Planned): number =>
  (context.clock ?? new Date()).getTime() - (walk?.clock?.getTime() ?? 0);

/** The open walks that a plan goes on with or replaces: a backfill's are those of the same window only. */
const openFor = ({ walks, plan }: Planned): readonly Walk[] =>
  walks.filter(({ isOpen, kind, words }) => {
    if (plan.kind === 'backfill') return isOpen && words === plan.words;
    return isOpen && (kind !== 'backfill' || words === besideWords);
  });

/** Whether what an unfinished walk has read counts for the plan. */
function goesOn(open: Walk, syncing: Planned): boolean {
  const { plan, coverage, request } = syncing;
  const age = ageOf(open, syncing);
  if (open.kind === 'full') {
    // What was read of another selection, or by other fields, does not count; a forced walk is finished by force.
    if (open.words === fullWords(coverage.words, true)) return !request.full || age < fullGoesStale;
    return !request.full && open.words === fullWords(coverage.words, false);
  }
  // A window that was not over when the backfill began has more records now.
  const isOver =
    open.kind === 'incremental' || (plan.window?.to?.getTime() ?? 0) <= (open.clock?.getTime() ?? 0);
  return open.words === plan.words && (isOver || age < staleAfter);
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
  open: readonly Walk[] = [],
  kept: readonly OpenSlice[] = [],
): Promise<Problem | undefined> {
  const { context, stream, coverage, plan } = syncing;
  const { run, clock, lease } = context;
  if (plan.why !== undefined) tell(context, 'info', `${stream.name}: everything is read again: ${plan.why}`);
  if (kept.length > 0) tellResumed(syncing, plan);
  const at = { run, stream: stream.name, clock, fields: coverage.fields };
  const walk = await lease.transaction(({ trx }) => openWalk(trx, at, plan, slices, open, kept));
  return readOn(syncing, walk);
}

const tellResumed = ({ context, stream }: Syncing, { kind }: Pick<Walk, 'kind'>): void =>
  tell(context, 'info', `${stream.name}: goes on with the ${kind} walk that was interrupted`);

/** Reads what is unread of a walk. */
function readOn(syncing: Planned, walk: Walk): Promise<Problem | undefined> {
  const { context, stream, tally, coverage, resolves, request, checkpoint } = syncing;
  const isFirst = checkpoint === undefined;
  const force = request.full || walk.words.startsWith(fullWords('', true));
  return readWalk({ context, stream, walk, tally, coverage, isFirst, resolves, force });
}

/**
 * Lists: read whole in each run, owner by owner where the stream has owners. An interrupted list is begun
 * anew, with those owners first that it did not come to. Owners whose records change no more are not read
 * again.
 */
export async function syncList(syncing: Planned): Promise<Problem | undefined> {
  const { plan } = syncing;
  const open = openFor(syncing);
  const last = open.at(-1);
  const read = (await slicesOfEarlier(syncing, last)).filter(({ state }) => state === 'read');
  const wasRead = new Set(read.map(({ owner }) => owner));
  // Whether what an interrupted walk over all owners has read of some counts for this one.
  const isKept = plan.kind === 'full' && last?.kind === 'full' && ageOf(last, syncing) < staleAfter;
  const owners = await ownersOf(syncing, isKept ? last.walkId : undefined);
  const due = owners.filter(
    ({ owner, isActive }) => isActive || (plan.kind === 'full' && !(isKept && wasRead.has(owner))),
  );
  const again = new Set(due.map(({ owner }) => owner));
  const kept = isKept ? read.filter(({ owner }) => !again.has(owner)) : [];
  const unreadFirst = due.toSorted((a, b) => Number(wasRead.has(a.owner)) - Number(wasRead.has(b.owner)));
  const slices = unreadFirst.map(({ partition }) => sliceOf(partition));
  return beginWalk(syncing, slices, open, kept);
}

/**
 * Changes: everything once, by windows of creation; then what changed since the watermark, less a lookback.
 * An interrupted walk is finished first, slice by slice, and what changed since it began is read after it.
 */
export async function syncChanges(syncing: Planned, windows: Windows): Promise<Problem | undefined> {
  const { context, plan, request } = syncing;
  const open = openFor(syncing);
  const unfinished = open.find((walk) => goesOn(walk, syncing));
  if (unfinished === undefined) return beginWalk(syncing, [sliceOf(undefined, plan.window)], open);
  tellResumed(syncing, unfinished);
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
  const back = field === 'updated' ? context.deps.lookbackMs : context.deps.createdWindowMs;
  const window = { field, from: new Date(unfinished.clock.getTime() - back) };
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
  const { context, plan, walks } = syncing;
  const owners = await ownersOf(syncing);
  const open = openFor(syncing);
  const unfinished = open.findLast((walk) => goesOn(walk, syncing));
  const complete = plan.kind === 'incremental' ? walks.find(({ isOpen }) => !isOpen) : undefined;
  const last = unfinished ?? complete;
  // What is due since an unfinished walk began is read besides it; nothing of a backfill that goes on.
  const since = unfinished?.clock ?? new Date(unfinished?.opened ?? 0);
  const besides = () => (plan.kind === 'backfill' ? undefined : daysSince(syncing, days, since));
  const due = unfinished === undefined ? plan.window : await besides();
  const byOwner = Map.groupBy(await slicesOfEarlier(syncing, last), ({ owner }) => owner);
  const late = await lateIn(syncing, days, last, due?.from);
  const there = daysThere(days, context.clock ?? new Date());
  const whole = plan.kind === 'backfill' ? plan.window : span(there.from, there.to);
  const lacking = owners.map(({ partition, owner }) => {
    const own = byOwner.get(owner);
    const lack = own && lackOf(own, due, late.get(owner) ?? there.to, there.from);
    const { kept, window } = lack ?? { kept: [], window: whole };
    return { kept, fresh: slicesOfDays(days, window, [partition]) };
  });
  const fresh = lacking.flatMap((one) => one.fresh);
  const kept = lacking.flatMap((one) => one.kept);
  const { kind, words } = unfinished ?? plan;
  return beginWalk(
    { ...syncing, plan: { ...plan, kind, words, window: due ?? plan.window } },
    fresh,
    open,
    kept,
  );
}

/**
 * Which unread slices of an owner stay as they are, and the window that is read besides: the days that are
 * due, those since the first that were refused (404) or have late facts as far as the source has them, and
 * unread ones that overlap them.
 */
function lackOf(
  own: readonly WalkSlice[],
  due: Window | undefined,
  late: Date,
  oldest: Date,
): { readonly kept: readonly WalkSlice[]; readonly window: Window | undefined } {
  const unread = own.filter(({ state }) => state === 'unread');
  if (due?.from === undefined) return { kept: unread, window: undefined };
  const first = (of: readonly WalkSlice[], from: Date): Date =>
    of.flatMap(({ slice }) => slice.window?.from ?? []).reduce(earlier, from);
  const refused = own.filter(({ state }) => state === 'refused');
  const from = later(earlier(midnight(late), first(refused, due.from)), oldest);
  const overlapping = unread.filter(({ slice }) => (slice.window?.to ?? from) > from);
  const { to = from } = due;
  const covers = ({ slice: { window } }: WalkSlice): boolean =>
    (window?.from ?? to) <= from && (window?.to ?? from) >= to;
  // One that covers all that is due stays: it may have a report under way.
  if (overlapping.length === 1 && overlapping.every(covers)) return { kept: unread, window: undefined };
  return {
    kept: unread.filter((one) => !overlapping.includes(one)),
    window: { ...due, from: first(overlapping, from) },
  };
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
