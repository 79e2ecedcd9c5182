import { type Kysely, sql } from 'kysely';

/** What was out of sight for a while: it may have changed meanwhile, and no walk over changes tells of that when it comes back. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements: readonly string[] = [
  `create table ops.unseen (
    source_id smallint not null references ops.sources,
    stream text not null,
    key text not null,
    since timestamptz not null default now(),
    primary key (source_id, stream, key)
  )`,
  `comment on table ops.unseen is 'One row a record that a reconciliation could not see though it may well be there: its project was hidden from the account. It is read again when a reconciliation sees it.'`,
  `comment on column ops.unseen.source_id is 'ops.sources.'`,
  `comment on column ops.unseen.stream is 'The stream, as in ops.streams.'`,
  `comment on column ops.unseen.key is 'The key of the row in the table of the stream, as text.'`,
  `comment on column ops.unseen.since is 'When a reconciliation first missed it (UTC).'`,
];
