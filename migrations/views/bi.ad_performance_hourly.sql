create or replace view bi.ad_performance_hourly as -- What every ad did in every hour; one row per ad and hour with delivery, since the first sync less two weeks.
select
  s.name as source,
  r.hour_start as hour_start_at, -- Beginning of the hour (UTC).
  (r.hour_start at time zone 'UTC')::date as date_day,
  r.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  st.campaign_id,
  c.name as campaign_name,
  c.objective,
  coalesce(a.ad_set_id, r.parent_entity_id) as ad_set_id,
  st.name as ad_set_name,
  st.asset_format,
  r.entity_id as ad_id,
  coalesce(a.name, r.entity_name) as ad_name,
  r.spend,
  r.{counts},
  r.is_final,
  r._synced_at as synced_at,
  ops.reporting_currency() as reporting_currency,
  (r.spend * fx.rate)::numeric(28,6) as spend_in_reporting_currency,
  r.{conversions},
  r.reach as reach_hour, -- Different people reached in this hour, as the platform counts them; never sum it over days or rows: people repeat.
  r.listeners as listeners_hour, -- Different people who listened in this hour to what is promoted; never sum it: people repeat.
  r.new_listeners as new_listeners_hour, -- Different people who listened in this hour to what is promoted for the first time; never sum it.
  r.paid_listens_reach as paid_listens_reach_hour -- Different people with a paid listen in this hour; never sum it: people repeat.
from ads.report_hourly r
join ops.sources s on s.source_id = r.source_id
left join ads.ads a on a.source_id = r.source_id and a.id = r.entity_id
left join ads.ad_sets st on st.source_id = r.source_id and st.id = coalesce(a.ad_set_id, r.parent_entity_id)
left join ads.campaigns c on c.source_id = r.source_id and c.id = st.campaign_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
-- An aggregate has one row whatever it finds: queries that read no converted amount do not look rates up.
left join lateral (
  select case when ac.currency_code = ops.reporting_currency() then 1 else max(last_known.rate) end as rate
  from (
    select rate
    from ref.fx_rates
    where from_currency = ac.currency_code
      and to_currency = ops.reporting_currency()
      and date_day <= (r.hour_start at time zone 'UTC')::date
    order by date_day desc
    limit 1
  ) last_known
) fx on true
where r.entity_type = 'AD';
