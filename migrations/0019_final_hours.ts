import { type Kysely, sql } from 'kysely';

/** Hours are read again as long as the platform tells them: those of the last two weeks that were called final may still change. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const isFinal =
  'True once the hour is older than what is read again; the platform tells the last two weeks only. What it restates later shows in the numbers of the day alone.';

const statements: readonly string[] = [
  `update ads.report_hourly set is_final = false where is_final and hour_start >= now() - interval '13 days'`,
  `comment on column ads.report_hourly.is_final is '${isFinal}'`,
  `comment on column bi.ad_performance_hourly.is_final is '${isFinal}'`,
];
