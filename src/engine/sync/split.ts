/**
 * A slice that holds too much to be read in one piece is cut; each part is a slice of its own, resumable by
 * itself.
 */

import type { Days, Slice } from '../../core/stream.ts';
import { sliceContext } from '../batching/slice-context.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { withLease } from '../state/lease-guard.ts';
import { type OpenSlice, splitSlice } from '../state/slice-state.ts';
import { cutInto, fewRecords, mostRecords, partsOf } from './cut-window.ts';
import { goneAndThere, halfDays, mostRows } from './days.ts';

/** A slice to be read, as large as it may be. */
export interface Part {
  readonly open: OpenSlice;
  /** It was cut from a larger slice, whose records are announced already. */
  readonly isCut: boolean;
}

/** The parts of a slice that is too large; of any other the number of its records, as far as known. */
export async function splitIfLarge(
  walking: WalkContext,
  { open, isCut }: Part,
  clock: Date | undefined,
): Promise<{ readonly parts: readonly Part[] } | { readonly count: number | undefined }> {
  const { context, stream, walk, tally } = walking;
  const { windows, days } = stream;
  if (days !== undefined) return splitDays(walking, open, days);
  // Changes are not counted first: their window is open, usually small, and its first page says how many
  // there are.
  if (windows === undefined || open.slice.window?.field !== 'created') return { count: undefined };
  const count = await windows.count(open.slice, context.signal);
  if (count === undefined) return { count };
  if (!isCut && walk.kind !== 'incremental') tally.announced = (tally.announced ?? 0) + count;
  if (!isWorthCutting(count, walking)) return { count };
  const cut = cutInto(partsOf(count, mostRecords), open.slice, clock ?? walk.clock ?? new Date());
  return cut === undefined ? { count } : { parts: await replaceBy(walking, open, cut) };
}

/** Too large; or large enough to be read by two where few others wait to be read. */
const isWorthCutting = (count: number, { context, unread }: WalkContext): boolean =>
  count > mostRecords || (count > fewRecords && unread.waiting <= 2 * context.deps.concurrency);

/** Halves a slice of days with too many rows, and cuts off days that the source does not give any more. */
async function splitDays(
  walking: WalkContext,
  open: OpenSlice,
  days: Days,
): Promise<{ readonly parts: readonly Part[] } | { readonly count: undefined }> {
  const { context, stream } = walking;
  // By the present moment: days go by at midnight, also while a run reads.
  const past = goneAndThere(open.slice, days, context.now());
  if (past !== undefined) return { parts: await replaceBy(walking, open, past) };
  const rows = await days.rows(open.slice, sliceContext(context, stream, open.sliceId));
  const cut = rows <= mostRows ? undefined : halfDays(open.slice);
  return cut === undefined ? { count: undefined } : { parts: await replaceBy(walking, open, cut) };
}

/** Replaces a slice by its parts. */
async function replaceBy(
  { context, walk }: WalkContext,
  open: OpenSlice,
  cut: readonly Slice[],
): Promise<readonly Part[]> {
  const parts = await withLease(context, (session) => splitSlice(session, walk, open.sliceId, cut));
  return parts.map((part) => ({ open: part, isCut: true }));
}
