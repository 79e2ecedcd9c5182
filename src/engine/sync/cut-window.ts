/** Windows that hold too much to be read in one piece: how much that is, and where they are cut. */

import type { Days, Slice } from '../../core/stream.ts';
import { days as daysOf } from '../../core/time.ts';

/**
 * A window of more records is cut: few enough that several are read at once also of a small site, and that
 * the last one does not keep a run waiting for long.
 */
export const mostRecords = 2_000;

/** The same where records are listed by their ids alone, in pages as large as this. */
export const mostIds = 5_000;

/**
 * Into how many parts a window of this many records is cut: four where halves would be cut again. Three of the
 * four are counted at once, which takes as many requests as two halvings one after the other.
 */
export const partsOf = (records: number, most: number): number => (records > 2 * most ? 4 : 2);

const minute = 60_000;

/**
 * A slice's window in so many parts of equal time (fewer where it is short), in their order, cut on whole
 * minutes; undefined where there is nothing to cut. An open end is cut as if it ended at `clock`; the last
 * part stays open.
 */
export function cutInto(parts: number, slice: Slice, clock: Date): readonly Slice[] | undefined {
  const { window } = slice;
  if (window?.from === undefined) return undefined;
  const from = window.from.getTime();
  const to = Math.max(window.to?.getTime() ?? clock.getTime(), from);
  const cutsAt = Array.from({ length: parts - 1 }, (_, at) => from + ((to - from) * (at + 1)) / parts);
  const minutes = new Set(cutsAt.map((at) => Math.floor(at / minute) * minute));
  const cuts = [...minutes].filter((cut) => cut > from && cut < to).map((cut) => new Date(cut));
  if (cuts.length === 0) return undefined;
  return [...cuts, undefined].map((end, at) => {
    const begun = cuts[at - 1];
    return {
      ...slice,
      window: {
        ...window,
        ...(begun === undefined ? {} : { from: begun }),
        ...(end === undefined ? {} : { to: end }),
      },
    };
  });
}

/** A slice of days with more rows than this is halved. */
export const mostRows = 20_000;

export const day = daysOf(1);

/** Midnight UTC at or before the moment. */
export const midnight = (at: Date): Date => new Date(Math.floor(at.getTime() / day) * day);
export const plus = (at: Date, count: number): Date => new Date(at.getTime() + count * day);
export const later = (a: Date, b: Date): Date => (a > b ? a : b);
export const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** The days that the source has: from the beginning of history to the last day that is read. */
export function daysThere(
  { start, oldest, present }: Days,
  clock: Date,
): { readonly from: Date; readonly to: Date } {
  const today = midnight(clock);
  const from = oldest === undefined ? midnight(start) : later(midnight(start), plus(today, -oldest));
  return { from, to: present ? plus(today, 1) : today };
}

/** The two halves of a slice of several days, cut at a midnight; undefined for a single day. */
export function halfDays(slice: Slice): readonly [Slice, Slice] | undefined {
  const { from, to } = slice.window ?? {};
  const count =
    from === undefined || to === undefined ? 0 : Math.round((to.getTime() - from.getTime()) / day);
  return from === undefined || count < 2 ? undefined : cutAt(slice, plus(from, Math.floor(count / 2)));
}

/**
 * The part of a slice that the source does not give any more, and the rest; undefined where the slice is all
 * of one kind.
 */
export function goneAndThere(slice: Slice, days: Days, clock: Date): readonly [Slice, Slice] | undefined {
  const { from } = daysThere(days, clock);
  const { window } = slice;
  if (window?.from === undefined || window.to === undefined) return undefined;
  return window.from < from && from < window.to ? cutAt(slice, from) : undefined;
}

const cutAt = (slice: Slice, at: Date): readonly [Slice, Slice] | undefined =>
  slice.window && [
    { ...slice, window: { ...slice.window, to: at } },
    { ...slice, window: { ...slice.window, from: at } },
  ];
