/** Tables as values: declared once with their columns. Row types, DDL, comments and docs are made from the declaration. */
import type { Instant } from './time.ts';

/** A number of the source, exactly: a bigint where a double could not hold it. */
export type Integer = number | bigint;
/** JSON text made by `toJson`. */
export type JsonText = string;
/** Exact decimal text without an exponent. */
export type Decimal = string;
/** `YYYY-MM-DD`. */
export type Day = string;

/** Column types, and the JavaScript values that a row gives for them. */
interface Values {
  readonly text: string;
  readonly bigint: Integer;
  readonly int: number;
  readonly smallint: number;
  readonly bool: boolean;
  readonly timestamptz: Instant;
  readonly date: Day;
  readonly numeric: Decimal;
  readonly float8: number;
  readonly jsonb: JsonText;
  readonly json: JsonText;
  readonly 'text[]': readonly string[];
}
export type ColumnType = keyof Values;

/** A value of a row before it is encoded. */
export type Value = Values[ColumnType] | null;

/** A row as transforms make it: content columns only, no `source_id`, no `_…` columns but `_extra`. */
export type Row = Readonly<Record<string, Value>>;

/** What a column is besides its type and comment. */
interface ColumnFacts {
  readonly isKey?: true;
  readonly isNullable?: true;
  /** SQL expression for rows that give no value. */
  readonly defaultSql?: string;
  /** The only values that the column takes. */
  readonly values?: readonly string[];
  /** Precision and scale of a numeric. */
  readonly digits?: readonly [precision: number, scale: number];
}

/** A column of a declared table; `V` is the value that a row gives for it. */
export interface Column<V extends Value = Value> extends ColumnFacts {
  readonly type: ColumnType;
  /** Its comment in the warehouse and in docs/streams.md. */
  readonly about: string;
  /** Part of the primary key, after `source_id`, in the order of the columns. */
  key(): Column<V>;
  nullable(): Column<V | null>;
  /** The value of rows that are inserted without one, as an SQL expression. */
  default(sql: string): Column<V>;
  /** A check constraint: the column takes these values only. */
  oneOf<const T extends string>(...values: readonly T[]): Column<T>;
}

const column = <V extends Value>(type: ColumnType, about: string, facts: ColumnFacts = {}): Column<V> => ({
  type,
  about,
  ...facts,
  key: () => column(type, about, { ...facts, isKey: true }),
  nullable: () => column(type, about, { ...facts, isNullable: true }),
  default: (defaultSql) => column(type, about, { ...facts, defaultSql }),
  oneOf: (...values) => column(type, about, { ...facts, values }),
});

const builder =
  <T extends ColumnType>(type: T, facts: ColumnFacts = {}) =>
  (about: string): Column<Values[T]> =>
    column(type, about, facts);

export const text = builder('text');
export const bigint = builder('bigint');
export const int = builder('int');
export const smallint = builder('smallint');
export const bool = builder('bool');
export const timestamptz = builder('timestamptz');
export const date = builder('date');
export const numeric = builder('numeric');
/** An amount in currency units, exact to the millionth. */
export const money = builder('numeric', { digits: [18, 6] });
export const jsonb = builder('jsonb');
/** JSON that is kept byte for byte and never searched. */
export const json = builder('json');
/** A list of text; empty by default, never null. */
export const texts = builder('text[]', { defaultSql: "'{}'" });

/** Columns by name. */
export type Columns = Readonly<Record<string, Column>>;

/** What a table is besides its columns. Without any option it is an entity: tombstones, a content hash and `_extra`. */
export interface TableOptions {
  /** Pure relations, history and facts: no tombstones, no content hash, no `_extra` unless they declare it. */
  readonly relation?: true;
  /** The column that orders versions (the source's own `updated`), where it has one. */
  readonly order?: string;
  /** Keeps the versions of some columns, because the source forgets them. */
  readonly versions?: Versions;
  /** Keeps the earlier values of numbers that the source restates. */
  readonly revisions?: Revisions;
  /** A key column (int) that tells rows apart which repeat the rest of the key within one slice; transforms give 0. */
  readonly occurrence?: string;
  /** Adds `_first_synced_at`, when the row first came here, with this comment. */
  readonly firstSynced?: string;
  /** Columns that the loader does not write: a statement after the load does. */
  readonly afterLoad?: Columns;
  /** Columns and condition of each index besides the primary key, e.g. `(source_id, issue_id)`. */
  readonly indexes?: readonly string[];
  readonly partitions?: PartitionRanges;
  /** Rows of about 2 to 8 kB: without this Postgres compresses each of them twice, once staged and once here. */
  readonly wide?: true;
}

