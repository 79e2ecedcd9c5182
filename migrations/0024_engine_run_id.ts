import { type Kysely, sql } from 'kysely';

/** What an engine that takes no run ids calls the run that it started for us: its newest run may be another one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ops.handoffs add column engine_run_id text`.execute(db);
  await sql`comment on column ops.handoffs.engine_run_id is
    'The run id that the engine told when it was started, where it does not take ours; null if it told none.'`.execute(
    db,
  );
}
