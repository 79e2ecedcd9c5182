/** What is read of a stream now: everything, what is due since the last time, or the window of a backfill. */
import { CompiledQuery, sql } from 'kysely';
import type { ReadMode, TurnBudget } from '../../core/run.ts';
import type { Days, Slice, Stream, Window, Windows } from '../../core/stream.ts';
import { days as daysOf, earlier, hours, later, midnight, plusDays } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunDeps } from '../context/deps.ts';
import { ask, type Problem, type Reader, type StreamRun, tell } from '../context/run-context.ts';
import { type Checkpoint, checkpointOf, coverageOf, whyAgain } from '../state/checkpoint.ts';
import { hasOpenRejects } from '../state/run-state.ts';
import type { Coverage, OpenSlice, Walk, WalkPlan, WalkSlice } from '../state/walk-state.ts';
import { isSameCoverage, openWalk, sliceOf, slicesOf, walksOf } from '../state/walk-state.ts';
import { confirmed } from '../verify.ts';
import { daysThere, slicesOfDays, span } from './cut.ts';
import { type Owner, ownersOf } from './owners.ts';
import { readWalk } from './read-walk.ts';

/** What a run is asked to do. */
export interface SyncRequest {
  readonly full: boolean;
  /** A backfill's window. */
  readonly window: { readonly from: Date; readonly to: Date } | undefined;
}

/** The same as it is asked for, of these streams; without names of all. */
export type SyncOptions = Partial<SyncRequest> & { readonly streams?: readonly string[] };

/** What the warehouse and the source state of a stream now. */
interface StreamProgress {
  /** What was last completed. */
  readonly checkpoint: Checkpoint | undefined;
  /** The open walks and the last complete one, in the order of their opening. */
  readonly walks: readonly Walk[];
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** What a walk over all of the stream would cover now. */
  readonly coverage: Coverage;
}

/** What a plan is made from. */
export interface Planning extends Reader, StreamProgress {
  readonly stream: Stream;
  readonly request: SyncRequest;
}

/** The same in a run that reads the stream. */
export interface Syncing extends StreamRun, StreamProgress, Pick<Planning, 'request'> {}

export async function stateOf({ db, sourceId, signal }: Reader, stream: Stream): Promise<StreamProgress> {
  const at = [db, sourceId, stream.name] as const;
  const [checkpoint, walks, resolves] = await withRetry(() =>
    Promise.all([checkpointOf(...at), walksOf(...at), hasOpenRejects(...at)]),
  );
  const coverage = await coverageOf(stream, signal, checkpoint?.fields);
  return { checkpoint, walks, resolves, coverage };
}

/**
 * The walk that a stream needs now; undefined where there is nothing to do (a backfill of a list, of days that
 * the source does not have).
 */
export async function planOf(planning: Planning): Promise<WalkPlan | undefined> {
  const { stream, request, checkpoint, coverage } = planning;
  if (stream.by === 'list') {
    if (request.window !== undefined) return undefined;
    // All owners, or only those whose records still change where all were read not long ago.
    const isPart = stream.partitions?.active && !request.full && isFresh(planning);
    return { kind: isPart ? 'incremental' : 'full', window: undefined };
  }
  const window = windowOf(planning);
  if (window === undefined) return undefined;
  if (request.window !== undefined) return { kind: 'backfill', purpose: 'requested', window };
  const everything = { kind: 'full', forced: request.full, window } as const;
  if (request.full || checkpoint === undefined) return everything;
  const why = whyAgain(checkpoint, coverage);
  if (why !== undefined) return { ...everything, why };
  if (stream.by === 'changes') {
    const tooOld = 'the source cannot tell what changed, and a week has passed';
    return (await planChanges(planning, checkpoint, stream.windows)) ?? { ...everything, why: tooOld };
  }
  const due = await daysSince(planning, stream.days, checkpoint.watermark);
  return due && { kind: 'incremental', window: due };
}

