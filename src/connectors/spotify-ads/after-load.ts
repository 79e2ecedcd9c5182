/** What is done and looked at in the warehouse when report rows of the ads platform have been read. */
import type { Afterwards } from '../../core/stream.ts';

/**
 * Marks the rows that are older than everything that is read again: `back` is the longest restatement in days. A row once final stays so,
 * also if a backfill reads it again; what that changes is in the table of revisions.
 */
const final = (table: string, moment: string, back: number): Afterwards => {
  if (!Number.isInteger(back) || back < 0) throw new RangeError(`${back} is not a number of days`);
  return {
    about: `Rows older than ${back} days are final: the platform is not expected to restate them.`,
    sql: `update ${table} set is_final = true
      where source_id = $1::smallint and not is_final and $2::bigint is not null
        and ${moment} < (date_trunc('day', $3::timestamptz at time zone 'UTC') - interval '${back} days')${
          moment === 'day' ? '::date' : ` at time zone 'UTC'`
        }`,
  };
};

export const finalDaily = (back: number): Afterwards => final('ads.report_daily', 'day', back);
/** The source has nothing older than two weeks. */
export const finalHourly = (back: number): Afterwards => final('ads.report_hourly', 'hour_start', back);

/**
 * Tells when the price of a thousand impressions is absurd, which happens where an amount is taken in the wrong unit: a factor of a million.
 * In units, ordinary prices of every currency lie within these bounds (a dollar is at most some tens of thousands of any other), and a
 * price that is wrong by a million lies outside. The median over what the run wrote, so that one odd row says nothing.
 */
export const absurdPrices: Afterwards = {
  about:
    'Warns when the median price of a thousand impressions is absurd: then an amount was read in the wrong unit.',
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
 * Tells where a level of an account has no numbers of days on which another one has some. One bad answer does that: of a list, whose entities nobody
 * asks about then, or of the report; and an account is asked for without its id, for it is in the path: a server that wants it named there as well
 * may answer with no rows. Nothing else would say that the level is empty. Looked at are the days of rows that the run wrote or took away.
 */
export const emptyLevels: Afterwards = {
  about: 'Warns when a level of an account has no row of days on which another one has impressions.',
  sql: `
    with told as (
      select distinct ad_account_id, day from ads.report_daily
      where source_id = $1::smallint and impressions > 0 and day < $3::timestamptz and (_run_id = $2::bigint or day in (
        select day from ads.report_revisions v where v.source_id = $1::smallint and v._run_id = $2::bigint
          and v.seen_at > now() - interval '2 days' and v.new_value is null))
    )
    select format('ads.report_daily: %s (%s): it has impressions on %s of the days that were read, and %s no row of them: the server told none',
        coalesce(ac.name, e.ad_account_id), e.ad_account_id, e.days, e.entity_type) as warning
    from (
      select t.ad_account_id, l.entity_type, count(*) as days
      from told t cross join (values ('AD_ACCOUNT'), ('CAMPAIGN'), ('AD_SET'), ('AD')) l (entity_type)
      where not exists (select from ads.report_daily r where r.source_id = $1::smallint
        and r.ad_account_id = t.ad_account_id and r.entity_type = l.entity_type and r.day = t.day)
      group by t.ad_account_id, l.entity_type
    ) e
    left join ads.ad_accounts ac on ac.source_id = $1::smallint and ac.id = e.ad_account_id
    order by 1`,
};
