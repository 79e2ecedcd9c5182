/**
 * A complete listing replaces the rows of its scope: what it does not show is removed, under the deletion
 * guard (guarantee G10).
 */

import { type RawBuilder, sql } from 'kysely';
import { storableText } from '../core/json.ts';
import type { ColumnType, Table } from '../core/table.ts';
import type { LoadTask, Reject } from './batch.ts';
import { columnList, equalColumns, stageOf, target, typeOf } from './layout.ts';
import { removal } from './merge.ts';
import { type Session, withHashJoin } from './session.ts';

/** The part of a table that a complete listing covers. */
export interface Scope {
  /** Column → the value that all rows of the scope have. */
  readonly equal: Readonly<Record<string, string>>;
  /** Whole days: `from <= column < to`. */
  readonly days?: { readonly column: string; readonly from: Date; readonly to: Date };
}

/** True for the rows of the table, called `name` in the statement, that lie in the scope. */
export function inScope(table: Table, scope: Scope, sourceId: number, name = 't'): RawBuilder<unknown> {
  const parts = Object.entries(scope.equal).map(
    ([column, value]) => sql`${sql.id(name, column)} = ${value}::${typeOf(table, column)}`,
  );
  const { days } = scope;
  if (days !== undefined) {
    // A day in UTC is a time stamp that is cut off.
    const length = new Map(Object.entries(table.columns)).get(days.column) === 'date' ? 10 : undefined;
    const at = (date: Date) => sql`${date.toISOString().slice(0, length)}::${typeOf(table, days.column)}`;
    const column = sql.id(name, days.column);
    parts.push(sql`${column} >= ${at(days.from)}`, sql`${column} < ${at(days.to)}`);
  }
  return sql.join([sql`${sql.id(name, 'source_id')} = ${sourceId}::smallint`, ...parts], sql` and `);
}

/** Whether the scope holds any row. */
export async function hasRows({ trx }: Session, table: Table, scope: Scope, sourceId: number) {
  const { rows } = await sql`select from ${target(table)} t
    where ${inScope(table, scope, sourceId)} limit 1`.execute(trx);
  return rows.length > 0;
}

/** A complete listing of a scope, whose rows are staged. */
export interface Listing {
  readonly scope: Scope;
  /** Key columns of rows whose record was rejected: they are in the listing, and stay as they are. */
  readonly rejected: readonly Readonly<Record<string, string>>[];
  /** How many records were rejected. */
  readonly rejects: number;
  /** True where it is not known of which row a rejected record is. */
  readonly hasNameless: boolean;
}

/**
 * Of a rejected record of a relation it is known only to which other entity it leads, not which row it is.
 */
export function listingOf(table: Table, scope: Scope, rejects: readonly Reject[]): Listing {
  const isOfDays = !table.entity && scope.days !== undefined;
  const [key = '', ...more] = table.key;
  const rows = rejects.map(({ row, key: name }) => {
    if (isOfDays) return row;
    return more.length === 0 && name !== '' ? { [key]: name } : undefined;
  });
  // No row has text in its key that Postgres cannot hold, and no parameter takes it.
  const rejected = rows
    .filter((row) => row !== undefined)
    .filter((row) => Object.values(row).every((text) => storableText(text) === text));
  return { scope, rejected, rejects: rejects.length, hasNameless: !isOfDays && rows.includes(undefined) };
}

/** True unless the row `t` is one whose record was rejected. */
export function notRejected(table: Table, { rejected }: Listing): RawBuilder<unknown> {
  if (rejected.length === 0) return sql`true`;
  const types: Readonly<Record<string, ColumnType>> = table.columns;
  // Compared as text: a name of a rejected record need not be a value of the column. Moments have several
  // texts.
  const same = Object.keys(rejected[0] ?? {}).map((name) =>
    types[name] === 'timestamptz'
      ? sql`${sql.id('t', name)} = (r ->> ${name}::text)::timestamptz`
      : sql`${sql.id('t', name)}::text = r ->> ${name}::text`,
  );
  return sql`not exists (select from jsonb_array_elements(${JSON.stringify(rejected)}::jsonb) r
    where ${sql.join(same, sql` and `)})`;
}

