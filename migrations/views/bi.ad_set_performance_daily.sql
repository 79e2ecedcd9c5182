create or replace view bi.ad_set_performance_daily as -- What every ad set did on every day, as reported for the ad set; one row per ad set and day with delivery. For reach and conversions, which cannot be added up from its ads. Facts of deleted ad sets stay.
select
  n.source,
  n.date_day,
  n.ad_account_id,
  n.ad_account_name,
  n.currency,
  coalesce(st.campaign_id, n.parent_entity_id) as campaign_id,
  c.name as campaign_name,
  c.objective,
  n.entity_id as ad_set_id,
  coalesce(st.name, n.entity_name) as ad_set_name,
  st.asset_format,
  coalesce(st.status, n.entity_status) as status, -- Status of the ad set today.
  n.{daily_numbers}
from ads.daily_numbers n
left join ads.ad_sets st on st.source_id = n.source_id and st.id = n.entity_id
left join ads.campaigns c on c.source_id = n.source_id and c.id = coalesce(st.campaign_id, n.parent_entity_id)
where n.entity_type = 'AD_SET';
