import { expect, test } from 'vitest';
import { reading, readWhole } from './reading.ts';

const facts =
  'ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id, spend, impressions, clicks, reach';

const { insert, table: read } = reading(async () => {
  await insert('ops.sources (name, kind, base_url)', [
    `'ads', 'ads', 'http://one'`,
    `'other', 'ads', 'http://two'`,
  ]);
  await insert('ads.businesses (source_id, id, name)', [`1, 'b', 'Business'`]);
  await insert('ads.ad_accounts (source_id, id, name, currency_code, business_id, _deleted_at)', [
    `1, 'acc', 'Euro account', 'EUR', 'b', null`,
    `1, 'yen', 'Yen account', 'JPY', null, null`,
    `1, 'old', 'Closed account', 'USD', null, now()`,
    `2, 'acc', 'Namesake', 'USD', null, null`,
  ]);
  await insert('ads.campaigns (source_id, id, ad_account_id, name, objective, status)', [
    `1, 'c', 'acc', 'Campaign', 'REACH', 'ACTIVE'`,
    `2, 'c', 'acc', 'Namesake', 'CLICKS', 'ACTIVE'`,
  ]);
  await insert(
    'ads.ad_sets (source_id, id, ad_account_id, campaign_id, name, budget, budget_type, budget_currency, start_at, end_at, _deleted_at)',
    [
      `1, 'life', 'acc', 'c', 'Lifetime', 100, 'LIFETIME', 'EUR', '2024-03-01Z', '2024-03-11Z', null`,
      `1, 'daily', 'acc', 'c', 'Daily', 30, 'DAILY', null, '2024-03-01Z', '2024-04-01Z', null`,
      `1, 'quiet', 'acc', 'c', 'No numbers', 10, 'DAILY', 'EUR', '2024-03-01Z', null, null`,
      `1, 'bare', 'yen', null, null, null, null, null, null, null, null`,
      `1, 'gone', 'acc', 'c', 'Gone', 1, 'DAILY', 'EUR', null, null, now()`,
    ],
  );
  await insert('ads.ad_set_versions (source_id, id, budget, budget_type, valid_from, valid_to)', [
    // 10 a day up to 4 March, 20 on the 5th and 6th (twice changed on the 5th), 30 since.
    `1, 'daily', 10, 'DAILY', '2024-03-03 22:00Z', '2024-03-05 08:00Z'`,
    `1, 'daily', 999, 'DAILY', '2024-03-05 08:00Z', '2024-03-05 09:00Z'`,
    `1, 'daily', 20, 'DAILY', '2024-03-05 09:00Z', '2024-03-07 00:00Z'`,
    `1, 'daily', 30, 'DAILY', '2024-03-07 00:00Z', null`,
    `1, 'quiet', 10, 'DAILY', '2024-03-03Z', null`,
    `2, 'daily', 5000, 'DAILY', '2024-03-01Z', null`,
  ]);
  await insert('ads.ads (source_id, id, ad_account_id, ad_set_id, name, asset_id, _deleted_at)', [
    `1, 'a', 'acc', 'life', 'Ad', 'x', null`,
    `1, 'b', 'acc', 'life', 'Deleted ad', null, now()`,
    `2, 'a', 'acc', 'life', 'Namesake', null, null`,
  ]);
  await insert(`${facts}, is_final)`, [
    `1, 'AD', 'a', '2024-03-01', 'acc', 12.345678, 1000, 10, 800, true`,
    `1, 'AD', 'a', '2024-03-02', 'acc', 0.000001, 0, 0, 0, false`,
    `1, 'AD', 'b', '2024-03-01', 'acc', 1, 10, null, null, true`,
    `1, 'CAMPAIGN', 'c', '2024-03-01', 'acc', 13.345678, 1010, 10, 700, true`,
    `1, 'AD_ACCOUNT', 'acc', '2024-03-01', 'acc', 13.345678, 1010, 10, 700, true`,
    `1, 'AD_SET', 'life', '2024-03-01', 'acc', 20, 1, 1, 1, true`,
    `1, 'AD_SET', 'life', '2024-03-05', 'acc', 5.5, 1, 1, 1, true`,
    `1, 'AD_SET', 'daily', '2024-03-01', 'acc', 45, 1, 1, 1, true`,
    `1, 'AD_SET', 'daily', '2024-03-08', 'acc', 45, 1, 1, 1, true`,
  ]);
  await insert(
    'ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id, entity_name, parent_entity_id, spend, purchases_suppressed, revenue)',
    [`1, 'AD', 'unknown', '2024-03-01', 'yen', 'Told name', 'life', 7, true, 3.5`],
  );
});

