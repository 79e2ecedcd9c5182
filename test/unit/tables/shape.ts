import { sql } from 'kysely';
import type { ColumnType, DeclaredTable } from '../../../src/core/table.ts';
import type { TestDatabase } from '../../support/postgres.ts';

/** A column as Postgres has it. */
export interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly required: boolean;
  readonly about: string | null;
}

const postgresTypes: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  bigint: 'bigint',
  int: 'integer',
  smallint: 'smallint',
  bool: 'boolean',
  timestamptz: 'timestamp with time zone',
  date: 'date',
  numeric: 'numeric',
  float8: 'double precision',
  jsonb: 'jsonb',
  json: 'json',
  'text[]': 'text[]',
};

const bookkeeping = { _synced_at: 'timestamp with time zone', _run_id: 'bigint' };
const entityBookkeeping = {
  ...bookkeeping,
  _deleted_at: 'timestamp with time zone',
  _row_hash: 'bigint',
  _extra: 'jsonb',
};

/** The columns of every table of a schema; partitions are not looked at by themselves. */
export async function columnsOfSchema(database: TestDatabase, schema: string): Promise<readonly Column[]> {
  const { rows } = await sql<Column>`
    select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
      a.attnotnull as required, col_description(c.oid, a.attnum) as about
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v') and not c.relispartition and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`.execute(database.warehouse.db);
  return rows;
}

/** What a table must have by its declaration: column → type. Money and other bounded numerics stand as their Table says. */
export const declaredColumns = (table: DeclaredTable): Readonly<Record<string, string>> => ({
  source_id: 'smallint',
  ...Object.fromEntries(Object.entries(table.columns).map(([name, type]) => [name, postgresTypes[type]])),
  ...(table.entity ? entityBookkeeping : bookkeeping),
  ...(table.firstSynced !== undefined ? { _first_synced_at: 'timestamp with time zone' } : {}),
});

/** The primary key's columns, in order. */
export async function primaryKey(database: TestDatabase, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ column: string }>`
    select a.attname as column from pg_index i
    cross join lateral unnest(i.indkey::int[]) with ordinality k(attnum, place)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = ${table}::regclass and i.indisprimary order by k.place`.execute(database.warehouse.db);
  return rows.map(({ column }) => column);
}

/** The comment on a relation. */
export async function commentOn(database: TestDatabase, table: string): Promise<string | null> {
  const { rows } = await sql<{ about: string | null }>`
    select obj_description(${table}::regclass, 'pg_class') as about`.execute(database.warehouse.db);
  return rows[0]?.about ?? null;
}
