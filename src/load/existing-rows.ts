/** The rows that the warehouse holds already under a batch's keys, before the merge and after. */

import { sql } from 'kysely';
import { nameOf, type Table } from '../core/table.ts';
import type { BatchRecord } from './batch.ts';
import type { Merge } from './merge.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/** What the warehouse holds under a key. */
export interface ExistingRow {
  readonly hash: bigint | undefined;
  /** The order column: microseconds since 1970 UTC. */
  readonly order: bigint | undefined;
  readonly deleted: boolean;
}

/** The existing rows by the records' `keyText`. Relations have no hash: nothing is known of them before the merge. */
export async function existingRows(
  session: Session,
  table: Table,
  records: readonly BatchRecord[],
  sourceId: number,
): Promise<ReadonlyMap<string, ExistingRow>> {
  const existing = new Map<string, ExistingRow>();
  if (!table.entity || records.length === 0) return existing;
  const order =
    table.order === undefined
      ? sql`null`
      : sql`(extract(epoch from ${sql.id(table.order)}) * 1000000)::bigint::text`;
  const deleted = table.tombstones ? sql`_deleted_at is not null` : sql`false`;
  const { rows } = await sql<{ place: number; hash: string | null; order: string | null; deleted: boolean }>`
    select k.place::int as place, t.* from ${keysOf(table, records)} cross join lateral (
      select _row_hash::text as hash, ${order} as order, ${deleted} as deleted from ${rowOf(table, sourceId)}) t`.execute(
    session.trx,
  );
  for (const row of rows)
    existing.set(records[row.place - 1]?.keyText ?? '', {
      hash: row.hash === null ? undefined : BigInt(row.hash),
      order: row.order === null ? undefined : BigInt(row.order),
      deleted: row.deleted,
    });
  return existing;
}

/** The records' whole keys as rows `k` with their places, from 1. */
const keysOf = (table: Table, records: readonly BatchRecord[]) => {
  const columns: Readonly<Record<string, string>> = table.columns;
  const lists = table.key.map(
    (name, at) =>
      sql`${records.map((record) => String(record.key[at]))}::${sql.raw(columns[name] ?? 'text')}[]`,
  );
  const names = table.key.map((_, at) => sql.id(`key${at}`));
  return sql`unnest(${sql.join(lists)}) with ordinality as k (${sql.join(names)}, place)`;
};

/**
 * The row `t` with the key `k`, to be selected from in a lateral join. `offset 0` keeps the planner to looking it up: without statistics of
 * a young table it would rather scan all of it.
 */
const rowOf = (table: Table, sourceId: number) =>
  sql`${sql.table(nameOf(table))} t where t.source_id = ${sourceId} and ${hasKey(table, 't')} offset 0`;

/** True where the row called `of` has the key `k`. */
const hasKey = (table: Table, of: string) =>
  sql.join(
    table.key.map((name, at) => sql`${sql.id(of, name)} = ${sql.id('k', `key${at}`)}`),
    sql` and `,
  );

/** Whether the record is an older version of the existing row. */
export const isOlder = (record: BatchRecord, { order }: ExistingRow): boolean =>
  order !== undefined && typeof record.order === 'bigint' && record.order < order;

/**
 * Sorts out staged records that the merge did not write, because another writer's row is newer or equal. Their children must not be written
 * either, so they leave the staging table; except those of an equal row that a forced resync fetched apart, which the hash says nothing of.
 */
export async function dropUnwritten(
  session: Session,
  pending: readonly BatchRecord[],
  table: Table,
  { sourceId, runId, force }: Merge,
): Promise<{ readonly kept: BatchRecord[]; readonly unchanged: number; readonly superseded: number }> {
  const existing = await existingRows(session, table, pending, sourceId);
  const { rows } = await sql<{ place: number }>`select k.place::int as place from ${keysOf(table, pending)}
    cross join lateral (select t.xmin, t._run_id from ${rowOf(table, sourceId)}) t
    where t._run_id = ${runId}::bigint and t.xmin = pg_current_xact_id()::xid`.execute(session.trx);
  const written = new Set(rows.map((row) => row.place - 1));
  const isSame = (record: BatchRecord): boolean => existing.get(record.keyText)?.hash === record.hash;
  const unwritten = pending.filter((_, place) => !written.has(place));
  const unchanged = unwritten.filter(isSame).length;
  const kept = pending.filter(
    (record, place) => written.has(place) || (force && record.tailed && isSame(record)),
  );
  await sql`delete from ${stageOf(table)} s
    where not exists (select from ${keysOf(table, kept)} where ${hasKey(table, 's')})`.execute(session.trx);
  return { kept, unchanged, superseded: unwritten.length - unchanged };
}
