create or replace view ads.total_periods as -- What totals are read for: one row per account or campaign and period with numbers by day, up to the newest day of its account.
select
  p.*,
  t.asked_on, -- Day (UTC) on which its total was last read; null if it never was.
  (t.impressions, t.clicks) is not distinct from (p.impressions, p.clicks) as is_sum_of_days -- True where impressions and clicks of its total are the sums of the days.
from (
  select
    r.source_id,
    r.ad_account_id,
    r.entity_type,
    r.entity_id,
    p.period,
    p.period_start,
    p.period_end,
    sum(r.impressions)::bigint as impressions,
    sum(r.clicks)::bigint as clicks
  from ads.report_daily r
  join (
    select source_id, ad_account_id, max(day) as day
    from ads.report_daily
    where entity_type in ('AD_ACCOUNT', 'CAMPAIGN')
    group by source_id, ad_account_id
  ) latest on latest.source_id = r.source_id and latest.ad_account_id = r.ad_account_id
  cross join lateral (
    values
      (
        'MONTH',
        date_trunc('month', r.day)::date,
        least((date_trunc('month', r.day) + interval '1 month - 1 day')::date, latest.day)
      ),
      ('LAST_7_DAYS', latest.day - 6, latest.day),
      ('LAST_30_DAYS', latest.day - 29, latest.day)
  ) p (period, period_start, period_end)
  where r.entity_type in ('AD_ACCOUNT', 'CAMPAIGN') and r.day between p.period_start and p.period_end
  group by r.source_id, r.ad_account_id, r.entity_type, r.entity_id, p.period, p.period_start, p.period_end
) p
left join ads.report_totals t
  on t.source_id = p.source_id and t.entity_type = p.entity_type and t.entity_id = p.entity_id
  and t.period = p.period and t.period_start = p.period_start and t.period_end = p.period_end;

comment on column ads.total_periods.period is 'MONTH, LAST_7_DAYS or LAST_30_DAYS.';
comment on column ads.total_periods.period_start is 'First day of the period (UTC).';
comment on column ads.total_periods.period_end is 'Last day of the period (UTC), inclusive; of the present month the newest day that was read.';
