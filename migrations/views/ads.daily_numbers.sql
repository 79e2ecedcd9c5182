create or replace view ads.daily_numbers as
select
  s.name as source,
  r.source_id,
  r.entity_type,
  r.entity_id,
  r.entity_name,
  r.entity_status,
  r.parent_entity_id,
  r.day as date_day,
  r.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  ops.reporting_currency() as reporting_currency,
  r.spend,
  (r.spend * fx.rate)::numeric(28,6) as spend_in_reporting_currency,
  r.impressions,
  r.off_platform_impressions,
  r.streamed_impressions,
  r.clicks,
  r.starts,
  r.first_quartiles,
  r.midpoints,
  r.third_quartiles,
  r.completes,
  r.skips,
  r.unmutes,
  r.video_views,
  r.video_expands,
  r.paid_listens,
  r.streams,
  r.new_listener_streams,
  r.page_views,
  r.page_views_suppressed as is_page_views_suppressed,
  r.leads,
  r.leads_suppressed as is_leads_suppressed,
  r.add_to_cart,
  r.add_to_cart_suppressed as is_add_to_cart_suppressed,
  r.start_checkout,
  r.start_checkout_suppressed as is_start_checkout_suppressed,
  r.purchases,
  r.purchases_suppressed as is_purchases_suppressed,
  r.products,
  r.products_suppressed as is_products_suppressed,
  r.sign_ups,
  r.sign_ups_suppressed as is_sign_ups_suppressed,
  r.custom_event_1,
  r.custom_event_1_suppressed as is_custom_event_1_suppressed,
  r.custom_event_2,
  r.custom_event_2_suppressed as is_custom_event_2_suppressed,
  r.custom_event_3,
  r.custom_event_3_suppressed as is_custom_event_3_suppressed,
  r.custom_event_4,
  r.custom_event_4_suppressed as is_custom_event_4_suppressed,
  r.custom_event_5,
  r.custom_event_5_suppressed as is_custom_event_5_suppressed,
  r.revenue,
  r.revenue_suppressed as is_revenue_suppressed,
  (r.revenue * fx.rate)::numeric(28,6) as revenue_in_reporting_currency,
  round((r.clicks)::numeric / nullif(r.impressions, 0), 6)::numeric(28,6) as ctr,
  round((r.spend)::numeric / nullif(r.clicks, 0), 6)::numeric(28,6) as cpc,
  round((r.spend * 1000)::numeric / nullif(r.impressions, 0), 6)::numeric(28,6) as cpm,
  round((r.completes)::numeric / nullif(r.starts, 0), 6)::numeric(28,6) as completion_ratio,
  round((r.revenue)::numeric / nullif(r.spend, 0), 4)::numeric(28,4) as return_on_ad_spend_ratio,
  r.return_on_ad_spend_suppressed as is_return_on_ad_spend_suppressed,
  (
    case when abs(r.video_expand_rate) < 1e21 then r.video_expand_rate end
  )::numeric(28,6) as video_expand_ratio,
  (
    case when abs(r.conversion_rate) < 1e21 then r.conversion_rate end
  )::numeric(28,6) as listener_conversion_ratio,
  (
    case when abs(r.new_listener_conversion_rate) < 1e21 then r.new_listener_conversion_rate end
  )::numeric(28,6) as new_listener_conversion_ratio,
  (
    case when abs(r.streams_per_user) < 1e21 then r.streams_per_user end
  )::numeric(28,6) as streams_per_listener,
  (
    case when abs(r.streams_per_new_listener) < 1e21 then r.streams_per_new_listener end
  )::numeric(28,6) as streams_per_new_listener,
  (case when abs(r.intent_rate) < 1e21 then r.intent_rate end)::numeric(28,6) as intent_ratio,
  (case when abs(r.e_cpcl) < 1e21 then r.e_cpcl end)::numeric(28,6) as cost_per_completed_listen,
  (
    case when abs(r.average_order_value) < 1e21 then r.average_order_value end
  )::numeric(28,6) as average_order_value,
  r.average_order_value_suppressed as is_average_order_value_suppressed,
  (
    case when abs(r.customer_acquisition_cost) < 1e21 then r.customer_acquisition_cost end
  )::numeric(28,6) as customer_acquisition_cost,
  r.customer_acquisition_cost_suppressed as is_customer_acquisition_cost_suppressed,
  (case when abs(r.cost_per_lead) < 1e21 then r.cost_per_lead end)::numeric(28,6) as cost_per_lead,
  r.cost_per_lead_suppressed as is_cost_per_lead_suppressed,
  r.reach as reach_day,
  round((r.impressions)::numeric / nullif(r.reach, 0), 4)::numeric(28,4) as frequency_day,
  r.listeners as listeners_day,
  r.new_listeners as new_listeners_day,
  r.paid_listens_reach as paid_listens_reach_day,
  (
    case when abs(r.paid_listens_frequency) < 1e21 then r.paid_listens_frequency end
  )::numeric(28,6) as paid_listens_frequency_day,
  r.is_final,
  r._synced_at as synced_at
