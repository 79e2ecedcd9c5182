/**
 * Rows of CSV reports: the table, the meaning of a file's columns, and the transform. A report names its entities and gives no ids; rows that
 * repeat all names and the day are numbered by `occurrence`.
 */

import { isPlainDecimal } from '../../core/decimal.ts';
import { UnexpectedContent } from '../../core/errors.ts';
import { isObject, type JsonObject } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import { keyText, requireRecord } from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Slice } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { parseDay, parseInstant } from '../../core/time.ts';
import { columnName, columnsOf, RAGGED } from '../../reading/csv/records.ts';
import { accountOf } from './ads.ts';
import { type Facts, firstSynced, revised } from './facts.ts';
import { shown } from './fields.ts';
import { type Metric, metricsOf, numberColumns } from './metrics.ts';
import { Numbers, rowMaker } from './numbers.ts';

const keys = {
  campaign_name: columns
    .text('Name of the campaign as the report writes it; empty where it writes none.')
    .key(),
  ad_set_name: columns.text('Name of the ad set as the report writes it; empty where it writes none.').key(),
  ad_name: columns.text('Name of the ad as the report writes it; empty where it writes none.').key(),
};
const texts = {
  ad_account_name: columns.text('Name of the ad account as the report writes it.').nullable(),
  currency: columns.text('ISO 4217 currency as the report writes it.').nullable(),
  campaign_status: columns.text('Status of the campaign as the report writes it.').nullable(),
  campaign_objective: columns.text('Objective of the campaign as the report writes it.').nullable(),
  ad_set_status: columns.text('Status of the ad set as the report writes it.').nullable(),
  ad_set_budget: columns
    .text('Budget as the report writes it; its unit is not documented. For amounts: ads.ad_sets.budget.')
    .nullable(),
  ad_set_cost_model: columns.text('Cost model as the report writes it.').nullable(),
};

const table = columns.table(
  'ads.report_csv',
  'The numbers of asynchronous CSV reports by day and names; one row per row of the report. It has no ids: prefer ads.report_daily where both can answer.',
  {
    ad_account_id: columns.text('The ad account it belongs to, see ads.ad_accounts.id.').key(),
    day: columns.date('Day in UTC, as the report has it.').key(),
    ...keys,
    occurrence: columns.int('Tells rows apart that have the same names and day, from 0.').key(),
    ...texts,
    ...numberColumns('csv'),
  },
  {
    relation: true,
    firstSynced,
    occurrence: 'occurrence',
    revisions: revised('ads.report_csv_revisions', 'ads.report_csv', 'csv'),
  },
);

/** The vendor's dimensions (AsyncReportDimension) by column. */
const dimensions: ReadonlyMap<string, string> = new Map(
  Object.keys({ ...keys, ...texts }).map((column) => [
    column,
    column === 'currency' ? 'AD_ACCOUNT_CURRENCY' : column.toUpperCase(),
  ]),
);
export const csvDimensions: readonly string[] = [...dimensions.values()];

/** What a column of a file holds. The name is the vendor's, for messages. */
type Meaning =
  | { readonly is: 'day'; readonly column: string; readonly name: string }
  | { readonly is: 'text'; readonly column: string; readonly name: string }
  | { readonly is: 'metric'; readonly column: string; readonly name: string; readonly metric: Metric };

/** The vendor documents no header. These are the usual names of a column of days. */
const dayNames = ['DAY', 'DATE', 'DATE_DAY', 'REPORT_DATE', 'START_DATE', 'START_TIME'];

/** Meanings by name: that of the request, and that of aggregate reports where it differs. */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  ...metricsOf('aggregate').flatMap(({ column, name }): [string, Meaning][] => {
    const metric = metricsOf('csv').find((one) => one.column === column);
    return metric === undefined ? [] : [[name, { is: 'metric', column, name: metric.name, metric }]];
  }),
  ...metricsOf('csv').map((metric): [string, Meaning] => [metric.name, { is: 'metric', ...metric, metric }]),
  ['CURRENCY', { is: 'text', column: 'currency', name: 'AD_ACCOUNT_CURRENCY' }],
  ...[...dimensions].map(([column, name]): [string, Meaning] => [name, { is: 'text', column, name }]),
  ...dayNames.map((name): [string, Meaning] => [
    name,
    { is: 'day', column: 'day', name: 'a column for the day' },
  ]),
]);

/** Names tell rows apart; without the numbers a row would say less than the one that it replaces. */
const requiredColumns = ['day', ...Object.keys(keys), 'spend', 'impressions', 'clicks'];

export interface Header {
  /** The place of the column that holds the day. */
  readonly day: number;
  /** Dimensions and metrics that the report lacks. */
  readonly absent: readonly string[];
}

/**
 * Reads a file's header: columns are known by their names, in any order and spelling. Throws `UnexpectedContent` where a required column is
 * missing, or two columns have one name or one meaning.
 */
export const readHeader = (what: string, header: readonly string[]): Header => {
  const places = new Map<string, number>();
  for (const [name, index] of columnsOf(what, header)) {
    const column = meanings.get(name)?.column;
    if (column === undefined) continue;
    const other = header[places.get(column) ?? -1];
    if (other !== undefined)
      throw new UnexpectedContent(
        `${what}: the report has two columns for ${column}, ${other} and ${header[index]}`,
      );
    places.set(column, index);
  }
  const all = new Map([...meanings.values()].map(({ column, name }) => [column, name]));
  const absent = [...all.keys()].filter((column) => !places.has(column));
  const missing = requiredColumns
    .filter((column) => absent.includes(column))
    .map((column) => all.get(column));
  if (missing.length > 0) {
    const names = header.slice(0, 20).map((name) => columnName(name).slice(0, 40));
    throw new UnexpectedContent(
      `${what}: the report has no ${missing.join(', ')}; its columns are ${names.join(', ')}${header.length > 20 ? ', …' : ''}`,
    );
  }
  return {
    day: places.get('day') ?? -1,
    absent: absent.map((column) => all.get(column) ?? column),
  };
};

