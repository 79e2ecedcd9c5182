-- Who heard it: campaigns and ad sets by five dimensions, on twelve Sundays.

insert into ads.insight_snapshots (
  source_id, entity_type, entity_id, dimension, value, captured_on, ad_account_id, impressions, clicks, ctr,
  reach, completes, listeners,
  streams, purchases, purchases_suppressed)
select 2, e.entity_type, e.id, d.dimension, d.value, captured::date, e.account,
  i.impressions, i.impressions / 100, 0.01, i.impressions / 3, i.impressions * 8 / 10, i.impressions / 5,
  i.impressions / 20,
  case when i.impressions > 15000 then i.impressions / 2000 end, i.impressions <= 15000
from (
  select 'CAMPAIGN' as entity_type, id, ad_account_id as account from ads.campaigns
  union all
  select 'AD_SET', id, ad_account_id from ads.ad_sets
) e
cross join lateral (
  select 'AGE' as dimension, value, place
    from unnest('{18-24,25-34,35-44,45-54,55+}'::text[]) with ordinality v (value, place)
  union all
  select 'GENDER', value, place + 10
    from unnest('{FEMALE,MALE,NON_BINARY}'::text[]) with ordinality v (value, place)
  union all
  select 'PLATFORM', value, place + 20
    from unnest('{ANDROID,IOS,DESKTOP,CONNECTED}'::text[]) with ordinality v (value, place)
  union all
  select 'COUNTRY', value, place + 30
    from unnest('{DE,US,UK,FR,JP,SE,NL,ES}'::text[]) with ordinality v (value, place)
  union all
  select 'GENRE', 'GENRE_' || place, place + 40 from generate_series(1, 12) place
) d
cross join generate_series(0, 11) week
cross join lateral (
  select date_trunc('week', fill.today()) - interval '1 day' - week * interval '7 days' as captured
) c
cross join lateral (
  select (2000 + fill.pick(hashtext(e.id), d.place, 5000)) * (14 - week) as impressions
) i;

insert into ads.insight_states (source_id, entity_type, entity_id, dimension, ad_account_id, state, asked_on)
select 2, entity_type, entity_id, dimension, ad_account_id, 'ok', max(captured_on)
from ads.insight_snapshots group by entity_type, entity_id, dimension, ad_account_id;