const fewRows = 20;

/** The deletion guard (guarantee G10): how many of so many live rows may be deleted at once. */
export const mostDeletions = (live: number): number => Math.max(fewRows, Math.floor(live * 0.05));

/**
 * What the deletion guard says of a listing with so many staged rows. Of entities, a listing removes at most
 * 20 rows or 5 % of the scope. Of relations and reports, an empty listing removes at most 20 rows (a forced
 * resync may empty a scope), and none from days of which every record was rejected. `isHeld`: it would remove
 * more and removes nothing. `spared`: rows that stay, because a rejected record without a name may be any of
 * them.
 */
export async function judgeListing({ session, batch, merge }: LoadTask, listing: Listing, staged: number) {
  const [{ table, key }] = batch.layouts;
  // Of relations or days: from a scope of at most this many rows a listing may leave none.
  const most = merge.force ? Infinity : fewRows;
  const ofRejects = listing.rejects > 0 && listing.scope.days !== undefined ? 0 : most;
  const mayEmpty = staged > 0 ? Infinity : ofRejects;
  if (!table.entity && mayEmpty === Infinity && !listing.hasNameless) return { isHeld: false, spared: 0 };
  const isLive = table.entity ? sql`and t._deleted_at is null` : sql``;
  const count = sql<{ live: number; absent: number }>`select count(*)::int as live,
      (count(*) filter (where s.here is null and ${notRejected(table, listing)}))::int as absent
    from ${target(table)} t left join (select true as here, ${columnList(key)} from ${stageOf(table)}) s
      on ${equalColumns(key, 't', 's')}
    where ${inScope(table, listing.scope, merge.sourceId)} ${isLive}`;
  const { rows } = await withHashJoin(session, count);
  const { live = 0, absent = 0 } = rows[0] ?? {};
  const isHeld = table.entity ? absent > mostDeletions(live) : live > mayEmpty;
  return { isHeld, spared: listing.hasNameless && !isHeld ? absent : 0 };
}

/** Removes the rows of the scope that the staged listing does not show. Gives how many. */
export async function removeUnlisted({ session, batch, merge }: LoadTask, listing: Listing): Promise<number> {
  const [{ table, key }] = batch.layouts;
  const absent = sql`${inScope(table, listing.scope, merge.sourceId)} and ${notRejected(table, listing)}
    and not exists (select from ${stageOf(table)} s where ${equalColumns(key, 't', 's')})`;
  const { numAffectedRows } = await withHashJoin(session, removal(table, absent, merge));
  return Number(numAffectedRows ?? 0);
}

/**
 * Makes the keys of the staged rows distinct. Rows of a table with an occurrence counter are counted in the
 * order of their content, so that the same rows get the same numbers in whatever order they came; of others
 * the newest stays. Gives how many rows were removed.
 */
export async function removeRepeats({ session, batch }: LoadTask): Promise<number> {
  const [{ table, key, rest }] = batch.layouts;
  const { occurrence } = table;
  const staged = stageOf(table);
  const ofKey = columnList(key.filter((name) => name !== occurrence));
  const { rows } = await sql<{ repeats: boolean }>`select exists (
    select from ${staged} group by ${ofKey} having count(*) > 1) as repeats`.execute(session.trx);
  if (rows[0]?.repeats !== true) return 0;
  const [change, order] =
    occurrence === undefined
      ? [sql`delete from ${staged} s using`, sql`_synced_at desc, ctid desc`]
      : [sql`update ${staged} s set ${sql.id(occurrence)} = n.nth from`, columnList(rest)];
  const statement = sql`${change} (select ctid as row_id,
      row_number() over (partition by ${ofKey} order by ${order}) - 1 as nth from ${staged}) n
    where s.ctid = n.row_id and n.nth > 0`;
  const { numAffectedRows } = await withHashJoin(session, statement);
  return occurrence === undefined ? Number(numAffectedRows ?? 0) : 0;
}