const dueModes = { updated: 'incremental', created: 'created-window', day: 'restatement' } as const;

/** How a walk reads; of what is due, by the field of its window. */
export const modeOf = ({ kind, window }: Pick<WalkPlan, 'kind' | 'window'>): ReadMode => {
  if (window === undefined) return 'list';
  return kind === 'incremental' ? dueModes[window.field] : kind;
};

/** All of a stream that is cut by time, or the part of it in a backfill's window: of days that are there. */
function windowOf({ deps, clock, stream, request: { window } }: Planning): Window | undefined {
  if (stream.by !== 'days') return { field: 'created', from: deps.historyStart, ...window };
  const { from, to } = daysThere(stream.days, clock ?? new Date());
  if (window === undefined) return span(from, to);
  const end = midnight(new Date(window.to.getTime() + daysOf(1) - 1));
  return span(later(midnight(window.from), from), earlier(end, to));
}

/** What changed since the watermark, or the rolling `created` window; undefined where that is not enough. */
async function planChanges(
  planning: Planning,
  checkpoint: Checkpoint,
  windows: Windows,
): Promise<WalkPlan | undefined> {
  const { clock = checkpoint.watermark, signal, deps } = planning;
  const field = await windows.changes(signal);
  const isAll = field === 'updated';
  if (!isAll && !isFresh(planning)) return undefined;
  const since = isAll ? await lowMark(planning, checkpoint) : earlier(clock, checkpoint.watermark);
  return { kind: 'incremental', window: windowSince(deps, field, since) };
}

/** What changed or was created since the moment, and somewhat before it. */
const windowSince = (deps: RunDeps, field: 'updated' | 'created', since: Date): Window => ({
  field,
  from: new Date(since.getTime() - (field === 'updated' ? deps.lookbackMs : deps.createdWindowMs)),
});

/**
 * Where changes are read from, before the lookback: the clock of the last walk that showed all changes, or
 * the newest change in the warehouse if that is older (a source whose index lags does not show its
 * changes when the clock says it should; guarantee G4). Records dated in the future do not count.
 */
async function lowMark(planning: Planning, { watermark, fullAt }: Checkpoint): Promise<Date> {
  const { sourceId, stream, walks } = planning;
  const { order, schema, name } = stream.table;
  // The last walk was over what was created of late: older records may have changed meanwhile.
  const isRecent = walks.some(({ isOpen, kind, field }) => !isOpen && kind !== 'full' && field === 'created');
  const shown = isRecent ? (fullAt ?? watermark) : watermark;
  if (order === undefined) return shown;
  const newest = sql`max(${sql.id(order)})`;
  const query = sql<{ low: Date }>`select least(${newest}, ${shown}) as low from ${sql.id(schema, name)}
    where source_id = ${sourceId} and ${sql.id(order)} <= ${watermark}`;
  const [row] = await ask(planning, query);
  return row?.low ?? shown;
}

/** Days between two walks over everything, of a source that cannot filter by change. */
const fullEvery = 7;

/** Whether everything was read not long ago. */
const isFresh = ({ checkpoint, clock }: Planning): boolean =>
  checkpoint?.fullAt != null && !isDue(checkpoint.fullAt, fullEvery, clock ?? checkpoint.watermark);

/** A run that begins somewhat earlier than the last one still counts as due. */
const slack = hours(6);

/**
 * Whether what is read every `every` days is due, by the source's clock. A last time in the future came from
 * a wrong clock.
 */
function isDue(last: Date, every: number, clock: Date): boolean {
  const age = clock.getTime() - last.getTime();
  return age >= daysOf(every) - slack || age < -slack;
}

/** The days that are due since a walk of this clock. */
const daysSince = (planning: Planning, days: Days, last: Date): Promise<Window | undefined> =>
  daysDue(days, planning.clock ?? new Date(), last, (back) => lastRead(planning, back));

