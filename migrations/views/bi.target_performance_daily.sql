create or replace view bi.target_performance_daily as -- What ad sets spent, allocated evenly to the values that they are aimed at today; one row per ad set, day, dimension and value. Sums within one dimension are those of the ad sets that have it. Who was really reached: bi.audience_insights.
select
  p.source,
  p.date_day,
  p.ad_set_id,
  p.ad_set_name,
  p.campaign_id,
  p.campaign_name,
  g.dimension, -- What is targeted, e.g. genders, age_ranges, geo_targets.country_code. Filter on one, or group by it.
  g.target_value,
  g.target_name, -- What the platform calls it, see bi.ad_set_targets.
  p.currency,
  -- What the first n values get, less what those before got: the parts add up to the whole, to the last digit.
  (round(p.spend * g.place / g.places, 6) - round(p.spend * (g.place - 1) / g.places, 6))::numeric(28,6)
    as allocated_spend, -- Spend of the ad set and day, by the number of values in the dimension; adds up within one dimension and currency.
  p.impressions * g.place / g.places - p.impressions * (g.place - 1) / g.places as allocated_impressions, -- Impressions of the ad set and day, allocated in the same way; adds up within one dimension.
  p.clicks * g.place / g.places - p.clicks * (g.place - 1) / g.places as allocated_clicks -- Clicks of the ad set and day, allocated in the same way; adds up within one dimension.
from bi.ad_set_performance_daily p
join (
  select
    t.*,
    row_number() over (partition by t.source, t.ad_set_id, t.dimension order by t.target_value) as place,
    count(*) over (partition by t.source, t.ad_set_id, t.dimension) as places
  from bi.ad_set_targets t
) g on g.source = p.source and g.ad_set_id = p.ad_set_id;
