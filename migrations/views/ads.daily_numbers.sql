create or replace view ads.daily_numbers as -- The rows of ads.report_daily as the four views of performance by day show them, without what is above the entity; one row per entity and day.
select
  s.name as source,
  r.source_id,
  r.entity_type,
  r.entity_id,
  r.entity_name,
  r.entity_status, -- Its status when the report was read.
  r.parent_entity_id, -- The entity above it when the report was read.
  r.day as date_day,
  r.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  ops.reporting_currency() as reporting_currency,
  r.spend,
  (r.spend * fx.rate)::numeric(28,6) as spend_in_reporting_currency,
  r.{counts},
  r.{conversions},
  r.revenue,
  r.revenue_suppressed as is_revenue_suppressed,
  (r.revenue * fx.rate)::numeric(28,6) as revenue_in_reporting_currency,
  round((r.clicks)::numeric / nullif(r.impressions, 0), 6)::numeric(28,6) as ctr,
  round((r.spend)::numeric / nullif(r.clicks, 0), 6)::numeric(28,6) as cpc,
  round((r.spend * 1000)::numeric / nullif(r.impressions, 0), 6)::numeric(28,6) as cpm,
  round((r.completes)::numeric / nullif(r.starts, 0), 6)::numeric(28,6) as completion_ratio,
  round((r.revenue)::numeric / nullif(r.spend, 0), 4)::numeric(28,4) as return_on_ad_spend_ratio,
  r.return_on_ad_spend_suppressed as is_return_on_ad_spend_suppressed,
  ops.shown_decimal(r.video_expand_rate)::numeric(28,6) as video_expand_ratio,
  ops.shown_decimal(r.conversion_rate)::numeric(28,6) as listener_conversion_ratio,
  ops.shown_decimal(r.new_listener_conversion_rate)::numeric(28,6) as new_listener_conversion_ratio,
  ops.shown_decimal(r.streams_per_user)::numeric(28,6) as streams_per_listener,
  ops.shown_decimal(r.streams_per_new_listener)::numeric(28,6) as streams_per_new_listener,
  ops.shown_decimal(r.intent_rate)::numeric(28,6) as intent_ratio,
  ops.shown_decimal(r.e_cpcl)::numeric(28,6) as cost_per_completed_listen,
  ops.shown_decimal(r.average_order_value)::numeric(28,6) as average_order_value,
  r.average_order_value_suppressed as is_average_order_value_suppressed,
  ops.shown_decimal(r.customer_acquisition_cost)::numeric(28,6) as customer_acquisition_cost,
  r.customer_acquisition_cost_suppressed as is_customer_acquisition_cost_suppressed,
  ops.shown_decimal(r.cost_per_lead)::numeric(28,6) as cost_per_lead,
  r.cost_per_lead_suppressed as is_cost_per_lead_suppressed,
  r.reach as reach_day,
  round((r.impressions)::numeric / nullif(r.reach, 0), 4)::numeric(28,4) as frequency_day,
  r.listeners as listeners_day,
  r.new_listeners as new_listeners_day,
  r.paid_listens_reach as paid_listens_reach_day,
  ops.shown_decimal(r.paid_listens_frequency)::numeric(28,6) as paid_listens_frequency_day,
  r.is_final,
  r._synced_at as synced_at
from ads.report_daily r
left join ops.sources s on s.source_id = r.source_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
-- An aggregate has one row whatever it finds: queries that read no converted amount do not look rates up.
left join lateral (
  select case when ac.currency_code = ops.reporting_currency() then 1 else max(last_known.rate) end as rate
  from (
    select rate
    from ref.fx_rates
    where from_currency = ac.currency_code and to_currency = ops.reporting_currency() and date_day <= r.day
    order by date_day desc
    limit 1
  ) last_known
) fx on true;
