/** A row that is written as the bytes it came as is the row that the transform makes, to the byte; what is not plain goes by way of the transform. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as tables from '../../../src/connectors/spotify-ads/tables.ts';
import { metricsOf } from '../../../src/connectors/spotify-ads/tables.ts';
import * as transform from '../../../src/connectors/spotify-ads/transform.ts';
import { BadData } from '../../../src/core/errors.ts';
import { alikeReader } from '../../../src/core/json-alike.ts';
import { RawRecord } from '../../../src/core/raw-record.ts';
import type { Flow, Slice } from '../../../src/core/stream.ts';
import type { Table } from '../../../src/core/table.ts';
import { rawEncoders } from '../../../src/engine/batching/map-record.ts';
import { Batch } from '../../../src/load/batch.ts';
import { scan } from '../../../src/reading/csv/lines.ts';
import { recordsBy } from '../../../src/reading/csv/records.ts';
import { thingFlow } from '../load/things.ts';

const flowOf = (name: string, table: Table, how: Pick<Flow, 'via' | 'cells'>): Flow => ({
  ...thingFlow,
  stream: { ...thingFlow.stream, name },
  table,
  children: {},
  absent: 'replaced',
  ...how,
});
const flows = {
  daily: flowOf('report_daily', tables.reportDaily, transform.dailyRow),
  hourly: flowOf('report_hourly', tables.reportHourly, transform.hourlyRow),
  lifetime: flowOf('report_lifetime', tables.reportLifetime, transform.lifetimeRow),
  csv: flowOf('async_reports', tables.reportCsv, transform.csvRow),
};
const slice: Slice = {
  partition: { ad_account_id: 'acc', entity_type: 'AD' },
  window: { field: 'day', from: new Date('2026-03-01T00:00:00Z'), to: new Date('2026-03-02T00:00:00Z') },
};
const fetchedAt = 1_767_225_600_000_000n;

/** The encoded row as hex; 'as a value' where it is not written as bytes. */
const asBytes = (flow: Flow, record: RawRecord): string => {
  const batch = new Batch(flow);
  const encode = rawEncoders(flow, slice)(record);
  if (encode === undefined || !batch.addRaw(record, encode, fetchedAt)) {
    expect([batch.bytes, batch.received, batch.spans.length]).toEqual([0, 0, 0]);
    return 'as a value';
  }
  expect([batch.received, batch.records.length]).toEqual([1, 1]);
  return batch.slice(0, batch.bytes).toString('hex');
};

/** The same by way of the transform, with its notes; or why it is rejected. */
const asValue = (flow: Flow, record: RawRecord): string => {
  const batch = new Batch(flow);
  try {
    const mapped = flow.via(record.value, slice);
    batch.add(mapped, fetchedAt);
    return `${batch.slice(0, batch.bytes).toString('hex')}${mapped.notes?.join() ?? ''}`;
  } catch (error) {
    if (error instanceof BadData) return `rejected: ${error.code}`;
    throw error;
  }
};

/** Both ways say the same. Gives how it was written. */
const same = (flow: Flow, record: RawRecord): string => {
  const written = asBytes(flow, record);
  if (written !== 'as a value') expect(written).toBe(asValue(flow, record));
  return written;
};

/** A record of a JSON list that had the same before; undefined where it does not stay bytes. */
const inJson = (row: string): RawRecord | undefined => {
  const body = alikeReader('rows', ['field_type'])(Buffer.from(`{"rows":[${row},${row}]}`));
  const rows =
    typeof body === 'object' && body !== null && 'rows' in body && Array.isArray(body.rows) ? body.rows : [];
  return rows[1] instanceof RawRecord ? rows[1] : undefined;
};

const zeros = fc.integer({ min: 0, max: 4 }).map((count) => '0'.repeat(count));
const digits = (max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max }).map((all) => all.join(''));
const plain = fc.oneof(
  fc.nat().map(String),
  fc.tuple(fc.nat(), zeros).map(([whole, some]) => `${whole}.0${some}`),
  fc.tuple(fc.nat(1_000), digits(22), zeros).map(([whole, fraction, some]) => `${whole}.${fraction}${some}`),
  digits(30).map((all) => all.replace(/^0+(?=\d)/, '')),
  fc.double({ min: 0, max: 1e15, noNaN: true }).map(String),
);
const odd = fc.constantFrom(
  '-5',
  '-5.0',
  '-5.00',
  '-5.',
  '-50',
  '-5.1',
  '-0',
  '-1',
  '1e3',
  '1E-2',
  '5.',
  '.5',
  '',
  'null',
  '007',
  '9007199254740993',
  '1e400',
);
const literal = fc.oneof({ arbitrary: plain, weight: 5 }, { arbitrary: odd, weight: 1 });

