create or replace view bi.audiences as
select
  s.name as source,
  a.ad_account_id,
  ac.name as ad_account_name,
  a.id as audience_id,
  a.name as audience_name,
  a.description,
  a.type as audience_type,
  a.subtype,
  a.category,
  a.status,
  a.size_min,
  a.size_max,
  a.seed_audience_id,
  coalesce(seed.name, a.seed_audience_name) as seed_audience_name,
  cardinality(a.lookalike_audience_ids) as lookalike_audiences,
  nullif(array_to_string(a.sources, ', '), '') as data_sources,
  nullif(array_to_string(a.included_events, ', '), '') as included_events,
  nullif(array_to_string(a.excluded_events, ', '), '') as excluded_events,
  a.lookback_days,
  a.exposure_type,
  coalesce(used.targeting, 0)::integer as targeting_ad_sets,
  coalesce(used.excluding, 0)::integer as excluding_ad_sets,
  a.created_at,
  a.updated_at,
  a._synced_at as synced_at
from ads.audiences a
join ops.sources s on s.source_id = a.source_id
left join ads.ad_accounts ac on ac.source_id = a.source_id and ac.id = a.ad_account_id
left join ads.audiences seed on seed.source_id = a.source_id and seed.id = a.seed_audience_id
left join (
  select
    t.source_id,
    t.value as audience_id,
    count(*) filter (where t.dimension = 'audience_ids') as targeting,
    count(*) filter (where t.dimension = 'audience_ids_exclusions') as excluding
  from ads.ad_set_targets t
  join ads.ad_sets st on st.source_id = t.source_id and st.id = t.ad_set_id and st._deleted_at is null
  where t.dimension in ('audience_ids', 'audience_ids_exclusions')
  group by t.source_id, t.value
) used on used.source_id = a.source_id and used.audience_id = a.id
where a._deleted_at is null;

comment on view bi.audiences is 'Audiences that ad sets can be aimed at; one row per live audience.';
comment on column bi.audiences.audience_id is 'Audience id.';
comment on column bi.audiences.audience_name is 'Name.';
comment on column bi.audiences.description is 'Description.';
comment on column bi.audiences.audience_type is 'CUSTOM or LOOKALIKE.';
comment on column bi.audiences.subtype is 'Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.';
comment on column bi.audiences.category is 'Category, e.g. ARTIST_AFFINITY.';
comment on column bi.audiences.size_min is 'Lower end of the estimated number of people; never sum it: audiences overlap.';
comment on column bi.audiences.size_max is 'Upper end of the estimated number of people; never sum it: audiences overlap.';
comment on column bi.audiences.seed_audience_id is 'Of lookalikes: the audience it resembles.';
comment on column bi.audiences.seed_audience_name is 'Of lookalikes: the name of that audience.';
comment on column bi.audiences.lookalike_audiences is 'How many lookalikes were made from it.';
comment on column bi.audiences.data_sources is 'Where its data come from, with commas between.';
comment on column bi.audiences.included_events is 'Of web events: events that count, with commas between.';
comment on column bi.audiences.excluded_events is 'Of web events: events that exclude, with commas between.';
comment on column bi.audiences.lookback_days is 'Of web events: how many days are looked back.';
comment on column bi.audiences.exposure_type is 'Of ad engagement: IMPRESSIONS or CLICKS.';
comment on column bi.audiences.targeting_ad_sets is 'How many ad sets are aimed at it, of those that are or were live; see bi.ad_set_targets.';
comment on column bi.audiences.excluding_ad_sets is 'How many ad sets leave it out.';
