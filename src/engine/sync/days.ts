/**
 * Facts by day: everything once; then the days since the last walk, and further back what the source may have
 * restated. Each run opens a walk in place of an unfinished one and takes over its unread slices: an owner
 * that fails or is closed is read from where it was left, and does not hold back the others.
 */

import { CompiledQuery, sql } from 'kysely';
import type { Days, Partition, Slice, Window } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { Problem } from '../context/problems.ts';
import { whyAgain } from '../state/coverage.ts';
import { partitionText, slicesOfWalk, type WalkSlice } from '../state/slice-state.ts';
import { lastCompleteWalk, type Walk } from '../state/walk-state.ts';
import { day, daysThere, earlier, later, midnight, plus } from './cut-window.ts';
import { ownersOf, whichFor } from './partitions.ts';
import {
  backfillPlan,
  beginWalk,
  fullWords,
  goesOn,
  isDue,
  openWalksFor,
  type Planning,
  type StreamPlan,
  type Syncing,
} from './plan.ts';

/** Whole days; both ends are at midnight UTC. */
type Span = Window & { readonly field: 'day'; readonly from: Date; readonly to: Date };

const span = (from: Date, to: Date): Span | undefined => (from < to ? { field: 'day', from, to } : undefined);

/** Everything, what is due since the watermark, or the days of a backfill; undefined where there are none. */
export async function planDays(planning: Planning, days: Days): Promise<StreamPlan | undefined> {
  const { request, checkpoint, coverage, clock = new Date() } = planning;
  const there = daysThere(days, clock);
  if (request.window !== undefined) {
    const { from, to } = request.window;
    const end = midnight(new Date(to.getTime() + day - 1));
    const window = span(later(midnight(from), there.from), earlier(end, there.to));
    return window && backfillPlan(request.window, days.scope, window);
  }
  const why = request.full || checkpoint === undefined ? undefined : whyAgain(checkpoint, coverage);
  if (request.full || checkpoint === undefined || why !== undefined) {
    const window = span(there.from, there.to);
    const words = fullWords(days.scope, request.full);
    return window && { mode: 'full', kind: 'full', words, window, ...(why !== undefined && { why }) };
  }
  const window = await daysDue(days, clock, checkpoint.watermark, (back) => lastRead(planning, back));
  return window && { mode: 'restatement', kind: 'incremental', words: 'days', window };
}

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
): Promise<Span | undefined> {
  const { from, to } = daysThere(days, clock);
  let since = earlier(midnight(last), midnight(clock));
  for (const { every, back } of days.reread) {
    const read = every <= 1 ? last : await readAt(back);
    if (every > 1 && read !== undefined && !isDue(read, every, clock)) continue;
    const onTime = read === undefined ? clock : earlier(clock, plus(read, every));
    since = earlier(since, plus(midnight(onTime), -back));
  }
  return span(later(from, since), to);
}

/**
 * When a walk last covered the last `back` days. What it could not read was taken over by the next one. A
 * history that is shorter than `back` days was never covered: each run reads all of it.
 */
async function lastRead(
  { deps, sourceId, stream, coverage: { words: scope } }: Planning,
  back: number,
): Promise<Date | undefined> {
  const { rows } = await withRetry(() =>
    sql<{ last: Date | null }>`select max(source_clock) as last from ops.walks
      where source_id = ${sourceId} and stream = ${stream.name}
        and (kind = 'incremental' or words in (${fullWords(scope, false)}, ${fullWords(scope, true)}))
        and window_to - window_from >= ${back} * interval '1 day'`.execute(deps.warehouse.db),
  );
  return rows[0]?.last ?? undefined;
}

