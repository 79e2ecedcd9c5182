import { type RawBuilder, sql } from 'kysely';
import type { Child, ColumnType, Table } from '../core/table.ts';
import { type Layout, layoutOf, rootExtras } from './layout.ts';
import { inScope, type Scope } from './scope.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/** What one statement wrote. */
export interface Written {
  readonly inserted: number;
  readonly updated: number;
}

export interface Merge {
  readonly sourceId: number;
  readonly runId: string;
  /** A forced resync: what is fetched now wins whatever the warehouse holds (guarantee G1). */
  readonly force: boolean;
  /** Records that were fetched long ago: they win over nothing that was written since, whichever run wrote it, and revive nothing. */
  readonly late?: boolean;
}

const target = (table: Table): RawBuilder<unknown> => sql.id(table.schema, table.name);
const columns = (names: readonly string[], of?: string): RawBuilder<unknown> =>
  sql.join(names.map((name) => (of === undefined ? sql.id(name) : sql.id(of, name))));
const equalKeys = (names: readonly string[], a: string, b: string): RawBuilder<unknown> =>
  sql.join(
    names.map((name) => sql`${sql.id(a, name)} = ${sql.id(b, name)}`),
    sql` and `,
  );
const keyOf = (layout: Layout): readonly string[] =>
  layout.content.slice(0, layout.keys).map(([name]) => name);
const restOf = (layout: Layout): readonly string[] => layout.content.slice(layout.keys).map(([name]) => name);

/** True where the content of `t` and that of `s` are not the same: by hash for entities, by columns for relations and history. */
function differs(layout: Layout, s: string): RawBuilder<unknown> {
  if (layout.table.entity) return sql`t._row_hash is distinct from ${sql.id(s, rootExtras.hash)}`;
  const rest = restOf(layout);
  if (rest.length === 0) return sql`false`;
  return sql`(${columns(rest, 't')}) is distinct from (${columns(rest, s)})`;
}

const revived = (table: Table): RawBuilder<unknown> =>
  table.tombstones ? sql`t._deleted_at is not null` : sql`false`;

/** Of a record that was fetched long ago: true unless its row was tombstoned after that. */
const notGoneSince = (table: Table, merge: Merge): RawBuilder<unknown> =>
  merge.late === true && table.tombstones
    ? sql`(t._deleted_at is null or t._deleted_at <= excluded._synced_at)`
    : sql`true`;

/** True where what is staged was read after the row `t`: by a later run, or by this run later; of what was fetched long ago only the moment counts. */
const isLater = ({ late, runId }: Merge): RawBuilder<unknown> => {
  const fetchedLater = sql`t._synced_at <= excluded._synced_at`;
  return late === true ? fetchedLater : sql`(t._run_id is distinct from ${runId}::bigint or ${fetchedLater})`;
};

/**
 * Staged rows of a flow's own table into that table. A row is written where the content differs (or the row was a tombstone) and what
 * is staged is not older: larger order wins; equal or unordered, a later run wins, and within a run the later fetch.
 */
export async function mergeRoot(session: Session, layout: Layout, merge: Merge): Promise<Written> {
  const { table } = layout;
  const order = layout.order;
  const later = isLater(merge);
  const notOlder =
    order === undefined
      ? later
      : sql`(${sql.id('t', order)} < ${sql.id('excluded', order)} or (${sql.id('t', order)} = ${sql.id('excluded', order)} and ${later}))`;
  const wins = merge.force
    ? sql`true`
    : sql`(${revived(table)} or ${notOlder}) and ${notGoneSince(table, merge)}`;
  const { rows } = await counted(
    layout,
    upsert(layout, merge, sql.id('s', rootExtras.fetched), wins),
  ).execute(session.trx);
  const inserted = Number(rows[0]?.inserted ?? 0);
  return { inserted, updated: Number(rows[0]?.written ?? 0) - inserted };
}

/**
 * Staged rows of child tables into those tables, all in one statement; behind `removeAbsent`: a key may have gone from one parent to
 * another.
 */
export async function mergeChildren(
  session: Session,
  root: Layout,
  children: readonly Child[],
  merge: Merge,
): Promise<void> {
  if (children.length === 0) return;
  const statements = children.map((child) => {
    const [from, syncedAt, wins] = child.moves
      ? [lastRead(root, child), sql.id('s', rootExtras.fetched), stillTheirs(child, merge)]
      : [sql`${stageOf(child.table)} s`, sql`now()`, sql`true`];
    const { insert, among, update } = upsert(layoutOf(child.table), merge, syncedAt, wins);
    return sql`${insert} from ${from} ${among} ${update}`;
  });
  await atOnce(statements, sql`select`).execute(session.trx);
}

