/** A window of time that holds too much to be read in one piece: how much that is, and where it is cut. */

import type { Slice } from '../../core/stream.ts';

/**
 * A window of more records is cut: few enough that the last ones to be read do not keep the rest waiting for
 * long.
 */
export const mostRecords = 4_000;

/** Records of a window that is not cut even where hands are idle. */
export const fewRecords = 1_000;

/** The same as `mostRecords` where records are listed by their ids alone, in pages as large as this. */
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
