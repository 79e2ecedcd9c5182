create or replace view bi.ad_set_history as
select
  s.name as source,
  v.id as ad_set_id,
  st.name as ad_set_name,
  v.status,
  coalesce(v.budget_currency, ac.currency_code) as currency,
  v.budget,
  v.budget_type,
  v.bid,
  v.bid_strategy,
  v.valid_from,
  v.valid_to,
  v.valid_to is null as is_current
from ads.ad_set_versions v
join ops.sources s on s.source_id = v.source_id
left join ads.ad_sets st on st.source_id = v.source_id and st.id = v.id
left join ads.ad_accounts ac on ac.source_id = v.source_id and ac.id = st.ad_account_id;

comment on view bi.ad_set_history is 'Status, budget and bid of ad sets over time; one row per ad set and version. As fine as the sync is frequent.';
comment on column bi.ad_set_history.budget is 'Budget at the time, in units of currency; a day or the lifetime, see budget_type.';
comment on column bi.ad_set_history.bid is 'Bid at the time, in units of currency.';
comment on column bi.ad_set_history.bid_strategy is 'Bid strategy at the time.';
comment on column bi.ad_set_history.valid_from is 'Since when it holds (UTC): when the platform says that it was last changed, else when the change was seen here.';
comment on column bi.ad_set_history.valid_to is 'Until when it held (UTC); null for the current version.';
comment on column bi.ad_set_history.is_current is 'True for the current version.';
