import fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { csvRows } from '../../../../../src/connectors/spotify-ads/csv-rows.ts';
import * as facts from '../../../../../src/connectors/spotify-ads/facts.ts';
import { fieldsOf, metricsOf } from '../../../../../src/connectors/spotify-ads/metrics.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import { parseJson } from '../../../../../src/core/json.ts';
import type { Slice } from '../../../../../src/core/stream.ts';
import { parseInstant } from '../../../../../src/core/time.ts';
import { csvLine, lineOf } from '../../../../support/csv-line.ts';

const { daily: dailyFacts, hourly, insights, lifetime } = facts;
const document = new URL('../../../simulators/spotify-ads/openapi.subset.json', import.meta.url);
const slice: Slice = { partition: { ad_account_id: 'acc', entity_type: 'AD' } };
const head = `"entity_type": "AD", "entity_id": "a", "start_time": "2024-03-01T00:00:00Z", "end_time": "2024-03-02T00:00:00Z"`;
const row = (stats: string, more = ''): unknown =>
  parseJson(Buffer.from(`{${head}, "stats": [${stats}]${more}}`));
const mapDay = (record: unknown, of: Slice = slice) => dailyFacts.transform(record, of);
const ofDay = (...stats: readonly string[]) => mapDay(row(stats.join()));
const stat = (name: string, value: string): string => `{"field_type": "${name}", "field_value": ${value}}`;
const daily = (name: string, value: string) => ofDay(stat(name, value));

