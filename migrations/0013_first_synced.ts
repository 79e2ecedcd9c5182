import { type Kysely, sql } from 'kysely';

/**
 * When an entity that has reports came to be known here. One that is known late has days that were read without it. Those that are there already count
 * as known now: what may have been missed of them is read once.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['campaigns', 'ad_sets', 'ads']) {
    await sql
      .raw(`alter table ads.${table} add column _first_synced_at timestamptz not null default now()`)
      .execute(db);
    await sql
      .raw(
        `comment on column ads.${table}._first_synced_at is 'When the row came to be here (UTC). Its reports from before are read when it does.'`,
      )
      .execute(db);
  }
}