from ads.report_daily r
join ops.sources s on s.source_id = r.source_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
-- An aggregate has one row whatever it finds: queries that read no converted amount do not look rates up.
left join lateral (
  select case when ac.currency_code = ops.reporting_currency() then 1 else max(last_known.rate) end as rate
  from (
    select rate
    from ref.fx_rates
    where from_currency = ac.currency_code and to_currency = ops.reporting_currency() and date_day <= r.day
    order by date_day desc
    limit 1
  ) last_known
) fx on true;

comment on view ads.daily_numbers is 'The rows of ads.report_daily as the four views of performance by day show them, without what is above the entity; one row per entity and day.';
comment on column ads.daily_numbers.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column ads.daily_numbers.source_id is 'The source, see ops.sources.';
comment on column ads.daily_numbers.entity_type is 'AD_ACCOUNT, CAMPAIGN, AD_SET or AD.';
comment on column ads.daily_numbers.entity_id is 'The entity: id in ads.ad_accounts, campaigns, ad_sets or ads.';
comment on column ads.daily_numbers.entity_name is 'Its name when the report was read.';
comment on column ads.daily_numbers.entity_status is 'Its status when the report was read.';
comment on column ads.daily_numbers.parent_entity_id is 'The entity above it when the report was read.';
comment on column ads.daily_numbers.date_day is 'Day of the platform''s report, UTC; never shifted to another time zone.';
comment on column ads.daily_numbers.ad_account_id is 'Ad account id.';
comment on column ads.daily_numbers.ad_account_name is 'Name of the ad account.';
comment on column ads.daily_numbers.currency is 'ISO 4217 currency of every amount in the row; never add amounts of different currencies.';
comment on column ads.daily_numbers.reporting_currency is 'ISO 4217 currency of the *_in_reporting_currency columns (TIDEMARK_REPORTING_CURRENCY); null if none is set.';
comment on column ads.daily_numbers.spend is 'Spend in units of currency; null if not reported; adds up over rows of one currency.';
comment on column ads.daily_numbers.spend_in_reporting_currency is 'Spend in units of reporting_currency, at the rate of the day or the last one before it (ref.fx_rates); null where no rate is known; adds up over rows of this view.';
comment on column ads.daily_numbers.impressions is 'Times shown or played on the platform; adds up over rows of this view.';
comment on column ads.daily_numbers.off_platform_impressions is 'Times shown or played elsewhere; adds up over rows of this view.';
comment on column ads.daily_numbers.streamed_impressions is 'Impressions that were streamed; adds up over rows of this view.';
comment on column ads.daily_numbers.clicks is 'Clicks; adds up over rows of this view.';
comment on column ads.daily_numbers.starts is 'Times playing began; adds up over rows of this view.';
comment on column ads.daily_numbers.first_quartiles is 'Times a quarter was played; adds up over rows of this view.';
comment on column ads.daily_numbers.midpoints is 'Times half was played; adds up over rows of this view.';
comment on column ads.daily_numbers.third_quartiles is 'Times three quarters were played; adds up over rows of this view.';
comment on column ads.daily_numbers.completes is 'Times played to the end; adds up over rows of this view.';
comment on column ads.daily_numbers.skips is 'Times skipped; adds up over rows of this view.';
comment on column ads.daily_numbers.unmutes is 'Times unmuted; adds up over rows of this view.';
comment on column ads.daily_numbers.video_views is 'Video views; adds up over rows of this view.';
comment on column ads.daily_numbers.video_expands is 'Times a video was expanded; adds up over rows of this view.';
comment on column ads.daily_numbers.paid_listens is 'Paid listens; adds up over rows of this view.';
comment on column ads.daily_numbers.streams is 'Streams of what is promoted; adds up over rows of this view.';
comment on column ads.daily_numbers.new_listener_streams is 'Streams of what is promoted by new listeners; adds up over rows of this view.';
comment on column ads.daily_numbers.page_views is 'Page views credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_page_views_suppressed is 'True where page_views is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.leads is 'Leads credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_leads_suppressed is 'True where leads is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.add_to_cart is 'Products put into a cart, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_add_to_cart_suppressed is 'True where add_to_cart is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.start_checkout is 'Checkouts begun, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_start_checkout_suppressed is 'True where start_checkout is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.purchases is 'Purchases credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_purchases_suppressed is 'True where purchases is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.products is 'Product views credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_products_suppressed is 'True where products is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.sign_ups is 'Sign-ups credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_sign_ups_suppressed is 'True where sign_ups is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.custom_event_1 is 'Events of the first custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_custom_event_1_suppressed is 'True where custom_event_1 is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.custom_event_2 is 'Events of the second custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_custom_event_2_suppressed is 'True where custom_event_2 is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.custom_event_3 is 'Events of the third custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_custom_event_3_suppressed is 'True where custom_event_3 is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.custom_event_4 is 'Events of the fourth custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_custom_event_4_suppressed is 'True where custom_event_4 is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.custom_event_5 is 'Events of the fifth custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column ads.daily_numbers.is_custom_event_5_suppressed is 'True where custom_event_5 is hidden because it is 1 to 4.';
comment on column ads.daily_numbers.revenue is 'Revenue credited to the ads, in units of currency; null if not reported or hidden; sums over rows of one currency are lower bounds, and exact where nothing is hidden.';
comment on column ads.daily_numbers.is_revenue_suppressed is 'True where revenue is hidden because what it is made of is 1 to 4.';
comment on column ads.daily_numbers.revenue_in_reporting_currency is 'Revenue in units of reporting_currency, at the same rate as spend; null where no rate is known or revenue is hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden.';
comment on column ads.daily_numbers.ctr is 'Clicks by impressions, 0 to 1; compute it anew for several rows.';
comment on column ads.daily_numbers.cpc is 'Spend by clicks, in units of currency; compute it anew for several rows.';
comment on column ads.daily_numbers.cpm is 'Spend for a thousand impressions, in units of currency; compute it anew for several rows.';
comment on column ads.daily_numbers.completion_ratio is 'Completes by starts; compute it anew for several rows.';
comment on column ads.daily_numbers.return_on_ad_spend_ratio is 'Revenue by spend; null where revenue is hidden; compute it anew for several rows.';
comment on column ads.daily_numbers.is_return_on_ad_spend_suppressed is 'True where the platform hides the return on ad spend.';
comment on column ads.daily_numbers.video_expand_ratio is 'Video expands by video views, as reported; never sum or average it.';
comment on column ads.daily_numbers.listener_conversion_ratio is 'Listeners by reach, as reported; never sum or average it.';
comment on column ads.daily_numbers.new_listener_conversion_ratio is 'New listeners by reach, as reported; never sum or average it.';
comment on column ads.daily_numbers.streams_per_listener is 'Streams by listeners, as reported; never sum or average it.';
comment on column ads.daily_numbers.streams_per_new_listener is 'Streams by new listeners, as reported; never sum or average it.';
comment on column ads.daily_numbers.intent_ratio is 'Share of listeners who saved it or added it to a playlist, as reported; never sum or average it.';
comment on column ads.daily_numbers.cost_per_completed_listen is 'Effective cost of a completed listen in units of currency, as reported; never sum or average it.';
comment on column ads.daily_numbers.average_order_value is 'Revenue by purchases in units of currency, as reported; null if not reported or hidden; never sum or average it.';
comment on column ads.daily_numbers.is_average_order_value_suppressed is 'True where average_order_value is hidden because what it is made of is 1 to 4.';
comment on column ads.daily_numbers.customer_acquisition_cost is 'Spend by purchases in units of currency, as reported; null if not reported or hidden; never sum or average it.';
comment on column ads.daily_numbers.is_customer_acquisition_cost_suppressed is 'True where customer_acquisition_cost is hidden because what it is made of is 1 to 4.';
comment on column ads.daily_numbers.cost_per_lead is 'Spend by leads in units of currency, as reported; null if not reported or hidden; never sum or average it.';
comment on column ads.daily_numbers.is_cost_per_lead_suppressed is 'True where cost_per_lead is hidden because what it is made of is 1 to 4.';
comment on column ads.daily_numbers.reach_day is 'Different people reached on this day, as the platform counts them; never sum it over days or rows: people repeat. Longer periods: bi.reach_periods.';
comment on column ads.daily_numbers.frequency_day is 'Impressions by reach of this day; never sum or average it.';
comment on column ads.daily_numbers.listeners_day is 'Different people who listened on this day to what is promoted; never sum it: people repeat.';
comment on column ads.daily_numbers.new_listeners_day is 'Different people who listened on this day to what is promoted for the first time; never sum it.';
comment on column ads.daily_numbers.paid_listens_reach_day is 'Different people with a paid listen on this day; never sum it: people repeat.';
comment on column ads.daily_numbers.paid_listens_frequency_day is 'Paid listens by their reach of this day, as reported; never sum or average it.';
comment on column ads.daily_numbers.is_final is 'True once the platform is not expected to restate the row any more; false while it may.';
comment on column ads.daily_numbers.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