/** Staged rows `s` of a child with the moment when their parent was fetched; of a key that came with several parents, the last one's. */
function lastRead(root: Layout, { table, parent }: Child): RawBuilder<unknown> {
  const key = columns(keyOf(layoutOf(table)), 'c');
  const fetched = sql.id('p', rootExtras.fetched);
  return sql`(select distinct on (${key}) c.*, ${fetched} from ${stageOf(table)} c join ${stageOf(root.table)} p on ${isChild(root, parent)}
    order by ${key}, ${fetched} desc) s`;
}

/** True unless the row was written for another parent that has been read since. */
const stillTheirs = ({ parent }: Child, merge: Merge): RawBuilder<unknown> =>
  sql`((${columns(parent, 't')}) is not distinct from (${columns(parent, 'excluded')}) or t._deleted_at is not null or ${isLater(merge)})`;

/** True where the child row `c` belongs to the staged row `p`. */
const isChild = (root: Layout, parent: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    parent.map((name, i) => sql`${sql.id('c', name)} = ${sql.id('p', keyOf(root)[i] ?? '')}`),
    sql` and `,
  );

/** Statements that write to different tables, as one: a warehouse may be far away. They are called `written0`, `written1` … by `end`. */
const atOnce = <T>(statements: readonly RawBuilder<unknown>[], end: RawBuilder<T>): RawBuilder<T> =>
  sql<T>`with ${sql.join(statements.map((one, at) => sql`${sql.id(`written${at}`)} as (${one})`))} ${end}`;

/** The parts of a statement that writes staged rows `s` where they are new, or other than what is there. */
interface Upsert {
  readonly insert: RawBuilder<unknown>;
  /** Which staged rows are looked at at all: most are there already, as they are. */
  readonly among: RawBuilder<unknown>;
  readonly update: RawBuilder<unknown>;
  /** True of a staged row `s` and the row `t` that has its key. */
  readonly known: RawBuilder<unknown>;
  /** True where the two are not the same. */
  readonly stale: RawBuilder<unknown>;
}

