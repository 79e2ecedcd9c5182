/** Staged rows become rows of their tables, and child rows that are gone are removed. */

import { type RawBuilder, sql } from 'kysely';
import type { Child, Table } from '../core/table.ts';
import type { BatchRecord, LoadTask, Merge } from './batch.ts';
import { copyRows } from './copy.ts';
import { columnList, equalColumns, type Layout, sameKey, stageOf, target, typeOf } from './layout.ts';

/** What the warehouse holds under a key. */
export interface ExistingRow {
  readonly hash: string | null;
  /** The order column: microseconds since 1970 UTC. */
  readonly order: string | null;
  readonly deleted: boolean;
  /** True where this transaction wrote it. */
  readonly mine: boolean;
}

/**
 * The existing rows by the records' `keyText`. Relations have no hash: nothing is known of them before the
 * merge.
 */
export async function existingRows(task: LoadTask, records: readonly BatchRecord[]) {
  const { session, batch, merge } = task;
  const { table } = batch.stream;
  if (!table.entity || records.length === 0) return new Map<string, ExistingRow>();
  const keys = table.key.map((_, at) => `key${at}`);
  const lists = table.key.map((name, at) => {
    const values = records.map((record) => String(record.key[at]));
    return sql`${values}::${typeOf(table, name)}[]`;
  });
  const order = table.order === undefined ? sql`null::timestamptz` : sql.id(table.order);
  // `offset 0` keeps the planner to looking rows up: it would scan all of a table without statistics.
  const { rows } = await sql<ExistingRow & { readonly nth: number }>`
    select k.nth::int as nth, t.*
    from unnest(${sql.join(lists)}) with ordinality as k (${columnList(keys)}, nth) cross join lateral (
      select _row_hash::text as hash, (extract(epoch from ${order}) * 1000000)::bigint::text as order,
        ${isTombstone(table)} as deleted,
        _run_id = ${merge.runId}::bigint and t.xmin = pg_current_xact_id()::xid as mine
      from ${target(table)} t where t.source_id = ${merge.sourceId}
        and ${equalColumns(table.key, 't', 'k', keys)} offset 0) t`.execute(session.trx);
  return new Map(rows.map((row) => [records[row.nth - 1]?.keyText ?? '', row]));
}

/** Whether the row has the content of the record. */
export const isSame = (row: ExistingRow | undefined, { hash }: BatchRecord): boolean =>
  row !== undefined && row.hash !== null && BigInt(row.hash) === hash;

/**
 * True where the content of `t` and that of `s` are not the same: by hash for entities, by columns for
 * relations and history.
 */
function differs({ table, rest }: Layout, s: string): RawBuilder<unknown> {
  if (table.entity) return sql`t._row_hash is distinct from ${sql.id(s, '_row_hash')}`;
  return rest.length === 0
    ? sql`false`
    : sql`(${columnList(rest, 't')}) is distinct from (${columnList(rest, s)})`;
}

const isTombstone = (table: Table): RawBuilder<unknown> =>
  table.entity ? sql`t._deleted_at is not null` : sql`false`;

/**
 * True where the staged row was read after the row `t`: by a later run, or by this run later; of a late
 * record only the moment counts.
 */
function isLater({ late, runId }: Merge): RawBuilder<unknown> {
  const fetchedLater = sql`t._synced_at <= excluded._synced_at`;
  return late === true ? fetchedLater : sql`(t._run_id is distinct from ${runId}::bigint or ${fetchedLater})`;
}

/** True where the staged row may replace the row `t`. */
function wins({ order = '', entity }: Table, merge: Merge): RawBuilder<unknown> {
  if (merge.force) return sql`true`;
  const mine = sql.id('excluded', order);
  const theirs = sql.id('t', order);
  const later = isLater(merge);
  const notOlder = order === '' ? later : sql`(${theirs} < ${mine} or (${theirs} = ${mine} and ${later}))`;
  if (!entity) return notOlder;
  const revives = merge.late === true ? sql`t._deleted_at <= excluded._synced_at` : sql`true`;
  return sql`(case when t._deleted_at is not null then ${revives} else ${notOlder} end)`;
}

