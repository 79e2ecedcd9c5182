-- Conversions as told for campaigns; ads hide more of them. Reach is left out: it cannot be summed over days.
select source, ad_account_id, campaign_id, campaign_name, currency,
  min(date_day) as first_day,
  max(date_day) as last_day,
  sum(spend)::numeric(28,6) as spend,
  sum(impressions)::bigint as impressions,
  sum(clicks)::bigint as clicks,
  round(sum(clicks) / nullif(sum(impressions), 0), 6)::numeric(28,6) as ctr,
  round(sum(spend) / nullif(sum(clicks), 0), 6)::numeric(28,6) as cpc,
  sum(purchases)::bigint as purchases,
  coalesce(bool_or(purchases_suppressed), false) as is_purchases_incomplete,
  bool_and(is_final) as is_final
from {{ source('tidemark', 'campaign_performance_daily') }}
group by source, ad_account_id, campaign_id, campaign_name, currency
