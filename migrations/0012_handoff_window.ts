import { type Kysely, sql } from 'kysely';

/** What a hand-off covers: everything that changed here since the one before it. And when a reject is no longer open. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const columns: Readonly<Record<string, string>> = {
  changed_from:
    'FROM of the parameters: rows that changed since the hand-off before this one have a _synced_at from here on (inclusive).',
  changed_to: 'TO of the parameters: the end of the run; rows that it changed have a _synced_at before this.',
};

const statements: readonly string[] = [
  ...Object.entries(columns).flatMap(([name, about]) => [
    `alter table ops.handoffs add column ${name} timestamptz`,
    `comment on column ops.handoffs.${name} is '${about}'`,
  ]),
  'create index on ops.handoffs (run_key)',
  `comment on column ops.rejects.status is
    'open, resolved (a good version landed, another bad one took its place, or a complete listing shows it no more) or replayed (landed from here).'`,
];