/** Opens the walk of this run, with what each owner lacks, in place of unfinished ones; reads it. */
export async function syncDays(syncing: Syncing, plan: StreamPlan, days: Days): Promise<Problem | undefined> {
  const { deps, sourceId, stream, clock = new Date() } = syncing;
  const { db } = deps.warehouse;
  const owners = await ownersOf(syncing, whichFor(plan));
  const open = await withRetry(() => openWalksFor(syncing, plan));
  const unfinished = open.findLast((walk) => goesOn(walk, plan, syncing));
  const complete =
    plan.kind === 'incremental'
      ? await withRetry(() => lastCompleteWalk(db, sourceId, stream.name))
      : undefined;
  const last = unfinished ?? complete;
  // Besides the unread slices of an unfinished walk, what is due since it began; nothing of a backfill.
  const { clock: began } = unfinished ?? {};
  const due =
    unfinished === undefined
      ? plan.window
      : plan.kind === 'backfill'
        ? undefined
        : await daysDue(days, clock, began ?? new Date(unfinished.opened), (back) => lastRead(syncing, back));
  const slices = last === undefined ? [] : await withRetry(() => slicesOfWalk(db, last));
  const byOwner = Map.groupBy(slices, ({ slice }) => partitionText(slice.partition));
  const late = await withRetry(() => lateIn(syncing, days, last, due?.from));
  const there = daysThere(days, clock);
  const whole = plan.kind === 'backfill' ? plan.window : span(there.from, there.to);
  const lacking = owners.map((owner) => {
    const text = partitionText(owner);
    const own = byOwner.get(text);
    const { kept, window } =
      own === undefined
        ? { kept: [], window: whole }
        : lackOf(own, due, late.get(text) ?? there.to, there.from);
    return { kept, fresh: slicesOfDays(days, window, [owner]) };
  });
  const { kind, words } = unfinished ?? plan;
  return beginWalk(
    syncing,
    { ...plan, kind, words, window: due ?? plan.window },
    lacking.flatMap(({ fresh }) => fresh),
    { walkIds: open.map(({ walkId }) => walkId), slices: lacking.flatMap(({ kept }) => kept) },
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
  const starts = (of: readonly WalkSlice[]): readonly Date[] =>
    of.flatMap(({ slice }) => slice.window?.from ?? []);
  const refused = starts(own.filter(({ state }) => state === 'refused'));
  const from = later([midnight(late), ...refused].reduce(earlier, due.from), oldest);
  const overlapping = unread.filter(({ slice: { window } }) => window?.to !== undefined && window.to > from);
  const [first, ...more] = overlapping;
  const { from: begun, to: ended } = first?.slice.window ?? {};
  const { to = from } = due;
  // It covers all that is due, and may have a report under way.
  if (more.length === 0 && begun !== undefined && begun <= from && ended !== undefined && ended >= to)
    return { kept: unread, window: undefined };
  return {
    kept: unread.filter((one) => !overlapping.includes(one)),
    window: { ...due, from: starts(overlapping).reduce(earlier, from) },
  };
}

/** The first day, by owner, of facts from before `from` that became known after the last walk was opened. */
async function lateIn(
  { deps, sourceId }: Planning,
  { joined }: Days,
  last: Walk | undefined,
  from: Date | undefined,
): Promise<ReadonlyMap<string, Date>> {
  if (joined === undefined || last === undefined || from === undefined) return new Map();
  const { rows } = await deps.warehouse.db.executeQuery<{ since: Date | null; [column: string]: unknown }>(
    CompiledQuery.raw(joined, [sourceId, last.opened, from.toISOString()]),
  );
  const textOf = (owner: object): string =>
    partitionText(Object.fromEntries(Object.entries(owner).map(([name, value]) => [name, String(value)])));
  return new Map(rows.map(({ since, ...owner }) => [textOf(owner), since ?? new Date(0)]));
}

/** The slices of each owner, the newest first: of days as many as the server's limit allows. */
export function slicesOfDays(
  { longest }: Days,
  window: Window | undefined,
  owners: readonly (Partition | undefined)[],
): readonly Slice[] {
  if (window?.from === undefined || window.to === undefined) return [];
  const windows: Window[] = [];
  for (let from = window.from; from < window.to; from = plus(from, longest))
    windows.unshift({ ...window, from, to: earlier(plus(from, longest), window.to) });
  return owners.flatMap((partition) =>
    windows.map((piece) => ({ ...(partition !== undefined && { partition }), window: piece })),
  );
}
