/** The transform of a row of a CSV report: cells are text, columns are known by the names in its first line, in any order. */
import { ExactNumber, numberOf } from '../../../core/json.ts';
import { isPlainDecimal, wholeValue } from '../../../core/plain-decimal.ts';
import { Reading } from '../../../core/record-reader.ts';
import { keyText, requireRecord } from '../../../core/record-values.ts';
import type { LoadSide, Transform } from '../../../core/stream.ts';
import type { Value } from '../../../core/table.ts';
import { parseDay, parseInstant } from '../../../core/time.ts';
import { metricsOf } from '../tables.ts';
import { accountOf, shown } from './mapper.ts';
import { Numbers, planOf, type Slot, templateOf } from './numbers.ts';

const plan = planOf('csv');

/** Text columns by the vendor's dimensions (AsyncReportDimension). */
const dimensions: Readonly<Record<string, string>> = {
  CAMPAIGN_NAME: 'campaign_name',
  AD_SET_NAME: 'ad_set_name',
  AD_NAME: 'ad_name',
  AD_ACCOUNT_NAME: 'ad_account_name',
  AD_ACCOUNT_CURRENCY: 'currency',
  CURRENCY: 'currency',
  CAMPAIGN_STATUS: 'campaign_status',
  CAMPAIGN_OBJECTIVE: 'campaign_objective',
  AD_SET_STATUS: 'ad_set_status',
  AD_SET_BUDGET: 'ad_set_budget',
  AD_SET_COST_MODEL: 'ad_set_cost_model',
};
const columns = {
  ad_account_id: null,
  day: null,
  campaign_name: '',
  ad_set_name: '',
  ad_name: '',
  occurrence: 0,
  ad_account_name: null,
  currency: null,
  campaign_status: null,
  campaign_objective: null,
  ad_set_status: null,
  ad_set_budget: null,
  ad_set_cost_model: null,
};
const template = templateOf(columns, plan);
const KEYS: ReadonlySet<string> = new Set(['campaign_name', 'ad_set_name', 'ad_name']);

/** The vendor shows no header of a daily report; these are the names that such columns have. */
const DAY_NAMES: ReadonlySet<string> = new Set([
  'DAY',
  'DATE',
  'DATE_DAY',
  'REPORT_DATE',
  'START_DATE',
  'START_TIME',
]);

/** Aggregate reports call some metrics otherwise; a CSV that does so too is understood. */
const otherNames: ReadonlyMap<string, string> = new Map(
  metricsOf('csv').flatMap(([, { names }]) =>
    names.aggregate !== undefined && names.csv !== undefined && names.aggregate !== names.csv
      ? [[names.aggregate, names.csv] as const]
      : [],
  ),
);

/** What a header means, whatever its case and the signs between its words: `Impressions on Spotify` is IMPRESSIONS_ON_SPOTIFY. */
type Meaning =
  | { readonly is: 'day' }
  | { readonly is: 'text'; readonly column: string }
  | { readonly is: 'metric'; readonly name: string; readonly slot: Slot }
  | { readonly is: 'unknown' };

const meaningOf = (header: string): Meaning => {
  const name = header
    .trim()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .toUpperCase();
  const column = Object.hasOwn(dimensions, name) ? dimensions[name] : undefined;
  if (column !== undefined) return { is: 'text', column };
  if (DAY_NAMES.has(name)) return { is: 'day' };
  const metric = otherNames.get(name) ?? name;
  const slot = plan.slots.get(metric);
  return slot === undefined ? { is: 'unknown' } : { is: 'metric', name: metric, slot };
};

/** Headers repeat with every row of a report; more of them than this are not remembered. */
const MOST_HEADERS = 2_000;
const meanings = new Map<string, Meaning>();
const known = (header: string): Meaning => {
  const found = meanings.get(header) ?? meaningOf(header);
  if (meanings.size < MOST_HEADERS) meanings.set(header, found);
  return found;
};

