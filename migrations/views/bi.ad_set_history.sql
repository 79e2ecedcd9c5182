create or replace view bi.ad_set_history as -- Status, budget and bid of ad sets over time; one row per ad set and version. As fine as the sync is frequent.
select
  s.name as source,
  v.id as ad_set_id,
  st.name as ad_set_name,
  v.status, -- Status at the time.
  coalesce(v.budget_currency, ac.currency_code) as currency,
  v.budget, -- Budget at the time, in units of currency; a day or the lifetime, see budget_type.
  v.budget_type,
  v.bid, -- Bid at the time, in units of currency.
  v.bid_strategy, -- Bid strategy at the time.
  v.valid_from, -- Since when it holds (UTC): when the platform says that it was last changed, else when the change was seen here.
  v.valid_to, -- Until when it held (UTC); null for the current version.
  v.valid_to is null as is_current -- True for the current version.
from ads.ad_set_versions v
join ops.sources s on s.source_id = v.source_id
left join ads.ad_sets st on st.source_id = v.source_id and st.id = v.id
left join ads.ad_accounts ac on ac.source_id = v.source_id and ac.id = st.ad_account_id;
