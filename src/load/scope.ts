import { type RawBuilder, sql } from 'kysely';
import type { ColumnType } from '../core/table.ts';
import type { Layout } from './layout.ts';

/** The part of a table that a complete listing speaks for: what it does not show of that part is gone. */
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
