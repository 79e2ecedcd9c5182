create or replace view bi.campaign_performance_daily as
select
  s.name as source,
  r.day as date_day,
  r.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  r.entity_id as campaign_id,
  coalesce(c.name, r.entity_name) as campaign_name,
  c.objective,
  coalesce(c.status, r.entity_status) as status,
  r.spend,
  r.impressions,
  r.clicks,
  r.starts,
  r.completes,
  r.page_views,
  r.page_views_suppressed,
  r.leads,
  r.leads_suppressed,
  r.add_to_cart,
  r.add_to_cart_suppressed,
  r.purchases,
  r.purchases_suppressed,
  r.sign_ups,
  r.sign_ups_suppressed,
  r.revenue,
  r.revenue_suppressed,
  round((r.clicks)::numeric / nullif(r.impressions, 0), 6)::numeric(28,6) as ctr,
  round((r.spend)::numeric / nullif(r.clicks, 0), 6)::numeric(28,6) as cpc,
  round((r.spend * 1000)::numeric / nullif(r.impressions, 0), 6)::numeric(28,6) as cpm,
  round((r.completes)::numeric / nullif(r.starts, 0), 6)::numeric(28,6) as completion_ratio,
  round((r.revenue)::numeric / nullif(r.spend, 0), 4)::numeric(28,4) as return_on_ad_spend_ratio,
  r.reach as reach_day,
  round((r.impressions)::numeric / nullif(r.reach, 0), 4)::numeric(28,4) as frequency_day,
  r.is_final,
  r._synced_at as synced_at
from ads.report_daily r
join ops.sources s on s.source_id = r.source_id
left join ads.campaigns c on c.source_id = r.source_id and c.id = r.entity_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
where r.entity_type = 'CAMPAIGN';

comment on view bi.campaign_performance_daily is 'What every campaign did on every day; one row per campaign and day with delivery. For reach, which cannot be added up from the campaign''s ads.';
comment on column bi.campaign_performance_daily.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column bi.campaign_performance_daily.date_day is 'Day in UTC, as the report has it.';
comment on column bi.campaign_performance_daily.ad_account_id is 'Ad account id.';
comment on column bi.campaign_performance_daily.ad_account_name is 'Name of the ad account.';
comment on column bi.campaign_performance_daily.currency is 'ISO 4217 currency of every amount in the row; never add amounts of different currencies.';
comment on column bi.campaign_performance_daily.campaign_id is 'Campaign id.';
comment on column bi.campaign_performance_daily.campaign_name is 'Name of the campaign.';
comment on column bi.campaign_performance_daily.objective is 'Objective of the campaign.';
comment on column bi.campaign_performance_daily.status is 'Status of the campaign today.';
comment on column bi.campaign_performance_daily.spend is 'Spend in units of currency; null if not reported.';
comment on column bi.campaign_performance_daily.impressions is 'Times shown or played.';
comment on column bi.campaign_performance_daily.clicks is 'Clicks.';
comment on column bi.campaign_performance_daily.starts is 'Times playing began.';
comment on column bi.campaign_performance_daily.completes is 'Times played to the end.';
comment on column bi.campaign_performance_daily.page_views is 'Page views credited to the ads; null if not reported or hidden.';
comment on column bi.campaign_performance_daily.page_views_suppressed is 'True where page_views is hidden because it is 1 to 4.';
comment on column bi.campaign_performance_daily.leads is 'Leads credited to the ads; null if not reported or hidden.';
comment on column bi.campaign_performance_daily.leads_suppressed is 'True where leads is hidden because it is 1 to 4.';
comment on column bi.campaign_performance_daily.add_to_cart is 'Products put into a cart, credited to the ads; null if not reported or hidden.';
comment on column bi.campaign_performance_daily.add_to_cart_suppressed is 'True where add_to_cart is hidden because it is 1 to 4.';
comment on column bi.campaign_performance_daily.purchases is 'Purchases credited to the ads; null if not reported or hidden.';
comment on column bi.campaign_performance_daily.purchases_suppressed is 'True where purchases is hidden because it is 1 to 4.';
comment on column bi.campaign_performance_daily.sign_ups is 'Sign-ups credited to the ads; null if not reported or hidden.';
comment on column bi.campaign_performance_daily.sign_ups_suppressed is 'True where sign_ups is hidden because it is 1 to 4.';
comment on column bi.campaign_performance_daily.revenue is 'Revenue credited to the ads, in units of currency; null if not reported or hidden.';
comment on column bi.campaign_performance_daily.revenue_suppressed is 'True where revenue is hidden because it is 1 to 4.';
comment on column bi.campaign_performance_daily.ctr is 'Clicks by impressions, 0 to 1.';
comment on column bi.campaign_performance_daily.cpc is 'Spend by clicks, in units of currency.';
comment on column bi.campaign_performance_daily.cpm is 'Spend for a thousand impressions, in units of currency.';
comment on column bi.campaign_performance_daily.completion_ratio is 'Completes by starts.';
comment on column bi.campaign_performance_daily.return_on_ad_spend_ratio is 'Revenue by spend; null where revenue is hidden.';
comment on column bi.campaign_performance_daily.reach_day is 'Different people reached on this day, as the platform counts them; never sum it over days or rows: people repeat.';
comment on column bi.campaign_performance_daily.frequency_day is 'Impressions by reach of this day.';
comment on column bi.campaign_performance_daily.is_final is 'True once the platform is not expected to restate the row any more; false while it may.';
comment on column bi.campaign_performance_daily.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