/**
 * What a run reads again: everything since the last walk, and as far back as the deepest restatement that is
 * due, counted in days that are over. One that is overdue reaches back as far as it would have reached on
 * time: those days were not read since. `readAt(back)` is when the last `back` days were last read, by the
 * source's clock.
 */
export async function daysDue(
  days: Days,
  clock: Date,
  last: Date,
  readAt: (back: number) => Promise<Date | undefined>,
): Promise<Window | undefined> {
  const { from, to } = daysThere(days, clock);
  let since = earlier(midnight(last), midnight(clock));
  for (const { every, back } of days.reread) {
    const read = every <= 1 ? last : await readAt(back);
    if (every > 1 && read !== undefined && !isDue(read, every, clock)) continue;
    const onTime = read === undefined ? clock : earlier(clock, plusDays(read, every));
    since = earlier(since, plusDays(midnight(onTime), -back));
  }
  return span(later(from, since), to);
}

/**
 * When a walk last covered the last `back` days. What it could not read was taken over by the next one. A
 * history that is shorter than `back` days was never covered: each run reads all of it.
 */
async function lastRead(planning: Planning, back: number): Promise<Date | undefined> {
  const { sourceId, stream, coverage: now } = planning;
  const query = sql<{ last: Date | null }>`select max(source_clock) as last from ops.walks
    where source_id = ${sourceId} and stream = ${stream.name} and (kind = 'incremental'
        or (kind, selection, edition, mapping) = ('full', ${now.selection}, ${now.edition}, ${now.mapping}))
      and window_to - window_from >= ${back} * interval '1 day'`;
  const [row] = await ask(planning, query);
  return row?.last ?? undefined;
}

// How the walk that a stream needs is begun, or an interrupted one goes on: one way for each kind of stream.

/** A stream that is being synced by a plan. */
interface Planned extends Syncing {
  readonly plan: WalkPlan;
  readonly turn?: TurnBudget | undefined;
  /** The walk that left owners to this run. */
  readonly begun?: Walk | undefined;
}

/** Plans what a stream needs now; undefined: nothing. */
export async function planStream(of: StreamRun, request: SyncRequest): Promise<Planned | undefined> {
  const syncing = { ...of, ...(await stateOf(of, of.stream)), request };
  const plan = await planOf(syncing);
  return plan && { ...syncing, plan, turn: turnOf(syncing) };
}

/** How much of a stream that rotates is read; undefined: all. */
export const turnOf = ({ deps, stream, request }: Pick<Planning, 'deps' | 'stream' | 'request'>) =>
  request.full || request.window ? undefined : deps.rotate?.[stream.name];

/** Whether a walk began not long ago, by the source's clock: what it has read is still as it was. */
const isRecent = (walk: Walk, { clock = new Date() }: Planned): boolean =>
  clock.getTime() - (walk.clock?.getTime() ?? 0) < hours(6);

/** The open walks that the plan's walk replaces. A backfill replaces only those of the same window. */
const replacedBy = (syncing: Planned): readonly Walk[] =>
  syncing.walks.filter((walk) => {
    if (syncing.plan.kind === 'backfill') return walk.isOpen && isOfPlan(walk, syncing);
    return walk.isOpen && (walk.kind !== 'backfill' || walk.purpose === 'beside');
  });

/**
 * Whether a walk reads what the plan is for. A walk over everything is finished first, also a forced one; not
 * one by another selection or mapping.
 */
function isOfPlan(walk: Walk, { plan, coverage, request }: Planned): boolean {
  if (walk.kind === 'full')
    return plan.kind !== 'backfill' && (walk.forced || !request.full) && isSameCoverage(walk, coverage);
  if (walk.kind === 'incremental') return plan.kind === walk.kind && walk.field === plan.window?.field;
  if (plan.purpose !== 'requested') return walk.purpose === plan.purpose;
  const isSameWindow = isSame(walk.windowFrom, plan.window?.from) && isSame(walk.windowTo, plan.window?.to);
  return walk.purpose === plan.purpose && isSameWindow && walk.selection === coverage.selection;
}