const names = [...new Set(metricsOf('aggregate').flatMap(([, metric]) => metric.names.aggregate ?? []))];
const isJson = (one: string): boolean => {
  try {
    JSON.parse(one);
    return true;
  } catch {
    return false;
  }
};
const stats = fc
  .tuple(fc.subarray(names, { minLength: 1 }), fc.infiniteStream(literal.filter(isJson)))
  .map(([some, values]) =>
    some.map((name) => `{"field_type":"${name}","field_value":${values.next().value}}`).join(','),
  );
const head = fc.record(
  {
    entity_type: fc.constantFrom('"AD"', '"AD"', '"AD"', '"AD_SET"', 'null', '5'),
    entity_id: fc.constantFrom('"a1"', '"a1"', '"ü"', '""', 'null', '7', `"${'x'.repeat(2_700)}"`),
    entity_name: fc.oneof(
      fc.string().map((one) => JSON.stringify(one)),
      fc.constantFrom('null', '5', 'true'),
    ),
    entity_status: fc.constantFrom('"ACTIVE"', 'null'),
    parent_entity: fc.constantFrom(
      'null',
      '{"id":"p","name":"P","status":null}',
      '{"id":null}',
      '{"id":5}',
      '{"name":"P"}',
      '"p"',
      '{"id":"p","x":1}',
    ),
    start_time: fc.constantFrom(
      '"2026-03-01T00:00:00Z"',
      '"2026-03-01T00:00:00Z"',
      '"2026-03-01T05:00:00Z"',
      '"2026-03-01T00:00:00+02:00"',
      '"x"',
      'null',
      '1772323200000',
    ),
    end_time: fc.constantFrom(
      '"2026-03-02T00:00:00Z"',
      '"2026-03-01T01:00:00Z"',
      '"2026-03-05T00:00:00Z"',
      'null',
      '""',
    ),
  },
  { requiredKeys: [] },
);

const rowText = (fields: Readonly<Record<string, string | undefined>>, numbers: string): string =>
  `{${Object.entries(fields)
    .flatMap(([key, value]) => (value === undefined ? [] : [`"${key}":${value},`]))
    .join('')}"stats":[${numbers}]}`;

const plainHead = {
  entity_type: '"AD"',
  entity_id: '"a1"',
  entity_name: '"Spot – ü"',
  entity_status: '"ACTIVE"',
  parent_entity: '{"id":"s1","name":"Set","status":"ACTIVE"}',
  start_time: '"2026-03-01T00:00:00Z"',
  end_time: '"2026-03-01T01:00:00Z"',
};

describe.each(['daily', 'hourly', 'lifetime'] as const)('a row of a %s report', (name) => {
  const flow = flows[name];

  test('is the same row, whatever stands in it', () => {
    fc.assert(
      fc.property(head, stats, (fields, numbers) => {
        const record = inJson(rowText(fields, numbers));
        if (record !== undefined) same(flow, record);
      }),
      { numRuns: 400 },
    );
  });

  test('is written as bytes where all in it is plain, hidden numbers and missing ones included', () => {
    const numbers = names.map((one, n) => {
      const value =
        one === 'LEADS'
          ? '-5'
          : one === 'PURCHASES'
            ? '-5.0'
            : n % 7 === 0
              ? 'null'
              : n % 2 === 0
                ? '12.0'
                : '3';
      return `{"field_type":"${one}","field_value":${value}}`;
    });
    const record = inJson(rowText(plainHead, numbers.join(',')));
    expect(record).toBeDefined();
    if (record !== undefined) expect(same(flow, record)).not.toBe('as a value');
  });

  test.each([
    ['a number under a name that has no column', '{"field_type":"MOON_PHASE","field_value":1}', {}],
    [
      'a metric told twice',
      '{"field_type":"CLICKS","field_value":1},{"field_type":"CLICKS","field_value":1}',
      {},
    ],
    ['a count with a fraction', '{"field_type":"CLICKS","field_value":1.5}', {}],
    ['an amount finer than a millionth', '{"field_type":"SPEND","field_value":1.0000001}', {}],
    ['something more beside a number', '{"field_type":"CLICKS","field_value":1,"unit":"x"}', {}],
    ['a new field', '{"field_type":"CLICKS","field_value":1}', { score: '1' }],
    ['another level', '{"field_type":"CLICKS","field_value":1}', { entity_type: '"AD_SET"' }],
    ['no id', '{"field_type":"CLICKS","field_value":1}', { entity_id: '""' }],
  ])('with %s goes by way of the transform', (_, numbers, fields) => {
    const record = inJson(rowText({ ...plainHead, ...fields }, numbers));
    if (record === undefined) throw new Error('it did not stay bytes');
    expect(same(flow, record)).toBe('as a value');
  });
});