describe('a row by day', () => {
  it('has its day, its owner and what is reported of its entity', () => {
    const names =
      '"entity_name": "Ad", "entity_status": "ACTIVE", "parent_entity": {"id": "s", "name": "Set", "status": null}';
    expect(mapDay(row(stat('SPEND', '12.34'), `, ${names}`)).row).toMatchObject({
      entity_type: 'AD',
      entity_id: 'a',
      day: '2024-03-01',
      ad_account_id: 'acc',
      entity_name: 'Ad',
      entity_status: 'ACTIVE',
      parent_entity_id: 's',
      spend: '12.340000',
      _extra: null,
    });
  });

  it('has null for a metric that is not reported, never 0', () => {
    const { row: made } = daily('CLICKS', '0');
    for (const { column } of metricsOf('aggregate'))
      expect(made[column]).toBe(column === 'clicks' ? 0 : null);
    expect(ofDay().row).toMatchObject({ spend: null, impressions: null, purchases_suppressed: false });
    expect(daily('CLICKS', 'null').row.clicks).toBeNull();
  });

  it('keeps what a number has besides its name and value, and notes it once', () => {
    const odd = (name: string) => `{"field_type": "${name}", "field_value": 7, "estimated": true}`;
    const { row: made, notes } = ofDay(odd('CLICKS'), odd('IMPRESSIONS'));
    expect(made).toMatchObject({ clicks: 7, impressions: 7 });
    expect(made._extra).toBe('{"stats[0].estimated":true,"stats[1].estimated":true}');
    expect(notes).toEqual(['stats[].estimated: a field that is not known']);
    // Also where there is no number yet.
    const { row: bare } = ofDay(`{"field_type": "CLICKS", "estimated": true}`);
    expect(bare).toMatchObject({ clicks: null, _extra: '{"stats[0].estimated":true}' });
  });

  it('is rejected without its numbers, and of another level than requested: it would be counted there twice', () => {
    const record = { entity_id: 'a', start_time: '2024-03-01T00:00:00Z' };
    expect(() => mapDay(record)).toThrow('ads.report_daily: row of a has no stats');
    expect(() => mapDay({ ...record, stats: {} })).toThrow(BadData);
    const other = { partition: { ad_account_id: 'acc', entity_type: 'AD_SET' } };
    expect(() => mapDay(row(''), other)).toThrow(/entity_type/);
  });

  it.each([
    ['2024-03-01T05:00:00Z', '2024-03-02T05:00:00Z'],
    ['2024-03-01T00:00:00+01:00', null],
    ['2024-03-01T00:00:00Z', '2024-03-03T00:00:00Z'],
    ['2024-03-01T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['2024-03-01', null],
    [null, null],
  ])('that begins at %s and ends at %s is no day: rejected', (start_time, end_time) => {
    expect(() => mapDay({ entity_id: 'a', start_time, end_time, stats: [] })).toThrow(BadData);
  });

  it('may end at the next day, a second before it, when it begins or nowhere: conventions differ', () => {
    for (const end of [null, '2024-03-02T00:00:00Z', '2024-03-01T23:59:59Z', '2024-03-01T00:00:00Z']) {
      const record = { entity_id: 'a', start_time: '2024-03-01T00:00:00Z', end_time: end, stats: [] };
      expect(mapDay(record).row.day).toBe('2024-03-01');
    }
  });
});

describe('a count', () => {
  it.each([
    ['73775.0', 73775],
    ['7.3775e4', 73775],
    ['-0', 0],
    ['-3', -3],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775807.0', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
  ])('%s is %s, exactly', (literal, count) => {
    expect(daily('IMPRESSIONS', literal)).toMatchObject({ row: { impressions: count, extra_metrics: null } });
  });

  it('beyond 64 bits is rejected', () => {
    for (const literal of ['9223372036854775808', '1e30', '1e400'])
      expect(() => daily('IMPRESSIONS', literal), literal).toThrow(/IMPRESSIONS.* beyond 64 bits/);
  });

  it('with a fraction is never rounded: null, kept, noted', () => {
    const notes = ['IMPRESSIONS: a fraction where a whole number was expected'];
    for (const literal of ['1.5', '0.30000000000000004', '9007199254740993.5'])
      expect(daily('IMPRESSIONS', literal)).toMatchObject({
        row: { impressions: null, extra_metrics: `{"IMPRESSIONS":${literal}}` },
        notes,
      });
  });

  it('in quotes is that number: exact decimals are sent so', () => {
    expect(daily('IMPRESSIONS', '"9007199254740993"')).toMatchObject({
      row: { impressions: 9007199254740993n, _extra: null },
    });
    expect(daily('SPEND', '"17.482913"')).toMatchObject({ row: { spend: '17.482913', _extra: null } });
    expect(daily('PURCHASES', '"-5.0"').row).toMatchObject({ purchases: null, purchases_suppressed: true });
  });

  it.each([
    ['"017.4"', '17.400000'],
    ['"1,234.50"', '1234.500000'],
    ['"12.50 EUR"', '12.500000'],
    ['"--"', null],
    ['""', null],
  ])('%s as money is read as people mean it', (literal, spend) => {
    expect(daily('SPEND', literal).row).toMatchObject({ spend, _extra: null });
  });

  it.each(['"1,234"', '"much"', '"12%"', '{"amount":1}', 'true'])(
    '%s as money is rejected: nothing in its place would be summed as if nothing had been spent',
    (literal) => {
      for (const name of ['SPEND', 'REVENUE'])
        expect(() => daily(name, literal)).toThrow(
          new RegExp(`row of a has a ${name} of .*: it is no number, or can mean two`),
        );
      expect(daily('SPEND', 'null').row).toMatchObject({ spend: null });
    },
  );

  it('of another type is null, kept with the reason, noted', () => {
    const _extra = '{"stats[0].IMPRESSIONS":{"_raw":"many","_reason":"expected a number, got text"}}';
    expect(daily('IMPRESSIONS', '"many"')).toMatchObject({
      row: { impressions: null, _extra },
      notes: ['stats[].IMPRESSIONS: expected a number, got text'],
    });
  });
});

describe('what the platform hides', () => {
  it.each([
    ['PURCHASES', 'purchases'],
    ['CUSTOM_EVENT_5', 'custom_event_5'],
    ['REVENUE', 'revenue'],
    ['COST_PER_LEAD', 'cost_per_lead'],
  ])('%s of -5 is null and flagged, never a number', (name, column) => {
    for (const literal of ['-5', '-5.0'])
      expect(daily(name, literal).row).toMatchObject({ [column]: null, [`${column}_suppressed`]: true });
    expect(daily(name, '0').row).toMatchObject({ [`${column}_suppressed`]: false });
    expect(daily(name, '5').row).toMatchObject({ [`${column}_suppressed`]: false });
  });

  it('-5 of a count that is not known to be hidden is null and kept, with a note', () => {
    const { row: made, notes } = daily('STREAMS', '-5');
    expect(made).toMatchObject({ streams: null, extra_metrics: '{"STREAMS":-5}' });
    expect(notes).toHaveLength(1);
  });

  it('-5 of spend is a refund', () => {
    expect(daily('SPEND', '-5').row).toMatchObject({ spend: '-5.000000', extra_metrics: null });
  });
});

describe('an amount of a report', () => {
  it.each([
    ['SPEND', '73775.0', 'spend', '73775.000000'],
    ['SPEND', '123456789012.345678', 'spend', '123456789012.345678'],
    ['AVERAGE_ORDER_VALUE', '33.33333333333333333333', 'average_order_value', '33.33333333333333333333'],
  ])('%s of %s is never divided: it is in units already', (name, sent, column, stored) => {
    expect(daily(name, sent).row[column]).toBe(stored);
  });

  it('finer than a millionth is rounded in its column, kept exactly beside it, and noted', () => {
    const { row: made, notes } = daily('SPEND', '12.345678901');
    expect(made).toMatchObject({ spend: '12.345679', extra_metrics: '{"SPEND":12.345678901}' });
    expect(notes).toHaveLength(1);
  });

  it.each(['1000000000000', '999999999999.9999999'])('beyond numeric(18,6) (%s) is rejected', (sent) => {
    expect(() => daily('SPEND', sent)).toThrow(/SPEND/);
  });
});

describe('metrics', () => {
  it('that no column holds go to extra_metrics, exact, whatever they are called', () => {
    const odd = [stat('NEW_METRIC', '12345678901234567.89'), stat('__proto__', '1'), stat('toString', '2')];
    expect(ofDay(...odd).row.extra_metrics).toBe(
      '{"NEW_METRIC":12345678901234567.89,"__proto__":1,"toString":2}',
    );
  });

  const twice = (a: string, b: string, name = 'CLICKS') => ofDay(stat(name, a), stat(name, b)).row;
  it('that come twice are taken once', () => {
    for (const two of ['7 7.0', 'null 7', '7 null']) {
      const [a = '', b = ''] = two.split(' ');
      expect(twice(a, b).clicks, two).toBe(7);
    }
    expect(twice('0.5', '0.5').clicks).toBeNull();
    expect(twice('-5', '-5', 'LEADS').leads_suppressed).toBe(true);
  });

  it.each([
    ['7', '8', 'CLICKS'],
    ['0.5', '0', 'CLICKS'],
    ['0', '0.5', 'CLICKS'],
    ['1', '2', 'X'],
    ['-5', '4', 'LEADS'],
  ])('with two different values (%s, %s) reject the row', (a, b, name) => {
    expect(() => twice(a, b, name)).toThrow(`two different values for ${name}`);
  });

  it('without a name are kept with a note', () => {
    const { row: made, notes } = ofDay('{"field_value": 3}', '5');
    expect(made._extra).toContain('"stats[1].field_type"');
    expect(notes).toHaveLength(2);
  });
});

describe('rows by hour and lifetime', () => {
  it('an hour is an instant; a row that spans two hours is rejected', () => {
    const times = { start_time: '2024-03-01T07:00:00Z', end_time: '2024-03-01T08:00:00Z' };
    const record = { entity_id: 'a', ...times, stats: [] };
    expect(hourly.transform(record, slice).row.hour_start).toBe(parseInstant('2024-03-01T07:00:00Z'));
    expect(() => hourly.transform({ ...record, end_time: '2024-03-01T09:00:00Z' }, slice)).toThrow(BadData);
    expect(() => hourly.transform({ ...record, start_time: '2024-03-01T07:30:00Z' }, slice)).toThrow(BadData);
  });

  const of = { ...slice, window: { field: 'day' as const, from: new Date('2024-03-05T00:00:00Z') } };
  it('a lifetime is of the day on which it was requested, and has no times of its own', () => {
    const stats = [{ field_type: 'REACH', field_value: 10 }];
    const record = { entity_id: 'a', start_time: null, end_time: null, stats };
    const made = { captured_on: '2024-03-05', start_at: null, reach: 10 };
    expect(lifetime.transform(record, of).row).toMatchObject(made);
  });

  it('fill every column of their tables, and no other', () => {
    for (const { table, transform } of [dailyFacts, hourly, lifetime])
      expect(Object.keys(transform({ ...Object(row('')), end_time: null }, of).row).sort()).toEqual(
        Object.keys(table.columns).sort(),
      );
  });
});

describe('an insight', () => {
  const asked = { entity_type: 'AD_SET', entity_id: 's', dimension: 'AGE', asked_on: '2024-03-05' };
  const stats = (value: number) => [
    { field_type: 'IMPRESSIONS', field_value: value },
    { field_type: 'PURCHASES', field_value: -5 },
  ];
  const part = (insight_value: unknown, value = 5) => ({
    id: 's',
    name: 'Set',
    status: 'ACTIVE',
    insight_value,
    stats: stats(value),
  });
  const answered = (...rows: readonly unknown[]) =>
    insights.transform({ ...asked, state: 'ok', rows }, slice);

  it('becomes a state and one row a value, as of the day of its request', () => {
    const { row: state, children, notes } = answered(part('18-24'), part('25-34', 7));
    expect(state).toEqual({ ...asked, ad_account_id: 'acc', state: 'ok', code: null });
    expect(children.snapshots).toMatchObject([
      {
        entity_id: 's',
        dimension: 'AGE',
        value: '18-24',
        captured_on: '2024-03-05',
        impressions: 5,
        purchases: null,
        purchases_suppressed: true,
      },
      { value: '25-34', impressions: 7 },
    ]);
    expect(notes).toBeUndefined();
    const columns = Object.keys(insights.children.snapshots.table.columns).sort();
    for (const snapshot of children.snapshots ?? []) expect(Object.keys(snapshot).sort()).toEqual(columns);
  });

  it('without enough data is a state, not an error', () => {
    const code = 'ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_REACH';
    expect(insights.transform({ ...asked, state: 'not_enough_data', code, rows: [] }, slice)).toEqual({
      row: { ...asked, ad_account_id: 'acc', state: 'not_enough_data', code },
      children: { snapshots: [] },
    });
  });

  it('with a value twice is rejected, one would be lost; without a value is kept under the empty one', () => {
    expect(() => answered(part('18-24'), part('18-24', 7))).toThrow(/insight_value/);
    expect(answered(part(null)).children.snapshots).toMatchObject([{ value: '' }]);
  });

  it('notes metrics and fields that are not known', () => {
    const odd = { ...part('18-24'), tone: 'loud', stats: [{ field_type: 'LOUDNESS', field_value: 1.5 }] };
    const { children, notes } = answered(odd);
    expect(children.snapshots).toMatchObject([
      { extra_metrics: '{"LOUDNESS":1.5}', _extra: '{"tone":"loud"}' },
    ]);
    expect(notes).toEqual(['tone: a field that is not known']);
  });
});

describe('a row of a CSV report', () => {
  const of = { partition: { ad_account_id: 'acc' } };
  const csv = (cells: Readonly<Record<string, string>>) =>
    csvRows.transform(csvLine({ DATE: '2024-03-01', ...cells }), of);

  it('is known by the names of its columns, in any order and writing', () => {
    const cells = {
      'Ad Name': 'A',
      SPEND: '12.345678',
      ' impressions-on-spotify ': '1000',
      ad_set_name: 'S',
      Campaign_Name: 'C, "quoted"\nand broken',
      AD_ACCOUNT_CURRENCY: 'EUR',
      AD_COMPLETES: '900',
      PLAYED_TO_100: '899',
    };
    const expected = {
      ad_account_id: 'acc',
      day: '2024-03-01',
      campaign_name: 'C, "quoted"\nand broken',
      ad_set_name: 'S',
      ad_name: 'A',
      occurrence: 0,
      currency: 'EUR',
      spend: '12.345678',
      impressions: 1000,
      completes: 900,
      played_to_end: 899,
    };
    expect(csv(cells).row).toMatchObject(expected);
    expect(csv(Object.fromEntries(Object.entries(cells).reverse())).row).toEqual(csv(cells).row);
    expect(Object.keys(csv(cells).row).sort()).toEqual(Object.keys(csvRows.table.columns).sort());
  });

  it('has null for an empty cell, and an empty name where there is none', () => {
    const empty = { spend: null, clicks: null, ad_name: '' };
    expect(csv({ SPEND: '', CLICKS: '', 'Ad Name': '' }).row).toMatchObject(empty);
  });

  it.each([
    ['CLICKS', '9007199254740993', 'clicks', 9007199254740993n],
    ['CLICKS', '007', 'clicks', 7],
    ['CLICKS', '1.5e6', 'clicks', 1_500_000],
    ['CLICKS', '12.0', 'clicks', 12],
    ['CLICKS', '-0', 'clicks', 0],
    // The name in aggregate reports.
    ['COMPLETES', '9', 'completes', 9],
    ['SPEND', '12345678901.234567', 'spend', '12345678901.234567'],
    ['SPEND', '-0.10', 'spend', '-0.100000'],
    ['CTR', '0.30000000000000000000000004', 'ctr', '0.30000000000000000000000004'],
  ])('%s of %s is exact', (header, cell, column, value) => {
    expect(csv({ [header]: cell }).row[column]).toEqual(value);
  });

  it.each(['NaN', 'Infinity', '1_000', '0x10', '12%', '1,2,3', 'much'])(
    'with %j as a number is rejected, by row, column and value',
    (cell) => {
      for (const column of ['CLICKS', 'SPEND'])
        expect(() => csv({ [column]: cell, 'Ad Name': 'A' })).toThrow(
          `ads.report_csv: row "2024-03-01///A" has a ${column} of "${cell}": it is no number, or can mean two`,
        );
    },
  );

  it('is read as people write numbers', () => {
    const german = { SPEND: '1.212,50 €', CLICKS: '1 212', CTR: '12,5%', CPM: '--', IMPRESSIONS: 'N/A' };
    expect(csv(german).row).toMatchObject({
      spend: '1212.500000',
      clicks: 1212,
      ctr: '0.125',
      cpm: null,
      impressions: null,
      extra_metrics: null,
      _extra: null,
    });
    const english = { SPEND: '(1,212.50)', CLICKS: '1,212', CTR: '0.125', REVENUE: 'USD 3.5' };
    expect(csv({ ...english, CURRENCY: 'USD' }).row).toMatchObject({
      spend: '-1212.500000',
      clicks: 1212,
      ctr: '0.125',
      revenue: '3.500000',
    });
  });

  it.each([
    ['an amount that is thousands or a fraction', { SPEND: '1,212' }, 'SPEND of "1,212"'],
    ['a count that is thousands or a fraction', { CLICKS: '12.000' }, 'CLICKS of "12.000"'],
    ['a point beside decimal commas', { CPM: '1.212', SPEND: '3.500,75' }, 'CPM of "1.212": beside'],
    [
      'another currency than the row’s',
      { SPEND: '12 EUR', CURRENCY: 'USD' },
      'SPEND of "12 EUR": the row is',
    ],
  ])('with %s is rejected: it can mean two numbers', (_, cells, why) => {
    expect(() => csv(cells)).toThrow(why);
  });

  it('hides what the platform hides', () => {
    const hidden = { purchases: null, purchases_suppressed: true, modeled_leads_suppressed: true };
    expect(csv({ PURCHASES: '-5', MODELED_LEADS: '-5' }).row).toMatchObject(hidden);
  });

  it('keeps unknown columns: numbers among the metrics, text beside', () => {
    const { row: made, notes } = csv({ LOUDNESS: '1.50', MOOD: 'happy', FRACTION: '0.1000000000000000055' });
    expect(made.extra_metrics).toBe('{"LOUDNESS":1.5,"FRACTION":0.1000000000000000055}');
    expect(made._extra).toBe('{"MOOD":"happy"}');
    expect(notes).toHaveLength(3);
  });

  it.each(['2024-03-01', '2024-03-01T00:00:00Z', '2024-02-29T19:00:00-05:00'])('is of the day %s', (cell) => {
    expect(csvRows.transform(csvLine({ 'Start Date': cell }), of).row.day).toBe('2024-03-01');
  });

  it('without a day that exists is rejected', () => {
    for (const cell of ['2024-02-30', '2024-03-01T05:00:00Z', '03/01/2024', 'yesterday', '1709251200000'])
      expect(() => csvRows.transform(csvLine({ DATE: cell }), of), cell).toThrow(BadData);
  });

  it('without a day, with too few cells, or with text that Postgres cannot hold is rejected', () => {
    expect(() => csvRows.transform(csvLine({ SPEND: '1' }), of)).toThrow(/has no day/);
    expect(() => csvRows.transform(lineOf('1', ['a', 'b']), of)).toThrow(/not as many cells/);
    expect(() => csvRows.transform(lineOf('a"b', ['a']), of)).toThrow(/cannot be read: a quote/);
    expect(() => csv({ 'Ad Name': 'a\0b' })).toThrow(BadData);
    expect(() => csv({ 'Ad Name': 'x'.repeat(3000) })).toThrow(/3000 bytes/);
  });
});

describe('a record that cannot become a row', () => {
  const bad = stat('SPEND', '"much"');

  it('of a day, an hour or a lifetime says which row stays', () => {
    expect(() => mapDay(row(bad))).toThrow(BadData);
    const of = { entity_type: 'AD', entity_id: 'a' };
    expect(dailyFacts.keyOf?.(row(bad), slice)).toEqual({ ...of, day: '2024-03-01' });
    const hour = { entity_id: 'a', start_time: '2024-03-01T05:00:00Z' };
    expect(hourly.keyOf?.(hour, slice)).toEqual({ ...of, hour_start: '2024-03-01T05:00:00.000Z' });
    const window = { field: 'day', from: new Date('2024-03-09T00:00:00Z') } as const;
    expect(lifetime.keyOf?.(row(bad), { ...slice, window })).toEqual({
      ...of,
      captured_on: '2024-03-09',
    });
  });

  it('of a CSV report says it by day and names', () => {
    const record = csvLine({ Date: '2024-03-01', 'Campaign Name': 'C', 'Ad Name': 'A', Spend: 'much' });
    const names = { campaign_name: 'C', ad_set_name: '', ad_name: 'A' };
    expect(csvRows.keyOf?.(record, slice)).toEqual({ ad_account_id: 'acc', day: '2024-03-01', ...names });
  });

  it('says nothing where it has no entity or no day, is of another level, or was cut', () => {
    for (const record of [{ ...Object(row(bad)), entity_id: null }, { entity_id: 'a' }])
      expect(() => dailyFacts.keyOf?.(record, slice)).toThrow(BadData);
    expect(() => dailyFacts.keyOf?.({ ...Object(row(bad)), entity_type: 'AD_SET' }, slice)).toThrow(
      /another entity_type/,
    );
    expect(() => csvRows.keyOf?.(lineOf('1', ['a', 'b']), slice)).toThrow(BadData);
  });
});

it('every metric of reports in the vendor’s document has a column, and no other', () => {
  const { ReportFieldType, AsyncReportMetric } = JSON.parse(fs.readFileSync(document, 'utf8')).components
    .schemas;
  expect([...fieldsOf('aggregate')].sort()).toEqual(ReportFieldType.enum.toSorted());
  expect([...fieldsOf('csv')].sort()).toEqual(AsyncReportMetric.enum.toSorted());
});