const isSame = (one: Date | null, other: Date | undefined): boolean => one?.getTime() === other?.getTime();

/** Whether a walk is unfinished and what it has read counts for the plan. */
function goesOn(walk: Walk, syncing: Planned): boolean {
  const { kind, window } = syncing.plan;
  if (!walk.isOpen || !isOfPlan(walk, syncing)) return false;
  // A window that was not over when the backfill began has more records now.
  const isOver = (window?.to?.getTime() ?? 0) <= (walk.clock?.getTime() ?? 0);
  const isAny = !syncing.request.full && kind !== 'backfill';
  return isAny || (kind === 'backfill' && isOver) || isRecent(walk, syncing);
}

/** The slices of an earlier walk; none without one. */
const slicesOfEarlier = ({ db }: Planned, walk: Walk | undefined): Promise<readonly WalkSlice[]> =>
  withRetry(() => slicesOf(db, walk?.walkId));

/**
 * Opens the plan's walk, in place of those that are open, and reads it; `kept`: slices of these that it takes
 * over. Gives what kept it from being complete.
 */
export async function beginWalk(syncing: Planned, slices: readonly Slice[], kept: readonly OpenSlice[] = []) {
  const { stream, plan, lease, begun } = syncing;
  if (plan.why !== undefined) tell(syncing, 'info', `${stream.name}: everything is read again: ${plan.why}`);
  const replaced = replacedBy(syncing);
  const walk = await lease.transaction(({ trx }) =>
    openWalk(trx, syncing, plan, slices, replaced, kept, begun),
  );
  return readOn(syncing, walk);
}

/** Reads what is unread of a walk. */
function readOn(syncing: Planned, walk: Walk): Promise<Problem | undefined> {
  const isFirst = syncing.checkpoint === undefined;
  return readWalk({ ...syncing, walk, isFirst, force: syncing.request.full || walk.forced });
}

/**
 * Lists: read whole in each run, owner by owner where the stream has owners. An interrupted list is begun
 * anew, with those owners first that it did not come to. Owners whose records change no more are not read
 * again.
 */
export async function syncList(syncing: Planned): Promise<Problem | undefined> {
  const { plan, walks, turn } = syncing;
  const isFull = plan.kind === 'full';
  const last = walks.findLast(({ isOpen }) => isOpen);
  const read = (await slicesOfEarlier(syncing, last)).filter(({ state }) => state === 'read');
  const wasRead = new Set(read.map(({ owner }) => owner));
  // Whether what an interrupted walk over all owners has read of some counts for this one.
  const begun = turn === undefined ? undefined : last;
  const counts = isFull && last?.kind === 'full' && (begun !== undefined || isRecent(last, syncing));
  const owners = await ownersOf(syncing, counts ? last.walkId : undefined);
  const left = owners.filter(({ owner }) => begun === undefined || !wasRead.has(owner));
  const due = left.filter(({ owner, isActive }) => isActive || (isFull && !(counts && wasRead.has(owner))));
  const again = new Set(due.map(({ owner }) => owner));
  const kept = counts ? read.filter(({ owner }) => !again.has(owner)) : [];
  const unreadFirst = due.toSorted((a, b) => Number(wasRead.has(a.owner)) - Number(wasRead.has(b.owner)));
  const slices = unreadFirst.map(({ partition }) => sliceOf(partition));
  return beginWalk({ ...syncing, begun }, slices, kept);
}

/**
 * Changes: everything once, by windows of creation; then what changed since the watermark, less a lookback.
 * An interrupted walk is finished first, slice by slice, and what changed since it began is read after it.
 */
