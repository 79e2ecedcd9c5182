/**
 * Lists that show less than they should: an answer that is empty or lacks its page token passes for the end
 * of its list.
 */

import { sql } from 'kysely';
import { plural } from '../../core/format.ts';
import type { WalkEnd } from '../../core/paging.ts';
import { inScope } from '../../load/replace.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { scopeOf } from '../batching/commit.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { tell } from '../context/run-context.ts';
import type { OpenSlice } from '../state/slice-state.ts';
import { ShownLess } from '../verify.ts';

/**
 * Throws `ShownLess` where a reading shows much less than the source counts (`counted`: as far as known), or
 * nothing though rows are stored. `again`: the second reading in this run; it is believed, with a warning.
 */
export async function checkShown(
  walking: WalkContext,
  { slice }: OpenSlice,
  { fetched, passes }: WalkEnd,
  { again, count: counted }: { readonly again: boolean; readonly count: number | undefined },
): Promise<void> {
  const { context, stream } = walking;
  // A reading without a pass sent no request.
  if (passes === 0) return;
  if (stream.by !== 'changes') {
    if (again || fetched > 0 || !(await isUnexpectedlyEmpty(walking, slice))) return;
    throw new ShownLess(`${stream.name}: the list is empty`);
  }
  const count = counted ?? (await stream.windows.count(slice, context.signal)) ?? 0;
  // Counts are approximate (the vendor's own word), but none is more than nothing.
  if (fetched === 0 ? count === 0 : count - fetched <= Math.max(2, count / 10)) return;
  const [from, to] = [slice.window?.from, slice.window?.to].map((at) => at?.toISOString() ?? '…');
  const message = `${stream.name}: the source counts ${plural(count, 'record')} from ${from} to ${to}, and shows ${fetched}`;
  if (!again) throw new ShownLess(message);
  tell(context, 'warn', `${message}, twice: what it does not show is not read`);
}

/** Whether rows of the slice are stored, or the whole list is read for the first time. */
async function isUnexpectedlyEmpty(
  { context, stream, isFirst }: WalkContext,
  slice: OpenSlice['slice'],
): Promise<boolean> {
  if (stream.by === 'list' && isFirst) return true;
  const { columns, schema, name, entity } = stream.table;
  if (!Object.keys(slice.partition ?? {}).every((column) => Object.hasOwn(columns, column))) return false;
  const scope = inScope(stream.table, scopeOf(stream, slice), context.run.sourceId);
  const { rows } = await withRetry(() =>
    sql`select from ${sql.id(schema, name)} t where ${scope}
      ${entity ? sql`and t._deleted_at is null` : sql``} limit 1`.execute(context.deps.warehouse.db),
  );
  return rows.length > 0;
}