/** Rows `s` to be written to a table. */
interface StagedRows {
  readonly layout: Layout;
  readonly from: RawBuilder<unknown>;
  readonly syncedAt: RawBuilder<unknown>;
  /** True where a row may replace the row `t` that differs from it. */
  readonly wins: RawBuilder<unknown>;
}

/**
 * Merges the staged rows of a stream's own table. A row is written where the content differs, or the row was
 * a tombstone, and the staged one is not older: larger order wins; equal or unordered, a later run wins, and
 * within a run the later fetch.
 */
export const mergeRoot = (task: LoadTask) => {
  const [layout] = task.batch.layouts;
  const from = sql`${stageOf(layout.table)} s`;
  return upsert(task, [{ layout, from, syncedAt: sql`s._synced_at`, wins: wins(layout.table, task.merge) }]);
};

/** The staged rows of a child table. */
function childSource({ batch, merge }: LoadTask, { child, bit }: StagedChild): StagedRows {
  const { table, parent, moves } = child;
  const layout = batch.layouts[bit + 1] as Layout;
  const staged = stageOf(table);
  if (moves !== true) return { layout, from: sql`${staged} s`, syncedAt: sql`now()`, wins: sql`true` };
  // A key that came with several parents belongs to the one that was read last.
  const key = columnList(table.key);
  const from = sql`(select distinct on (${key}) * from ${staged} order by ${key}, _synced_at desc) s`;
  const isOurs = sql`(${columnList(parent, 't')}) is not distinct from (${columnList(parent, 'excluded')})`;
  const mayTake = sql`(${isOurs} or t._deleted_at is not null or ${isLater(merge)})`;
  return { layout, from, syncedAt: sql`s._synced_at`, wins: mayTake };
}

/**
 * Writes rows where they are new or differ from the row `t` of the same key, to all tables in one statement:
 * a warehouse may be far away. Gives how many rows of the first table were inserted and updated.
 */
