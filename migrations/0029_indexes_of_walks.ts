import { type Kysely, sql } from 'kysely';

/** What is asked of walks by the thousand: when a stream was last read (for each of them), and what an owner's list last was (for each of those). */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements: readonly string[] = [
  `create index on ops.walks (source_id, stream, opened_at) where status = 'done' and kind <> 'backfill'`,
  `create index on ops.slices (partition, slice_id)`,
];
