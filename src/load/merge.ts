import { type RawBuilder, sql } from 'kysely';
import type { Child, Table } from '../core/table.ts';
import { columnList, equalColumns, type Layout, layoutOf, loaderColumns, target } from './layout.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/** What one statement wrote. */
export interface Written {
  readonly inserted: number;
  readonly updated: number;
}

/** Who writes, and which of two versions of a row wins. */
export interface Merge {
  readonly sourceId: number;
  readonly runId: string;
  /** A forced resync: what is fetched now wins whatever the warehouse holds (guarantee G1). */
  readonly force: boolean;
  /** Records that were fetched long ago (replay): they win over no row that was written since, by whatever run, and revive none. */
  readonly late?: boolean;
}

/** True where the content of `t` and that of `s` are not the same: by hash for entities, by columns for relations and history. */
function differs({ table, rest }: Layout, s: string): RawBuilder<unknown> {
  if (table.entity) return sql`t._row_hash is distinct from ${sql.id(s, loaderColumns.hash)}`;
  return rest.length === 0
    ? sql`false`
    : sql`(${columnList(rest, 't')}) is distinct from (${columnList(rest, s)})`;
}

const isTombstone = (table: Table): RawBuilder<unknown> =>
  table.tombstones ? sql`t._deleted_at is not null` : sql`false`;

/** True where the staged row was read after the row `t`: by a later run, or by this run later; of a late record only the moment counts. */
function isLater({ late, runId }: Merge): RawBuilder<unknown> {
  const fetchedLater = sql`t._synced_at <= excluded._synced_at`;
  return late === true ? fetchedLater : sql`(t._run_id is distinct from ${runId}::bigint or ${fetchedLater})`;
}

/** True where the staged row may replace the row `t`. */
function wins({ table }: Layout, merge: Merge): RawBuilder<unknown> {
  if (merge.force) return sql`true`;
  const [mine, theirs] = [sql.id('excluded', table.order ?? ''), sql.id('t', table.order ?? '')];
  const later = isLater(merge);
  const notOlder =
    table.order === undefined ? later : sql`(${theirs} < ${mine} or (${theirs} = ${mine} and ${later}))`;
  const notDeletedSince =
    merge.late === true && table.tombstones
      ? sql`(t._deleted_at is null or t._deleted_at <= excluded._synced_at)`
      : sql`true`;
  return sql`(${isTombstone(table)} or ${notOlder}) and ${notDeletedSince}`;
}

/**
 * Merges the staged rows of a stream's own table. A row is written where the content differs, or the row was a tombstone, and the staged one
 * is not older: larger order wins; equal or unordered, a later run wins, and within a run the later fetch.
 */
export async function mergeRoot(session: Session, layout: Layout, merge: Merge): Promise<Written> {
  const statement = upsert(layout, merge, sql.id('s', loaderColumns.fetched), wins(layout, merge));
  const { rows } = await counted(layout, statement).execute(session.trx);
  const inserted = Number(rows[0]?.inserted ?? 0);
  return { inserted, updated: Number(rows[0]?.written ?? 0) - inserted };
}

/** Merges the staged rows of child tables, all in one statement; after `removeAbsent`, as a key may have moved between parents. */
export async function mergeChildren(
  session: Session,
  root: Layout,
  children: readonly Child[],
  merge: Merge,
): Promise<void> {
  if (children.length === 0) return;
  const statements = children.map((child) => {
    const [from, syncedAt, winning] = child.moves
      ? [lastRead(root, child), sql.id('s', loaderColumns.fetched), belongsHere(child, merge)]
      : [sql`${stageOf(child.table)} s`, sql`now()`, sql`true`];
    const { insert, among, update } = upsert(layoutOf(child.table), merge, syncedAt, winning);
    return sql`${insert} from ${from} ${among} ${update}`;
  });
  await inOneStatement(statements, sql`select`).execute(session.trx);
}

/** Staged rows `s` of a child with the moment when their parent was fetched; of a key that came with several parents, the last one's. */
function lastRead(root: Layout, { table, parent }: Child): RawBuilder<unknown> {
  const key = columnList(table.key, 'c');
  const fetched = sql.id('p', loaderColumns.fetched);
  return sql`(select distinct on (${key}) c.*, ${fetched} from ${stageOf(table)} c join ${stageOf(root.table)} p on ${isChild(root, parent)}
    order by ${key}, ${fetched} desc) s`;
}

/** True unless the row was written for another parent that has been read since. */
const belongsHere = ({ parent }: Child, merge: Merge): RawBuilder<unknown> =>
  sql`((${columnList(parent, 't')}) is not distinct from (${columnList(parent, 'excluded')}) or t._deleted_at is not null or ${isLater(merge)})`;

/** True where the child row `c` belongs to the staged row `p`. */
const isChild = (root: Layout, parent: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    parent.map((name, i) => sql`${sql.id('c', name)} = ${sql.id('p', root.key[i] ?? '')}`),
    sql` and `,
  );

/** Statements that write to different tables as one round trip: a warehouse may be far away. `end` knows them as `written0`, `written1` … */
const inOneStatement = <T>(statements: readonly RawBuilder<unknown>[], end: RawBuilder<T>): RawBuilder<T> =>
  sql<T>`with ${sql.join(statements.map((one, at) => sql`${sql.id(`written${at}`)} as (${one})`))} ${end}`;

