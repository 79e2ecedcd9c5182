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

/** As many keys suffice to see that a list is not whole. */
const mostKeys = 1_000;

/**
 * The keys of rows that a window of changes must show: rows stored with a later change. Changes are not
 * counted, so keys stand in.
 */
export async function keysToShow(
  { context, stream }: WalkContext,
  { slice }: OpenSlice,
): Promise<Set<string>> {
  const { order, key, schema, name } = stream.table;
  const { field, from, to } = slice.window ?? {};
  const [id, ...more] = key;
  if (stream.by !== 'changes' || field !== 'updated' || from === undefined) return new Set();
  if (order === undefined || id === undefined || more.length > 0) return new Set();
  const at = sql.id(order);
  const { rows } = await withRetry(() =>
    sql<{ key: string }>`select ${sql.id(id)}::text as key from ${sql.id(schema, name)}
      where source_id = ${context.run.sourceId} and _deleted_at is null and ${at} >= ${from}
        ${to === undefined ? sql`` : sql`and ${at} < ${to}`}
      order by ${at} desc limit ${mostKeys}`.execute(context.deps.warehouse.db),
  );
  return new Set(rows.map((row) => row.key));
}

/**
 * What a reading showed. `count`: records in the slice as far as known; `missed`: keys it had to show and did
 * not.
 */
interface Shown {
  readonly end: WalkEnd;
  readonly count: number | undefined;
  readonly missed: ReadonlySet<string>;
  /** The second reading of the slice in this run: what it shows is believed. */
  readonly again: boolean;
}

/**
 * Throws `ShownLess` where a list shows much less than its source counts, or is empty though rows are stored;
 * the second time it is believed.
 */
export async function checkShown(walking: WalkContext, open: OpenSlice, shown: Shown): Promise<void> {
  await checkCount(walking, open, shown);
  const { end, again } = shown;
  // A reading without a pass asked nothing.
  if (again || end.fetched > 0 || end.passes === 0) return;
  if (await isUnexpectedlyEmpty(walking, open))
    throw new ShownLess(`${walking.stream.name}: the list is empty`);
}

async function checkCount(
  { context, stream }: WalkContext,
  { slice }: OpenSlice,
  { end, count, missed, again }: Shown,
): Promise<void> {
  if (stream.by !== 'changes' || (!isMuchLess(end.fetched, count) && missed.size === 0)) return;
  const now = (await stream.windows.count(slice, context.signal)) ?? 0;
  const [from, to] = [slice.window?.from, slice.window?.to].map((at) => at?.toISOString() ?? '…');
  const message = `${stream.name}: the source counts ${plural(now, 'record')} from ${from} to ${to}, and shows ${end.fetched}`;
  const isLess = isMuchLess(end.fetched, now);
  if (!again && (isLess || (missed.size > 0 && end.fetched < now))) throw new ShownLess(message);
  if (isLess) tell(context, 'warn', `${message}, twice: what it does not show is not read`);
}

/** Counts are approximate (the vendor's own word), but none is more than nothing. */
const isMuchLess = (shown: number, count = 0): boolean =>
  shown === 0 ? count > 0 : count - shown > Math.max(2, count / 10);

/**
 * Whether rows of the slice are stored, or the whole list is read for the first time. Windows of changes are
 * often empty.
 */
async function isUnexpectedlyEmpty(
  { context, stream, isFirst }: WalkContext,
  { slice }: OpenSlice,
): Promise<boolean> {
  if (stream.by === 'changes') return false;
  if (stream.by === 'list' && isFirst) return true;
  const { columns, schema, name, tombstones } = stream.table;
  if (!Object.keys(slice.partition ?? {}).every((column) => Object.hasOwn(columns, column))) return false;
  const scope = inScope(stream.table, scopeOf(stream, slice), context.run.sourceId);
  const { rows } = await withRetry(() =>
    sql<{ has: boolean }>`select exists (select from ${sql.id(schema, name)} t where ${scope}
      ${tombstones ? sql`and t._deleted_at is null` : sql``}) as has`.execute(context.deps.warehouse.db),
  );
  return rows[0]?.has === true;
}
