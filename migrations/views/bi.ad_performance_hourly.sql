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
  r._synced_at as synced_at
from ads.report_hourly r
join ops.sources s on s.source_id = r.source_id
left join ads.ads a on a.source_id = r.source_id and a.id = r.entity_id
left join ads.ad_sets st on st.source_id = r.source_id and st.id = coalesce(a.ad_set_id, r.parent_entity_id)
left join ads.campaigns c on c.source_id = r.source_id and c.id = st.campaign_id
left join ads.ad_accounts ac on ac.source_id = r.source_id and ac.id = r.ad_account_id
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
comment on column bi.ad_performance_hourly.spend is 'Spend in units of currency; null if not reported.';
comment on column bi.ad_performance_hourly.impressions is 'Times shown or played.';
comment on column bi.ad_performance_hourly.clicks is 'Clicks.';
comment on column bi.ad_performance_hourly.starts is 'Times playing began.';
comment on column bi.ad_performance_hourly.completes is 'Times played to the end.';
comment on column bi.ad_performance_hourly.is_final is 'True once the hour is older than what is read again; the platform tells the last two weeks only. What it restates later shows in the numbers of the day alone.';
comment on column bi.ad_performance_hourly.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
