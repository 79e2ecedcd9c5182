/**
 * A slice that holds too much to be read in one piece is cut; each part is a slice of its own, resumable by
 * itself.
 */

import type { Slice } from '../../core/stream.ts';
import { sliceContext } from '../batching/slice-context.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { type OpenSlice, splitSlice } from '../state/slice-state.ts';
import { cutInto, goneAndThere, halfDays, mostRecords, mostRows, partsOf } from './cut-window.ts';

/** The parts of a slice that is too large; of any other the number of its records, as far as known. */
export async function splitIfLarge(
  walking: WalkContext,
  open: OpenSlice,
): Promise<{ readonly parts?: readonly OpenSlice[]; readonly count?: number | undefined }> {
  const { context, walk, tally } = walking;
  const { windows } = walking.stream;
  const { slice } = open;
  const days = await partsOfDays(walking, open);
  if (days !== undefined) return { parts: await replaceBy(walking, open, days) };
  // A window of changes is open and usually small.
  if (windows === undefined || slice.window?.field !== 'created') return {};
  const count = await windows.count(slice, context.signal);
  if (count === undefined) return {};
  // The records of a part were announced with the slice that it was cut from.
  if (open.isPart !== true && walk.kind !== 'incremental') tally.announced = (tally.announced ?? 0) + count;
  const clock = context.clock ?? walk.clock ?? new Date();
  const cut = count > mostRecords ? cutInto(partsOf(count, mostRecords), slice, clock) : undefined;
  return cut === undefined ? { count } : { parts: await replaceBy(walking, open, cut) };
}

/** The halves of a slice of days with too many rows, or the days of it that the source no longer gives and the rest. */
async function partsOfDays(
  { context, stream }: WalkContext,
  { slice, sliceId }: OpenSlice,
): Promise<readonly Slice[] | undefined> {
  const { days } = stream;
  if (days === undefined) return undefined;
  // By the present moment: days go by at midnight, also while a run reads.
  const past = goneAndThere(slice, days, context.now());
  if (past !== undefined) return past;
  const rows = await days.rows(slice, sliceContext(context, stream, sliceId));
  return rows > mostRows ? halfDays(slice) : undefined;
}

async function replaceBy(
  { context, walk, unread }: WalkContext,
  { sliceId }: OpenSlice,
  cut: readonly Slice[],
): Promise<readonly OpenSlice[]> {
  const parts = await context.lease.transaction((session) => splitSlice(session, walk, sliceId, cut));
  unread.count += parts.length - 1;
  return parts.map((part) => ({ ...part, isPart: true }));
}
