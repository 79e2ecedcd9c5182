create or replace view bi.ad_extra_metrics as -- Numbers of the daily reports that no column of the performance views holds: metrics that are new at the platform, fractions or hidden values where a whole number was expected, amounts finer than a millionth; one row per entity, day and metric.
select
  s.name as source,
  r.day as date_day,
  r.ad_account_id,
  ac.name as ad_account_name,
  r.entity_type,
  r.entity_id,
  r.entity_name,
  m.metric, -- Metric as the platform names it.
  m.value #>> '{}' as exact_value, -- The number as the platform gave it; -5 where it hides 1 to 4.
  ops.shown_decimal(n.value)::numeric(28,6) as metric_value -- The number, rounded to a millionth; null if it is beyond 21 digits. Whether it may be summed depends on the metric.
from ads.report_daily r
join ops.sources s on s.source_id = r.source_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
cross join lateral jsonb_each(r.extra_metrics) m (metric, value)
cross join lateral (
  select case when jsonb_typeof(m.value) = 'number' then m.value::numeric end as value
) n
where jsonb_typeof(r.extra_metrics) = 'object';
