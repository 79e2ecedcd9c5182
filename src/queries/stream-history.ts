/** One stream's table: columns with their comments, row counts, the receipts of its last runs. */
import { type Kysely, sql } from 'kysely';
import { codeOf } from '../core/errors.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { countsOf, type Db, query, receiptOf } from './db.ts';
import type { RunLine, RunStream } from './run-history.ts';

export interface ColumnLine {
  readonly column: string;
  readonly type: string;
  readonly key: boolean;
  readonly comment: string | null;
}

/** The columns of a table in their order; empty if there is no such table. */
export const columns = (db: Db, { schema, name }: TableName): Promise<readonly ColumnLine[]> =>
  query(db)<ColumnLine>`
    select a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
      coalesce(a.attnum = any (i.indkey::smallint[]), false) as key, col_description(a.attrelid, a.attnum) as comment
    from pg_attribute a
    left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
    where a.attrelid = to_regclass(${`${schema}.${name}`}) and a.attnum > 0 and not a.attisdropped
    order by a.attnum`;

/** The views of `bi` that read these tables, through other views too; the closest first. `tables`: as `tracker.issues`. */
export const readersOf = (db: Db, tables: readonly string[]) =>
  query(db)<{ readonly view: string; readonly about: string | null }>`
    select view_name as view, about from ops.table_readers
    where table_name = any (${[...tables]}::text[]) group by view_name, about order by min(steps), view_name`;

/** The answer of a query as texts of at most 60 characters; undefined where it takes more than 300 ms. `query`: no part of it comes from outside. */
export async function answer(db: Kysely<AnyDatabase>, query: string) {
  const cut = sql.raw<{ row: Readonly<Record<string, string | null>> }>(`
    select (select json_object_agg(key, left(value, 60)) from json_each_text(row_to_json(found))) as row from (${query}) found`);
  try {
    return await db.transaction().execute(async (trx) => {
      await sql`set local statement_timeout = 300`.execute(trx);
      return (await cut.execute(trx)).rows.map(({ row }) => row);
    });
  } catch (error) {
    if (codeOf(error) === '57014') return undefined;
    throw error;
  }
}

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** `tracker.issues` → its parts; undefined for anything that is not two plain identifiers. */
export function tableName(text: string): TableName | undefined {
  const [, schema, name] = /^([a-z_][a-z0-9_]{0,62})\.([a-z_][a-z0-9_]{0,62})$/.exec(text) ?? [];
  return schema !== undefined && name !== undefined ? { schema, name } : undefined;
}

/** Beyond this many rows (by the planner's estimate) a list of tables does not count: it would take seconds. */
const countedUpTo = 1_000_000;

/**
 * How many live and tombstoned rows of a pipeline a table holds; undefined if there is no such table. `exactly` counts whatever its size; an
 * estimate (`exact: false`) is of the rows of all pipelines.
 */
export async function rowCount(db: Db, table: TableName, pipeline: string, exactly = false) {
  const [about] = await query(db)<{ estimate: number; isShared: boolean; tombstones: boolean }>`
    select c.reltuples::float8 as estimate, (
        select count(distinct source_id) > 1 from ops.streams where target = n.nspname || '.' || c.relname) as is_shared,
      exists (select from pg_attribute a
        where a.attrelid = c.oid and a.attname = '_deleted_at' and not a.attisdropped) as tombstones
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${table.schema} and c.relname = ${table.name} and c.relkind in ('r', 'p', 'v')`;
  if (!about) return undefined;
  if (!exactly && about.estimate > countedUpTo) return { live: about.estimate, deleted: 0, exact: false };
  // Two counts, each from an index: in one, every row of the table would have to be read.
  const mine = sql`source_id = (select source_id from ops.sources where name = ${pipeline})`;
  // A plain count is the fastest, where no other pipeline has rows in it.
  const own = sql`${sql.id(table.schema, table.name)} where ${about.isShared ? mine : sql`true`}`;
  const dead = about.tombstones ? sql`(select count(*) from ${own} and _deleted_at is not null)` : sql`0`;
  const [counted] = await query(db)<{ readonly total: number; readonly deleted: number }>`
    select (select count(*) from ${own})::float8 as total, ${dead}::float8 as deleted`;
  const { total = 0, deleted = 0 } = counted ?? {};
  return { live: total - deleted, deleted, exact: true };
}

/** What a run did for a stream. */
export interface ReceiptLine
  extends Omit<RunStream, 'stream' | 'slices' | 'readingSeconds' | 'limitedSeconds'>,
    Pick<RunLine, 'runId' | 'kind'> {
  /** Live rows of the table at its end; null where they were not counted. */
  readonly rows: number | null;
}

/** What the newest runs did for a stream, newest first. */
export const receipts = (db: Db, pipeline: string, stream: string, limit: number) =>
  query(db)<ReceiptLine>`
    select rs.run_id::text, r.kind, rs.status, rs.reason, rs.started_at, rs.finished_at, rs.rows::float8,
      extract(epoch from rs.finished_at - rs.started_at)::float8 as seconds, ${receiptOf('rs')}, ${countsOf('rs')}
    from ops.run_streams rs join ops.runs r using (run_id) join ops.sources src on src.source_id = rs.source_id
    where src.name = ${pipeline} and rs.stream = ${stream} order by rs.run_id desc limit ${limit}`;

/** A change in the shape of a source. */
interface SchemaChange {
  readonly pipeline: string;
  readonly stream: string;
  /** What was seen, e.g. `field votes changed from number to object`. */
  readonly note: string;
  readonly runId: string;
  readonly detectedAt: Date;
}

/** The newest first. */
export const schemaChanges = (db: Db, limit: number) =>
  query(db)<SchemaChange>`
    select src.name as pipeline, c.stream, c.note, c.run_id::text, c.detected_at
    from ops.schema_changes c join ops.sources src using (source_id) order by c.change_id desc limit ${limit}`;