describe('a row of a CSV report', () => {
  const known = metricsOf('csv').flatMap(([, metric]) => metric.names.csv ?? []);
  const inCsv = (header: readonly string[], cells: readonly string[]): RawRecord => {
    const recordOf = recordsBy(header);
    const bytes = Buffer.from(
      `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`,
    );
    const [line] = scan(bytes, true).lines;
    const record = line && recordOf(line);
    if (!(record instanceof RawRecord)) throw new Error('the line is no row');
    return record;
  };
  const dimension = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'ü', ' ', '"', ',', '\n', '1') }),
    fc.constant(''),
  );
  const header = fc.tuple(
    fc.subarray([
      'CAMPAIGN_NAME',
      'AD_SET_NAME',
      'AD_NAME',
      'AD_ACCOUNT_CURRENCY',
      'AD_SET_BUDGET',
      'Campaign status',
    ]),
    fc.subarray(known),
    fc.subarray(['MOON_PHASE', 'CURRENCY', 'IMPRESSIONS', 'DATE'], { maxLength: 1 }),
  );

  test('is the same row, whatever stands in it', () => {
    fc.assert(
      fc.property(
        header,
        fc.infiniteStream(dimension),
        fc.infiniteStream(literal),
        fc.constantFrom('2026-03-01', '2026-03-01T00:00:00Z', '', 'x', '2026-3-1'),
        ([words, numbers, more], texts, values, day) => {
          const cells = [
            ...words.map(() => texts.next().value),
            ...numbers.map(() => values.next().value),
            ...more.map(() => values.next().value),
          ];
          same(flows.csv, inCsv(['DAY', ...words, ...numbers, ...more], [day, ...cells]));
        },
      ),
      { numRuns: 600 },
    );
  });

  test('is written as bytes where all in it is plain, hidden numbers and missing ones included', () => {
    const cells = known.map((one, n) =>
      one === 'LEADS' ? '-5' : n % 7 === 0 ? '' : n % 2 === 0 ? '12.50' : '3.0',
    );
    const counts = known.map((one, n) =>
      metricsOf('csv')[n]?.[1].kind === 'count' && cells[n] === '12.50' ? '12' : (cells[n] ?? one),
    );
    const record = inCsv(
      ['DAY', 'CAMPAIGN_NAME', 'AD_SET_NAME', 'AD_NAME', ...known],
      ['2026-03-01', 'a, b', 'ü', '', ...counts],
    );
    expect(same(flows.csv, record)).not.toBe('as a value');
  });

  test.each([
    ['a column that is not known', ['MOON_PHASE'], ['1']],
    ['two columns of one meaning', ['IMPRESSIONS', 'IMPRESSIONS_ON_SPOTIFY'], ['1', '1']],
    ['a name with quotes in it', ['AD_NAME'], ['the "best"']],
    ['a number with a needless zero', ['CLICKS'], ['007']],
    ['the word null', ['CLICKS'], ['null']],
  ])('with %s goes by way of the transform', (_, names_, cells) => {
    expect(same(flows.csv, inCsv(['DAY', ...names_], ['2026-03-01', ...cells]))).toBe('as a value');
  });
});
