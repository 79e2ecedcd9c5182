/** Slices that hold too much to be read in one piece: how much that is, and where they are cut. */

import type { Days, Partition, Slice, Window } from '../../core/stream.ts';
import { days as daysOf, earlier, later, midnight, minutes, plusDays } from '../../core/time.ts';
import type { WalkRun } from '../batching/commit.ts';
import { sliceContext } from '../batching/slice-context.ts';
import type { Run } from '../context/run-context.ts';
import { type OpenSlice, sliceOf, splitSlice } from '../state/walk-state.ts';

/** A window of more records is cut: few enough that the last one does not keep a run waiting for long. */
export const mostRecords = 4_000;

/** The same while few windows are unread: several are read at once also of a small site. */
export const mostOfFew = 1_000;

/** The same where records are listed by their ids alone, in pages as large as this. */
export const mostIds = 5_000;

/** A slice of days with more rows than this is halved. */
const mostRows = 20_000;

/** Whole days, cut at midnight UTC; undefined where no day lies between. */
export const span = (from: Date, to: Date): Window | undefined =>
  from < to ? { field: 'day', from, to } : undefined;

/** The days that the source has: from the beginning of history to the last day that is read. */
export function daysThere({ start, oldest, present }: Days, clock: Date) {
  const today = midnight(clock);
  const from = oldest === undefined ? midnight(start) : later(midnight(start), plusDays(today, -oldest));
  return { from, to: present ? plusDays(today, 1) : today };
}

/** The slices of each owner, the newest first: of days as many as the server's limit allows. */
export function slicesOfDays(
  { longest }: Days,
  { from, to }: Partial<Window> = {},
  owners: readonly (Partition | undefined)[],
): readonly Slice[] {
  if (from === undefined || to === undefined) return [];
  const count = Math.ceil((to.getTime() - from.getTime()) / daysOf(longest));
  const starts = Array.from({ length: count }, (_, at) => plusDays(from, at * longest)).reverse();
  return owners.flatMap((partition) =>
    starts.map((start) => sliceOf(partition, span(start, earlier(plusDays(start, longest), to)))),
  );
}

/**
 * A slice's window in parts of equal time, in their order, cut on whole minutes, so that a part of `count`
 * records has no more than `most`; undefined where there is nothing to cut. Four parts where halves would be
 * cut again: three of the four are counted at once, which takes as many requests as two halvings one after the
 * other. An open end is cut as if it ended at `clock`; the last part stays open.
 */
export const cutByCount = (slice: Slice, count: number, most: number, clock: Date) =>
  count > most ? cutEvenly(slice, count > 2 * most ? 4 : 2, minutes(1), clock) : undefined;

/** Cuts a slice into equal parts, on whole units of milliseconds; fewer where it is short. */
function cutEvenly(slice: Slice, parts: number, unit: number, clock: Date): readonly Slice[] | undefined {
  const { from = clock, to = clock } = slice.window ?? {};
  const step = (to.getTime() - from.getTime()) / parts;
  const cuts = Array.from({ length: parts - 1 }, (_, at) => from.getTime() + step * (at + 1));
  const whole = cuts.map((cut) => new Date(Math.floor(cut / unit) * unit));
  return cutAt(slice, whole);
}

/** Cuts a slice at the moments, in ascending order, that lie within it; undefined where none does. */
function cutAt(slice: Slice, moments: readonly Date[]): readonly Slice[] | undefined {
  const { window } = slice;
  if (window?.from === undefined) return undefined;
  const { from, to } = window;
  const cuts = moments.filter((cut, at) => cut > (moments[at - 1] ?? from) && (!to || cut < to));
  if (cuts.length === 0) return undefined;
  return [from, ...cuts].map((start, at) => ({
    ...slice,
    window: { ...window, from: start, ...(cuts[at] && { to: cuts[at] }) },
  }));
}

/**
 * Reads slices, as many at once as the run allows, and the parts that `read` gives where it cuts one instead.
 * What it throws stops the others, by its signal, and is thrown once they have ended.
 */
export async function readAll<S>(
  run: Run,
  slices: readonly S[],
  read: (slice: S, signal: AbortSignal) => Promise<readonly S[]>,
): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([run.signal, failure.signal]);
  const readOne = (slice: S): Promise<unknown> =>
    run
      .slot(async () => {
        signal.throwIfAborted();
        return read(slice, signal);
      })
      .then((parts) => Promise.all(parts.map(readOne)))
      .catch((error: unknown) => failure.abort(error));
  await Promise.all(slices.map(readOne));
  failure.signal.throwIfAborted();
}

/** The parts of a slice that is too large, each resumable by itself; of any other its records, as far as known. */
export async function splitIfLarge(walking: WalkRun, open: OpenSlice) {
  const { stream, walk, tally, unread } = walking;
  const { slice } = open;
  // A window of changes is open and usually small.
  const isCounted = stream.by === 'changes' && slice.window?.field === 'created';
  const count = isCounted ? await stream.windows.count(slice, walking.signal) : undefined;
  // The records of a part were announced with the slice that it was cut from.
  if (count !== undefined && open.isPart !== true && walk.kind !== 'incremental')
    tally.announced = (tally.announced ?? 0) + count;
  const most = unread.count > 2 * walking.deps.concurrency ? mostRecords : mostOfFew;
  const cut =
    stream.by === 'days'
      ? await partsOfDays(walking, stream.days, open)
      : cutByCount(slice, count ?? 0, most, walking.now());
  if (cut === undefined) return { count };
  const parts = await walking.lease.transaction((session) => splitSlice(session, open, cut));
  unread.count += parts.length - 1;
  return { parts };
}

/** The days of a slice that the source no longer gives and the rest, or the halves of one with too many rows. */
async function partsOfDays(walking: WalkRun, days: Days, { slice, sliceId }: OpenSlice) {
  // By the present moment: days go by at midnight, also while a run reads.
  const now = walking.now();
  const atOldest = cutAt(slice, [daysThere(days, now).from]);
  if (atOldest !== undefined) return atOldest;
  const rows = await days.rows(slice, sliceContext(walking, walking.stream, sliceId));
  return rows > mostRows ? cutEvenly(slice, 2, daysOf(1), now) : undefined;
}
