-- Reports by day and hour at the four levels. What is counted adds up over the levels before anything is
-- hidden; people do not: of ten that an ad reached, its ad set has seven for the first time.

create unlogged table fill.delivered as
select a.ad, a.n, a.campaign, a.account, d::date as day, i.impressions,
  round((i.impressions * 0.011 * (0.7 + fill.part(i.place, 221)))::numeric, 2) as spend,
  (i.impressions * (0.002 + 0.01 * fill.part(a.ad, 222)))::bigint as clicks,
  (i.impressions * 0.97)::bigint as starts,
  (i.impressions * (0.6 + 0.3 * fill.part(a.ad, 223)))::bigint as completes,
  (i.impressions * 0.6)::bigint as reach,
  fill.pick(i.place, 224, 40) as page_views, fill.pick(i.place, 225, 12) as purchases, 
  fill.pick(i.place, 226, 7) as leads
from fill.ads a
cross join lateral generate_series(a.first_day, a.last_day, interval '1 day') d
cross join lateral (select a.ad * 100000 + (d::date - date '2010-01-01') as place) p
cross join lateral (select p.place, 200 + fill.pick(p.place, 220, 2000) as impressions) i
-- Days without delivery have no row.
where fill.pick(p.place, 227, 25) > 0;

create unlogged table fill.totals as
select level, fill.uuid(kind, n) as id, upper(left(kind, 1)) || substr(kind, 2) || ' ' || n as name,
  fill.uuid(parent_kind, parent) as parent, day,
  fill.uuid('account', account) as account, spend, impressions, clicks, (reach * share)::bigint as reach,
  starts, completes,
  page_views, leads, purchases
from (
  select
    l.level, l.kind, l.n, l.parent_kind, l.parent, l.share, d.day, d.account, sum(d.spend) as spend,
    sum(d.impressions)::bigint as impressions, sum(d.clicks)::bigint as clicks, sum(d.reach)::bigint as reach,
    sum(d.starts)::bigint as starts, sum(d.completes)::bigint as completes,
    sum(d.page_views)::bigint as page_views,
    sum(d.leads)::bigint as leads, sum(d.purchases)::bigint as purchases
  from fill.delivered d
  cross join lateral (values
    ('AD', 'ad', d.ad, 'ad set', d.n, 1.0),
    ('AD_SET', 'ad set', d.n, 'campaign', d.campaign, 0.7),
    ('CAMPAIGN', 'campaign', d.campaign, 'account', d.account, 0.5),
    ('AD_ACCOUNT', 'account', d.account, null, null, 0.3)
  ) l (level, kind, n, parent_kind, parent, share)
  group by l.level, l.kind, l.n, l.parent_kind, l.parent, l.share, d.day, d.account
) t;

-- Numbers of 1 to 4 are hidden.
create function fill.shown(n bigint) returns bigint immutable parallel safe
  return case when n not between 1 and 4 then n end;

insert into ads.report_daily (
  source_id, entity_type, entity_id, day, ad_account_id, entity_name, entity_status, parent_entity_id,
  spend, impressions,
  off_platform_impressions, streamed_impressions, clicks, ctr, reach, frequency, starts, first_quartiles,
  midpoints, third_quartiles,
  completes, completion_rate, skips, listeners, new_listeners, streams, page_views, leads, purchases, revenue,
  page_views_suppressed, leads_suppressed, purchases_suppressed, revenue_suppressed, is_final,
  _first_synced_at, _synced_at, _run_id)
select
  2, level, id, day, account, name, 'ACTIVE', parent, spend, impressions, impressions / 20, impressions / 2,
  clicks,
  round(clicks::numeric / impressions, 6), reach, round(impressions::numeric / reach, 4), starts,
  starts * 95 / 100,
  (starts + completes) / 2, (starts + completes * 3) / 4, completes, round(completes::numeric / starts, 6),
    starts - completes,
  reach / 3, reach / 9, clicks * 2, fill.shown(page_views), fill.shown(leads), fill.shown(purchases),
  fill.shown(purchases) * 39.90,
  fill.shown(page_views) is null, fill.shown(leads) is null, fill.shown(purchases) is null,
  fill.shown(purchases) is null,
  day < fill.today()::date - 30, day + interval '31 hours', day + interval '31 hours', 1
from fill.totals;

-- The last two weeks by hour.
insert into ads.report_hourly (
  source_id, entity_type, entity_id, hour_start, ad_account_id, entity_name, entity_status,
  parent_entity_id, spend, impressions, clicks,
  starts, completes, is_final)
select 2, level, id, day + h * interval '1 hour', account, name, 'ACTIVE', parent, round(spend / 24, 2),
  impressions / 24, clicks / 24,
  starts / 24, completes / 24, day < fill.today()::date - 3
from fill.totals cross join generate_series(0, 23) h
where day >= fill.today()::date - 14;

-- What was reported at first of every seventh number of the last thirty days.
insert into ads.report_revisions (source_id, entity_type, entity_id, day, metric, old_value, new_value,
  seen_at, _run_id)
select 2, level, id, day, metric, (was * 0.97)::bigint, was, least(fill.today(), day + interval '55 hours'), 1
from fill.totals
cross join lateral (values ('spend', spend), ('impressions', impressions)) m (metric, was)
where day >= fill.today()::date - 30 and (was * 0.97)::bigint <> was
  and fill.pick(hashtext(id), day - date '2010-01-01', 7) = 0;

-- The whole flight as it was on the last eight Mondays.
insert into ads.report_lifetime (
  source_id, entity_type, entity_id, captured_on, ad_account_id, entity_name, entity_status,
  parent_entity_id, spend, impressions, clicks,
  ctr, reach, frequency, starts, completes, purchases, purchases_suppressed)
select 2, level, id, monday, account, name, 'ACTIVE', parent, sum(spend), sum(impressions), sum(clicks),
  round(sum(clicks) / sum(impressions), 6), (sum(reach) ^ 0.9)::bigint,
  round(sum(impressions) / (sum(reach) ^ 0.9)::bigint, 4),
  sum(starts), sum(completes), sum(purchases), false
from fill.totals
join (
  select (date_trunc('week', fill.today()) - w * interval '7 days')::date as monday from 
  generate_series(0, 7) w
) w on day < monday
group by level, id, account, name, parent, monday;
