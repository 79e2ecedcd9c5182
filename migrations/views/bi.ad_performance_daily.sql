create or replace view bi.ad_performance_daily as -- What every ad did on every day, with what is above it; one row per ad and day with delivery. The main table of advertising. Facts of deleted ads stay.
select
  n.source,
  n.date_day,
  n.ad_account_id,
  n.ad_account_name,
  n.currency,
  st.campaign_id,
  c.name as campaign_name,
  c.objective,
  coalesce(a.ad_set_id, n.parent_entity_id) as ad_set_id,
  st.name as ad_set_name,
  st.asset_format,
  n.entity_id as ad_id,
  coalesce(a.name, n.entity_name) as ad_name,
  n.{daily_numbers},
  n.{deprecated},
  a.asset_id, -- The creative of the ad, see bi.assets.
  x.name as asset_name
from ads.daily_numbers n
left join ads.ads a on a.source_id = n.source_id and a.id = n.entity_id
left join ads.ad_sets st on st.source_id = n.source_id and st.id = coalesce(a.ad_set_id, n.parent_entity_id)
left join ads.campaigns c on c.source_id = n.source_id and c.id = st.campaign_id
left join ads.assets x on x.source_id = n.source_id and x.id = a.asset_id
where n.entity_type = 'AD';
