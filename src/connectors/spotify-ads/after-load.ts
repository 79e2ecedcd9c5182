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

/**
 * Warns when the median price of a thousand impressions is absurd: then spend was read in the wrong unit, by a factor of a
 * million. In units, ordinary prices of every currency are within these bounds. The median, because one odd row proves nothing.
 */
export const absurdPrices: Afterwards = {
  sql: `
    select format('ads.report_daily: %s (%s): the median price of a thousand impressions of %s rows is %s %s; is spend in another unit?',
        coalesce(ac.name, p.ad_account_id), p.ad_account_id, p.rows, trim_scale(round(p.cpm::numeric, 9)), ac.currency_code) as warning
    from (
      select ad_account_id, count(*) as rows, percentile_cont(0.5) within group (order by spend * 1000 / impressions) as cpm
      from ads.report_daily
      where source_id = $1::smallint and _run_id = $2::bigint and spend > 0 and impressions > 0 and day < $3::timestamptz + interval '2 days'
      group by ad_account_id
    ) p
    left join ads.ad_accounts ac on ac.source_id = $1::smallint and ac.id = p.ad_account_id
    where p.rows >= 20 and (p.cpm < 0.001 or p.cpm > 1000000)
    order by 1`,
};

/**
 * Warns where a level of an account has no rows on days on which another level has impressions: a list or a report was empty
 * by mistake, and nothing else would say so. It checks the days of rows that the run wrote or deleted.
 */
export const emptyLevels: Afterwards = {
  sql: `
    with busy as (
      select distinct ad_account_id, day from ads.report_daily
      where source_id = $1::smallint and impressions > 0 and day < $3::timestamptz and (_run_id = $2::bigint or day in (
        select day from ads.report_revisions v where v.source_id = $1::smallint and v._run_id = $2::bigint
          and v.seen_at > now() - interval '2 days' and v.new_value is null))
    )
    select format('ads.report_daily: %s (%s): it has impressions on %s of the days that were read, and %s no row of them: the server gave none',
        coalesce(ac.name, e.ad_account_id), e.ad_account_id, e.days, e.entity_type) as warning
    from (
      select t.ad_account_id, l.entity_type, count(*) as days
      from busy t cross join (values ('AD_ACCOUNT'), ('CAMPAIGN'), ('AD_SET'), ('AD')) l (entity_type)
      where not exists (select from ads.report_daily r where r.source_id = $1::smallint
        and r.ad_account_id = t.ad_account_id and r.entity_type = l.entity_type and r.day = t.day)
      group by t.ad_account_id, l.entity_type
    ) e
    left join ads.ad_accounts ac on ac.source_id = $1::smallint and ac.id = e.ad_account_id
    order by 1`,
};
