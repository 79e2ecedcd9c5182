/** A slice that holds too much to be read in one piece is cut; each part is a slice of its own, resumable by itself. */

import type { Days, Slice } from '../../core/stream.ts';
import { sliceContext } from '../batching/slice-context.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { withLease } from '../state/lease-guard.ts';
import { type OpenSlice, splitSlice } from '../state/slice-state.ts';
import { cutInto, fewRecords, mostRecords, partsOf } from './cut-window.ts';
import { goneAndThere, halfDays, mostRows } from './days.ts';

/** What is known of the size of a slice. */
interface Size {
  /** Records in it, counted or estimated; undefined: not counted. */
  readonly count: number | undefined;
  /** Whether the cut that made it had about as many records on either side: then its own halves are not counted. */
  readonly even: boolean;
}

/** A slice to be read, as large as it may be. */
export interface Part extends Size {
  readonly open: OpenSlice;
}

/** A slice that is no part of another. */
export const whole: Size = { count: undefined, even: false };

/** The parts of a slice that is too large; of any other the number of its records, as far as known. */
export async function splitIfLarge(
  walking: WalkContext,
  part: Part,
  clock: Date | undefined,
): Promise<{ readonly parts: readonly Part[] } | { readonly count: number | undefined }> {
  const { context, stream, walk, tally } = walking;
  const { open } = part;
  const { windows, days } = stream;
  if (days !== undefined) {
    const parts = await splitDays(walking, open, days);
    return parts === undefined ? { count: undefined } : { parts };
  }
  // Changes are not counted first: their window is open, usually small, and its first page says how many there are.
  if (windows === undefined || open.slice.window?.field !== 'created') return { count: undefined };
  const count = part.count ?? (await windows.count(open.slice, context.signal));
  if (part.count === undefined && count !== undefined && walk.kind !== 'incremental')
    tally.announced = (tally.announced ?? 0) + count;
  if (count === undefined || !isWorthCutting(count, walking)) return { count };
  const cut = cutInto(partsOf(count, mostRecords), open.slice, clock ?? walk.clock ?? new Date());
  if (cut === undefined) return { count };
  const [, ...others] = cut;
  const sizes =
    part.even && others.length === 1
      ? halved(count)
      : sizesOf(count, await Promise.all(cut.slice(0, -1).map((one) => windows.count(one, context.signal))));
  return { parts: await replaceBy(walking, open, cut, sizes) };
}

/** Too large; or large enough to be read by two where few others wait to be read. */
const isWorthCutting = (count: number, { context, unread }: WalkContext): boolean =>
  count > mostRecords || (count > fewRecords && unread.waiting <= 2 * context.deps.concurrency);

/** Half of the records on either side, unasked: a request for each of the last cuts would cost more than a cut that is somewhat off. */
const halved = (count: number): readonly Size[] => {
  const left = Math.ceil(count / 2);
  return [
    { count: left, even: true },
    { count: count - left, even: true },
  ];
};

/** The sizes of parts of which all but the last were counted. */
function sizesOf(count: number, counted: readonly (number | undefined)[]): readonly Size[] {
  const known = counted.filter((one) => one !== undefined);
  if (known.length < counted.length) return [...counted, undefined].map(() => whole);
  const counts = [...known, Math.max(0, count - known.reduce((sum, one) => sum + one, 0))];
  const likeOther = (at: number, other: number | undefined): boolean =>
    other === undefined || Math.max(counts[at] ?? 0, other) <= 1.5 * Math.min(counts[at] ?? 0, other);
  return counts.map((one, at) => ({
    count: one,
    even: likeOther(at, counts[at - 1]) && likeOther(at, counts[at + 1]),
  }));
}

/** Halves a slice of days whose rows would be too many to be read in one piece, and cuts off days that the source does not tell any more. */
async function splitDays(
  walking: WalkContext,
  open: OpenSlice,
  days: Days,
): Promise<readonly Part[] | undefined> {
  const { context, stream } = walking;
  // Not as the run began: days go by at midnight, also while it reads.
  const past = goneAndThere(open.slice, days, context.now());
  if (past !== undefined) return replaceBy(walking, open, past, []);
  const rows = await days.rows(open.slice, sliceContext(context, stream, open.sliceId));
  const cut = rows <= mostRows ? undefined : halfDays(open.slice);
  return cut && replaceBy(walking, open, cut, []);
}

/** Replaces a slice by its parts. */
async function replaceBy(
  { context, walk }: WalkContext,
  open: OpenSlice,
  cut: readonly Slice[],
  sizes: readonly Size[],
): Promise<readonly Part[]> {
  const parts = await withLease(context, (session) => splitSlice(session, walk, open.sliceId, cut));
  return parts.map((one, index) => ({ open: one, ...(sizes[index] ?? whole) }));
}
