/**
 * Rows of CSV reports: the table, the meaning of a file's columns, and the transform. A report names its entities and gives no ids; rows that
 * repeat all names and the day are numbered by `occurrence`.
 */

import { UnexpectedContent } from '../../core/errors.ts';
import { isJsonNumber, isPlainDecimal } from '../../core/json.ts';
import { Reading, shown } from '../../core/record.ts';
import { keyText } from '../../core/record-values.ts';
import type { Json } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { parseDay, parseInstant } from '../../core/time.ts';
import { cellOf, columnName, type Line } from '../../reading/csv/lines.ts';
import { accountOf } from './ads.ts';
import { type Facts, firstSynced, revised } from './facts.ts';
import { type Metric, metricsOf, numberColumns } from './metrics.ts';
import type { Filling } from './numbers.ts';
import { hasDecimalComma, isPointOfThousand, Numbers, rowMaker, writtenNumber } from './numbers.ts';

const nameOf = (noun: string) =>
  columns.text(`Name of the ${noun} as the report writes it; empty where it writes none.`).key();
const written = (what: string, more = '') =>
  columns.text(`${what} as the report writes it${more}.`).nullable();
const keys = { campaign_name: nameOf('campaign'), ad_set_name: nameOf('ad set'), ad_name: nameOf('ad') };
const texts = {
  ad_account_name: written('Name of the ad account'),
  currency: written('ISO 4217 currency'),
  campaign_status: written('Status of the campaign'),
  campaign_objective: written('Objective of the campaign'),
  ad_set_status: written('Status of the ad set'),
  ad_set_budget: written('Budget', '; its unit is not documented. For amounts: ads.ad_sets.budget'),
  ad_set_cost_model: written('Cost model'),
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

/** What a column of a file holds. */
interface Meaning {
  readonly is: 'day' | 'key' | 'text' | Metric['kind'];
  readonly column: string;
  /** The name of the request first. */
  readonly names: readonly string[];
  readonly metric?: Metric;
}

const dimension = (is: 'key' | 'text', column: string): Meaning => ({
  is,
  column,
  names: column === 'currency' ? ['AD_ACCOUNT_CURRENCY', 'CURRENCY'] : [column.toUpperCase()],
});
/** The vendor's dimensions (AsyncReportDimension). */
const dimensions = [
  ...Object.keys(keys).map((column) => dimension('key', column)),
  ...Object.keys(texts).map((column) => dimension('text', column)),
];
export const csvDimensions: readonly string[] = dimensions.flatMap(({ names }) => names.slice(0, 1));

const namesInOthers = new Map(metricsOf('aggregate').map(({ column, name }) => [column, name]));

/** Metrics go by the name of the request, and by that of aggregate reports. The vendor documents no header: these are usual names of a day. */
const meanings: readonly Meaning[] = [
  ...metricsOf('csv').map((metric): Meaning => {
    const { kind, column, name } = metric;
    return { is: kind, column, names: [name, namesInOthers.get(column) ?? name], metric };
  }),
  ...dimensions,
  { is: 'day', column: 'day', names: ['DAY', 'DATE', 'DATE_DAY', 'REPORT_DATE', 'START_DATE', 'START_TIME'] },
];
const byName = new Map(meanings.flatMap((one) => one.names.map((name) => [name, one] as const)));

/** Names tell rows apart; without the numbers a row would say less than the one that it replaces. */
const requiredColumns = ['day', ...Object.keys(keys), 'spend', 'impressions', 'clicks'];

/**
 * Reads a file's header: `day`: the place of the column with the day; `absent`: dimensions and metrics that the report lacks. Columns are known
 * by their names, in any order and spelling. Throws `UnexpectedContent` where a required column is
 * missing, a column has no name, or two have one name or one meaning: which of them is meant could only be guessed.
 */
export const readHeader = (what: string, header: readonly string[]) => {
  const places = new Map<string, number>();
  for (const [index, given] of header.entries()) {
    const name = columnName(given);
    if (name === '') throw new UnexpectedContent(`${what}: column ${index + 1} of the CSV file has no name`);
    const column = byName.get(name)?.column ?? name;
    const before = header[places.get(column) ?? -1];
    if (before !== undefined)
      throw new UnexpectedContent(
        `${what}: the report has two columns for ${column}: ${before.slice(0, 60)} and ${given.slice(0, 60)}`,
      );
    places.set(column, index);
  }
  const lacking = meanings.filter(({ column }) => !places.has(column));
  const namesOf = (some: readonly Meaning[]) =>
    some.map(({ is, names: [name = ''] }) => (is === 'day' ? 'column for the day' : name));
  const missing = namesOf(lacking.filter(({ column }) => requiredColumns.includes(column)));
  const shownHeader = header.slice(0, 20).map((name) => columnName(name).slice(0, 40));
  if (missing.length > 0)
    throw new UnexpectedContent(
      `${what}: the report has no ${missing.join(', ')}; its ${header.length} columns begin with ${shownHeader.join(', ')}`,
    );
  return { day: places.get('day') ?? -1, absent: namesOf(lacking) };
};

type CsvColumn = Partial<Meaning> & { readonly header: string };

let lastHeader: readonly string[] = [];
let lastPlan: readonly CsvColumn[] = [];

/** What to do with each cell of a file's lines. All lines of a file share their header. */
const planOf = (header: readonly string[]): readonly CsvColumn[] => {
  if (header !== lastHeader) {
    lastHeader = header;
    lastPlan = header.map((name) => ({ header: name, ...byName.get(columnName(name)) }));
  }
  return lastPlan;
};

const zero = 0x30;
const point = 0x2e;

/** The value of a whole number of at most 15 digits at `[from, to)` of a text, e.g. `1115` or `1115.0`; -1 for anything else. */
const wholeIn = (text: string, from: number, to: number): number => {
  let value = 0;
  let at = from;
  for (; at < to; at++) {
    const digit = text.charCodeAt(at) - zero;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  if (at === from || at - from > 15 || (at < to && (text.charCodeAt(at) !== point || at + 1 === to)))
    return -1;
  // `12.000` may be twelve thousand.
  if (to - at === 4 && value > 0 && value < 1000) return -1;
  for (at += 1; at < to; at++) if (text.charCodeAt(at) !== zero) return -1;
  return value;
};

/** A number as JSON writes it, of a column that is not known; undefined where it is none. */
const numberIn = (cell: string): string | undefined => {
  const number = cell.replace(/^(-?)0+(?=\d)/, '$1');
  return isJsonNumber(number) ? number : undefined;
};

let lastDay = '';

/** `2024-03-01`, or an instant that begins a day in UTC. */
const dayIn = (r: Reading, cell: string): string => {
  if (cell === lastDay) return cell;
  try {
    if (cell.length === 10) lastDay = parseDay(cell);
    else if (parseInstant(cell) % 86_400_000_000n === 0n) lastDay = new Date(cell).toISOString().slice(0, 10);
    else throw r.reject('bad_date', 'day', 'has a % that begins no day in UTC');
  } catch (error) {
    throw r.because(error, 'day');
  }
  return lastDay;
};

/** The line of a record. Rejects one that cannot be read, or has another number of cells than the header: none would be under its name. */
const lineOf = (r: Reading, record: Json): Line => {
  const line = record as Line;
  if (line.why !== undefined) throw r.reject('ragged_row', '(line)', `cannot be read: ${line.why}`);
  if (line.count === line.header.length) return line;
  throw r.reject('ragged_row', '(line)', 'has not as many cells as the header');
};

const blanks = <T>(of: object, blank: T) => Object.fromEntries(Object.keys(of).map((name) => [name, blank]));
const emptyKeys = blanks(keys, '' as const);
const emptyTexts = blanks(texts, null);
const newRow = rowMaker('csv', {
  ad_account_id: null,
  day: null,
  ...emptyKeys,
  occurrence: 0,
  ...emptyTexts,
});

/** The platform's number for 1 to 4 (metrics.ts, `hidden`), as most files write it. */
const hiddenCell = '-5';

/** Rejects a row for a cell, by its names, its column and what is written there. */
const unreadable = (line: Line, header: string, cell: string, why: string) =>
  new Reading('ads.report_csv', 'row', { id: nameOfRow(line) }).reject(
    'bad_number',
    header,
    `has a % of ${JSON.stringify(cell.slice(0, 40))}: ${why}`,
  );

/** Rejects a row whose numbers leave open how one of them is meant: `1.212` beside `3.500,75`, another currency than the row's. */
const checkNumbers = (line: Line, { currency }: Filling): void => {
  const cells = planOf(line.header).flatMap(({ is, header }, index) =>
    is === 'count' || is === 'money' || is === 'rate' ? [{ header, cell: cellOf(line, index) }] : [],
  );
  const isComma = cells.some(({ cell }) => hasDecimalComma(cell));
  for (const { header, cell } of cells) {
    if (isComma && isPointOfThousand(cell))
      throw unreadable(line, header, cell, 'beside decimal commas it can mean two numbers');
    const [code] = /[A-Z]{3}/.exec(cell) ?? [];
    if (code !== undefined && (currency ?? code) !== code)
      throw unreadable(line, header, cell, `the row is in ${currency}`);
  }
};

/** Puts a cell that is not empty into the row. True where it holds a number that is written as no machine would. */
const fill = (r: Reading, row: Filling, numbers: Numbers, at: CsvColumn, line: Line, cell: string) => {
  const { header, is, column = '', metric } = at;
  if (metric?.flag !== undefined && cell === hiddenCell) row[metric.flag] = true;
  else if (is === 'rate' && isPlainDecimal(cell)) row[column] = cell;
  else if (is === 'text') row[column] = cell;
  else if (is === 'key') row[column] = keyText(r, header, cell);
  else if (is === 'day') row.day = dayIn(r, cell);
  else if (metric === undefined) {
    const number = numberIn(cell);
    r.note(`${shown(header)}: a column that is not known`);
    if (number !== undefined) numbers.set(metric, header, number);
    else r.keep(header, cell);
  } else {
    const number = writtenNumber(cell, metric.kind);
    if (number === undefined) throw unreadable(line, header, cell, 'it is no number, or can mean two');
    if (number !== null) numbers.set(metric, metric.name, number);
    return number !== cell;
  }
  return false;
};

/**
 * Partition `ad_account_id`. A record is a line of the file; an empty cell is null, as is `--`. A column that is not known goes to
 * `extra_metrics` where it holds a number, to `_extra` where it holds text. A metric that is no number or can mean two rejects the row, as
 * does a row without a day or with another number of cells than the header.
 */
export const csvRows: Facts = {
  table,
  transform: (record, slice) => {
    const r = new Reading('ads.report_csv', 'row', record);
    const line = lineOf(r, record);
    const { text, spans, first } = line;
    const row = newRow();
    row.ad_account_id = accountOf(slice);
    const numbers = new Numbers(r, row);
    const plan = planOf(line.header);
    let isByHand = false;
    for (let index = 0; index < plan.length; index++) {
      const from = spans[first + 2 * index] ?? 0;
      const to = spans[first + 2 * index + 1] ?? 0;
      if (from === to) continue;
      const at = plan[index] as CsvColumn;
      // Most cells are counts, written plainly: they need no text of their own.
      const whole = at.is === 'count' ? wholeIn(text, from, to) : -1;
      if (whole >= 0) row[at.column as string] = whole;
      else isByHand = fill(r, row, numbers, at, line, cellOf(line, index)) || isByHand;
    }
    if (isByHand) checkNumbers(line, row);
    if (row.day === null) throw r.reject('missing_field', 'day', 'has no %');
    numbers.finish();
    return { row, children: {}, ...r.remarks() };
  },
  /** By day and names; nothing tells which of several rows of the same names it is. */
  keyOf: (record, slice) => {
    const r = new Reading('ads.report_csv', 'row', record);
    const { day, ...names } = namesIn(lineOf(r, record));
    if (day === undefined) throw r.reject('missing_field', 'day', 'has no %');
    for (const [column, name] of Object.entries(names)) keyText(r, column, name);
    return { ad_account_id: accountOf(slice), ...emptyKeys, ...names, day: dayIn(r, day) };
  },
};

/** The cells with a row's day and names, by column; none of a line with another number of cells than the header. */
const namesIn = (line: Line): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (line.count === line.header.length ? planOf(line.header) : []).flatMap(({ is, column = '' }, index) => {
      const cell = is === 'day' || is === 'key' ? cellOf(line, index) : '';
      return cell === '' ? [] : [[column, cell]];
    }),
  );

/** What people call a row: its day and names; '' where it has none. */
export const nameOfRow = (record: Json): string => {
  const names = namesIn(record as Line);
  const all = ['day', ...Object.keys(keys)].map((column) => names[column] ?? '').join('/');
  return all === '///' ? '' : all.slice(0, 300);
};
