create or replace view bi.audience_insights as
select
  s.name as source,
  i.entity_type,
  i.entity_id,
  case i.entity_type when 'CAMPAIGN' then c.name else st.name end as entity_name,
  i.dimension,
  i.value as dimension_value,
  i.captured_on as captured_date,
  i.captured_on = max(i.captured_on) over (
    partition by s.name, i.source_id, i.entity_type, i.entity_id, i.dimension
  ) as is_latest,
  i.impressions,
  i.clicks,
  i.completes,
  i.reach,
  i.listeners,
  i.streams,
  i.purchases,
  i.purchases_suppressed,
  round((i.clicks)::numeric / nullif(i.impressions, 0), 6)::numeric(28,6) as ctr,
  round(
    (i.impressions)::numeric / nullif(
      sum(i.impressions) over (
        partition by s.name, i.source_id, i.entity_type, i.entity_id, i.dimension, i.captured_on
      ),
      0
    ),
    6
  )::numeric(28,6) as impression_share_ratio
from ads.insight_snapshots i
join ops.sources s on s.source_id = i.source_id
left join ads.campaigns c on c.source_id = i.source_id and c.id = i.entity_id
left join ads.ad_sets st on st.source_id = i.source_id and st.id = i.entity_id;

comment on view bi.audience_insights is 'Who heard it: lifetime numbers of campaigns and ad sets by part of their audience, as they were on a day; one row per entity, dimension, value and day of capture.';
comment on column bi.audience_insights.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column bi.audience_insights.entity_type is 'CAMPAIGN or AD_SET.';
comment on column bi.audience_insights.entity_id is 'Campaign or ad set id.';
comment on column bi.audience_insights.entity_name is 'Its name.';
comment on column bi.audience_insights.dimension is 'What the audience is divided by, e.g. AGE, GENDER, COUNTRY.';
comment on column bi.audience_insights.dimension_value is 'The part of the audience, e.g. 18-24; empty where the platform names none.';
comment on column bi.audience_insights.captured_date is 'Day of capture in UTC; numbers are those from the beginning up to then.';
comment on column bi.audience_insights.is_latest is 'True for the latest capture of the entity and dimension. Filter on it: captures are not to be summed.';
comment on column bi.audience_insights.impressions is 'Times shown or played.';
comment on column bi.audience_insights.clicks is 'Clicks.';
comment on column bi.audience_insights.completes is 'Times played to the end.';
comment on column bi.audience_insights.reach is 'Different people reached; never sum it over captures or dimensions.';
comment on column bi.audience_insights.listeners is 'Different people who listened to what is promoted; never sum it.';
comment on column bi.audience_insights.streams is 'Streams of what is promoted.';
comment on column bi.audience_insights.purchases is 'Purchases credited to the ads; null if not reported or hidden.';
comment on column bi.audience_insights.purchases_suppressed is 'True where purchases are hidden: 1 to 4.';
comment on column bi.audience_insights.ctr is 'Clicks by impressions, 0 to 1.';
comment on column bi.audience_insights.impression_share_ratio is 'Share of the impressions of all values of the dimension in this capture, 0 to 1.';
