import type { Truths } from './truth.ts';

/** Rows of a level by day, with the names of the account. */
const level = (type: string): string =>
  `(select r.*, a.name as account, a.currency_code as currency from ads.report_daily r, ads.ad_accounts a
    where r.entity_type = '${type}' and a.id = r.ad_account_id)`;

export const advertising: Truths = {
  'What does a click cost, by ad set?': `select c.name, s.name, r.currency, sum(r.spend), sum(r.clicks), sum(r.spend) / sum(r.clicks)
    from ${level('AD_SET')} r join ads.ad_sets s on s.id = r.entity_id join ads.campaigns c on c.id = s.campaign_id group by 1, 2, 3`,
  'What was spent on each campaign, week by week?': `select r.day - (extract(isodow from r.day)::int - 1), r.account, c.name,
      r.currency, sum(r.spend)
    from ${level('CAMPAIGN')} r join ads.campaigns c on c.id = r.entity_id group by 1, 2, 3, 4`,
  'How many purchases did each campaign bring?': `select r.account, c.name, sum(r.purchases), sum(r.purchases_suppressed::int),
      r.currency, sum(r.revenue)
    from ${level('CAMPAIGN')} r join ads.campaigns c on c.id = r.entity_id group by 1, 2, 5`,
  'What does a purchase cost, by campaign?': `select r.account, c.name, r.currency, sum(r.purchases),
      (sum(r.spend) - coalesce(sum(case when r.purchases is null then r.spend end), 0)) / nullif(sum(r.purchases), 0),
      sum(r.purchases_suppressed::int)
    from ${level('CAMPAIGN')} r join ads.campaigns c on c.id = r.entity_id group by c.id, 1, 2, 3`,
  'What was spent on each country?': `select t.value, r.currency, round(sum(r.spend / (
      select count(*) from ads.ad_set_targets o where o.ad_set_id = t.ad_set_id and o.dimension = t.dimension)), 2)
    from ${level('AD_SET')} r join ads.ad_set_targets t on t.ad_set_id = r.entity_id
    where t.dimension = 'geo_targets.country_code' group by 1, 2`,
  'Is the budget spent at the pace of the flight?': `with spent as (
      select entity_id, sum(spend) as spend, max(day) as last from ads.report_daily where entity_type = 'AD_SET' group by 1),
    -- Day by day: the budget of the version that was in force when the day ended, of the first one before it.
    allowed as (
      select s.id, d::date, (
        select v.budget from ads.ad_set_versions v
        where v.id = s.id and v.budget_type = 'DAILY'
        order by (v.valid_from at time zone 'UTC')::date <= d::date desc,
          case when (v.valid_from at time zone 'UTC')::date <= d::date then -extract(epoch from v.valid_from)
            else extract(epoch from v.valid_from) end
        limit 1) as budget
      from ads.ad_sets s join spent t on t.entity_id = s.id
      cross join generate_series((s.start_at at time zone 'UTC')::date,
        least(t.last, ((s.end_at - interval '1 microsecond') at time zone 'UTC')::date), interval '1 day') d
      where s.budget_type = 'DAILY')
    select c.name, s.name, s.budget_currency, s.budget_type, b.budget, t.spend, t.spend / b.budget,
      case when s.end_at > s.start_at
        then extract(epoch from least(now(), s.end_at) - s.start_at) / extract(epoch from s.end_at - s.start_at) end
    from ads.ad_sets s join ads.campaigns c on c.id = s.campaign_id left join spent t on t.entity_id = s.id
    cross join lateral (select case s.budget_type when 'LIFETIME' then s.budget
      else (select sum(budget) from allowed where allowed.id = s.id) end as budget) b`,
  'What did the platform restate since Monday?': `select v.day, c.name, a.currency_code, v.old_value, v.new_value,
      coalesce(v.new_value, 0) - coalesce(v.old_value, 0)
    from ads.campaigns c join ads.ad_accounts a on a.id = c.ad_account_id
    join ads.report_revisions v on v.entity_id = c.id and v.entity_type = 'CAMPAIGN' and v.metric = 'spend'
    where v.seen_at >= now()::date - (extract(isodow from now())::int - 1)`,
  'Who hears it?': `select c.name, i.value, i.captured_on, i.impressions, i.impressions::numeric / (
      select sum(o.impressions) from ads.insight_snapshots o
      where (o.entity_id, o.dimension, o.captured_on) = (i.entity_id, i.dimension, i.captured_on))
    from ads.insight_snapshots i join ads.campaigns c on c.id = i.entity_id
    where i.dimension = 'AGE' and not exists (
      select from ads.insight_snapshots later where later.entity_id = i.entity_id and later.dimension = i.dimension
        and later.captured_on > i.captured_on)`,
  'Which creative works best?': `select s.name, r.currency, count(distinct d.id), sum(r.impressions),
      sum(r.clicks) / sum(r.impressions), sum(r.completes) / sum(r.starts)
    from ads.assets s join ads.ads d on d.asset_id = s.id join ${level('AD')} r on r.entity_id = d.id group by 1, 2`,
  'How many people did each campaign reach?': `select a.name, c.name, l.captured_on, l.reach, l.impressions::numeric / l.reach
    from ads.campaigns c join ads.ad_accounts a on a.id = c.ad_account_id
    join ads.report_lifetime l on l.entity_id = c.id and l.entity_type = 'CAMPAIGN'
    where l.captured_on = (select max(captured_on) from ads.report_lifetime o where o.entity_id = c.id)`,
  'On which days did people hear a campaign too often?': `select c.name, r.currency, count(*),
      sum((r.impressions > 2 * r.reach)::int), max(r.impressions::numeric / r.reach)
    from ${level('CAMPAIGN')} r join ads.campaigns c on c.id = r.entity_id group by 1, 2`,
  'What do landing pages bring?': `select split_part(split_part(d.cta_url, '//', 2), '/', 1),
      (regexp_match(d.cta_url, 'utm_campaign=([^&]*)'))[1], r.currency, count(distinct d.id), sum(r.clicks), sum(r.spend)
    from ads.ads d join ${level('AD')} r on r.entity_id = d.id group by 1, 2, 3`,
  'Where do the levels of the reports disagree?': `with sums as (
      select day, account, currency, entity_type, measure, sum(value) as value
      from (select r.*, a.name as account, a.currency_code as currency from ads.report_daily r
        join ads.ad_accounts a on a.id = r.ad_account_id) r
      cross join lateral (values ('spend', r.spend), ('impressions', r.impressions), ('clicks', r.clicks)) v (measure, value)
      group by 1, 2, 3, 4, 5)
    select l.account, l.measure, u.entity_type, count(*), sum(l.value - u.value), l.currency
    from sums l join sums u using (day, account, currency, measure)
    where l.entity_type = 'AD' and u.entity_type <> 'AD' and l.value <> u.value group by 1, 2, 3, 6`,
};
