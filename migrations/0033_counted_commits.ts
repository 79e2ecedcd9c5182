import { type Kysely, sql } from 'kysely';

/** How many data transactions a pipeline has committed: a holder of its lease sees by it that the warehouse has forgotten one that it had confirmed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements: readonly string[] = [
  'alter table ops.leases add column commits bigint not null default 0',
  `comment on column ops.leases.commits is 'How many data transactions of the pipeline were ever committed. A holder that finds fewer than were confirmed to it ends its run: the warehouse has gone back in time.'`,
];
