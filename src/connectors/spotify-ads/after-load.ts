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

/** A row for each entity that reports name and no list has shown, with what the reports of the run say of it. */
const unlisted = ([table, parent]: readonly [string, string]): string => `${table} as (
  insert into ads.${table} as t (source_id, id, ad_account_id, name, status, is_listed, _run_id${parent && `, ${parent}`})
  select distinct on (entity_id) source_id, entity_id, ad_account_id, entity_name, entity_status, false, _run_id${parent && ', parent_entity_id'}
  from ads.report_daily r
  where source_id = $1::smallint and _run_id = $2::bigint and day < $3::timestamptz and entity_type = '${table.slice(0, -1).toUpperCase()}'
    and not exists (select from ads.${table} e where e.source_id = r.source_id and e.id = r.entity_id and e.is_listed)
  order by entity_id, day desc
  on conflict (source_id, id) do update set name = excluded.name, status = excluded.status, _run_id = excluded._run_id, _synced_at = now()
  where (t.name, t.status) is distinct from (excluded.name, excluded.status)
  returning xmax = 0 as is_new
)`;
const tables = { campaigns: '', ad_sets: 'campaign_id', ads: 'ad_set_id' };
export const unlistedEntities: Afterwards = {
  evenInPart: true,
  sql: `with ${Object.entries(tables).map(unlisted).join(', ')}
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as updated
    from (table campaigns union all table ad_sets union all table ads) written`,
};

/**
 * Warns where a level of an account has less than another one, on days of which the run wrote or deleted rows: a list or a report left
 * something out, and nothing else would say so. Numbers of the last days may differ by a hundredth: the levels are read one after the other,
 * and amounts are rounded to a millionth in each row.
 */
export const levelGaps: Afterwards = {
  sql: `
    with touched as (
      select distinct ad_account_id, day from ads.report_daily
      where source_id = $1::smallint and day < $3::timestamptz and (_run_id = $2::bigint or day in (
        select day from ads.report_revisions v where v.source_id = $1::smallint and v._run_id = $2::bigint
          and v.seen_at > now() - interval '2 days' and v.new_value is null))
    ), sums as (
      select ad_account_id, day, entity_type, sum(spend) as spend, sum(impressions) as impressions, sum(clicks) as clicks, count(*) as rows
      from ads.report_daily join touched using (ad_account_id, day)
      where source_id = $1::smallint
      group by ad_account_id, day, entity_type
    ), levels as (
      select t.ad_account_id, t.day, l.entity_type, v.measure, v.sum, max(v.sum) over of_day as most, max(coalesce(s.rows, 0)) over of_day as rows
      from touched t
      cross join (values ('AD_ACCOUNT'), ('CAMPAIGN'), ('AD_SET'), ('AD')) l (entity_type)
      left join sums s on s.ad_account_id = t.ad_account_id and s.day = t.day and s.entity_type = l.entity_type
      cross join lateral (values (1, coalesce(s.spend, 0)), (2, coalesce(s.impressions, 0)), (3, coalesce(s.clicks, 0))) v (measure, sum)
      window of_day as (partition by t.ad_account_id, t.day, v.measure)
    ), gaps as (
      select ad_account_id, entity_type, measure, sum(most - sum) as gap, count(*) as days, min(day) as first, max(day) as last
      from levels
      where most - sum > greatest(rows * 0.000001, case when day >= $3::timestamptz::date - 3 then most / 100 end)
      group by ad_account_id, entity_type, measure
    )
    select format('ads.report_daily: %s (%s): %s lacks %s that another level has, on %s days from %s to %s; see bi.ad_level_checks',
        coalesce(min(ac.name), g.ad_account_id), g.ad_account_id, g.entity_type,
        string_agg(concat_ws(' ', trim_scale(g.gap), (array[coalesce(ac.currency_code, 'units') || ' of spend', 'impressions', 'clicks'])[g.measure]),
          ', ' order by g.measure), max(g.days), min(g.first), max(g.last)) as warning
    from gaps g
    left join ads.ad_accounts ac on ac.source_id = $1::smallint and ac.id = g.ad_account_id
    group by g.ad_account_id, g.entity_type
    order by 1`,
};