/** The headers of the row before, and what they mean: those of the next row are the same ones as a rule. */
let last: readonly { readonly header: string; readonly meaning: Meaning }[] = [];
const meaningsOf = (headers: readonly string[]): typeof last => {
  if (headers.length !== last.length || headers.some((header, place) => header !== last[place]?.header))
    last = headers.map((header) => ({ header, meaning: known(header) }));
  return last;
};

/** A number as a program writes it: no thousands separator, no sign of a currency, no percent. */
const NUMBER = /^(-?)0*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** The number in a cell of a metric: as `numberIn`, most of them at once. */
const metricIn = (cell: string): number | ExactNumber | undefined => {
  const whole = wholeValue(cell);
  if (!Number.isNaN(whole)) return whole;
  return isPlainDecimal(cell) ? new ExactNumber(cell) : numberIn(cell);
};

/** The number in a cell, exactly; undefined where it holds none. */
const numberIn = (cell: string): number | ExactNumber | undefined => {
  const [, sign, digits] = NUMBER.exec(cell) ?? [];
  return sign === undefined || digits === undefined ? undefined : numberOf(sign + digits);
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

/** What the reader puts under a record's only key for a line that has not as many cells as the header (a number), or is none (why). */
export const RAGGED = '#ragged';

/** As `csvRow` says. */
const transform: Transform = (record, slice) => {
  const r = new Reading('ads.report_csv', 'row', record);
  const cells = requireRecord(r, record);
  if (Object.hasOwn(cells, RAGGED)) {
    const why = cells[RAGGED];
    throw r.reject(
      'ragged_row',
      RAGGED,
      typeof why === 'string' ? `cannot be read: ${why}` : 'has not as many cells as the header',
    );
  }
  const row: Record<string, Value> = { ...template };
  row.ad_account_id = accountOf(slice);
  const numbers = new Numbers(r, plan, row);
  for (const { header, meaning } of meaningsOf(Object.keys(cells))) {
    const cell = cells[header];
    if (cell === null || cell === undefined || cell === '') continue;
    if (typeof cell !== 'string') throw r.reject('bad_type', header, 'has a % that is no text');
    if (meaning.is === 'metric') {
      const number = metricIn(cell);
      if (number === undefined) throw r.reject('bad_number', header, 'has a % that is no plain number');
      numbers.tellOf(meaning.slot, meaning.name, number);
    } else if (meaning.is === 'text') {
      row[meaning.column] = KEYS.has(meaning.column) ? keyText(r, header, cell) : cell;
    } else if (meaning.is === 'day') row.day = dayIn(r, cell);
    else {
      const number = numberIn(cell);
      if (number === undefined) r.keep(header, cell);
      else numbers.further(header, number);
      r.note(`${shown(header)}: a column that is not known`);
    }
  }
  if (row.day === null) throw r.reject('missing_field', 'day', 'has no %');
  numbers.finish();
  const notes = r.notes();
  return { row, children: {}, ...(notes.length > 0 && { notes }) };
};

/** By day and names; which of several rows of the same names it is, nothing tells. */
const keyOf: NonNullable<LoadSide['keyOf']> = (record, slice) => {
  const r = new Reading('ads.report_csv', 'row', record);
  const cells = requireRecord(r, record);
  const key: Record<string, string> = { ad_account_id: accountOf(slice) };
  for (const name of KEYS) key[name] = '';
  for (const { header, meaning } of meaningsOf(Object.keys(cells))) {
    const cell = cells[header];
    if (typeof cell !== 'string' || cell === '') continue;
    if (meaning.is === 'text' && KEYS.has(meaning.column)) key[meaning.column] = keyText(r, header, cell);
    else if (meaning.is === 'day') key.day = dayIn(r, cell);
  }
  if (key.day === undefined) throw r.reject('missing_field', 'day', 'has no %');
  return key;
};

/**
 * Partition `ad_account_id`. The record: { header as given: cell as text }. An empty cell is null. A column that is not known goes to
 * `extra_metrics` where it holds a number, to `_extra` where it holds text. A metric that is no number rejects the row, as does a row
 * without a day or with another number of cells than its header.
 */
export const csvRow: Pick<LoadSide, 'transform' | 'keyOf'> = { transform, keyOf };