/** The parts of a statement that writes staged rows `s` where they are new or differ from the row `t` of the same key. */
interface Upsert {
  readonly insert: RawBuilder<unknown>;
  /** Leaves out the staged rows whose row is there already and is the same: most of them. */
  readonly among: RawBuilder<unknown>;
  readonly update: RawBuilder<unknown>;
  readonly sameKey: RawBuilder<unknown>;
  readonly isStale: RawBuilder<unknown>;
}

function upsert(
  layout: Layout,
  merge: Merge,
  syncedAt: RawBuilder<unknown>,
  winning: RawBuilder<unknown>,
): Upsert {
  const { table, key, rest } = layout;
  const hash = table.entity ? [loaderColumns.hash] : [];
  const content = [...key, ...rest, ...hash];
  const set = sql.join([
    ...[...rest, ...hash, '_synced_at', '_run_id'].map(
      (name) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`,
    ),
    ...(table.tombstones ? [sql`_deleted_at = null`] : []),
  ]);
  const sameKey = sql`t.source_id = ${merge.sourceId}::smallint and ${equalColumns(key, 't', 's')}`;
  const isStale = sql`(${differs(layout, 's')} or ${isTombstone(table)})`;
  const insert = sql`insert into ${target(table)} as t (source_id, ${columnList(content)}, _synced_at, _run_id)
      select ${merge.sourceId}::smallint, ${columnList(content, 's')}, ${syncedAt}, ${merge.runId}::bigint`;
  const update = sql`on conflict (source_id, ${columnList(key)}) do update set ${set}
      where (${differs(layout, 'excluded')} or ${isTombstone(table)}) and ${winning}`;
  const among = sql`where not exists (select from ${target(table)} t where ${sameKey} and not ${isStale})`;
  return { insert, among, update, sameKey, isStale };
}

/** How many rows an upsert of staged rows inserts, and how many it writes in all. */
function counted(
  { table }: Layout,
  { insert, among, update, sameKey, isStale }: Upsert,
): RawBuilder<{ inserted: string; written: string }> {
  const staged = sql`${stageOf(table)} s`;
  // Rows of a partitioned table have no `xmax` that says whether they were there: a look-up before counts them.
  if (table.partitions)
    return sql`
    with found as materialized (
      select s.*, t.source_id is null as is_new from ${staged} left join ${target(table)} t on ${sameKey}
      where t.source_id is null or ${isStale}
    ), written as (${insert} from found s ${update} returning 1)
    select (select count(*) from found where is_new) as inserted, (select count(*) from written) as written`;
  return sql`
    with written as (${insert} from ${staged} ${among} ${update} returning (xmax = 0) as is_new)
    select count(*) filter (where is_new) as inserted, count(*) as written from written`;
}

/** A child table whose rows of the batch are staged. */
export interface StagedChild {
  readonly child: Child;
  /** Its bit in `_delivered`. */
  readonly bit: number;
  readonly rows: number;
}

/** Removes rows of re-read parents that were not delivered again; they become tombstones where the table has any. Gives how many. */
export async function removeAbsent(
  session: Session,
  root: Layout,
  children: readonly StagedChild[],
  merge: Merge,
): Promise<number> {
  if (children.length === 0) return 0;
  const statements = children.map((one) => {
    const remove = removal(one.child.table, notDelivered(root, one, merge), merge);
    return sql`${remove} returning 1`;
  });
  const counts = children.map((_, at) => sql`(select count(*) from ${sql.id(`written${at}`)})`);
  const total = sql<{ removed: string }>`select ${sql.join(counts, sql` + `)} as removed`;
  await sql`set local enable_hashjoin = on`.execute(session.trx);
  const { rows } = await inOneStatement(statements, total).execute(session.trx);
  await sql`set local enable_hashjoin = off`.execute(session.trx);
  return Number(rows[0]?.removed ?? 0);
}

function notDelivered(root: Layout, { child, bit, rows }: StagedChild, merge: Merge): RawBuilder<unknown> {
  const { table, parent } = child;
  // From the parents to their rows by index (`offset 0` keeps the planner to it), then by hash to what was delivered.
  const theirs = sql`(select o.* from ${stageOf(root.table)} p cross join lateral (
      select c.ctid as place, ${columnList(table.key, 'c')} from ${target(table)} c
      where c.source_id = ${merge.sourceId}::smallint and ${isChild(root, parent)} offset 0) o
    where p._delivered & ${1 << bit} <> 0) o`;
  const delivered = sql`exists (select from ${stageOf(table)} s where ${equalColumns(table.key, 'o', 's')})`;
  return sql`t.ctid in (select o.place from ${theirs} where not ${rows === 0 ? sql`false` : delivered})`;
}

/** Marks rows `t` of the table that meet the condition as deleted where it has tombstones, else removes them. */
export const removal = (
  table: Table,
  condition: RawBuilder<unknown>,
  merge: Pick<Merge, 'runId'>,
): RawBuilder<unknown> =>
  table.tombstones
    ? sql`update ${target(table)} t set _deleted_at = now(), _synced_at = now(), _run_id = ${merge.runId}::bigint
        where t._deleted_at is null and ${condition}`
    : sql`delete from ${target(table)} t where ${condition}`;
