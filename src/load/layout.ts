import { type Child, type ColumnType, nameOf, type Table } from '../core/table.ts';

/** A table as the loader sees it: columns in the order of its COPY, key first. */
export interface Layout {
  readonly table: Table;
  /** Content columns, key columns first: name and type. */
  readonly content: readonly (readonly [name: string, type: ColumnType])[];
  /** How many of `content` are the key. */
  readonly keys: number;
  /** Column by which versions are ordered, if the table has one, and its type. */
  readonly order: string | undefined;
}

const layouts = new WeakMap<Table, Layout>();

/** The layout of a table; the same object for the same table. */
export function layoutOf(table: Table): Layout {
  const known = layouts.get(table);
  if (known !== undefined) return known;
  const columns: Readonly<Record<string, ColumnType>> = table.columns;
  const typeOf = (name: string): ColumnType => {
    const type = columns[name];
    if (type === undefined) throw new Error(`${nameOf(table)} has no column ${name}`);
    return type;
  };
  const rest = Object.keys(columns).filter((name) => !table.key.includes(name));
  const layout: Layout = {
    table,
    content: [...table.key, ...rest].map((name) => [name, typeOf(name)] as const),
    keys: table.key.length,
    order: table.order,
  };
  layouts.set(table, layout);
  return layout;
}

/** Columns of a staging table behind the content: what the loader itself needs to know of a row. */
export const rootExtras = { hash: '_row_hash', fetched: '_fetched_at', delivered: '_delivered' } as const;

/** The children of a flow in a fixed order: the position is the bit in `_delivered`. */
export const childrenOf = (
  children: Readonly<Record<string, Child>>,
): readonly (readonly [string, Child])[] => Object.entries(children);

/** The bits of the children of these names. */
export const bitsOf = (children: ReturnType<typeof childrenOf>, names: readonly string[]): number =>
  names.length === 0
    ? 0
    : children.reduce((bits, [name], i) => (names.includes(name) ? bits | (1 << i) : bits), 0);