test('an ad and day stands with all that is above it, in the currency of its account, from one source', async () => {
  expect(
    await read(`select source, date_day::text, ad_account_name, currency, campaign_name, objective, ad_set_name, ad_name, spend::text
      from bi.ad_performance_daily order by ad_id, date_day`),
  ).toEqual([
    ['ads', '2024-03-01', 'Euro account', 'EUR', 'Campaign', 'REACH', 'Lifetime', 'Ad', '12.345678'],
    ['ads', '2024-03-02', 'Euro account', 'EUR', 'Campaign', 'REACH', 'Lifetime', 'Ad', '0.000001'],
    ['ads', '2024-03-01', 'Euro account', 'EUR', 'Campaign', 'REACH', 'Lifetime', 'Deleted ad', '1.000000'],
    ['ads', '2024-03-01', 'Yen account', 'JPY', 'Campaign', 'REACH', 'Lifetime', 'Told name', '7.000000'],
  ]);
});

test('ratios are computed from what they are ratios of; of nothing they are null, never an error', async () => {
  const ratios = `select ctr::text, cpc::text, cpm::text, completion_ratio::text, return_on_ad_spend_ratio::text, frequency_day::text
    from bi.ad_performance_daily`;
  expect(await read(`${ratios} where ad_id = 'a' order by date_day`)).toEqual([
    ['0.010000', '1.234568', '12.345678', null, null, '1.2500'],
    [null, null, null, null, null, null],
  ]);
  expect(await read(`${ratios} where ad_id = 'unknown'`)).toEqual([[null, null, null, null, '0.5000', null]]);
});

test('what the platform hides is null with a flag, what it did not tell is null without', async () => {
  expect(
    await read(
      "select ad_id, purchases, purchases_suppressed, leads_suppressed from bi.ad_performance_daily where ad_id in ('a', 'unknown') order by 1 limit 3",
    ),
  ).toEqual([
    ['a', null, false, false],
    ['a', null, false, false],
    ['unknown', null, true, false],
  ]);
});

test('reach of a campaign is its own, not the sum over its ads', async () => {
  expect(
    await read(
      'select campaign_name, currency, reach_day::int, frequency_day::text, is_final from bi.campaign_performance_daily',
    ),
  ).toEqual([['Campaign', 'EUR', 700, '1.4429', true]]);
  const sums = await read(
    `select definition from pg_views where schemaname = 'bi' and definition ~* 'sum\\([^)]*(reach|listeners|frequency)'`,
  );
  expect(sums).toEqual([]);
});

test('every view with an amount says its currency', async () => {
  const amounts = `column_name ~ '^(spend|revenue|budget|bid|cpc|cpm)' and data_type = 'numeric' and column_name not like '%ratio'`;
  const views = await read(
    `select distinct table_name from information_schema.columns where table_schema = 'bi' and ${amounts} order by 1`,
  );
  expect(views.flat()).toEqual([
    'account_performance_daily',
    'ad_performance_daily',
    'ad_performance_hourly',
    'ad_set_history',
    'ad_set_pacing',
    'ad_set_performance_daily',
    'audience_insights',
    'campaign_performance_daily',
    'reach_periods',
  ]);
  expect(
    await read(
      `select table_name from information_schema.columns where table_schema = 'bi' and column_name = 'currency' order by 1`,
    ),
  ).toEqual(
    [
      ...views.flat(),
      'ad_accounts',
      'ad_level_checks',
      'linked_campaign_spend_daily',
      'report_revisions',
      'target_performance_daily',
    ]
      .sort()
      .map((name) => [name]),
  );
});

