import { type RawBuilder, sql } from 'kysely';
import { BadData } from '../core/errors.ts';
import type { Child, Column, ColumnType, DeclaredTable, Table } from '../core/table.ts';
import { nameOf } from '../core/table.ts';

/** A table as the loader sees it: columns in the order of its COPY, key first. */
export interface Layout {
  readonly table: Table;
  /** What a mapped row gives, key columns first; `check` throws `BadData`. */
  readonly content: readonly (readonly [
    name: string,
    type: ColumnType,
    isNullable: boolean,
    check: Check | undefined,
  ])[];
  readonly key: readonly string[];
  /** The columns after the key: content, then the content's hash where the table has one. */
  readonly rest: readonly string[];
}

type Check = (text: string) => void;

const layouts = new WeakMap<Table, Layout>();

/** The layout of a table; the same object for the same table. */
export function layoutOf(table: Table): Layout {
  const made = layouts.get(table);
  if (made !== undefined) return made;
  const columns: Readonly<Record<string, ColumnType>> = table.columns;
  const declared = 'declared' in table ? (table as DeclaredTable).declared : {};
  const rest = Object.keys(columns).filter((name) => !table.key.includes(name));
  const content = [...table.key, ...rest].map((name) => {
    const type = columns[name];
    if (type === undefined) throw new Error(`${nameOf(table)} has no column ${name}`);
    const column = declared[name];
    const isNullable = column === undefined || column.isNullable === true;
    return [name, type, isNullable, column && checkOf(column)] as const;
  });
  if (table.entity) rest.push('_row_hash');
  const layout: Layout = { table, content, key: table.key, rest };
  layouts.set(table, layout);
  return layout;
}

/** Finds text that Postgres would refuse with all rows of its COPY, or would round; none where the type alone decides. */
function checkOf({ values, digits }: Column): Check | undefined {
  if (values !== undefined)
    return (text) => {
      if (!values.includes(text))
        throw new BadData('bad_word', `${text.slice(0, 60)} is none of ${values.join(', ')}`);
    };
  if (digits === undefined) return undefined;
  const [precision, scale] = digits;
  return (text) => {
    const point = text.indexOf('.');
    // Most numbers are short. Those that are not may have zeros at their ends.
    if (text.length <= precision - scale && (point < 0 || text.length - point - 1 <= scale)) return;
    const [, whole = '', fraction = ''] = /^-?0*(\d*)(?:\.(\d*?)0*)?$/.exec(text) ?? [];
    if (whole.length > precision - scale || fraction.length > scale)
      throw new BadData('out_of_range', `${text.slice(0, 60)} does not fit numeric(${precision}, ${scale})`);
  };
}

/** The children of a stream in a fixed order: the position is the bit in `_delivered`. */
export const childrenOf = (
  children: Readonly<Record<string, Child>> = {},
): readonly (readonly [string, Child])[] => Object.entries(children);

/** The bits of the children of these names. */
export const bitsOf = (children: ReturnType<typeof childrenOf>, names: readonly string[]): number =>
  children.reduce((bits, [name], i) => (names.includes(name) ? bits | (1 << i) : bits), 0);

/** The table itself, in SQL. */
export const target = (table: Table): RawBuilder<unknown> => sql.id(table.schema, table.name);

/** The staging table of a table, as text of SQL: temporary, one a session, emptied at every commit. */
export const stageText = (table: Table): string => `pg_temp."stage_${table.schema}_${table.name}"`;

/** The same in statements. */
export const stageOf = (table: Table): RawBuilder<unknown> => sql.raw(stageText(table));

/** The type of a column, in SQL. */
export const typeOf = ({ columns }: Table, name: string): RawBuilder<unknown> =>
  sql.raw((columns as Readonly<Record<string, ColumnType>>)[name] ?? 'text');

/** Columns by name, of the table alias `of` if one is given. */
export const columnList = (names: readonly string[], of?: string): RawBuilder<unknown> =>
  sql.join(names.map((name) => (of === undefined ? sql.id(name) : sql.id(of, name))));

/** True where these columns of `a` are equal to those of `b`, which may have other names there. */
export const equalColumns = (names: readonly string[], a: string, b: string, there = names) =>
  sql.join(
    names.map((name, at) => sql`${sql.id(a, name)} = ${sql.id(b, there[at] ?? '')}`),
    sql` and `,
  );

/** True where the row `t` has the source and the key of the row `of`. */
export const sameKey = ({ key }: Layout, sourceId: number, of = 's'): RawBuilder<unknown> =>
  sql`t.source_id = ${sourceId}::smallint and ${equalColumns(key, 't', of)}`;
