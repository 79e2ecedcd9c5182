create or replace view bi.ad_performance_hourly as
select
  s.name as source,
  r.hour_start as hour_start_at,
  (r.hour_start at time zone 'UTC')::date as date_day,
  r.ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  st.campaign_id,
  c.name as campaign_name,
  c.objective,
  coalesce(a.ad_set_id, r.parent_entity_id) as ad_set_id,
  st.name as ad_set_name,
  st.asset_format,
  r.entity_id as ad_id,
  coalesce(a.name, r.entity_name) as ad_name,
  r.spend,
  r.impressions,
  r.clicks,
  r.starts,
  r.completes,
  r.is_final,
  r._synced_at as synced_at,
  ops.reporting_currency() as reporting_currency,
  (r.spend * fx.rate)::numeric(28,6) as spend_in_reporting_currency,
  r.off_platform_impressions,
  r.streamed_impressions,
  r.first_quartiles,
  r.midpoints,
  r.third_quartiles,
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
  r.reach as reach_hour,
  r.listeners as listeners_hour,
  r.new_listeners as new_listeners_hour,
  r.paid_listens_reach as paid_listens_reach_hour
from ads.report_hourly r
join ops.sources s on s.source_id = r.source_id
left join ads.ads a on a.source_id = r.source_id and a.id = r.entity_id
left join ads.ad_sets st on st.source_id = r.source_id and st.id = coalesce(a.ad_set_id, r.parent_entity_id)
left join ads.campaigns c on c.source_id = r.source_id and c.id = st.campaign_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
-- An aggregate has one row whatever it finds: queries that read no converted amount do not look rates up.
left join lateral (
  select case when ac.currency_code = ops.reporting_currency() then 1 else max(last_known.rate) end as rate
  from (
    select rate
    from ref.fx_rates
    where from_currency = ac.currency_code
      and to_currency = ops.reporting_currency()
      and date_day <= (r.hour_start at time zone 'UTC')::date
    order by date_day desc
    limit 1
  ) last_known
) fx on true
where r.entity_type = 'AD';

comment on view bi.ad_performance_hourly is 'What every ad did in every hour; one row per ad and hour with delivery, since the first sync less two weeks.';
comment on column bi.ad_performance_hourly.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column bi.ad_performance_hourly.hour_start_at is 'Beginning of the hour (UTC).';
comment on column bi.ad_performance_hourly.date_day is 'Day of the hour in UTC.';
comment on column bi.ad_performance_hourly.ad_account_id is 'Ad account id.';
comment on column bi.ad_performance_hourly.ad_account_name is 'Name of the ad account.';
comment on column bi.ad_performance_hourly.currency is 'ISO 4217 currency of every amount in the row; never add amounts of different currencies.';
comment on column bi.ad_performance_hourly.campaign_id is 'Campaign id; null if the warehouse does not know the ad set.';
comment on column bi.ad_performance_hourly.campaign_name is 'Name of the campaign.';
comment on column bi.ad_performance_hourly.objective is 'Objective of the campaign.';
comment on column bi.ad_performance_hourly.ad_set_id is 'Ad set id.';
comment on column bi.ad_performance_hourly.ad_set_name is 'Name of the ad set.';
comment on column bi.ad_performance_hourly.asset_format is 'AUDIO, VIDEO, IMAGE or CATALOG.';
comment on column bi.ad_performance_hourly.ad_id is 'Ad id.';
comment on column bi.ad_performance_hourly.ad_name is 'Name of the ad.';
comment on column bi.ad_performance_hourly.spend is 'Spend in units of currency; null if not reported; adds up over rows of one currency.';
comment on column bi.ad_performance_hourly.impressions is 'Times shown or played on the platform; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.clicks is 'Clicks; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.starts is 'Times playing began; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.completes is 'Times played to the end; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.is_final is 'True once the hour is older than what is read again; the platform tells the last two weeks only. What it restates later shows in the numbers of the day alone.';
comment on column bi.ad_performance_hourly.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
comment on column bi.ad_performance_hourly.reporting_currency is 'ISO 4217 currency of the *_in_reporting_currency columns (TIDEMARK_REPORTING_CURRENCY); null if none is set.';
comment on column bi.ad_performance_hourly.spend_in_reporting_currency is 'Spend in units of reporting_currency, at the rate of the day or the last one before it (ref.fx_rates); null where no rate is known; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.off_platform_impressions is 'Times shown or played elsewhere; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.streamed_impressions is 'Impressions that were streamed; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.first_quartiles is 'Times a quarter was played; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.midpoints is 'Times half was played; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.third_quartiles is 'Times three quarters were played; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.skips is 'Times skipped; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.unmutes is 'Times unmuted; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.video_views is 'Video views; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.video_expands is 'Times a video was expanded; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.paid_listens is 'Paid listens; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.streams is 'Streams of what is promoted; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.new_listener_streams is 'Streams of what is promoted by new listeners; adds up over rows of this view.';
comment on column bi.ad_performance_hourly.page_views is 'Page views credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_page_views_suppressed is 'True where page_views is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.leads is 'Leads credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_leads_suppressed is 'True where leads is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.add_to_cart is 'Products put into a cart, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_add_to_cart_suppressed is 'True where add_to_cart is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.start_checkout is 'Checkouts begun, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_start_checkout_suppressed is 'True where start_checkout is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.purchases is 'Purchases credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_purchases_suppressed is 'True where purchases is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.products is 'Product views credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_products_suppressed is 'True where products is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.sign_ups is 'Sign-ups credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_sign_ups_suppressed is 'True where sign_ups is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.custom_event_1 is 'Events of the first custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_custom_event_1_suppressed is 'True where custom_event_1 is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.custom_event_2 is 'Events of the second custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_custom_event_2_suppressed is 'True where custom_event_2 is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.custom_event_3 is 'Events of the third custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_custom_event_3_suppressed is 'True where custom_event_3 is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.custom_event_4 is 'Events of the fourth custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_custom_event_4_suppressed is 'True where custom_event_4 is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.custom_event_5 is 'Events of the fifth custom kind, credited to the ads; null if not reported or hidden; sums over rows of this view are lower bounds, and exact where nothing is hidden; never over levels.';
comment on column bi.ad_performance_hourly.is_custom_event_5_suppressed is 'True where custom_event_5 is hidden because it is 1 to 4.';
comment on column bi.ad_performance_hourly.reach_hour is 'Different people reached in this hour, as the platform counts them; never sum it over days or rows: people repeat.';
comment on column bi.ad_performance_hourly.listeners_hour is 'Different people who listened in this hour to what is promoted; never sum it: people repeat.';
comment on column bi.ad_performance_hourly.new_listeners_hour is 'Different people who listened in this hour to what is promoted for the first time; never sum it.';
comment on column bi.ad_performance_hourly.paid_listens_reach_hour is 'Different people with a paid listen in this hour; never sum it: people repeat.';