test('pacing: a lifetime budget as a whole; a daily one by the days it was in force, the first also before it was seen', async () => {
  const columns =
    'ad_set_id, currency, budget::text, budget_to_date::text, spend_to_date::text, budget_used_ratio::text, last_report_date::text';
  expect(await read(`select ${columns} from bi.ad_set_pacing order by 1`)).toEqual([
    ['bare', 'JPY', null, null, null, null, null],
    // 1 to 4 March 10 each, 5 and 6 March 20 each, 7 and 8 March 30 each.
    ['daily', 'EUR', '30.000000', '140.000000', '90.000000', '0.6429', '2024-03-08'],
    ['life', 'EUR', '100.000000', '100.000000', '25.500000', '0.2550', '2024-03-05'],
    ['quiet', 'EUR', '10.000000', null, null, null, null],
  ]);
  expect(
    await read(
      `select ad_set_id, flight_elapsed_ratio::text from bi.ad_set_pacing where flight_elapsed_ratio is not null order by 1`,
    ),
  ).toEqual([
    ['daily', '1.0000'],
    ['life', '1.0000'],
  ]);
});

test('pacing ends with the flight: a day on which it ends at midnight is not of it', async () => {
  await read(`update ads.ad_sets set end_at = '2024-03-05Z' where id = 'daily'`);
  expect(await read(`select budget_to_date::text from bi.ad_set_pacing where ad_set_id = 'daily'`)).toEqual([
    ['40.000000'],
  ]);
  await read(`update ads.ad_sets set end_at = '2024-03-05 00:00:01Z' where id = 'daily'`);
  expect(await read(`select budget_to_date::text from bi.ad_set_pacing where ad_set_id = 'daily'`)).toEqual([
    ['60.000000'],
  ]);
});

test('insights know their latest capture and the share of each value in its own capture', async () => {
  await insert(
    'ads.insight_snapshots (source_id, entity_type, entity_id, dimension, value, captured_on, ad_account_id, impressions)',
    [
      `1, 'AD_SET', 'life', 'AGE', '18-24', '2024-03-01', 'acc', 30`,
      `1, 'AD_SET', 'life', 'AGE', '18-24', '2024-03-02', 'acc', 40`,
      `1, 'AD_SET', 'life', 'AGE', '25-34', '2024-03-02', 'acc', 60`,
      `1, 'CAMPAIGN', 'c', 'AGE', '18-24', '2024-03-01', 'acc', 0`,
    ],
  );
  expect(
    await read(`select entity_name, dimension_value, captured_date::text, is_latest, impression_share_ratio::text
      from bi.audience_insights order by entity_type, captured_date, dimension_value`),
  ).toEqual([
    ['Lifetime', '18-24', '2024-03-01', false, '1.000000'],
    ['Lifetime', '18-24', '2024-03-02', true, '0.400000'],
    ['Lifetime', '25-34', '2024-03-02', true, '0.600000'],
    ['Campaign', '18-24', '2024-03-01', true, null],
  ]);
});

test('a change shows its fields, without e-mail addresses', async () => {
  await insert(
    'ads.change_history (source_id, id, ad_account_id, changed_at, entity_type, entity_id, actor_name, actor_email)',
    [
      `1, 'h', 'acc', '2024-03-01 23:30Z', 'AD_SET', 'life', 'Ann', 'ann@example.com'`,
      `1, 'i', 'acc', '2024-03-02Z', 'AD_SET', 'life', null, null`,
    ],
  );
  await insert(
    'ads.change_history_items (source_id, change_id, item, field_type, display_label, before, after)',
    [
      `1, 'h', 0, 'bidAmount', 'Bid Amount', '{"value": 1}', '{"min": 1, "max": 2}'`,
      `1, 'h', 1, 'status', null, null, '"PAUSED"'`,
    ],
  );
  expect(
    await read(
      'select change_id, changed_date::text, changed_by, field_number, field_name, old_value, new_value from bi.ad_change_history order by 1, 4',
    ),
  ).toEqual([
    ['h', '2024-03-01', 'Ann', 0, 'Bid Amount', '1', '{"max": 2, "min": 1}'],
    ['h', '2024-03-01', 'Ann', 1, 'status', null, '"PAUSED"'],
    ['i', '2024-03-02', null, null, null, null, null],
  ]);
  expect(JSON.stringify(await read('select * from bi.ad_change_history'))).not.toContain('example.com');
});

