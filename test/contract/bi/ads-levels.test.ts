import { expect, test } from 'vitest';
import { metricsOf } from '../../../src/connectors/spotify-ads/metrics.ts';
import { reading } from './reading.ts';

const columns = 'source_id, entity_type, entity_id, day, ad_account_id';

const { insert, table, read, shows } = reading(async () => {
  await insert('ops.sources (name, kind, base_url)', [
    `'ads', 'ads', 'http://one'`,
    `'other', 'ads', 'http://two'`,
  ]);
  await insert('ads.ad_accounts (source_id, id, name, currency_code)', [
    `1, 'eur', 'Euro account', 'EUR'`,
    `1, 'usd', 'Dollar account', 'USD'`,
    `1, 'chf', 'Franc account', 'CHF'`,
    `2, 'eur', 'Namesake', 'GBP'`,
  ]);
  await insert('ads.campaigns (source_id, id, ad_account_id, name, objective, status, _deleted_at)', [
    `1, 'c', 'eur', 'Campaign', 'REACH', 'ACTIVE', null`,
    `1, 'gone', 'eur', 'Gone campaign', 'CLICKS', 'ARCHIVED', now()`,
  ]);
  await insert('ads.ad_sets (source_id, id, ad_account_id, campaign_id, name, asset_format, _deleted_at)', [
    `1, 's', 'eur', 'c', 'Set', 'AUDIO', null`,
    `1, 'gone', 'eur', 'gone', 'Gone set', 'VIDEO', now()`,
  ]);
});

const levels = ['AD', 'AD_SET', 'CAMPAIGN', 'AD_ACCOUNT'] as const;
const views = [
  'ad_performance_daily',
  'ad_set_performance_daily',
  'campaign_performance_daily',
  'account_performance_daily',
] as const;

/** Metrics that the views compute from their parts instead. */
const computed = new Set(['ctr', 'frequency', 'completion_rate', 'return_on_ad_spend']);

test('every number of a report stands in the view of its level, and a flag beside each that may be hidden', async () => {
  const metrics = metricsOf('aggregate').filter(({ column }) => !computed.has(column));
  const values = metrics.map((_, index) => index + 1);
  await insert(
    `ads.report_daily (${columns}, ${metrics.map(({ column }) => column).join(', ')})`,
    levels.map((level) => `1, '${level}', 'all', '2024-05-01', 'eur', ${values.join(', ')}`),
  );
  for (const view of views) {
    const [[row] = []] = await table(
      `select to_jsonb(v) from bi.${view} v where date_day = '2024-05-01' and source = 'ads'`,
    );
    const shown = Object.values(Object(row));
    expect([view, values.filter((value) => !shown.includes(value))]).toEqual([view, []]);
    const flags = Object.keys(Object(row)).filter((name) => /^is_\w+_suppressed$/.test(name));
    expect([view, flags.length]).toEqual([view, metricsOf('aggregate').filter(({ flag }) => flag).length]);
    expect(await read(`select ${flags.join(', ')} from bi.${view} where date_day = '2024-05-01'`)).toEqual([
      flags.map(() => 'false').join(' | '),
    ]);
  }
});

test('conversions are those that each level reports: ads that hide them add up to less than their campaign', async () => {
  await insert(
    `ads.report_daily (${columns}, parent_entity_id, purchases, purchases_suppressed, revenue_suppressed)`,
    [
      `1, 'AD', 'a', '2024-05-02', 'eur', 's', 7, false, false`,
      `1, 'AD', 'b', '2024-05-02', 'eur', 's', null, true, true`,
      `1, 'AD_SET', 's', '2024-05-02', 'eur', 'c', 10, false, false`,
      `1, 'CAMPAIGN', 'c', '2024-05-02', 'eur', 'eur', 11, false, false`,
    ],
  );
  const query = (view: string) =>
    `select sum(purchases)::int, bool_or(is_purchases_suppressed), bool_or(is_revenue_suppressed)
     from bi.${view} where date_day = '2024-05-02'`;
  await shows(query('ad_performance_daily'), ['7 | true | true']);
  await shows(query('ad_set_performance_daily'), ['10 | false | false']);
  await shows(query('campaign_performance_daily'), ['11 | false | false']);
  await shows(
    `select ad_id, purchases, purchases_suppressed, is_purchases_suppressed from bi.ad_performance_daily
     where date_day = '2024-05-02' order by 1`,
    ['a | 7 | false | false', 'b | - | true | true'],
  );
});

