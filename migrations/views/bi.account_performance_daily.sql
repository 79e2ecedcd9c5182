create or replace view bi.account_performance_daily as -- What every ad account did on every day, as reported for the account; one row per ad account and day with delivery. For reach and conversions, which cannot be added up from its campaigns. Facts of closed accounts stay.
select
  n.source,
  n.date_day,
  n.entity_id as ad_account_id,
  coalesce(n.ad_account_name, n.entity_name) as ad_account_name,
  n.currency,
  n.{daily_numbers}
from ads.daily_numbers n
where n.entity_type = 'AD_ACCOUNT';