test('a field that had no value before has none in the history either', async () => {
  await insert('ads.change_history (source_id, id, ad_account_id, changed_at, entity_type, entity_id)', [
    `1, 'j', 'acc', '2024-03-03Z', 'AD_SET', 'life'`,
  ]);
  await insert('ads.change_history_items (source_id, change_id, item, field_type, before, after)', [
    `1, 'j', 0, 'END_AT', '{}', '{"value": "2024-04-01"}'`,
    `1, 'j', 1, 'BID', '{"value": 1.5}', '{"value": null}'`,
    `1, 'j', 2, 'TARGETS', '[]', '{"genders": ["FEMALE"]}'`,
  ]);
  expect(
    await read(
      `select old_value, new_value from bi.ad_change_history where change_id = 'j' order by field_number`,
    ),
  ).toEqual([
    [null, '2024-04-01'],
    ['1.5', null],
    ['[]', '{"genders": ["FEMALE"]}'],
  ]);
});

test('restatements say whose number it was, in which currency, also when the row is gone', async () => {
  await insert(
    'ads.report_revisions (source_id, entity_type, entity_id, day, metric, old_value, new_value, seen_at, _run_id)',
    [
      `1, 'AD', 'a', '2024-03-01', 'spend', 12, 12.345678, '2024-03-04 01:00Z', 7`,
      `1, 'CAMPAIGN', 'c', '2024-03-09', 'clicks', 5, null, '2024-03-10 01:00Z', 8`,
      `1, 'AD_ACCOUNT', 'yen', '2024-03-09', 'clicks', null, 5, '2024-03-11 01:00Z', 8`,
    ],
  );
  expect(
    await read(`select entity_name, ad_account_name, currency, metric, old_value::text, new_value::text, difference::text, days_later, run_id
      from bi.report_revisions order by seen_at`),
  ).toEqual([
    ['Ad', 'Euro account', 'EUR', 'spend', '12.000000', '12.345678', '0.345678', 3, '7'],
    ['Campaign', 'Euro account', 'EUR', 'clicks', '5.000000', null, '-5.000000', 1, '8'],
    ['Yen account', 'Yen account', 'JPY', 'clicks', null, '5.000000', '5.000000', 2, '8'],
  ]);
});

test('lists show what lives; targets and versions hang on their ad sets', async () => {
  await insert('ads.ad_set_targets (source_id, ad_set_id, dimension, value)', [
    `1, 'life', 'genders', 'FEMALE'`,
    `1, 'gone', 'genders', 'MALE'`,
  ]);
  expect(await read('select ad_account_name, business_name from bi.ad_accounts order by 1')).toEqual([
    ['Euro account', 'Business'],
    ['Namesake', null],
    ['Yen account', null],
  ]);
  expect(await read(`select ad_name, campaign_name from bi.ads where source = 'ads'`)).toEqual([
    ['Ad', 'Campaign'],
  ]);
  expect(await read('select ad_set_name, campaign_name, target_value from bi.ad_set_targets')).toEqual([
    ['Lifetime', 'Campaign', 'FEMALE'],
  ]);
  expect(
    await read(
      `select budget::text, currency from bi.ad_set_history where ad_set_id = 'daily' and source = 'ads' and is_current`,
    ),
  ).toEqual([['30.000000', 'EUR']]);
});

