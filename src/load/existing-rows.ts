/** What the warehouse holds of a batch's keys, before it is merged and after. */

import { sql } from 'kysely';
import { nameOf, type Table } from '../core/table.ts';
import type { BatchRecord } from './batch.ts';
import type { Merge } from './merge.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/** What the warehouse holds of a key. */
export interface Known {
  readonly hash: bigint | undefined;
  readonly order: string | undefined;
  readonly deleted: boolean;
}

/** What the warehouse holds of the batch's keys. Relations have no hash: nothing is known of them before the merge. */
export async function knownRows(
  session: Session,
  table: Table,
  records: readonly BatchRecord[],
  sourceId: number,
): Promise<ReadonlyMap<string, Known>> {
  const known = new Map<string, Known>();
  if (!table.entity || records.length === 0) return known;
  const order = table.order === undefined ? sql`null` : orderText(table.order);
  const { rows } = await sql<{ place: number; hash: string | null; order: string | null; deleted: boolean }>`
    select k.place::int as place, t.* from ${keysOf(table, records)} cross join lateral (
      select _row_hash::text as hash, ${order} as order, ${table.tombstones ? sql`_deleted_at is not null` : sql`false`} as deleted
      from ${rowOf(table, sourceId)}) t`.execute(session.trx);
  for (const row of rows) {
    const record = records[row.place - 1];
    if (record === undefined) continue;
    known.set(record.keyText, {
      hash: row.hash === null ? undefined : BigInt(row.hash),
      order: row.order ?? undefined,
      deleted: row.deleted,
    });
  }
  return known;
}

/** The records' keys as rows `k` with their places, from 1: whole keys, however many columns they have. */
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
 * The row `t` that has the key `k`, to be selected from in a lateral join. `offset 0` keeps the planner to looking it up: of a young table it has no
 * statistics, and would rather read all of it and look for each row's key among ours.
 */
const rowOf = (table: Table, sourceId: number) =>
  sql`${sql.table(nameOf(table))} t where t.source_id = ${sourceId} and ${hasKey(table, 't')} offset 0`;

/** True where the row called `of` has the key that `k` holds. */
const hasKey = (table: Table, of: string) =>
  sql.join(
    table.key.map((name, at) => sql`${sql.id(of, name)} = ${sql.id('k', `key${at}`)}`),
    sql` and `,
  );

/** An order column as text that compares with our values: microseconds since 1970 for instants. */
const orderText = (column: string) => sql`(extract(epoch from ${sql.id(column)}) * 1000000)::bigint::text`;

/** Whether the record is an older version of what is there. */
export const isOlder = (record: BatchRecord, there: Known): boolean =>
  there.order !== undefined && typeof record.order === 'bigint' && record.order < BigInt(there.order);

/**
 * Staged records that the merge did not write: somebody else's row is newer, or equal. Their children must not be written either,
 * so they leave the staging table; but for those of an equal row that a forced resync has fetched apart: the row does not tell of them.
 */
export async function settle(
  session: Session,
  pending: BatchRecord[],
  table: Table,
  { sourceId, runId, force }: Merge,
  left: number,
): Promise<{ unchanged: number; superseded: number }> {
  if (!table.entity) return { unchanged: left, superseded: 0 };
  const there = await knownRows(session, table, pending, sourceId);
  const { rows } = await sql<{ place: number }>`select k.place::int as place from ${keysOf(table, pending)}
    cross join lateral (select t.xmin, t._run_id from ${rowOf(table, sourceId)}) t
    where t._run_id = ${runId}::bigint and t.xmin = pg_current_xact_id()::xid`.execute(session.trx);
  const ours = new Set(rows.map((row) => row.place - 1));
  let unchanged = 0;
  let superseded = 0;
  const kept: BatchRecord[] = [];
  for (const [place, record] of pending.entries()) {
    if (ours.has(place)) kept.push(record);
    else if (there.get(record.keyText)?.hash === record.hash) {
      unchanged += 1;
      if (force && record.tailed) kept.push(record);
    } else superseded += 1;
  }
  pending.splice(0, pending.length, ...kept);
  await sql`delete from ${stageOf(table)} s
    where not exists (select from ${keysOf(table, kept)} where ${hasKey(table, 's')})`.execute(session.trx);
  return { unchanged, superseded };
}
