/** A window that shows less than was counted in it, or than is known to be in it: one answer that is empty, or has no token, passes for the end of its list. */

import { sql } from 'kysely';
import { Transient } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { WalkEnd } from '../../core/paging.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import { tell } from '../context/run-context.ts';
import type { OpenSlice } from '../state/slice-state.ts';

/** Less was shown than was counted, or known: it is asked for again. */
export class ShownLess extends Transient {}

interface Shown {
  readonly end: WalkEnd;
  /** Records that the window holds, counted or as they must be about; undefined: nobody knows. */
  readonly count: number | undefined;
  /** Records that the window must hold, and that were not shown. */
  readonly missed: ReadonlySet<string>;
  /** Whether this is the second time. */
  readonly again: boolean;
}

/** So many are enough to see by that a list is not whole. */
const mostKnown = 1_000;

/**
 * The keys of rows that a window of changes must show: none of them has become older since it was read. Windows of changes are not counted, and a
 * night that shows nothing of what it should is to be seen without a request.
 */
export async function knownIn({ context, flow }: StreamContext, { slice }: OpenSlice): Promise<Set<string>> {
  const stream = flow;
  const { table } = flow;
  const [key, ...more] = table.key;
  const { field, from, to } = slice.window ?? {};
  if (stream.windows === undefined || field !== 'updated' || from === undefined) return new Set();
  if (table.order === undefined || key === undefined || more.length > 0) return new Set();
  const at = sql.id(table.order);
  const { rows } = await patiently(() =>
    sql<{ key: string }>`select ${sql.id(key)}::text as key from ${sql.id(table.schema, table.name)}
      where source_id = ${context.run.sourceId} and _deleted_at is null and ${at} >= ${from}
        ${to === undefined ? sql`` : sql`and ${at} < ${to}`}
      order by ${at} desc limit ${mostKnown}`.execute(context.deps.warehouse.db),
  );
  return new Set(rows.map((row) => row.key));
}

/**
 * Throws `ShownLess` where a list has much less than its source counts, or less and not what is known to be in it: an empty answer may say that it is
 * the total, too. Said twice it is believed, where it is much less with a warning.
 */
export async function checkShown(
  { context, flow }: StreamContext,
  { slice }: OpenSlice,
  { end, count, missed, again }: Shown,
): Promise<void> {
  const { windows, name } = flow;
  if (windows === undefined || (!isLess(end.fetched, count) && missed.size === 0)) return;
  // What was known may be half of what was counted in a larger window.
  const now = (await windows.count(slice, context.signal)) ?? 0;
  const isMuchLess = isLess(end.fetched, now);
  const message = `${name}: the source counts ${plural(now, 'record')} from ${edge(slice.window?.from)} to ${edge(slice.window?.to)}, and shows ${end.fetched}`;
  if (!again && (isMuchLess || (missed.size > 0 && end.fetched < now))) throw new ShownLess(message);
  if (isMuchLess) tell(context, 'warn', `${message}, twice: what it does not show is not read`);
}

const edge = (at: Date | undefined): string => at?.toISOString() ?? '…';

/** Counts are about right (the vendor calls its own approximate), but none is more than nothing. */
const isLess = (shown: number, count = 0): boolean =>
  shown === 0 ? count > 0 : count - shown > Math.max(2, count / 10);
