import { type Kysely, sql } from 'kysely';

/** Which fields were asked for by name: one that comes into sight later is on no record that counts as changed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements: readonly string[] = [
  `alter table ops.walks add column fields text[]`,
  `comment on column ops.walks.fields is 'Custom fields that the walk asks for by name, by their ids; null: all that there are.'`,
  `alter table ops.checkpoints add column fields text[]`,
  `comment on column ops.checkpoints.fields is 'Custom fields that were asked for by name when the checkpoint was last moved; null: all that there are, or nobody knows. Where one of them was hidden then and is not any more, everything is read again.'`,
];
