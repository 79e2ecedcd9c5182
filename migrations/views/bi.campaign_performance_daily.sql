create or replace view bi.campaign_performance_daily as -- What every campaign did on every day; one row per campaign and day with delivery. For reach and conversions, which cannot be added up from the campaign's ads. Facts of deleted campaigns stay.
select
  n.source,
  n.date_day,
  n.ad_account_id,
  n.ad_account_name,
  n.currency,
  n.entity_id as campaign_id,
  coalesce(c.name, n.entity_name) as campaign_name,
  c.objective,
  coalesce(c.status, n.entity_status) as status, -- Status of the campaign today.
  n.{daily_numbers},
  n.{deprecated}
from ads.daily_numbers n
left join ads.campaigns c on c.source_id = n.source_id and c.id = n.entity_id
where n.entity_type = 'CAMPAIGN';
