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
}

/** A table whose rows belong to a parent row and arrive with it. */
export interface Child<R extends Row = Row> {
  readonly table: Table<R>;
  /** The child columns that hold the parent's key, in the order of the parent's key. */
  readonly parent: readonly (keyof R & string)[];
  /** What happens to rows that a re-read parent no longer has: removed (or tombstoned where the table can), or kept for ever. */
  readonly absent: 'deleted' | 'kept';
}

/** Declares a table with its row type checked. */
export const table = <R extends Row>(spec: Table<R>): Table<R> => spec;

/** `schema.name`, for messages and events. */
export const nameOf = (t: Table): string => `${t.schema}.${t.name}`;
