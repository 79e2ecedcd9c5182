create or replace view bi.ad_set_targets as -- Whom ad sets are aimed at; one row per ad set, dimension and value.
select
  s.name as source,
  st.id as ad_set_id,
  st.name as ad_set_name,
  st.campaign_id,
  c.name as campaign_name,
  g.dimension, -- What is targeted, e.g. genders, age_ranges, geo_targets.country_code.
  g.value as target_value,
  coalesce(n.name, u.name) as target_name, -- What the platform calls it: the name of the artist, genre, interest, place, audience …; null where the value says it itself, and where the platform no longer names it.
  n.parent_name as target_parent_name -- Of places and interests: the name of what it is a part of.
from ads.ad_set_targets g
join ops.sources s on s.source_id = g.source_id
join ads.ad_sets st on st.source_id = g.source_id and st.id = g.ad_set_id and st._deleted_at is null
left join ads.target_names n
  on n.source_id = g.source_id and n.dimension = g.dimension and n.id = split_part(g.value, '=', 1)
left join ads.audiences u on u.source_id = g.source_id and u.id = g.value and g.dimension like 'audience_ids%'
left join ads.campaigns c on c.source_id = g.source_id and c.id = st.campaign_id;
