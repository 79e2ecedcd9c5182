create or replace view bi.audiences as -- Audiences that ad sets can be aimed at; one row per live audience.
select
  s.name as source,
  a.ad_account_id,
  ac.name as ad_account_name,
  a.id as audience_id, -- Audience id.
  a.name as audience_name, -- Name.
  a.description, -- Description.
  a.type as audience_type, -- CUSTOM or LOOKALIKE.
  a.subtype, -- Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.
  a.category, -- Category, e.g. ARTIST_AFFINITY.
  a.status, -- Status as the platform names it, e.g. LIVE, PROCESSING, ARCHIVED.
  a.size_min, -- Lower end of the estimated number of people; never sum it: audiences overlap.
  a.size_max, -- Upper end of the estimated number of people; never sum it: audiences overlap.
  a.seed_audience_id, -- Of lookalikes: the audience it resembles.
  coalesce(seed.name, a.seed_audience_name) as seed_audience_name, -- Of lookalikes: the name of that audience.
  cardinality(a.lookalike_audience_ids) as lookalike_audiences, -- How many lookalikes were made from it.
  nullif(array_to_string(a.sources, ', '), '') as data_sources, -- Where its data come from, with commas between.
  nullif(array_to_string(a.included_events, ', '), '') as included_events, -- Of web events: events that count, with commas between.
  nullif(array_to_string(a.excluded_events, ', '), '') as excluded_events, -- Of web events: events that exclude, with commas between.
  a.lookback_days, -- Of web events: how many days are looked back.
  a.exposure_type, -- Of ad engagement: IMPRESSIONS or CLICKS.
  coalesce(used.targeting, 0)::integer as targeting_ad_sets, -- How many ad sets are aimed at it, of those that are or were live; see bi.ad_set_targets.
  coalesce(used.excluding, 0)::integer as excluding_ad_sets, -- How many ad sets leave it out.
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