function upsert(
  layout: Layout,
  merge: Merge,
  syncedAt: RawBuilder<unknown>,
  wins: RawBuilder<unknown>,
): Upsert {
  const { table } = layout;
  const key = keyOf(layout);
  const rest = restOf(layout);
  const names = [...key, ...rest];
  const hash = table.entity ? [rootExtras.hash] : [];
  const changed = [...rest, ...hash, '_synced_at', '_run_id'];
  const set = sql.join([
    ...changed.map((name) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`),
    ...(table.tombstones ? [sql`_deleted_at = null`] : []),
  ]);
  const known = sql`t.source_id = ${merge.sourceId}::smallint and ${equalKeys(key, 't', 's')}`;
  const stale = sql`(${differs(layout, 's')} or ${revived(table)})`;
  const insert = sql`insert into ${target(table)} as t (source_id, ${columns([...names, ...hash])}, _synced_at, _run_id)
      select ${merge.sourceId}::smallint, ${columns([...names, ...hash], 's')}, ${syncedAt}, ${merge.runId}::bigint`;
  const update = sql`on conflict (source_id, ${columns(key)}) do update set ${set}
      where (${differs(layout, 'excluded')} or ${revived(table)}) and ${wins}`;
  const among = sql`where not exists (select from ${target(table)} t where ${known} and not ${stale})`;
  return { insert, among, update, known, stale };
}

/** How many rows an upsert of staged rows inserts, and how many it writes in all. */
function counted(
  { table }: Layout,
  { insert, among, update, known, stale }: Upsert,
): RawBuilder<{ inserted: string; written: string }> {
  const staged = sql`${stageOf(table)} s`;
  // A partitioned table does not tell by `xmax` which rows were there; what is found by the look before counts.
  if (table.partitioned)
    return sql`
    with found as materialized (
      select s.*, t.source_id is null as is_new from ${staged} left join ${target(table)} t on ${known}
      where t.source_id is null or ${stale}
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

/** Rows of re-read parents that were not delivered again: tombstoned where the table can, removed where it cannot. How many. */
export async function removeAbsent(
  session: Session,
  root: Layout,
  children: readonly StagedChild[],
  merge: Merge,
): Promise<number> {
  if (children.length === 0) return 0;
  const statements = children.map((one) => {
    const away = removal(one.child.table, notDelivered(root, one, merge), merge);
    return sql`${away} returning 1`;
  });
  const counts = children.map((_, at) => sql`(select count(*) from ${sql.id(`written${at}`)})`);
  await sql`set local enable_hashjoin = on`.execute(session.trx);
  const { rows } = await atOnce(
    statements,
    sql<{ removed: string }>`select ${sql.join(counts, sql` + `)} as removed`,
  ).execute(session.trx);
  await sql`set local enable_hashjoin = off`.execute(session.trx);
  return Number(rows[0]?.removed ?? 0);
}

function notDelivered(root: Layout, { child, bit, rows }: StagedChild, merge: Merge): RawBuilder<unknown> {
  const layout = layoutOf(child.table);
  const own = isChild(root, child.parent);
  const key = columns(keyOf(layout), 'c');
  // From the parents to their rows, by index (`offset 0` keeps the planner to it); then by hash to what was delivered.
  const theirs = sql`(select o.* from ${stageOf(root.table)} p cross join lateral (
      select c.ctid as place, ${key} from ${target(child.table)} c
      where c.source_id = ${merge.sourceId}::smallint and ${own} offset 0) o
    where p._delivered & ${1 << bit} <> 0) o`;
  const delivered = sql`exists (select from ${stageOf(child.table)} s where ${equalKeys(keyOf(layout), 'o', 's')})`;
  return sql`t.ctid in (select o.place from ${theirs} where not ${rows === 0 ? sql`false` : delivered})`;
}

/** A complete listing of a scope: its rows are staged. */
export interface Listing {
  readonly scope: Scope;
  /** Names of its records that could not become rows: those with such a key are shown, too. */
  readonly rejected: readonly string[];
  /** The same of records that say by several columns which row they are about. */
  readonly about: readonly Readonly<Record<string, string>>[];
}

/** Whether the row `t` is not one of those whose records were rejected. No row has a NUL in its key, and no list of texts takes one. */
export function notRejected(layout: Layout, { rejected, about }: Listing): RawBuilder<unknown> {
  const [key] = keyOf(layout);
  const names = rejected.filter((name) => name !== '' && !name.includes('\0'));
  const byName =
    key === undefined || names.length === 0
      ? sql`true`
      : sql`${sql.id('t', key)}::text <> all (${names}::text[])`;
  const [first] = about;
  if (first === undefined) return byName;
  const types = new Map<string, ColumnType>(layout.content);
  const same = Object.keys(first).map(
    (name) => sql`${sql.id('t', name)} = (r ->> ${name}::text)::${sql.raw(types.get(name) ?? 'text')}`,
  );
  return sql`${byName} and not exists (
    select from jsonb_array_elements(${JSON.stringify(about)}::jsonb) r where ${sql.join(same, sql` and `)})`;
}

/** Away with the rows of one scope that the staged complete listing does not show. */
export async function replaceScope(
  session: Session,
  layout: Layout,
  listing: Listing,
  merge: Merge,
): Promise<number> {
  const key = keyOf(layout);
  const gone = sql`${inScope(layout, listing.scope, merge.sourceId)} and not exists (
    select from ${stageOf(layout.table)} s where ${equalKeys(key, 't', 's')}) and ${notRejected(layout, listing)}`;
  const { numAffectedRows } = await withHashJoin(session, () =>
    removal(layout.table, gone, merge).execute(session.trx),
  );
  return Number(numAffectedRows ?? 0);
}

/** How many live rows a scope holds, and how many of them the staged listing does not show. */
export async function countScope(
  session: Session,
  layout: Layout,
  listing: Listing,
  merge: Merge,
): Promise<{ readonly live: number; readonly absent: number }> {
  const key = keyOf(layout);
  const live = layout.table.tombstones ? sql`and t._deleted_at is null` : sql``;
  const { rows } = await withHashJoin(session, () =>
    sql<{ live: string; absent: string }>`
      select count(*) as live, count(*) filter (where s.here is null and ${notRejected(layout, listing)}) as absent from ${target(layout.table)} t
      left join (select true as here, ${columns(key)} from ${stageOf(layout.table)}) s on ${equalKeys(key, 't', 's')}
      where ${inScope(layout, listing.scope, merge.sourceId)} ${live}`.execute(session.trx),
  );
  return { live: Number(rows[0]?.live ?? 0), absent: Number(rows[0]?.absent ?? 0) };
}

/**
 * Joins by hash whatever the planner believes: both sides may be large, neither is looked up by key, and of a staging table it has no
 * statistics.
 */
export async function withHashJoin<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await session.client.query('set local enable_hashjoin = on; set local enable_nestloop = off');
  const result = await work();
  await session.client.query('set local enable_hashjoin = off; set local enable_nestloop = on');
  return result;
}

/** Rows `t` of the table that meet the condition are marked as deleted where it has tombstones, else removed. */
export const removal = (
  table: Table,
  condition: RawBuilder<unknown>,
  merge: Pick<Merge, 'runId'>,
): RawBuilder<unknown> =>
  table.tombstones
    ? sql`update ${target(table)} t set _deleted_at = now(), _synced_at = now(), _run_id = ${merge.runId}::bigint
        where t._deleted_at is null and ${condition}`
    : sql`delete from ${target(table)} t where ${condition}`;
