create or replace view bi.ad_level_checks as -- Where the levels of the daily reports disagree: the sum over an account's ads against that over its ad sets, its campaigns and the account itself; one row per ad account, day, measure and level compared, only where they differ.
select
  s.name as source,
  d.day as date_day,
  d.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  d.measure, -- spend, impressions or clicks.
  'AD' as lower_level, -- The level that is compared: AD.
  v.upper_level, -- The level that it is compared with: AD_SET, CAMPAIGN or AD_ACCOUNT.
  d.ad_sum::numeric(28,6) as lower_sum, -- Sum over the ads of the account; 0 if no ad has a row. Adds up over days of one measure, upper_level and currency.
  v.upper_sum::numeric(28,6) as upper_sum, -- Sum over the upper level; 0 if it has no row. Adds up in the same way.
  (d.ad_sum - v.upper_sum)::numeric(28,6) as difference, -- lower_sum less upper_sum. Adds up in the same way.
  d.is_final
from (
  select
    r.source_id,
    r.ad_account_id,
    r.day,
    m.measure,
    coalesce(sum(m.value) filter (where r.entity_type = 'AD'), 0) as ad_sum,
    coalesce(sum(m.value) filter (where r.entity_type = 'AD_SET'), 0) as ad_set_sum,
    coalesce(sum(m.value) filter (where r.entity_type = 'CAMPAIGN'), 0) as campaign_sum,
    coalesce(sum(m.value) filter (where r.entity_type = 'AD_ACCOUNT'), 0) as account_sum,
    bool_and(r.is_final) as is_final
  from (
    -- One row per level first: the million rows are added up once.
    select
      source_id,
      ad_account_id,
      day,
      entity_type,
      sum(spend) as spend,
      sum(impressions) as impressions,
      sum(clicks) as clicks,
      bool_and(is_final) as is_final
    from ads.report_daily
    group by source_id, ad_account_id, day, entity_type
  ) r
  cross join lateral (
    values ('spend', r.spend), ('impressions', r.impressions), ('clicks', r.clicks)
  ) m (measure, value)
  group by r.source_id, r.ad_account_id, r.day, m.measure
) d
cross join lateral (
  values ('AD_SET', d.ad_set_sum), ('CAMPAIGN', d.campaign_sum), ('AD_ACCOUNT', d.account_sum)
) v (upper_level, upper_sum)
join ops.sources s on s.source_id = d.source_id
left join ads.ad_accounts ac on ac.source_id = d.source_id and ac.id = d.ad_account_id
where d.ad_sum <> v.upper_sum;
