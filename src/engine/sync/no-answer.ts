/** What it means that an owner has no list, in the server's words, or an empty one: that it has nothing, unless it had something a night ago. */

import { sql } from 'kysely';
import { HasNone } from '../../core/errors.ts';
import type { WalkEnd } from '../../core/paging.ts';
import { layoutOf } from '../../load/layout.ts';
import { inScope } from '../../load/replace.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import { scopeOf } from '../batching/commit.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import type { OpenSlice } from '../state/slice-state.ts';
import { lastWord, saidNone } from './confirm-missing.ts';
import { ShownLess } from './fewer-rows.ts';

const empty: WalkEnd = { expected: 0, fetched: 0, passes: 1, moved: 0, matched: true };

/**
 * The end of an empty list, where the error says that the owner has none. Throws it where that is news, to be asked for `again`; then also where rows
 * would go on that word: a server that is ill refuses questions, too. Where it is said again a while later it is believed.
 */
export async function endOfNone(
  stream: StreamContext,
  open: OpenSlice,
  error: unknown,
  again: boolean,
): Promise<WalkEnd> {
  if (!(error instanceof HasNone)) throw error;
  if (saidNone(await lastWord(stream, open.slice))) return empty;
  if (!again) throw error;
  if (!(await wouldRemove(stream, open))) return empty;
  const message = `${error.message}; but it had some: should it have none any more, a run in an hour or later believes it`;
  throw new HasNone(message, { cause: error });
}

/**
 * Throws `ShownLess` where it is news that a list is empty, to be asked for `again`: one answer without records is none. Rows would go, or stay as they
 * were, and what is new would be missing. What was empty the last time is no news.
 */
export async function checkEmptied(
  stream: StreamContext,
  open: OpenSlice,
  { fetched, passes }: WalkEnd,
  again: boolean,
): Promise<void> {
  // Of an owner that has no entities nothing was asked.
  if (again || fetched > 0 || passes === 0) return;
  if ((await wouldRemove(stream, open)) || (await wouldMiss(stream, open)))
    throw new ShownLess(`${stream.flow.name}: the list is empty`);
}

/**
 * Whether a list that is read whole is read for the first time, or showed the last time rows that an empty one leaves as they are. Of changes and of
 * days most lists are empty.
 */
async function wouldMiss(stream: StreamContext, open: OpenSlice): Promise<boolean> {
  const of = stream.flow;
  const { table, absent } = of;
  if (of.windows !== undefined || of.days !== undefined) return false;
  const last = await lastWord(stream, open.slice);
  if (last === undefined) return true;
  const isOfTable = Object.keys(open.slice.partition ?? {}).every((column) =>
    Object.hasOwn(table.columns, column),
  );
  return absent === 'keep' && isOfTable && !saidNone(last) && (await hasRows(stream, open));
}

const wouldRemove = async (stream: StreamContext, open: OpenSlice): Promise<boolean> =>
  stream.flow.absent === 'delete' && (await hasRows(stream, open));

async function hasRows({ context, flow }: StreamContext, { slice }: OpenSlice): Promise<boolean> {
  const { schema, name, tombstones } = flow.table;
  const scope = inScope(layoutOf(flow.table), scopeOf(flow, slice), context.run.sourceId);
  const { rows } = await patiently(() =>
    sql<{ has: boolean }>`select exists (select from ${sql.id(schema, name)} t where ${scope}
      ${tombstones ? sql`and t._deleted_at is null` : sql``}) as has`.execute(context.deps.warehouse.db),
  );
  return rows[0]?.has === true;
}
