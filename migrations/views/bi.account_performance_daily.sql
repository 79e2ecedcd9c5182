create or replace view bi.account_performance_daily as
select
  n.source,
  n.date_day,
  n.entity_id as ad_account_id,
  coalesce(n.ad_account_name, n.entity_name) as ad_account_name,
  n.currency,
  n.reporting_currency,
  n.spend,
  n.spend_in_reporting_currency,
  n.impressions,
  n.off_platform_impressions,
  n.streamed_impressions,
  n.clicks,
  n.starts,
  n.first_quartiles,
  n.midpoints,
  n.third_quartiles,
  n.completes,
  n.skips,
  n.unmutes,
  n.video_views,
  n.video_expands,
  n.paid_listens,
  n.streams,
  n.new_listener_streams,
  n.page_views,
  n.is_page_views_suppressed,
  n.leads,
  n.is_leads_suppressed,
  n.add_to_cart,
  n.is_add_to_cart_suppressed,
  n.start_checkout,
  n.is_start_checkout_suppressed,
  n.purchases,
  n.is_purchases_suppressed,
  n.products,
  n.is_products_suppressed,
  n.sign_ups,
  n.is_sign_ups_suppressed,
  n.custom_event_1,
  n.is_custom_event_1_suppressed,
  n.custom_event_2,
  n.is_custom_event_2_suppressed,
  n.custom_event_3,
  n.is_custom_event_3_suppressed,
  n.custom_event_4,
  n.is_custom_event_4_suppressed,
  n.custom_event_5,
  n.is_custom_event_5_suppressed,
  n.revenue,
  n.is_revenue_suppressed,
  n.revenue_in_reporting_currency,
  n.ctr,
  n.cpc,
  n.cpm,
  n.completion_ratio,
  n.return_on_ad_spend_ratio,
  n.is_return_on_ad_spend_suppressed,
  n.video_expand_ratio,
  n.listener_conversion_ratio,
  n.new_listener_conversion_ratio,
  n.streams_per_listener,
  n.streams_per_new_listener,
  n.intent_ratio,
  n.cost_per_completed_listen,
  n.average_order_value,
  n.is_average_order_value_suppressed,
  n.customer_acquisition_cost,
  n.is_customer_acquisition_cost_suppressed,
  n.cost_per_lead,
  n.is_cost_per_lead_suppressed,
  n.reach_day,
  n.frequency_day,
  n.listeners_day,
  n.new_listeners_day,
  n.paid_listens_reach_day,
  n.paid_listens_frequency_day,
  n.is_final,
  n.synced_at
from ads.daily_numbers n
where n.entity_type = 'AD_ACCOUNT';

