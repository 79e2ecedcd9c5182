/** The owners by which a partitioned stream is read: rows of the warehouse. */

import { type RawBuilder, sql } from 'kysely';
import { leftOutOf } from '../../core/exclude.ts';
import { noCounts } from '../../core/run.ts';
import type { Partition, Partitions, Slice } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import { removal } from '../../load/merge.ts';
import { inScope } from '../../load/replace.ts';
import { rowsOf } from '../../queries/db.ts';
import type { WalkRun } from '../batching/commit.ts';
import { ownerStreams, type RunDeps } from '../context/deps.ts';
import { ask, type Reader, type StreamRun } from '../context/run-context.ts';
import { countBatch } from '../state/run-state.ts';

export interface Owner {
  /** Undefined for the only owner of a stream without partitions. */
  readonly partition?: Partition;
  /** The same as text, as `OpenSlice` has it. */
  readonly owner: string;
  /** Its records still change, or it changed since all owners were read: it may have failed then. */
  readonly isActive: boolean;
  /** The source lists it. */
  readonly isListed: boolean;
}

/**
 * The owners in the warehouse, in the order of their keys. `interrupted`: a walk over all owners that is gone
 * on with.
 */
export async function ownersOf(
  of: Reader & Pick<StreamRun, 'stream'>,
  interrupted?: string,
): Promise<readonly Owner[]> {
  const { deps, sourceId, stream } = of;
  if (stream.partitions === undefined) return [{ owner: '{}', isActive: true, isListed: true }];
  const { table, columns, where = 'true', active, listed = 'true' } = stream.partitions;
  const named = Object.entries(columns);
  const key = named.map(([name, column]) => sql`${name}::text, ${sql.id(column)}::text`);
  const changed = sql`_synced_at >= coalesce((select max(opened_at) from ops.walks w
    where w.source_id = ${sourceId} and w.stream = ${stream.name} and w.kind = 'full'
      and (w.status = 'done' or w.walk_id = ${interrupted ?? null}::bigint)), '-infinity')`;
  const isActive = active === undefined ? sql`true` : sql`(${sql.raw(active)}) is true or ${changed}`;
  const query = sql<Owner>`select partition, partition::text as owner,
      ${isActive} as "isActive", (${sql.raw(listed)}) is true as "isListed"
    from ${sql.table(table)}, jsonb_strip_nulls(jsonb_build_object(${sql.join(key)})) partition
    where source_id = ${sourceId} and (${sql.raw(where)}) and ${isLeft(deps, stream.partitions)}
    order by ${sql.join(named.map(([, column]) => sql.id(column)))}`;
  return ask(of, query);
}

/** The condition that an owner, or what it belongs to, is not left out by configuration. */
function isLeft({ source, exclude }: RunDeps, { table, columns }: Partitions): RawBuilder<unknown> {
  const own = source.streams.find((stream) => nameOf(stream.table) === table)?.table.columns ?? {};
  const conditions = [...ownerStreams(source)].flatMap(([key, name]) => {
    const ids = leftOutOf(exclude, name);
    const column = columns[key] ?? (Object.hasOwn(own, key) ? key : undefined);
    if (column === undefined || ids.length === 0) return [];
    // UUIDs may be written in either case.
    const lower = ids.map((id) => id.toLowerCase());
    return [sql`lower(${sql.id(column)}::text collate "C") = any (${lower}::text[]) is not true`];
  });
  return sql.join([sql`true`, ...conditions], sql` and `);
}

/**
 * Marks an owner as deleted that the source neither lists nor refers to, and removes its part, in one fenced
 * transaction. Both come back where the source shows it again. Gives false, and changes nothing, where some
 * record still refers to the owner.
 */
export async function removeOwner(walking: WalkRun, { partition: owner = {} }: Slice): Promise<boolean> {
  const { stream, sourceId, runId } = walking;
  const { table, columns, unreferenced } = stream.partitions ?? {};
  if (table === undefined || unreferenced === undefined) return false;
  const isOwner = Object.entries(columns ?? {}).map(
    ([part, column]) => sql`${sql.id(column)}::text = ${owner[part]}`,
  );
  const part = inScope(stream.table, { equal: owner }, sourceId);
  const query = sql<{ owners: number; rows: number }>`with marked as (
      update ${sql.table(table)} set _deleted_at = now(), _synced_at = now(), _run_id = ${runId}::bigint
      where source_id = ${sourceId} and _deleted_at is null and (${sql.raw(unreferenced)})
        and ${sql.join(isOwner, sql` and `)} returning 1),
    removed as (${removal(stream.table, sql`${part} and exists (select from marked)`, walking)} returning 1)
    select (select count(*)::int from marked) as owners, (select count(*)::int from removed) as rows`;
  return walking.lease.transaction(async (session) => {
    const [{ owners, rows } = { owners: 0, rows: 0 }] = await rowsOf(query, session.trx);
    if (owners === 0) return false;
    await countBatch(session, walking, stream.name, { counts: noCounts, deleted: owners + rows });
    return true;
  });
}
