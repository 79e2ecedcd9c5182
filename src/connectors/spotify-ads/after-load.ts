/** Statements that run in the warehouse after report rows have been loaded. */
import type { Afterwards } from '../../core/stream.ts';

/**
 * Marks the rows that are older than everything that is read again: the platform is not expected to restate them. A final row stays final when
 * a backfill reads it again; what that changes is in the table of revisions.
 */
const final = (table: string, isOlder: string): Afterwards => ({
  sql: `update ${table} set is_final = true
    where source_id = $1::smallint and not is_final and $2::bigint is not null and ${isOlder}`,
});

/** `back`: the longest restatement in days. */
const firstDay = (back: number): string =>
  `(date_trunc('day', $3::timestamptz at time zone 'UTC') - interval '${back} days')`;

export const finalDaily = (back: number): Afterwards =>
  final('ads.report_daily', `day < ${firstDay(back)}::date`);
export const finalHourly = (back: number): Afterwards =>
  final('ads.report_hourly', `hour_start < ${firstDay(back)} at time zone 'UTC'`);

/** A function of `migrations/facts/8_ads.sql`, which says there what it does. */
const calling = (name: string): string =>
  `select * from ads.${name}($1::smallint, $2::bigint, $3::timestamptz)`;

export const absurdPrices: Afterwards = { sql: calling('absurd_prices') };
export const unlistedEntities: Afterwards = { sql: calling('add_unlisted'), evenInPart: true };
export const levelGaps: Afterwards = { sql: calling('level_gaps') };
export const totalGaps: Afterwards = { sql: calling('total_gaps'), evenInPart: true };
