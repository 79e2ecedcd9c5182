/** The owners by which a partitioned stream is read: rows of the warehouse. */

import { sql } from 'kysely';
import { noCounts } from '../../core/run.ts';
import type { Partition, Slice, Stream } from '../../core/stream.ts';
import { removal } from '../../load/merge.ts';
import { inScope } from '../../load/replace.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { type RunContext, tallyBatch } from '../context/run-context.ts';
import { countBatch } from '../state/run-state.ts';
import type { WalkPlan } from '../state/walk-state.ts';

/**
 * all · active: those whose records still change, and those that changed since all were read · listed: those
 * that the source lists.
 */
export type Which = 'all' | 'active' | 'listed';

/** A stream of a source, and where its rows are. */
interface StreamOf {
  readonly deps: Pick<RunContext['deps'], 'warehouse'>;
  readonly sourceId: number;
  readonly stream: Stream;
}

export const whichFor = ({ kind }: Pick<WalkPlan, 'kind'>): Which =>
  kind === 'incremental' ? 'active' : 'all';

/**
 * The owners in the warehouse, in the order of their keys; undefined alone for a stream without owners.
 * `interrupted`: a walk over all owners that is gone on with.
 */
export async function ownersOf(
  { deps, sourceId, stream }: StreamOf,
  which: Which,
  interrupted?: string,
): Promise<readonly (Partition | undefined)[]> {
  if (stream.partitions === undefined) return [undefined];
  const { table, columns, where, active, listed } = stream.partitions;
  const named = Object.entries(columns);
  const also = which === 'listed' ? listed : undefined;
  // An owner that changed after all owners were read may have failed then.
  const isActive = sql`_synced_at >= coalesce((select max(opened_at) from ops.walks w
    where w.source_id = ${sourceId} and w.stream = ${stream.name} and w.kind = 'full'
      and (w.status = 'done' or w.walk_id = ${interrupted ?? null}::bigint)), '-infinity')`;
  const key = named.map(([name, column]) => sql`${name}::text, ${sql.id(column)}::text`);
  const statement = sql<{ owner: Partition }>`
    select jsonb_strip_nulls(jsonb_build_object(${sql.join(key)})) as owner from ${sql.table(table)}
    where source_id = ${sourceId} and (${sql.raw(where ?? 'true')}) and (${sql.raw(also ?? 'true')})
      ${which === 'active' && active !== undefined ? sql`and (${sql.raw(active)} or ${isActive})` : sql``}
    order by ${sql.join(named.map(([, column]) => sql.id(column)))}`;
  const { rows } = await withRetry(() => statement.execute(deps.warehouse.db));
  return rows.map(({ owner }) => owner);
}

/**
 * Marks an owner as deleted that the source neither lists nor refers to, and removes its part, in one fenced
 * transaction. Both come back where the source shows it again. Gives false, and changes nothing, where some
 * record still refers to the owner.
 */
export async function removeOwner(
  { context, stream, tally }: WalkContext,
  { partition: owner = {} }: Slice,
): Promise<boolean> {
  const { table, columns, unreferenced } = stream.partitions ?? {};
  if (table === undefined || unreferenced === undefined) return false;
  const { run } = context;
  const isOwner = Object.entries(columns ?? {}).map(
    ([part, column]) => sql`and ${sql.id(column)}::text = ${owner[part]}`,
  );
  const loaded = await context.lease.transaction(async (session) => {
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
