-- Two advertisers with currencies of their own, their campaigns (some carry the key of an issue), ad sets
-- and ads.

insert into ads.businesses (source_id, id, name, type, status)
values (2, fill.uuid('business', 1), 'Example Group', 'ADVERTISER', 'ACTIVE');
insert into ads.ad_accounts (source_id, id, business_id, name, status, currency_code, country_code)
select 2, fill.uuid('account', n), fill.uuid('business', 1), 'Account ' || currency, 'ACTIVE', currency,
  country
from (values (0, 'EUR', 'DE'), (1, 'USD', 'US')) a (n, currency, country);

-- Of each campaign five ad sets, of these 28 ads. Ad sets run for 80 % of the days, one after the other's
-- start.
create table fill.ad_sets as
select
  n, n / 5 as campaign, (n / 5) % 2 as account,
  (fill.today() - fill.size('days') * interval '1 day' * (1 - 0.2 * fill.part(n, 200)))::date as first_day,
  (fill.today() - fill.size('days') * interval '1 day' * 0.2 * fill.part(n, 201) * (n % 2))::date - 1
    as last_day
from generate_series(0, fill.size('campaigns') * 5 - 1) n;

create table fill.ads as
select s.*, row_number() over (order by s.n, k) - 1 as ad
from fill.ad_sets s cross join lateral generate_series(1, 5 + (s.n % 5 < 3)::integer) k;

insert into ads.campaigns (source_id, id, ad_account_id, name, status, objective, created_at, updated_at)
select 2, fill.uuid('campaign', campaign), fill.uuid('account', account),
  case when campaign % 3 = 0 then i.key || ' ' else '' end || 'Campaign ' || campaign,
  case when campaign % 7 = 6 then 'ARCHIVED' else 'ACTIVE' end,
  (array['REACH', 'CLICKS', 'VIDEO_VIEWS', 'CONVERSIONS'])[1 + campaign % 4], min(s.first_day) - 3,
    min(s.first_day) - 3
from fill.ad_sets s
left join tracker.issues i on i.id = 1 + fill.pick(s.campaign, 202, fill.size('issues'))
group by campaign, account, i.key;

insert into ads.ad_sets (
  source_id, id, ad_account_id, name, campaign_id, status, asset_format, delivery_goal, cost_model, pacing,
  start_at, end_at,
  budget, budget_type, budget_currency, bid, bid_strategy, created_at, updated_at, is_paused)
select 2, fill.uuid('ad set', n), fill.uuid('account', account), 'Ad set ' || n,
  fill.uuid('campaign', campaign),
  case when last_day < fill.today()::date - 1 then 'COMPLETED' else 'ACTIVE' end,
  (array['AUDIO', 'VIDEO', 'IMAGE'])[1 + n % 3],
  'ON_PLATFORM', 'CPM', 'EVEN', first_day,
  case when last_day < fill.today()::date - 1 then last_day + 1 else fill.today()::date + 60 end,
  case when n % 4 = 0 then 90000 else 150 end, case when n % 4 = 0 then 'LIFETIME' else 'DAILY' end,
  (array['EUR', 'USD'])[1 + account], 12.5, 'MAX_BID', first_day - 2, first_day - 2, false
from fill.ad_sets;

insert into ads.assets (source_id, id, ad_account_id, name, type, status, url, duration_ms, created_at,
  updated_at)
select 2, fill.uuid('asset', n), fill.uuid('account', n % 2), 'Asset ' || n,
  (array['AUDIO', 'VIDEO', 'IMAGE'])[1 + n % 3], 'READY',
  'https://cdn.example.com/' || n, 15000 + n % 3 * 15000, fill.today() - interval '800 days',
  fill.today() - interval '800 days'
from generate_series(0, 199) n;

insert into ads.ads (
  source_id, id, ad_account_id, name, ad_set_id, status, advertiser_name, tagline, asset_id, cta_key,
  cta_text, cta_url,
  created_at, updated_at, start_at, end_at)