test.each([
  ...['account', 'ad', 'ad_set', 'campaign'].map((level) => [`${level}_performance_daily`, 'spend']),
  ['ad_level_checks', 'difference'],
  ['ad_extra_metrics', 'metric_value'],
])('a filter on days of %s reads the partitions of these days only', async (view, column) => {
  const days = `date_day between '2024-03-01' and '2024-03-31'`;
  const plan = (await read(`explain select sum(${column}) from bi.${view} where ${days}`)).flat().join('\n');
  expect(plan).toContain('report_daily_2024');
  expect(plan).not.toMatch(/report_daily_(?!2024)/);
});

test('what the source may hold cannot make a view fail', async () => {
  const most = '9223372036854775807';
  const money = '999999999999.999999';
  await insert(
    'ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id, spend, impressions, clicks, reach, starts, completes, revenue)',
    ['AD', 'CAMPAIGN', 'AD_SET', 'AD_ACCOUNT'].flatMap((level) => [
      `1, '${level}', 'extreme', '2024-03-01', 'acc', ${money}, 1, ${most}, 1, 1, ${most}, -${money}`,
      `1, '${level}', 'extreme', '0001-01-01', 'acc', 0.000001, -${most}, -1, -1, -${most}, 1, ${money}`,
      `1, '${level}', 'extreme', '9999-12-31', 'acc', -${money}, ${most}, 1, ${most}, 1, 1, ${money}`,
    ]),
  );
  await read(
    `update ads.report_daily set conversion_rate = 1e300, intent_rate = -1e300, e_cpcl = 'NaN',
      extra_metrics = '{"A": 1e300, "B": "text", "C": null, "D": [1]}' where entity_id = 'extreme'`,
  );
  await insert(
    'ads.report_lifetime (source_id, entity_type, entity_id, captured_on, ad_account_id, reach, impressions, spend)',
    [
      `1, 'AD', 'extreme', '9999-12-31', 'acc', 1, ${most}, ${money}`,
      `1, 'NEW_LEVEL', 'extreme', '0001-01-01', 'acc', -1, ${most}, ${money}`,
    ],
  );
  await insert('ads.report_hourly (source_id, entity_type, entity_id, ad_account_id, hour_start)', [
    `1, 'AD', 'extreme', 'acc', '0001-01-01Z'`,
  ]);
  await insert('ads.ad_sets (source_id, id, ad_account_id, budget, budget_type, start_at, end_at)', [
    `1, 'extreme', 'acc', ${money}, 'DAILY', '0001-01-01Z', '9999-12-31Z'`,
    `1, 'backwards', 'acc', 0.000001, 'LIFETIME', '9999-12-31Z', '0001-01-01Z'`,
  ]);
  await insert('ads.ad_set_versions (source_id, id, budget, budget_type, valid_from)', [
    `1, 'extreme', ${money}, 'DAILY', '0001-01-01Z'`,
  ]);
  await insert(
    'ads.insight_snapshots (source_id, entity_type, entity_id, dimension, value, captured_on, ad_account_id, impressions)',
    [
      `1, 'AD_SET', 'extreme', 'AGE', 'a', '2024-03-01', 'acc', ${most}`,
      `1, 'AD_SET', 'extreme', 'AGE', 'b', '2024-03-01', 'acc', -9223372036854775806`,
    ],
  );
  await insert(
    'ads.report_revisions (source_id, entity_type, entity_id, day, metric, old_value, new_value, seen_at)',
    [
      `1, 'NEW_LEVEL', 'extreme', '0001-01-01', 'ctr', 1e-300, 1e300, '9999-12-31Z'`,
      `1, 'AD', 'extreme', '0001-01-01', 'clicks', -${most}, ${most}, '9999-12-30Z'`,
    ],
  );
  for (const name of [
    'ad_performance_daily',
    'ad_performance_hourly',
    'ad_set_performance_daily',
    'campaign_performance_daily',
    'account_performance_daily',
    'reach_periods',
    'ad_extra_metrics',
    'ad_level_checks',
    'ad_set_pacing',
    'ad_set_history',
    'audience_insights',
    'report_revisions',
  ]) {
    const [[count] = []] = await read(readWhole(name));
    expect([name, Number(count) > 0]).toEqual([name, true]);
  }
});
