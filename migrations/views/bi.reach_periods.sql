create or replace view bi.reach_periods as -- How many different people accounts, campaigns, ad sets and ads reached over longer than a day, as the platform counts them: the lifetime, as it was on each day of capture, and of accounts and campaigns each month and the last 7 and 30 days; one row per entity, period and day of capture. Of one day: reach_day of the views of performance.
select
  s.name as source,
  r.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  r.entity_type,
  r.entity_id,
  coalesce(
    ad.name, st.name, c.name, case r.entity_type when 'AD_ACCOUNT' then ac.name end, r.entity_name
  ) as entity_name, -- Name of the entity.
  r.period, -- LIFETIME: from the first delivery up to the capture. LAST_7_DAYS, LAST_30_DAYS: those before the capture. A month as 2026-06: a calendar month (UTC), up to the capture.
  r.start_at as period_start_at, -- Beginning of the period (UTC), where the platform gives it.
  r.end_at as period_end_at, -- End of the period (UTC), exclusive, where the platform gives it.
  r.captured_on as captured_date, -- Day of capture in UTC; numbers are those up to then, of months and days without that day.
  r.is_latest, -- True for the latest capture of the entity and period. Filter on it: captures are not to be summed.
  r.reach as reach_period, -- Different people reached in the period; never sum it, over entities neither: people repeat.
  r.impressions as impressions_period, -- Times shown or played in the period; never sum it over captures or entity types.
  round(r.impressions::numeric / nullif(r.reach, 0), 4)::numeric(28,4) as frequency_period, -- Impressions by reach of the period; never sum or average it.
  r.listeners as listeners_period, -- Different people who listened in the period to what is promoted, of the lifetime only; never sum it.
  r.new_listeners as new_listeners_period, -- Different people who listened in the period to what is promoted for the first time, of the lifetime only; never sum it.
  r.paid_listens_reach as paid_listens_reach_period, -- Different people with a paid listen in the period, of the lifetime only; never sum it.
  r.spend as spend_period, -- Spend in the period in units of currency, of months and days the sum of the days; never sum it over captures or entity types.
  round(r.spend / nullif(r.reach, 0), 6)::numeric(28,6) as cost_per_person_reached, -- Spend by reach of the period, in units of currency; never sum or average it.
  r._synced_at as synced_at
from (
  select
    l.source_id,
    l.ad_account_id,
    l.entity_type,
    l.entity_id,
    l.entity_name,
    'LIFETIME' as period,
    l.start_at,
    l.end_at,
    l.captured_on,
    l.captured_on = latest.captured_on as is_latest,
    l.reach,
    l.impressions,
    l.listeners,
    l.new_listeners,
    l.paid_listens_reach,
    l.spend,
    l._synced_at
  from ads.report_lifetime l
  join (
    select source_id, entity_type, entity_id, max(captured_on) as captured_on
    from ads.report_lifetime
    group by source_id, entity_type, entity_id
  ) latest
    on latest.source_id = l.source_id
    and latest.entity_type = l.entity_type
    and latest.entity_id = l.entity_id
  union all
  select
    t.source_id,
    t.ad_account_id,
    t.entity_type,
    t.entity_id,
    null,
    case t.period when 'MONTH' then to_char(t.period_start, 'YYYY-MM') else t.period end,
    t.period_start::timestamp at time zone 'UTC',
    (t.period_end + 1)::timestamp at time zone 'UTC',
    t.period_end + 1,
    t.period = 'MONTH' or t.period_end = latest.period_end,
    t.reach,
    t.impressions,
    null,
    null,
    null,
    d.spend,
    t._synced_at
  from ads.report_totals t
  join (
    select source_id, entity_type, entity_id, period, max(period_end) as period_end
    from ads.report_totals
    group by source_id, entity_type, entity_id, period
  ) latest
    on latest.source_id = t.source_id
    and latest.entity_type = t.entity_type
    and latest.entity_id = t.entity_id
    and latest.period = t.period
  -- Totals have no spend; that of the days adds up.
  cross join lateral (
    select sum(d.spend)::numeric(18,6) as spend
    from ads.report_daily d
    where d.source_id = t.source_id and d.entity_type = t.entity_type and d.entity_id = t.entity_id
      and d.day between t.period_start and t.period_end
  ) d
  where t._deleted_at is null
) r
join ops.sources s on s.source_id = r.source_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
left join ads.campaigns c on r.entity_type = 'CAMPAIGN' and c.source_id = r.source_id and c.id = r.entity_id
left join ads.ad_sets st on r.entity_type = 'AD_SET' and st.source_id = r.source_id and st.id = r.entity_id
left join ads.ads ad on r.entity_type = 'AD' and ad.source_id = r.source_id and ad.id = r.entity_id;
