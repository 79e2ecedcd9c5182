/** A complete listing replaces the rows of its scope: what it does not show is removed, under the deletion guard (guarantee G10). */

import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { ColumnType } from '../core/table.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { Reject } from './batch.ts';
import { columnList, equalColumns, type Layout, target } from './layout.ts';
import { type Merge, removal } from './merge.ts';
import { withHashJoin } from './planner.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/** The part of a table that a complete listing covers. */
export interface Scope {
  /** Column → the value that all rows of the scope have. */
  readonly equal: Readonly<Record<string, string>>;
  /** Whole days: `from <= column < to`. */
  readonly days?: { readonly column: string; readonly from: Date; readonly to: Date };
}

/** True for the rows of the table, called `name` in the statement, that lie in the scope. */
export function inScope(layout: Layout, scope: Scope, sourceId: number, name = 't'): RawBuilder<unknown> {
  const types = new Map<string, ColumnType>(layout.content);
  const typeOf = (column: string): RawBuilder<unknown> => sql.raw(types.get(column) ?? 'text');
  const parts = Object.entries(scope.equal).map(
    ([column, value]) => sql`${sql.id(name, column)} = ${value}::${typeOf(column)}`,
  );
  const { days } = scope;
  if (days !== undefined) {
    const type = typeOf(days.column);
    const isDate = types.get(days.column) === 'date';
    const text = (at: Date): string => (isDate ? at.toISOString().slice(0, 10) : at.toISOString());
    const column = sql.id(name, days.column);
    parts.push(sql`${column} >= ${text(days.from)}::${type}`, sql`${column} < ${text(days.to)}::${type}`);
  }
  return sql.join([sql`${sql.id(name, 'source_id')} = ${sourceId}::smallint`, ...parts], sql` and `);
}

/** Whether the scope holds any row. */
export async function hasRows(
  db: Kysely<AnyDatabase>,
  layout: Layout,
  scope: Scope,
  sourceId: number,
): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select exists (
    select from ${target(layout.table)} t where ${inScope(layout, scope, sourceId)}) as found`.execute(db);
  return rows[0]?.found === true;
}

/** A complete listing of a scope, whose rows are staged. */
export interface Listing {
  readonly scope: Scope;
  /** Keys of rejected records: their rows are in the listing, and stay as they are. */
  readonly rejectedKeys: readonly string[];
  /** The same of rejected records whose row is known by several columns. */
  readonly rejectedRows: readonly Readonly<Record<string, string>>[];
  /** True where it is not known of which row a rejected record is. */
  readonly hasNameless: boolean;
}

/** Of a rejected record of a relation it is known only to which other entity it leads, not which row it is. */
export function listingOf({ table }: Layout, scope: Scope, rejects: readonly Reject[]): Listing {
  const listing = { scope, rejectedKeys: [], rejectedRows: [], hasNameless: false };
  if (!table.tombstones && scope.days !== undefined)
    return { ...listing, rejectedRows: rejects.flatMap(({ row }) => (row === undefined ? [] : [row])) };
  if (table.key.length > 1) return { ...listing, hasNameless: rejects.length > 0 };
  const keys = rejects.map(({ key }) => key);
  return { ...listing, rejectedKeys: keys, hasNameless: keys.includes('') };
}

/** True unless the row `t` is one whose record was rejected. No row has a NUL in its key, and no list of texts takes one. */
export function notRejected(layout: Layout, { rejectedKeys, rejectedRows }: Listing): RawBuilder<unknown> {
  const [key = ''] = layout.key;
  const names = rejectedKeys.filter((name) => name !== '' && !name.includes('\0'));
  const byKey = names.length === 0 ? sql`true` : sql`${sql.id('t', key)}::text <> all (${names}::text[])`;
  const [first] = rejectedRows;
  if (first === undefined) return byKey;
  const types = new Map<string, ColumnType>(layout.content);
  const same = Object.keys(first).map(
    (name) => sql`${sql.id('t', name)} = (r ->> ${name}::text)::${sql.raw(types.get(name) ?? 'text')}`,
  );
  return sql`${byKey} and not exists (
    select from jsonb_array_elements(${JSON.stringify(rejectedRows)}::jsonb) r where ${sql.join(same, sql` and `)})`;
}

const fewRows = 20;

/** The deletion guard (guarantee G10): how many of so many live rows may be deleted at once. */
export const mostDeletions = (live: number): number => Math.max(fewRows, Math.floor(live * 0.05));

/** What a complete listing may remove. */
export interface Verdict {
  /** True where it would remove more than the deletion guard allows: it removes nothing. */
  readonly isHeld: boolean;
  /** Rows that it does not show and that stay, because a rejected record without a name may be any of them. */
  readonly spared: number;
}

/**
 * The deletion guard. Of entities, a listing removes at most 20 rows or 5 % of the scope. Of relations and reports, an empty listing removes
 * at most 20 rows (a forced resync may empty a scope), and none from days of which every record was rejected.
 */
export async function judgeListing(
  session: Session,
  root: Layout,
  listing: Listing,
  merge: Merge,
  shown: { readonly rows: number; readonly rejects: number },
): Promise<Verdict> {
  const entities = root.table.tombstones;
  const mayEmpty = mostToEmpty(listing.scope, merge, shown);
  if (!entities && mayEmpty === Infinity && !listing.hasNameless) return { isHeld: false, spared: 0 };
  const { live, absent } = await countScope(session, root, listing, merge);
  const isHeld = entities ? absent > mostDeletions(live) : live > mayEmpty;
  return { isHeld, spared: listing.hasNameless && !isHeld ? absent : 0 };
}

/** Of relations or days: from a scope of at most this many rows a listing may leave none. */
function mostToEmpty(
  { days }: Scope,
  { force }: Merge,
  { rows, rejects }: { readonly rows: number; readonly rejects: number },
): number {
  if (rows > 0) return Infinity;
  if (rejects > 0 && days !== undefined) return 0;
  return force ? Infinity : fewRows;
}

/** How many live rows a scope holds, and how many of them the staged listing does not show. */
async function countScope(
  session: Session,
  layout: Layout,
  listing: Listing,
  { sourceId }: Merge,
): Promise<{ readonly live: number; readonly absent: number }> {
  const { table, key } = layout;
  const live = table.tombstones ? sql`and t._deleted_at is null` : sql``;
  const { rows } = await withHashJoin(session, () =>
    sql<{ live: string; absent: string }>`
      select count(*) as live, count(*) filter (where s.here is null and ${notRejected(layout, listing)}) as absent
      from ${target(table)} t
      left join (select true as here, ${columnList(key)} from ${stageOf(table)}) s on ${equalColumns(key, 't', 's')}
      where ${inScope(layout, listing.scope, sourceId)} ${live}`.execute(session.trx),
  );
  return { live: Number(rows[0]?.live ?? 0), absent: Number(rows[0]?.absent ?? 0) };
}

/** Removes the rows of the scope that the staged listing does not show. Gives how many. */
export async function replaceScope(
  session: Session,
  layout: Layout,
  listing: Listing,
  merge: Merge,
): Promise<number> {
  const absent = sql`${inScope(layout, listing.scope, merge.sourceId)} and not exists (
    select from ${stageOf(layout.table)} s where ${equalColumns(layout.key, 't', 's')}) and ${notRejected(layout, listing)}`;
  const { numAffectedRows } = await withHashJoin(session, () =>
    removal(layout.table, absent, merge).execute(session.trx),
  );
  return Number(numAffectedRows ?? 0);
}
