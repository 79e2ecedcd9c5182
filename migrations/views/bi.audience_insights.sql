create or replace view bi.audience_insights as -- Who heard it: lifetime numbers of campaigns and ad sets by part of their audience, as they were on a day; one row per entity, dimension, value and day of capture.
select
  s.name as source,
  i.entity_type,
  i.entity_id, -- Campaign or ad set id.
  case i.entity_type when 'CAMPAIGN' then c.name else st.name end as entity_name,
  i.dimension, -- What the audience is divided by, e.g. AGE, GENDER, COUNTRY.
  i.value as dimension_value, -- The part of the audience, e.g. 18-24; empty where the platform names none.
  i.captured_on as captured_date, -- Day of capture in UTC; numbers are those from the beginning up to then.
  capture.is_latest, -- True for the latest capture of the entity and dimension. Filter on it: captures are not to be summed.
  i.impressions,
  i.clicks,
  i.completes,
  i.reach, -- Different people reached; never sum it over captures or dimensions.
  i.listeners, -- Different people who listened to what is promoted; never sum it.
  i.streams,
  i.{conversions},
  i.purchases_suppressed,
  round((i.clicks)::numeric / nullif(i.impressions, 0), 6)::numeric(28,6) as ctr,
  round(i.impressions / nullif(capture.impressions, 0), 6)::numeric(28,6) as impression_share_ratio, -- Share of the impressions of all values of the dimension in this capture, 0 to 1.
  i.new_listeners, -- Different people who listened to what is promoted for the first time; never sum it.
  i.new_listener_streams,
  i.streamed_impressions,
  i.first_quartiles,
  i.midpoints,
  i.third_quartiles,
  i.video_views,
  i.video_expands,
  i.paid_listens,
  i.paid_listens_reach, -- Different people with a paid listen; never sum it.
  ac.currency_code as currency,
  i.revenue,
  i.revenue_suppressed as is_revenue_suppressed
from ads.insight_snapshots i
join (
  select
    source_id,
    entity_type,
    entity_id,
    dimension,
    captured_on,
    sum(impressions) as impressions,
    captured_on = max(captured_on) over (partition by source_id, entity_type, entity_id, dimension) as is_latest
  from ads.insight_snapshots
  group by source_id, entity_type, entity_id, dimension, captured_on
) capture
  on capture.source_id = i.source_id
    and capture.entity_type = i.entity_type
    and capture.entity_id = i.entity_id
    and capture.dimension = i.dimension
    and capture.captured_on = i.captured_on
join ops.sources s on s.source_id = i.source_id
left join ads.campaigns c on c.source_id = i.source_id and c.id = i.entity_id
left join ads.ad_sets st on st.source_id = i.source_id and st.id = i.entity_id
left join ads.ad_accounts ac on ac.source_id = i.source_id and ac.id = i.ad_account_id;
