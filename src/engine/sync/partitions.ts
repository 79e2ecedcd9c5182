/** The owners by which a partitioned stream is read: rows of the warehouse. */

import { type Kysely, sql } from 'kysely';
import { noCounts } from '../../core/run.ts';
import type { Partition, Partitions } from '../../core/stream.ts';
import { removal } from '../../load/merge.ts';
import { inScope } from '../../load/replace.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { tallyBatch } from '../context/run-context.ts';
import { withLease } from '../state/lease-guard.ts';
import { countBatch } from '../state/run-state.ts';
import {
  addSlices,
  leaveSlice,
  type OpenSlice,
  partitionsOf,
  partitionText,
  type Unread,
  unreadSlices,
} from '../state/slice-state.ts';
import type { WalkPlan } from '../state/walk-state.ts';
import { slicesOf, slicesSince } from './days.ts';

/**
 * all · active: those whose records still change, and those that changed since all were read · listed: those
 * that the source lists.
 */
export type Which = 'all' | 'active' | 'listed';

export const whichFor = ({ kind }: Pick<WalkPlan, 'kind'>): Which =>
  kind === 'incremental' ? 'active' : 'all';

/** The owners as the warehouse knows them now, in the order of their keys. */
export async function ownersOf(
  db: Kysely<AnyDatabase>,
  at: { readonly sourceId: number; readonly stream: string },
  { table, columns, where, active, listed }: Partitions,
  which: Which,
): Promise<readonly Partition[]> {
  const named = Object.entries(columns);
  const also = which === 'listed' ? listed : undefined;
  // An owner that changed after all owners were read may have failed then.
  const isActive = sql`_synced_at >= coalesce((select max(opened_at) from ops.walks w
    where w.source_id = ${at.sourceId} and w.stream = ${at.stream} and w.kind = 'full' and w.status = 'done'), '-infinity')`;
  const { rows } = await sql<Record<string, string | null>>`select ${sql.join(
    named.map(([name, column]) => sql`${sql.id(column)}::text as ${sql.id(name)}`),
  )} from ${sql.table(table)} where source_id = ${at.sourceId} and (${sql.raw(where ?? 'true')}) and (${sql.raw(also ?? 'true')})
    ${which === 'active' && active !== undefined ? sql`and (${sql.raw(active)} or ${isActive})` : sql``}
    order by ${sql.join(named.map(([, column]) => sql.id(column)))}`.execute(db);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    ),
  );
}

/**
 * Adds slices to a resumed walk for owners that came since it began, and closes those of owners that are no
 * longer there.
 */
export async function renewOwners({ context, stream, walk }: WalkContext): Promise<void> {
  const { db } = context.deps.warehouse;
  const { partitions, days, name } = stream;
  if (partitions === undefined) return;
  const { sourceId } = context.run;
  const at = { sourceId, stream: name };
  const known = await partitionsOf(db, walk);
  const late = (await ownersOf(db, at, partitions, whichFor(walk))).filter(
    (owner) => !known.has(partitionText(owner)),
  );
  const all = new Set((await ownersOf(db, at, partitions, 'all')).map(partitionText));
  for (const open of await withRetry(() => unreadSlices(db, walk)))
    if (!all.has(partitionText(open.slice.partition ?? {})))
      await skipSlice(context, open, { code: 'no_owner', message: 'its owner is left out or gone' });
  const slices =
    days === undefined || walk.window === undefined || walk.kind !== 'incremental'
      ? slicesOf(stream, walk.window, late)
      : await slicesSince(db, { ...at, days, clock: context.clock ?? new Date() }, walk.window, late);
  await addSlices(db, walk, slices);
}

/** Closes a slice that is not read: its walk goes on without it. */
export const skipSlice = (
  { deps, run }: WalkContext['context'],
  { sliceId }: OpenSlice,
  why: Unread,
): Promise<void> => withRetry(() => leaveSlice(deps.warehouse.db, sliceId, run.runId, 'absent', why));

/** The texts of the owners that the source lists at present. */
export async function listedOwners({ context, stream }: WalkContext): Promise<ReadonlySet<string>> {
  if (stream.partitions === undefined) return new Set();
  const at = { sourceId: context.run.sourceId, stream: stream.name };
  const { partitions } = stream;
  const { db } = context.deps.warehouse;
  return new Set((await withRetry(() => ownersOf(db, at, partitions, 'listed'))).map(partitionText));
}

/**
 * Marks an owner as deleted that the source neither lists nor refers to, and removes its part, in one fenced
 * transaction. Both come back where the source shows it again. Gives false, and changes nothing, where some
 * record still refers to the owner.
 */
export async function removeOwner(
  { context, stream, tally }: WalkContext,
  owner: Partition,
): Promise<boolean> {
  const { table, columns, unreferenced } = stream.partitions ?? {};
  if (table === undefined || unreferenced === undefined) return false;
  const { run } = context;
  const isOwner = Object.entries(columns ?? {}).map(
    ([part, column]) => sql`and ${sql.id(column)}::text = ${owner[part]}`,
  );
  const loaded = await withLease(context, async (session) => {
    const marked = await sql`update ${sql.table(table)}
      set _deleted_at = now(), _synced_at = now(), _run_id = ${run.runId}::bigint
      where source_id = ${run.sourceId} and _deleted_at is null and (${sql.raw(unreferenced)}) ${sql.join(isOwner, sql` `)}`.execute(
      session.trx,
    );
    const owners = Number(marked.numAffectedRows ?? 0);
    if (owners === 0) return undefined;
    const part = inScope(stream.table, { equal: owner }, run.sourceId);
    const removed = await removal(stream.table, part, run).execute(session.trx);
    const batch = { counts: noCounts, deleted: owners + Number(removed.numAffectedRows ?? 0), isHeld: false };
    await countBatch(session, run, stream.name, batch);
    return batch;
  });
  if (loaded !== undefined) tallyBatch(tally, loaded);
  return loaded !== undefined;
}