/** What the loader must know of a table. */
export interface Table<R extends Row = Row> extends TableOptions {
  readonly schema: string;
  readonly name: string;
  readonly columns: { readonly [C in keyof R]-?: ColumnType };
  /** The key columns after `source_id`. */
  readonly key: readonly (keyof R & string)[];
  /** True where rows have `_row_hash`, `_extra` and `_deleted_at`: they are tombstoned, never removed. False for relations, history and facts. */
  readonly entity: boolean;
}

/**
 * Into a table with the key columns, `columns`, `valid_from`, `valid_to` (null: current) and `_run_id`. `valid_from` is the row's order
 * column where the table has one, else the value of `changed` if that is plausible, else the moment it was seen.
 */
export interface Versions {
  /** `schema.table` */
  readonly into: string;
  /** The comment of that table. */
  readonly about: string;
  readonly columns: readonly string[];
  /** A column with the source's time of the last change, which may be missing or wrong. */
  readonly changed?: string;
}

/**
 * Into a table with the key columns, `metric`, `old_value`, `new_value` (numeric; null: there was none), `seen_at` and `_run_id`: one row for
 * every number of an existing row that changes or goes, and for every number of a row that comes later than its day was first read.
 * `columns` are numeric.
 */
export interface Revisions extends Pick<Versions, 'into' | 'about' | 'columns'> {
  /** A jsonb column of further numbers by name. */
  readonly extra?: string;
}

/** A table whose rows belong to a parent row and arrive with it. */
export interface Child<R extends Row = Row> {
  readonly table: Table<R>;
  /** The child columns that hold the parent's key, in the order of the parent's key. */
  readonly parent: readonly (keyof R & string)[];
  /** What happens to rows that a re-read parent no longer has: removed (or tombstoned where the table can), or kept for ever. */
  readonly absent: 'deleted' | 'kept';
  /** A row can move to another parent: of two parents read with it, the one read last has it. The table has tombstones. */
  readonly moves?: boolean;
}

/** Ranges of a partitioned table: whole years or months, both ends included. Rows outside of them go to a default partition. */
export interface PartitionRanges {
  /** A date or timestamptz column of the key. */
  readonly by: string;
  readonly each: 'year' | 'month';
  readonly from: number;
  readonly to: number;
}

/** A table with everything that its DDL is made from. */
export interface DeclaredTable<R extends Row = Row> extends Table<R> {
  /** Its comment: what one row is. */
  readonly about: string;
  readonly declared: { readonly [C in keyof R]-?: Column };
}

/** The row type of some columns. */
export type Content<C extends Columns> = {
  readonly [N in keyof C]: C[N] extends Column<infer V> ? V : never;
};
type RowFor<C extends Columns, O> = O extends { readonly relation: true }
  ? Content<C>
  : Content<C> & { readonly _extra: JsonText | null };

/** The type of a declared table's rows. */
export type RowOf<T> = T extends DeclaredTable<infer R> ? R : never;

export const extra = jsonb(
  'What the source gives and no column holds, and raw values of an unexpected type with the reason.',
).nullable();

/** Declares a table, e.g. `table('tracker.projects', 'Projects, one row each.', { id: bigint('Project id.').key() })`. */
export function table<C extends Columns, const O extends TableOptions>(
  ...declaration: [name: `${string}.${string}`, about: string, content: C, options?: O]
): DeclaredTable<RowFor<C, O>>;
export function table(name: string, about: string, content: Columns, options: TableOptions = {}) {
  const [schema = '', own = ''] = name.split('.');
  const entity = options.relation !== true;
  const declared: Columns = { ...content, ...(entity && { _extra: extra }) };
  const columns = Object.fromEntries(Object.entries(declared).map(([column, { type }]) => [column, type]));
  const key = Object.keys(declared).filter((column) => declared[column]?.isKey);
  return { ...options, schema, name: own, about, declared, columns, key, entity };
}

/** `schema.name`, for messages and events. */
export const nameOf = (t: Table): string => `${t.schema}.${t.name}`;
