/** Tables as values: what a row holds, its key, and how the children of a record follow their parent. */

/**
 * Column types and the JavaScript values that a row gives for them (null everywhere allowed unless the column is part of the key):
 * text: string · bigint: number | bigint · int, smallint: number · bool: boolean · timestamptz: Instant (bigint, µs since 1970 UTC) ·
 * date: 'YYYY-MM-DD' · numeric: exact decimal text · float8: number · jsonb, json: JSON text already serialised by `toJson` · text[]: string[]
 */
export type ColumnType =
  | 'text'
  | 'bigint'
  | 'int'
  | 'smallint'
  | 'bool'
  | 'timestamptz'
  | 'date'
  | 'numeric'
  | 'float8'
  | 'jsonb'
  | 'json'
  | 'text[]';

/** A value of a row before it is encoded. */
export type Value = string | number | bigint | boolean | readonly string[] | null;

/** A number of the source, exactly: a bigint where a double could not hold it. */
export type Integer = number | bigint;
/** JSON text made by `toJson`. */
export type JsonText = string;
/** Exact decimal text without an exponent. */
export type Decimal = string;
/** `YYYY-MM-DD`. */
export type Day = string;

/** A row as transforms make it: content columns only, no `source_id`, no `_…` columns. */
export type Row = Readonly<Record<string, Value>>;

/** A synced table. */
export interface Table<R extends Row = Row> {
  readonly schema: string;
  readonly name: string;
  readonly columns: { readonly [C in keyof R]-?: ColumnType };
  /** The key columns behind `source_id`. */
  readonly key: readonly (keyof R & string)[];
  /** The column by which an older version is told from a newer one (the source's own `updated`), where it has one. */
  readonly order?: keyof R & string;
  /** True where the table has `_deleted_at`: rows are tombstoned, never removed. */
  readonly tombstones: boolean;
  /** True where rows have `_row_hash` and `_extra` (entities); false for pure relations and history. */
  readonly entity: boolean;
  /** True where Postgres keeps it in partitions. */
  readonly partitioned?: true;
  /** True where the table also has `_first_synced_at`, which it fills by itself: when the row came to be here. */
  readonly dated?: true;
  /** Keeps the versions of some columns, because the source forgets them. */
  readonly versions?: Versions;
  /** Keeps what was said before of numbers that the source restates. */
  readonly revisions?: Revisions;
  /** A key column (int) that tells rows apart which repeat the rest of the key within one slice; transforms give 0. */
  readonly occurrence?: keyof R & string;
}

/**
 * Into a table with the key columns, `columns`, `valid_from`, `valid_to` (null: current) and `_run_id`. `valid_from` is the row's order
 * column where the table has one, else what `changed` says if that can be, else the moment it was seen.
 */
export interface Versions {
  /** `schema.table` */
  readonly into: string;
  readonly columns: readonly string[];
  /** A column that says when the row was last changed at the source, of which no more is demanded than that it may. */
  readonly changed?: string;
}

/**
 * Into a table with the key columns, `metric`, `old_value`, `new_value` (numeric; null: there was none), `seen_at` and `_run_id`: one row for
 * every number of an existing row that changes or goes, and for every number of a row that comes later than its day was first read.
 */
export interface Revisions {
  /** `schema.table` */
  readonly into: string;
  /** Numeric columns. */
  readonly columns: readonly string[];
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
  /** Its rows can go from one parent to another: of two parents that were read with the same row, the one that was read last has it. The table has tombstones. */
  readonly moves?: boolean;
}

/** Declares a table with its row type checked. */
export const table = <R extends Row>(spec: Table<R>): Table<R> => spec;

/** `schema.name`, for messages and events. */
export const nameOf = (t: Table): string => `${t.schema}.${t.name}`;