test('facts of what was deleted or never known stay, with the names that are known', async () => {
  await insert(`ads.report_daily (${columns}, entity_name, entity_status, parent_entity_id, spend)`, [
    `1, 'AD_SET', 'gone', '2024-05-03', 'eur', 'Said', 'ON', null, 1`,
    `1, 'AD_SET', 'unknown', '2024-05-03', 'eur', 'Said', 'OFF', 'c', 2`,
    `1, 'CAMPAIGN', 'gone', '2024-05-03', 'eur', 'Said', null, null, 3`,
    `1, 'AD_ACCOUNT', 'closed', '2024-05-03', 'closed', 'Closed', null, null, 4`,
    `2, 'AD_ACCOUNT', 'eur', '2024-05-03', 'eur', 'Said', null, null, 5`,
  ]);
  const day = `where date_day = '2024-05-03' order by spend`;
  await shows(
    `select campaign_id, campaign_name, objective, ad_set_name, asset_format, status, currency, spend::float
     from bi.ad_set_performance_daily ${day}`,
    [
      'gone | Gone campaign | CLICKS | Gone set | VIDEO | ON | EUR | 1',
      'c | Campaign | REACH | Said | - | OFF | EUR | 2',
    ],
  );
  await shows(`select campaign_name, status, spend::float from bi.campaign_performance_daily ${day}`, [
    'Gone campaign | ARCHIVED | 3',
  ]);
  await shows(
    `select source, ad_account_id, ad_account_name, currency, spend::float from bi.account_performance_daily ${day}`,
    ['ads | closed | Closed | - | 4', 'other | eur | Namesake | GBP | 5'],
  );
});

test('the levels that disagree are named, with both sums; a level without rows counts as 0', async () => {
  await insert(`ads.report_daily (${columns}, spend, impressions, clicks, is_final)`, [
    // All agree.
    ...levels.map((level) => `1, '${level}', 'x', '2024-05-04', 'usd', 5.5, 100, 1, true`),
    // Two ads against one ad set: equal sums. The campaign says less, the account has no row.
    `1, 'AD', 'x', '2024-05-05', 'usd', 1.000001, 10, null, false`,
    `1, 'AD', 'y', '2024-05-05', 'usd', 2, 20, null, false`,
    `1, 'AD_SET', 'x', '2024-05-05', 'usd', 3.000001, 30, null, true`,
    `1, 'CAMPAIGN', 'x', '2024-05-05', 'usd', 3, 30, 2, false`,
    // The same account of another source.
    `2, 'AD', 'x', '2024-05-05', 'eur', 9, null, null, true`,
    `2, 'AD_SET', 'x', '2024-05-05', 'eur', 9, null, null, true`,
    `2, 'CAMPAIGN', 'x', '2024-05-05', 'eur', 9, null, null, true`,
    `2, 'AD_ACCOUNT', 'x', '2024-05-05', 'eur', 8, null, null, true`,
  ]);
  await shows(
    `select source, date_day::text, ad_account_name, currency, measure, lower_level, upper_level,
       lower_sum::float, upper_sum::float, difference::float, is_final
     from bi.ad_level_checks where date_day between '2024-05-04' and '2024-05-05' order by 1, measure, upper_level`,
    [
      'ads | 2024-05-05 | Dollar account | USD | clicks | AD | CAMPAIGN | 0 | 2 | -2 | false',
      'ads | 2024-05-05 | Dollar account | USD | impressions | AD | AD_ACCOUNT | 30 | 0 | 30 | false',
      'ads | 2024-05-05 | Dollar account | USD | spend | AD | AD_ACCOUNT | 3.000001 | 0 | 3.000001 | false',
      'ads | 2024-05-05 | Dollar account | USD | spend | AD | CAMPAIGN | 3.000001 | 3 | 0.000001 | false',
      'other | 2024-05-05 | Namesake | GBP | spend | AD | AD_ACCOUNT | 9 | 8 | 1 | true',
    ],
  );
});

test('captures of a period are told apart, and the latest is known for each entity', async () => {
  await insert(
    'ads.report_lifetime (source_id, entity_type, entity_id, captured_on, ad_account_id, entity_name, reach, impressions, spend)',
    [
      `1, 'CAMPAIGN', 'c', '2024-03-01', 'eur', 'Said', 100, 250, 10`,
      `1, 'CAMPAIGN', 'c', '2024-03-02', 'eur', 'Said', 120, 300, 12`,
      `1, 'AD', 'c', '2024-03-01', 'eur', 'Namesake', 0, 0, 0`,
      `2, 'CAMPAIGN', 'c', '2024-03-01', 'eur', 'Elsewhere', null, 1, 1`,
      `2, 'AD_ACCOUNT', 'eur', '2024-03-01', 'eur', null, 5, 10, 1`,
    ],
  );
  await shows(
    `select source, entity_type, entity_name, currency, period, captured_date::text, is_latest, reach_period,
       frequency_period, cost_per_person_reached from bi.reach_periods order by 1, 2, 6`,
    [
      'ads | AD | Namesake | EUR | LIFETIME | 2024-03-01 | true | 0 | - | -',
      'ads | CAMPAIGN | Campaign | EUR | LIFETIME | 2024-03-01 | false | 100 | 2.5000 | 0.100000',
      'ads | CAMPAIGN | Campaign | EUR | LIFETIME | 2024-03-02 | true | 120 | 2.5000 | 0.100000',
      'other | AD_ACCOUNT | Namesake | GBP | LIFETIME | 2024-03-01 | true | 5 | 2.0000 | 0.200000',
      'other | CAMPAIGN | Elsewhere | GBP | LIFETIME | 2024-03-01 | true | - | - | -',
    ],
  );
});