export async function syncChanges(syncing: Planned, windows: Windows): Promise<Problem | undefined> {
  const { deps, stream, plan, request, walks } = syncing;
  const unfinished = walks.find((walk) => goesOn(walk, syncing));
  if (unfinished === undefined) return beginWalk(syncing, [sliceOf(undefined, plan.window)]);
  tell(syncing, 'info', `${stream.name}: goes on with the ${unfinished.kind} walk that was interrupted`);
  const problem = await readOn(syncing, unfinished);
  if (unfinished.kind === 'backfill' || unfinished.clock === null) return problem;
  if (problem === undefined) {
    const next = await confirmed(() => planStream(syncing, { ...request, full: false }));
    return next && syncChanges(next, windows);
  }
  const field = await windows.changes(syncing.signal);
  // The slice of a walk over changes has an open end: it is unread, and read whole when it can be.
  if (unfinished.kind === 'incremental' && field === 'updated') return problem;
  // What changed since a walk began that cannot be finished; this moves no watermark and is not resumed.
  const window = windowSince(deps, field, unfinished.clock);
  await beginWalk({ ...syncing, plan: { kind: 'backfill', purpose: 'beside', window } }, [{ window }]);
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
  if (syncing.turn !== undefined && unfinished !== undefined)
    return goOnInTurn(syncing, days, unfinished, owners);
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
  const { kind, forced = false } = unfinished ?? plan;
  const fresh = lacking.flatMap((one) => one.fresh);
  const kept = lacking.flatMap((one) => one.kept);
  return beginWalk({ ...syncing, plan: { ...plan, kind, forced, window: due ?? plan.window } }, fresh, kept);
}

/**
 * Goes on with a walk that left owners to this run: reads what is unread of it, up to today, and owners that are new,
 * these first. Those that were read in it are due when it is complete. It keeps its beginning, so that watermark and
 * freshness are those of the owner that was read longest ago, and its days, so that no restatement counts as read
 * that some owners were not read for.
 */
async function goOnInTurn(syncing: Planned, days: Days, begun: Walk, owners: readonly Owner[]) {
  const byOwner = Map.groupBy(await slicesOfEarlier(syncing, begun), ({ owner }) => owner);
  const { to: today } = daysThere(days, syncing.clock ?? new Date());
  const { kind, forced, windowFrom, windowTo } = begun;
  const window = { field: 'day', from: windowFrom ?? today, to: windowTo ?? today } as const;
  /** A piece that reached the end of the walk now reaches today; no piece is added, else it would never be complete. */
  const leftOf = (own: readonly WalkSlice[]): Window | undefined => {
    const left = own.flatMap(({ state, slice }) => (state === 'unread' && slice.window) || []);
    const to = left.flatMap((window) => window.to ?? []).reduce(later, window.from);
    const from = left.flatMap((window) => window.from ?? []).reduce(earlier, to);
    return span(from, to < window.to ? to : today);
  };
  const newFirst = owners.toSorted((a, b) => Number(byOwner.has(a.owner)) - Number(byOwner.has(b.owner)));
  const fresh = newFirst.flatMap(({ partition, owner }) => {
    const own = byOwner.get(owner);
    return slicesOfDays(days, own === undefined ? windowOf(syncing) : leftOf(own), [partition]);
  });
  const all = owners.flatMap(({ owner }) => byOwner.get(owner) ?? []);
  const kept = all.filter(({ state }) => state !== 'unread');
  return beginWalk({ ...syncing, plan: { kind, forced, window }, begun }, fresh, kept);
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
  { db, sourceId }: Syncing,
  { joined }: Days,
  last: Walk | undefined,
  from: Date | undefined,
): Promise<ReadonlyMap<string, Date>> {
  if (joined === undefined || last === undefined || from === undefined) return new Map();
  type LateOwner = { readonly owner: string; readonly since: Date | null };
  const text = `select (to_jsonb(late) - 'since')::text as owner, since from (${joined}) late`;
  const query = CompiledQuery.raw(text, [sourceId, last.opened, from.toISOString()]);
  const { rows } = await withRetry(() => db.executeQuery<LateOwner>(query));
  return new Map(rows.map(({ owner, since }) => [owner, since ?? new Date(0)]));
}