comment on view bi.account_performance_daily is 'What every ad account did on every day, as reported for the account; one row per ad account and day with delivery. For reach and conversions, which cannot be added up from its campaigns. Facts of closed accounts stay.';
comment on column bi.account_performance_daily.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column bi.account_performance_daily.date_day is 'Day of the platform''s report, UTC; never shifted to another time zone.';
comment on column bi.account_performance_daily.ad_account_id is 'Ad account id.';
comment on column bi.account_performance_daily.ad_account_name is 'Name of the ad account.';
comment on column bi.account_performance_daily.currency is 'ISO 4217 currency of every amount in the row; never add amounts of different currencies.';
comment on column bi.account_performance_daily.reporting_currency is 'ISO 4217 currency of the *_in_reporting_currency columns (TIDEMARK_REPORTING_CURRENCY); null if none is set.';
comment on column bi.account_performance_daily.spend is 'Spend in units of currency; null if not reported; adds up over rows of one currency.';
comment on column bi.account_performance_daily.spend_in_reporting_currency is 'Spend in units of reporting_currency, at the rate of the day or the last one before it (ref.fx_rates); null where no rate is known; adds up over rows of this view.';
comment on column bi.account_performance_daily.impressions is 'Times shown or played on the platform; adds up over rows of this view.';
comment on column bi.account_performance_daily.off_platform_impressions is 'Times shown or played elsewhere; adds up over rows of this view.';
comment on column bi.account_performance_daily.streamed_impressions is 'Impressions that were streamed; adds up over rows of this view.';
comment on column bi.account_performance_daily.clicks is 'Clicks; adds up over rows of this view.';
comment on column bi.account_performance_daily.starts is 'Times playing began; adds up over rows of this view.';
comment on column bi.account_performance_daily.first_quartiles is 'Times a quarter was played; adds up over rows of this view.';
comment on column bi.account_performance_daily.midpoints is 'Times half was played; adds up over rows of this view.';
comment on column bi.account_performance_daily.third_quartiles is 'Times three quarters were played; adds up over rows of this view.';
comment on column bi.account_performance_daily.completes is 'Times played to the end; adds up over rows of this view.';
comment on column bi.account_performance_daily.skips is 'Times skipped; adds up over rows of this view.';
comment on column bi.account_performance_daily.unmutes is 'Times unmuted; adds up over rows of this view.';
comment on column bi.account_performance_daily.video_views is 'Video views; adds up over rows of this view.';
comment on column bi.account_performance_daily.video_expands is 'Times a video was expanded; adds up over rows of this view.';
comment on column bi.account_performance_daily.paid_listens is 'Paid listens; adds up over rows of this view.';
comment on column bi.account_performance_daily.streams is 'Streams of what is promoted; adds up over rows of this view.';
comment on column bi.account_performance_daily.new_listener_streams is 'Streams of what is promoted by new listeners; adds up over rows of this view.';
comment on column bi.account_performance_daily.page_views is 'Page views credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_page_views_suppressed is 'True where page_views is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.leads is 'Leads credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_leads_suppressed is 'True where leads is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.add_to_cart is 'Products put into a cart, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_add_to_cart_suppressed is 'True where add_to_cart is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.start_checkout is 'Checkouts begun, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_start_checkout_suppressed is 'True where start_checkout is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.purchases is 'Purchases credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_purchases_suppressed is 'True where purchases is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.products is 'Product views credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_products_suppressed is 'True where products is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.sign_ups is 'Sign-ups credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_sign_ups_suppressed is 'True where sign_ups is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.custom_event_1 is 'Events of the first custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_custom_event_1_suppressed is 'True where custom_event_1 is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.custom_event_2 is 'Events of the second custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_custom_event_2_suppressed is 'True where custom_event_2 is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.custom_event_3 is 'Events of the third custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_custom_event_3_suppressed is 'True where custom_event_3 is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.custom_event_4 is 'Events of the fourth custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_custom_event_4_suppressed is 'True where custom_event_4 is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.custom_event_5 is 'Events of the fifth custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.account_performance_daily.is_custom_event_5_suppressed is 'True where custom_event_5 is hidden because it is 1 to 4.';
comment on column bi.account_performance_daily.revenue is 'Revenue credited to the ads, in units of currency; null if not reported or hidden; sums over rows of one currency are lower bounds, and exact where nothing is hidden.';
comment on column bi.account_performance_daily.is_revenue_suppressed is 'True where revenue is hidden because what it is made of is 1 to 4.';
comment on column bi.account_performance_daily.revenue_in_reporting_currency is 'Revenue in units of reporting_currency, at the same rate as spend; null where no rate is known or revenue is hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden.';
comment on column bi.account_performance_daily.ctr is 'Clicks by impressions, 0 to 1; compute it anew for several rows.';
comment on column bi.account_performance_daily.cpc is 'Spend by clicks, in units of currency; compute it anew for several rows.';
comment on column bi.account_performance_daily.cpm is 'Spend for a thousand impressions, in units of currency; compute it anew for several rows.';
comment on column bi.account_performance_daily.completion_ratio is 'Completes by starts; compute it anew for several rows.';
comment on column bi.account_performance_daily.return_on_ad_spend_ratio is 'Revenue by spend; null where revenue is hidden; compute it anew for several rows.';
comment on column bi.account_performance_daily.is_return_on_ad_spend_suppressed is 'True where the platform hides the return on ad spend.';
comment on column bi.account_performance_daily.video_expand_ratio is 'Video expands by video views, as reported; never sum or average it.';
comment on column bi.account_performance_daily.listener_conversion_ratio is 'Listeners by reach, as reported; never sum or average it.';
comment on column bi.account_performance_daily.new_listener_conversion_ratio is 'New listeners by reach, as reported; never sum or average it.';
comment on column bi.account_performance_daily.streams_per_listener is 'Streams by listeners, as reported; never sum or average it.';
comment on column bi.account_performance_daily.streams_per_new_listener is 'Streams by new listeners, as reported; never sum or average it.';
comment on column bi.account_performance_daily.intent_ratio is 'Share of listeners who saved it or added it to a playlist, as reported; never sum or average it.';
comment on column bi.account_performance_daily.cost_per_completed_listen is 'Effective cost of a completed listen in units of currency, as reported; never sum or average it.';
comment on column bi.account_performance_daily.average_order_value is 'Revenue by purchases in units of currency, as reported; null if not reported or hidden; never sum or average it.';
comment on column bi.account_performance_daily.is_average_order_value_suppressed is 'True where average_order_value is hidden because what it is made of is 1 to 4.';
comment on column bi.account_performance_daily.customer_acquisition_cost is 'Spend by purchases in units of currency, as reported; null if not reported or hidden; never sum or average it.';
comment on column bi.account_performance_daily.is_customer_acquisition_cost_suppressed is 'True where customer_acquisition_cost is hidden because what it is made of is 1 to 4.';
comment on column bi.account_performance_daily.cost_per_lead is 'Spend by leads in units of currency, as reported; null if not reported or hidden; never sum or average it.';
comment on column bi.account_performance_daily.is_cost_per_lead_suppressed is 'True where cost_per_lead is hidden because what it is made of is 1 to 4.';
comment on column bi.account_performance_daily.reach_day is 'Different people reached on this day, as the platform counts them; never sum it over days or rows: people repeat. Longer periods: bi.reach_periods.';
comment on column bi.account_performance_daily.frequency_day is 'Impressions by reach of this day; never sum or average it.';
comment on column bi.account_performance_daily.listeners_day is 'Different people who listened on this day to what is promoted; never sum it: people repeat.';
comment on column bi.account_performance_daily.new_listeners_day is 'Different people who listened on this day to what is promoted for the first time; never sum it.';
comment on column bi.account_performance_daily.paid_listens_reach_day is 'Different people with a paid listen on this day; never sum it: people repeat.';
comment on column bi.account_performance_daily.paid_listens_frequency_day is 'Paid listens by their reach of this day, as reported; never sum or average it.';
comment on column bi.account_performance_daily.is_final is 'True once the platform is not expected to restate the row any more; false while it may.';
comment on column bi.account_performance_daily.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
