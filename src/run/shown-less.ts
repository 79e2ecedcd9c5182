/** A window that shows less than was counted in it: without a total, one answer that is empty or has no token passes for the end of its list. */

import { Transient } from '../core/errors.ts';
import type { WalkEnd } from '../core/paging.ts';
import { plural } from '../core/words.ts';
import { tell } from './context.ts';
import type { OpenSlice } from './slices.ts';
import type { StreamContext } from './stream-context.ts';

/** Less was shown than was counted, or known: it is asked for again. */
export class ShownLess extends Transient {}

interface Shown {
  readonly end: WalkEnd;
  /** Records that the window holds, counted or as they must be about; undefined: nobody knows. */
  readonly count: number | undefined;
  /** Whether this is the second time. */
  readonly again: boolean;
}

/** Throws `ShownLess` where a list that says no total has much less than its source counts; said twice it is believed, with a warning. */
export async function checkShown(
  { context, flow }: StreamContext,
  { slice }: OpenSlice,
  { end, count, again }: Shown,
): Promise<void> {
  const { windows, name } = flow.stream;
  if (windows === undefined || end.expected !== null || !isLess(end.fetched, count)) return;
  // What was known may be half of what was counted in a larger window.
  const now = await windows.count(slice, context.signal);
  if (now === undefined || !isLess(end.fetched, now)) return;
  const message = `${name}: the source counts ${plural(now, 'record')} from ${edge(slice.window?.from)} to ${edge(slice.window?.to)}, and shows ${end.fetched}`;
  if (!again) throw new ShownLess(message);
  tell(context, 'warn', `${message}, twice: what it does not show is not read`);
}

const edge = (at: Date | undefined): string => at?.toISOString() ?? '…';

/** Counts are about right (the vendor calls its own approximate), but none is more than nothing. */
const isLess = (shown: number, count = 0): boolean =>
  shown === 0 ? count > 0 : count - shown > Math.max(2, count / 10);
