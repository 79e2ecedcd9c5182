import { type RawBuilder, sql } from 'kysely';
import { type Child, type ColumnType, nameOf, type Table } from '../core/table.ts';

/** A table as the loader sees it: columns in the order of its COPY, key first. */
export interface Layout {
  readonly table: Table;
  /** Content columns, key columns first: name and type. */
  readonly content: readonly (readonly [name: string, type: ColumnType])[];
  readonly key: readonly string[];
  /** Content columns that are not part of the key. */
  readonly rest: readonly string[];
}

const layouts = new WeakMap<Table, Layout>();

/** The layout of a table; the same object for the same table. */
export function layoutOf(table: Table): Layout {
  const made = layouts.get(table);
  if (made !== undefined) return made;
  const columns: Readonly<Record<string, ColumnType>> = table.columns;
  const rest = Object.keys(columns).filter((name) => !table.key.includes(name));
  const content = [...table.key, ...rest].map((name) => {
    const type = columns[name];
    if (type === undefined) throw new Error(`${nameOf(table)} has no column ${name}`);
    return [name, type] as const;
  });
  const layout: Layout = { table, content, key: table.key, rest };
  layouts.set(table, layout);
  return layout;
}

/** Columns of a staging table after the content: what the loader itself needs to know of a row. */
export const loaderColumns = { hash: '_row_hash', fetched: '_fetched_at', delivered: '_delivered' } as const;

/** The children of a stream in a fixed order: the position is the bit in `_delivered`. */
export const childrenOf = (
  children: Readonly<Record<string, Child>> = {},
): readonly (readonly [string, Child])[] => Object.entries(children);

/** The bits of the children of these names. */
export const bitsOf = (children: ReturnType<typeof childrenOf>, names: readonly string[]): number =>
  children.reduce((bits, [name], i) => (names.includes(name) ? bits | (1 << i) : bits), 0);

/** The table itself, in SQL. */
export const target = (table: Table): RawBuilder<unknown> => sql.id(table.schema, table.name);

/** Columns by name, of the table alias `of` if one is given. */
export const columnList = (names: readonly string[], of?: string): RawBuilder<unknown> =>
  sql.join(names.map((name) => (of === undefined ? sql.id(name) : sql.id(of, name))));

/** True where these columns of the aliases `a` and `b` are equal. */
export const equalColumns = (names: readonly string[], a: string, b: string): RawBuilder<unknown> =>
  sql.join(
    names.map((name) => sql`${sql.id(a, name)} = ${sql.id(b, name)}`),
    sql` and `,
  );
