import { type Kysely, sql } from 'kysely';

/** What tells whether a transaction was committed whose answer was lost. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements: readonly string[] = [
  `create table ops.commits (
    token uuid primary key,
    committed_at timestamptz not null default now()
  )`,
  `comment on table ops.commits is 'One row a transaction of the loader, kept for a day. Its number alone does not tell whether it was committed: a server that crashed may give the number to another one.'`,
  `comment on column ops.commits.token is 'Made up by the loader for this one transaction.'`,
  `comment on column ops.commits.committed_at is 'When the transaction began.'`,
];
