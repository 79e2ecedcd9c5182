import { type Kysely, sql } from 'kysely';

/**
 * Versions begin when the platform says that they did. A budget that is changed by day is seen by night: dated by when it was seen, it counted a day
 * late in the pacing of its ad set.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const since =
  'Since when it holds (UTC): when the platform says that it was last changed, else when the change was seen here.';

const statements: readonly string[] = [
  `comment on column ads.campaign_versions.valid_from is '${since}'`,
  `comment on column ads.ad_set_versions.valid_from is '${since}'`,
  `comment on column bi.ad_set_history.valid_from is '${since}'`,
];
