import { type Kysely, sql } from 'kysely';

/**
 * Tombstones are few among many rows. Found by an index of their own, they are counted without the table being read: the rest of the count
 * comes from the primary key.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attname = '_deleted_at' and not a.attisdropped
    where n.nspname in ('tracker', 'ads', 'workflow') and c.relkind in ('r', 'p') and not c.relispartition
    order by 1, 2`.execute(db);
  for (const { schema, name } of rows)
    await sql`create index ${sql.id(`${name}_tombstones`)} on ${sql.id(schema, name)} (source_id) where _deleted_at is not null`.execute(
      db,
    );
}