async function upsert({ session, merge }: LoadTask, sources: readonly StagedRows[]) {
  const parts = sources.flatMap(({ layout, from, syncedAt, wins: winning }, at) => {
    const { table, key, rest } = layout;
    const found = sql.id(`found${at}`);
    const written = sql.id(`written${at}`);
    const assigned = [...rest, '_synced_at', '_run_id'];
    const set = assigned.map((name) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`);
    if (table.entity) set.push(sql`_deleted_at = null`);
    const isStale = (s: string) => sql`(${differs(layout, s)} or ${isTombstone(table)})`;
    // Most rows are there already and the same: they are left out by a look-up, and are not locked.
    return [
      sql`${found} as materialized (
        select s.*, t.source_id is null as is_new
        from ${from} left join ${target(table)} t on ${sameKey(layout, merge.sourceId)}
        where t.source_id is null or ${isStale('s')})`,
      sql`${written} as (
        insert into ${target(table)} as t (source_id, ${columnList([...key, ...rest])}, _synced_at, _run_id)
        select ${merge.sourceId}::smallint, ${columnList([...key, ...rest], 's')}, ${syncedAt},
          ${merge.runId}::bigint from ${found} s
        on conflict (source_id, ${columnList(key)}) do update set ${sql.join(set)}
        where ${isStale('excluded')} and ${winning}
        returning ${table.partitions ? sql`true` : sql`xmax = 0`} as is_new)`,
    ];
  });
  // Rows of a partitioned table have no `xmax` that says whether they were new: the look-up before counts them.
  const counted = sql.id(sources[0]?.layout.table.partitions ? 'found0' : 'written0');
  const { rows } = await sql<{ inserted: number; written: number }>`with ${sql.join(parts)}
    select (select count(*)::int from ${counted} where is_new) as inserted,
      (select count(*)::int from written0) as written`.execute(session.trx);
  const { inserted = 0, written = 0 } = rows[0] ?? {};
  return { inserted, updated: written - inserted };
}

/**
 * Sorts out staged records that the merge did not write, because another writer's row is newer or equal.
 * Their children must not be written either, so they leave the staging table; except those of an equal row
 * that a forced resync fetched apart, which the hash says nothing of.
 */
export async function dropUnwritten(task: LoadTask, pending: readonly BatchRecord[]) {
  const { session, batch, merge } = task;
  const existing = await existingRows(task, pending);
  const mine = new Set(pending.filter(({ keyText }) => existing.get(keyText)?.mine));
  const unwritten = pending.filter((one) => !mine.has(one));
  const same = new Set(unwritten.filter((one) => isSame(existing.get(one.keyText), one)));
  const kept = pending.filter((one) => mine.has(one) || (merge.force && one.hasNested && same.has(one)));
  await sql`truncate ${stageOf(batch.stream.table)}`.execute(session.trx);
  await copyRows(task, 0, kept);
  return { kept, unchanged: same.size, superseded: unwritten.filter((one) => !same.has(one)) };
}

/** A child table whose rows of the batch are staged. */
interface StagedChild {
  readonly child: Child;
  /** Its bit in `_delivered`. */
  readonly bit: number;
  readonly rows: number;
}

/** Writes the child rows of records whose own rows are written. Gives how many rows were removed. */
export async function writeChildren(task: LoadTask, parents: readonly BatchRecord[]): Promise<number> {
  const staged: StagedChild[] = [];
  for (const [bit, [, child]] of task.batch.children.entries())
    if (parents.some(({ delivered }) => (delivered & (1 << bit)) !== 0))
      staged.push({ child, bit, rows: await copyRows(task, bit + 1, parents) });
  const shrinking = staged.filter(({ child }) => child.absent !== 'kept');
  const removed = shrinking.length === 0 ? 0 : await removeAbsent(task, shrinking);
  // After the removal: a key may have moved between parents.
  const sources = staged.filter(({ rows }) => rows > 0).map((one) => childSource(task, one));
  if (sources.length > 0) await upsert(task, sources);
  return removed;
}

/**
 * Removes rows of re-read parents that were not delivered again; they become tombstones where the table has
 * any. Gives how many.
 */
async function removeAbsent(task: LoadTask, children: readonly StagedChild[]): Promise<number> {
  const { trx, client } = task.session;
  const names = children.map((_, at) => sql.id(`removed${at}`));
  const removals = children.map((one, at) => {
    const statement = removal(one.child.table, notDelivered(task, one), task.merge);
    return sql`${names[at]} as (${statement} returning 1)`;
  });
  const counts = names.map((name) => sql`(select count(*)::int from ${name})`);
  await client.query('set local enable_hashjoin = on');
  const { rows } = await sql<{ removed: number }>`with ${sql.join(removals)}
    select ${sql.join(counts, sql` + `)} as removed`.execute(trx);
  await client.query('set local enable_hashjoin = off');
  return rows[0]?.removed ?? 0;
}

function notDelivered({ batch, merge }: LoadTask, { child, bit, rows }: StagedChild): RawBuilder<unknown> {
  const { table, parent } = child;
  const [root] = batch.layouts;
  // From the parents to their rows by index (`offset 0` keeps the planner to it), then by hash to what was
  // delivered.
  const theirs = sql`(select o.* from ${stageOf(root.table)} p cross join lateral (
      select c.ctid as row_id, ${columnList(table.key, 'c')} from ${target(table)} c where
      c.source_id = ${merge.sourceId}::smallint and ${equalColumns(parent, 'c', 'p', root.key)} offset 0) o
    where p._delivered & ${1 << bit} <> 0) o`;
  const delivered = sql`exists (select from ${stageOf(table)} s where ${equalColumns(table.key, 'o', 's')})`;
  return sql`t.ctid in (select o.row_id from ${theirs} where not ${rows === 0 ? sql`false` : delivered})`;
}

/**
 * Marks rows `t` of the table that meet the condition as deleted where it has tombstones, else removes them.
 */
export const removal = (table: Table, condition: RawBuilder<unknown>, { runId }: Pick<Merge, 'runId'>) =>
  table.entity
    ? sql`update ${target(table)} t set _deleted_at = now(), _synced_at = now(), _run_id = ${runId}::bigint
        where t._deleted_at is null and ${condition}`
    : sql`delete from ${target(table)} t where ${condition}`;