select 2, fill.uuid('ad', ad), fill.uuid('account', account), 'Ad ' || ad, fill.uuid('ad set', n),
  case when ad % 9 = 0 then 'ARCHIVED' else 'ACTIVE' end, 'Example', 'Tagline ' || ad % 40,
  fill.uuid('asset', ad % 100 * 2 + account), 'LEARN_MORE', 'Learn more',
  'https://shop' || ad % 12 || '.example.com/p/' || ad % 60
  || '?utm_source=spotify&utm_medium=audio&utm_campaign=c' || campaign
    || '&utm_content=ad' || ad,
  first_day - 1, first_day - 1, first_day, null
from fill.ads;

insert into ads.ad_set_targets (source_id, ad_set_id, dimension, value)
select 2, fill.uuid('ad set', n), t.dimension, t.value
from fill.ad_sets
cross join lateral (values
  ('genders', (array['FEMALE', 'MALE', 'NON_BINARY'])[1 + n % 3]),
  ('geo_targets.country_code', (array['DE', 'US', 'UK', 'FR'])[1 + n % 4]),
  ('platforms', (array['ANDROID', 'IOS', 'DESKTOP'])[1 + n % 3]),
  ('age_ranges', (array['18-24', '25-34', '35-54'])[1 + n % 3])
) t (dimension, value);
insert into ads.ad_set_placements (source_id, ad_set_id, placement)
select 2, fill.uuid('ad set', n), p from fill.ad_sets, unnest('{MUSIC,PODCAST}'::text[]) p;
insert into ads.ad_set_frequency_caps (source_id, ad_set_id, unit, period, max_impressions)
select 2, fill.uuid('ad set', n), 'WEEK', 1, 5 from fill.ad_sets where n % 2 = 0;

-- Budgets change every ninety days.
insert into ads.ad_set_versions (source_id, id, status, budget, budget_type, budget_currency, bid,
  bid_strategy, valid_from, valid_to)
select 2, a.id, a.status,
  case when lead(at) over mine is null or a.budget_type = 'LIFETIME' then a.budget
    else 100 + fill.pick(n, k, 100) end,
  a.budget_type, a.budget_currency, a.bid, a.bid_strategy, at, lead(at) over mine
from fill.ad_sets s
join ads.ad_sets a on a.id = fill.uuid('ad set', s.n)
cross join lateral generate_series(0, (s.last_day - s.first_day) / 90) k
cross join lateral (select s.first_day - 2 + k * interval '90 days' as at) v
window mine as (partition by a.id order by at);
insert into ads.campaign_versions (source_id, id, name, status, objective, valid_from)
select source_id, id, name, status, objective, created_at from ads.campaigns;

insert into ads.audiences (source_id, id, ad_account_id, name, type, status, size_min, size_max,
  campaign_ids, ad_set_ids, created_at, updated_at)
select 2, fill.uuid('audience', n), fill.uuid('account', n % 2), 'Audience ' || n, 'CUSTOM', 'READY',
  1000 * n, 2000 * n,
  array[fill.uuid('campaign', n)], array[fill.uuid('ad set', n * 5)], fill.today() - interval '700 days',
  fill.today()
from generate_series(1, least(40, fill.size('campaigns') - 1)) n;

insert into ads.change_history (
  source_id, id, ad_account_id, changed_at, entity_type, entity_id, entity_name, operation, actor_id,
  actor_type, actor_name)
select 2, fill.uuid('change', c), fill.uuid('account', s.account), 
  fill.today() - fill.part(c, 210) * interval '180 days',
  'AD_SET', fill.uuid('ad set', s.n), 'Ad set ' || s.n, 'UPDATE', 'actor-' || c % 9, 'USER', 'Actor ' || c % 9
from generate_series(1, 5000) c
join fill.ad_sets s on s.n = fill.pick(c, 211, fill.size('campaigns') * 5);
insert into ads.change_history_items (source_id, change_id, item, field_type, display_label,
  change_category, before, after)
select 2, fill.uuid('change', n), k, (array['BUDGET', 'BID'])[1 + k], 'Label', 'DELIVERY',
  to_jsonb(fill.pick(n, k, 100)), to_jsonb(fill.pick(n, k + 2, 100))
from generate_series(1, 5000) n, generate_series(0, 1) k;

analyze ads.ads, ads.ad_sets, ads.campaigns;
analyze fill.ads;
