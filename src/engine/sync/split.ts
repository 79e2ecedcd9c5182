/** A slice that holds too much to be read in one piece is cut; each part is a slice of its own, resumable by itself. */

import type { Days, Slice } from '../../core/stream.ts';
import { sliceContext } from '../batching/slice-context.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import { fenced } from '../state/lease-guard.ts';
import { type OpenSlice, splitSlice } from '../state/slice-state.ts';
import { cutInto, fewRecords, mostRecords, partsOf } from './cut-window.ts';
import { goneAndThere, halfDays, mostRows } from './days.ts';

/** What is known of the size of a slice. */
interface Size {
  /** Records in it, as the source counts them or as they must be about; undefined: nobody has asked. */
  readonly count: number | undefined;
  /** Whether it came of a cut with about as many records on both sides of it: its own middle, too, then has about half of them on either. */
  readonly even: boolean;
}

/** A slice to be read, as large as it may be. */
export interface Part extends Size {
  readonly open: OpenSlice;
}

/** A slice that is no part of another. */
export const whole: Size = { count: undefined, even: false };

/** The parts of a slice that holds more than it should, or how many records one holds that is to be read as it is, as far as that is known. */
export async function splitIfLarge(
  stream: StreamContext,
  part: Part,
  clock: Date | undefined,
): Promise<{ readonly parts: readonly Part[] } | { readonly count: number | undefined }> {
  const { context, flow, walk, tally } = stream;
  const { open } = part;
  const { windows, days } = flow;
  if (days !== undefined) {
    const parts = await splitDays(stream, open, days);
    return parts === undefined ? { count: undefined } : { parts };
  }
  // Changes are not counted first: their window is open, usually small, and its first page says how many there are.
  if (windows === undefined || open.slice.window?.field !== 'created') return { count: undefined };
  const count = part.count ?? (await windows.count(open.slice, context.signal));
  if (part.count === undefined && count !== undefined && walk.kind !== 'incremental')
    tally.announced = (tally.announced ?? 0) + count;
  if (count === undefined || !isWorthCutting(count, stream)) return { count };
  const cut = cutInto(partsOf(count, mostRecords), open.slice, clock ?? walk.clock ?? new Date());
  if (cut === undefined) return { count };
  const [, ...others] = cut;
  const sizes =
    part.even && others.length === 1
      ? halved(count)
      : sizesOf(count, await Promise.all(cut.slice(0, -1).map((one) => windows.count(one, context.signal))));
  return { parts: await replaceBy(stream, open, cut, sizes) };
}

/** Too large; or large enough to be read by two where few others wait to be read. */
const isWorthCutting = (count: number, { context, unread }: StreamContext): boolean =>
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
  stream: StreamContext,
  open: OpenSlice,
  days: Days,
): Promise<readonly Part[] | undefined> {
  const { context, flow } = stream;
  // Not as the run began: days go by at midnight, also while it reads.
  const past = goneAndThere(open.slice, days, context.now());
  if (past !== undefined) return replaceBy(stream, open, past, []);
  const rows = await days.rows(open.slice, sliceContext(context, flow, open.sliceId));
  const cut = rows <= mostRows ? undefined : halfDays(open.slice);
  return cut && replaceBy(stream, open, cut, []);
}

/** Puts parts in the place of their slice. */
async function replaceBy(
  { context, walk }: StreamContext,
  open: OpenSlice,
  cut: readonly Slice[],
  sizes: readonly Size[],
): Promise<readonly Part[]> {
  const parts = await fenced(context, (session) => splitSlice(session, walk, open.sliceId, cut));
  return parts.map((one, index) => ({ open: one, ...(sizes[index] ?? whole) }));
}