test('numbers that no column holds are shown exactly, with their names at the platform', async () => {
  await insert(`ads.report_daily (${columns}, entity_name, extra_metrics)`, [
    `1, 'AD', 'x', '2024-05-06', 'usd', 'Said', '{"NEW_METRIC": 1.00000051, "CLICKS": -5, "HUGE": 1e30}'`,
    `1, 'AD', 'y', '2024-05-06', 'usd', 'Said', '{}'`,
  ]);
  await shows(
    `select source, date_day::text, ad_account_name, entity_type, entity_name, metric, exact_value, metric_value
     from bi.ad_extra_metrics where date_day = '2024-05-06' order by metric`,
    [
      'ads | 2024-05-06 | Dollar account | AD | Said | CLICKS | -5 | -5.000000',
      'ads | 2024-05-06 | Dollar account | AD | Said | HUGE | 1000000000000000000000000000000 | -',
      'ads | 2024-05-06 | Dollar account | AD | Said | NEW_METRIC | 1.00000051 | 1.000001',
    ],
  );
});

/** Nodes of the plan of a query, as text. */
const planOf = async (query: string): Promise<string> => (await read(`explain ${query}`)).join('\n');

test('rates are looked up only where a converted amount is read', async () => {
  for (const view of [...views, 'ad_performance_hourly']) {
    expect(await planOf(`select sum(spend_in_reporting_currency) from bi.${view}`)).toContain('Limit');
    expect(await planOf(`select sum(spend) from bi.${view}`)).not.toMatch(/Limit|fx_rates|Nested Loop Left/);
  }
});

test('money in the reporting currency takes the rate of its day, or of the last day before it that has one', async () => {
  await insert(`ads.report_daily (${columns}, spend, revenue)`, [
    `1, 'AD', 'm', '2024-06-02', 'usd', 10, 20`,
    `1, 'AD', 'm', '2024-06-03', 'usd', 10, null`,
    `1, 'AD', 'm', '2024-06-04', 'usd', 10, 30`,
    `1, 'AD', 'm', '2024-06-09', 'usd', 10.000001, 30`,
    `1, 'AD', 'n', '2024-06-09', 'eur', 10.000001, null`,
    `1, 'AD', 'o', '2024-06-09', 'chf', 10, 10`,
  ]);
  await insert('ads.report_hourly (source_id, entity_type, entity_id, ad_account_id, hour_start, spend)', [
    `1, 'AD', 'm', 'usd', '2024-06-03 23:00Z', 10`,
    `1, 'AD', 'm', 'usd', '2024-06-04 00:00Z', 10`,
  ]);
  await insert('ref.fx_rates (date_day, from_currency, to_currency, rate)', [
    `'2024-06-03', 'USD', 'EUR', 0.9`,
    `'2024-06-05', 'USD', 'EUR', 0.8`,
    `'2024-06-04', 'USD', 'GBP', 7`,
    `'2024-06-09', 'EUR', 'EUR', 7`,
    `'2024-06-10', 'CHF', 'EUR', 7`,
  ]);
  const query = `select ad_id, date_day::text, currency, reporting_currency, spend_in_reporting_currency::float,
      revenue_in_reporting_currency::float from bi.ad_performance_daily where date_day >= '2024-06-01' order by 1, 2`;
  expect((await read(query)).map((line) => line.replace(/.* \| (- \| - \| -)$/, '$1'))).toEqual(
    Array(6).fill('- | - | -'),
  );
  await read(
    `create or replace function ops.reporting_currency() returns text immutable parallel safe return 'EUR'::text`,
  );
  await shows(query, [
    'm | 2024-06-02 | USD | EUR | - | -',
    'm | 2024-06-03 | USD | EUR | 9 | -',
    'm | 2024-06-04 | USD | EUR | 9 | 27',
    'm | 2024-06-09 | USD | EUR | 8.000001 | 24',
    'n | 2024-06-09 | EUR | EUR | 10.000001 | -',
    'o | 2024-06-09 | CHF | EUR | - | -',
  ]);
  await read(`create or replace function ops.reporting_time_zone() returns text immutable parallel safe
    return 'America/New_York'::text`);
  await shows(
    `select date_day::text, spend_in_reporting_currency::float from bi.ad_performance_hourly order by hour_start_at`,
    ['2024-06-03 | 9', '2024-06-04 | 9'],
  );
  expect(await read(query)).toContain('m | 2024-06-03 | USD | EUR | 9 | -');
});