interface HeaderMeaning {
  readonly header: string;
  readonly meaning: Meaning | undefined;
}

let last: readonly HeaderMeaning[] = [];

/** The meanings of a record's columns. All rows of a file have the same header, so those of the row before are remembered. */
const meaningsOf = (cells: JsonObject): readonly HeaderMeaning[] => {
  const headers = Object.keys(cells);
  if (headers.length !== last.length || headers.some((header, index) => header !== last[index]?.header))
    last = headers.map((header) => ({ header, meaning: meanings.get(columnName(header)) }));
  return last;
};

/** A number in a cell as JSON writes it; undefined where it is none. Thousands separators and signs of a currency are not read. */
const numberIn = (cell: string): string | undefined => {
  if (isPlainDecimal(cell)) return cell;
  const [, sign, digits] = /^(-?)0*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.exec(cell) ?? [];
  return sign === undefined || digits === undefined ? undefined : sign + digits;
};

/** `2024-03-01`, or an instant that begins a day in UTC. */
const dayIn = (r: Reading, cell: string): string => {
  try {
    if (cell.length === 10) return parseDay(cell);
    if (parseInstant(cell) % 86_400_000_000n === 0n)
      return parseDay(new Date(cell).toISOString().slice(0, 10));
  } catch (error) {
    throw r.because(error, 'day');
  }
  throw r.reject('bad_date', 'day', 'has a % that begins no day in UTC');
};

const cellsOf = (r: Reading, record: Parameters<typeof requireRecord>[1]): JsonObject => {
  const cells = requireRecord(r, record);
  const ragged = cells[RAGGED];
  if (ragged === undefined) return cells;
  throw r.reject(
    'ragged_row',
    RAGGED,
    typeof ragged === 'string' ? `cannot be read: ${ragged}` : 'has not as many cells as the header',
  );
};

const isKey = (column: string): boolean => Object.hasOwn(keys, column);
const emptyKeys = Object.fromEntries(Object.keys(keys).map((name) => [name, '']));
const newRow = rowMaker('csv', {
  ad_account_id: null,
  day: null,
  ...emptyKeys,
  occurrence: 0,
  ...Object.fromEntries(Object.keys(texts).map((name) => [name, null])),
});

/**
 * Partition `ad_account_id`. A record is { header as given: cell as text }; an empty cell is null. A column that is not known goes to
 * `extra_metrics` where it holds a number, to `_extra` where it holds text. A metric that is no number rejects the row, as does a row
 * without a day or with another number of cells than the header.
 */
export const csvRows: Facts = {
  table,
  transform: (record, slice) => {
    const r = new Reading('ads.report_csv', 'row', record);
    const cells = cellsOf(r, record);
    const row = newRow();
    row.ad_account_id = accountOf(slice);
    const numbers = new Numbers(r, row);
    const columnsOfRow = meaningsOf(cells);
    const given = Object.values(cells);
    for (let index = 0; index < columnsOfRow.length; index++) {
      const { header, meaning } = columnsOfRow[index] as HeaderMeaning;
      const cell = given[index];
      if (cell === null || cell === undefined || cell === '') continue;
      if (typeof cell !== 'string') throw r.reject('bad_type', header, 'has a % that is no text');
      if (meaning?.is === 'metric' && numbers.plain(meaning.metric, cell)) continue;
      if (meaning?.is === 'text') {
        row[meaning.column] = isKey(meaning.column) ? keyText(r, header, cell) : cell;
        continue;
      }
      if (meaning?.is === 'day') {
        row.day = dayIn(r, cell);
        continue;
      }
      const number = numberIn(cell);
      if (meaning === undefined) r.note(`${shown(header)}: a column that is not known`);
      if (number !== undefined) numbers.set(meaning?.metric, meaning?.name ?? header, number);
      else if (meaning === undefined) r.keep(header, cell);
      else throw r.reject('bad_number', header, 'has a % that is no plain number');
    }
    if (row.day === null) throw r.reject('missing_field', 'day', 'has no %');
    numbers.finish();
    const notes = r.notes();
    return { row, children: {}, ...(notes.length > 0 && { notes }) };
  },
  /** By day and names; nothing tells which of several rows of the same names it is. */
  keyOf: (record, slice: Slice) => {
    const r = new Reading('ads.report_csv', 'row', record);
    const { day, ...names } = namesIn(cellsOf(r, record));
    if (day === undefined) throw r.reject('missing_field', 'day', 'has no %');
    for (const [column, name] of Object.entries(names)) keyText(r, column, name);
    return { ad_account_id: accountOf(slice), ...emptyKeys, ...names, day: dayIn(r, day) };
  },
};

/** The cells with a row's day and names, by column. */
const namesIn = (cells: JsonObject): Readonly<Record<string, string>> =>
  Object.fromEntries(
    meaningsOf(cells).flatMap(({ header, meaning }) => {
      const cell = cells[header];
      const isName = meaning?.is === 'day' || (meaning?.is === 'text' && isKey(meaning.column));
      return isName && typeof cell === 'string' && cell !== '' ? [[meaning.column, cell]] : [];
    }),
  );

/** What people call a row: its day and names, as far as it has any. */
export const nameOfRow = (record: Json): string => {
  const names = isObject(record) ? namesIn(record) : {};
  const parts = ['day', ...Object.keys(keys)].map((column) => names[column] ?? '');
  return parts.some((part) => part !== '') ? parts.join('/').slice(0, 300) : '';
};
