import type { Chapter } from './recipe.ts';

export const advertising: Chapter = {
  title: 'Advertising',
  recipes: [
    {
      title: 'What does a click cost, by ad set?',
      about:
        'Sums first, then the ratio: the mean of daily costs per click is another number, and a wrong one.',
      sql: `select campaign_name, ad_set_name, currency, sum(spend) as spend, sum(clicks)::bigint as clicks,
  round(sum(spend) / nullif(sum(clicks), 0), 4) as cpc
from bi.ad_set_performance_daily
group by campaign_id, ad_set_id, campaign_name, ad_set_name, currency
order by currency, cpc, ad_set_name;`,
    },
    {
      title: 'What was spent on each campaign, week by week?',
      about: 'Amounts of different currencies are never added: the currency is a column of the answer.',
      sql: `select date_trunc('week', date_day)::date as week_start, ad_account_name, campaign_name, currency, sum(spend) as spend
from bi.campaign_performance_daily
group by 1, ad_account_id, campaign_id, 2, 3, 4
order by 1, 2, 3;`,
    },
    {
      title: 'How many purchases did each campaign bring?',
      about:
        'Asked at the level of campaigns. The platform hides numbers from 1 to 4, so the sum over ads is too small; days with a hidden number are counted beside.',
      sql: `select ad_account_name, campaign_name, sum(purchases)::bigint as purchases,
  count(*) filter (where is_purchases_suppressed) as days_hidden, currency, sum(revenue) as revenue
from bi.campaign_performance_daily
group by ad_account_id, campaign_id, ad_account_name, campaign_name, currency
order by ad_account_name, campaign_name;`,
    },
    {
      title: 'What does a purchase cost, by campaign?',
      about:
        'Spend and purchases of the same days: a day that hides its purchases costs money all the same, and spend over purchases of all days is too high. Beside it, how many days are left out.',
      sql: `select ad_account_name, campaign_name, currency, sum(purchases)::bigint as purchases,
  round(sum(spend) filter (where purchases is not null) / nullif(sum(purchases), 0), 4) as cost_per_purchase,
  count(*) filter (where is_purchases_suppressed) as days_hidden
from bi.campaign_performance_daily
group by ad_account_id, campaign_id, ad_account_name, campaign_name, currency
order by ad_account_name, campaign_name;`,
    },
    {
      title: 'What was spent on each country?',
      about:
        'An ad set is aimed at several countries: joined to its targets, its spend would count once for each. Here it is allocated evenly to them.',
      sql: `select target_value as country, currency, round(sum(allocated_spend), 2) as spend
from bi.target_performance_daily
where dimension = 'geo_targets.country_code'
group by target_value, currency
order by spend desc, country;`,
    },
    {
      title: 'Is the budget spent at the pace of the flight?',
      about: 'A used ratio far below the elapsed ratio will not spend its budget; far above, it ends early.',
      sql: `select campaign_name, ad_set_name, currency, budget_type, budget_to_date, spend_to_date,
  budget_used_ratio, flight_elapsed_ratio
from bi.ad_set_pacing
order by budget_used_ratio desc nulls last, ad_set_id;`,
    },
    {
      title: 'What did the platform restate since Monday?',
      about: 'Numbers of past days that changed after they were first read, campaigns only.',
      sql: `select date_day, entity_name as campaign_name, currency, old_value, new_value, difference
from bi.report_revisions
where entity_type = 'CAMPAIGN' and metric = 'spend' and seen_at >= date_trunc('week', now())
order by date_day, campaign_name, currency, seen_at;`,
    },
    {
      title: 'Who hears it?',
      about: 'The newest snapshot of each campaign by age. Shares are within the campaign.',
      sql: `select entity_name as campaign_name, dimension_value as age, captured_date, impressions, impression_share_ratio
from bi.audience_insights
where entity_type = 'CAMPAIGN' and dimension = 'AGE' and is_latest
order by entity_id, age;`,
    },
    {
      title: 'Which creative works best?',
      about:
        'Assets side by side in the last ninety days: how often their ads are clicked, and how often they are heard to the end.',
      sql: `select asset_name, currency, count(distinct ad_id) as ads, sum(impressions)::bigint as impressions,
  round(sum(clicks)::numeric / nullif(sum(impressions), 0), 6) as ctr,
  round(sum(completes)::numeric / nullif(sum(starts), 0), 6) as completion_ratio
from bi.ad_performance_daily
where asset_id is not null and date_day >= current_date - 90
group by asset_id, asset_name, currency
order by ctr desc, asset_name;`,
    },
    {
      title: 'How many people did each campaign reach?',
      about:
        'Over its lifetime so far, as the platform counts people. Reach is never a sum: the same person is reached on many days and by many ads.',
      sql: `select ad_account_name, entity_name as campaign_name, captured_date, reach_period, frequency_period
from bi.reach_periods
where entity_type = 'CAMPAIGN' and period = 'LIFETIME' and is_latest
order by reach_period desc, entity_id;`,
    },
    {
      title: 'On which days did people hear a campaign too often?',
      about: 'Frequency of a day: impressions by people. Of a longer period, ask `reach_periods`.',
      sql: `select campaign_name, currency, count(*) as days, count(*) filter (where frequency_day > 2) as days_above_2,
  max(frequency_day) as highest
from bi.campaign_performance_daily
group by campaign_id, campaign_name, currency
order by days_above_2 desc, campaign_name, currency;`,
    },
    {
      title: 'What do landing pages bring?',
      about:
        'Clicks and spend of the last ninety days by where they lead and by the UTM parameters. `item_number = 0` is the call to action: one row per ad.',
      sql: `select l.host, l.utm_campaign, p.currency, count(distinct p.ad_id) as ads, sum(p.clicks)::bigint as clicks, sum(p.spend) as spend
from bi.landing_pages l
join bi.ad_performance_daily p on p.source = l.source and p.ad_id = l.ad_id
where l.item_number = 0 and p.date_day >= current_date - 90
group by l.host, l.utm_campaign, p.currency
order by clicks desc, l.host, l.utm_campaign;`,
    },
    {
      title: 'Where do the levels of the reports disagree?',
      about:
        'The platform restates levels at different times: a day may say more for ads than for their campaign. Decide on one level per chart.',
      sql: `select ad_account_name, measure, upper_level, count(*) as days, sum(difference) as difference, currency
from bi.ad_level_checks
group by ad_account_id, ad_account_name, measure, upper_level, currency
order by ad_account_name, measure, upper_level;`,
    },
  ],
};
