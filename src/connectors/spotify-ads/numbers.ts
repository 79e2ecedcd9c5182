/**
 * The numbers of report rows. A number is stored exactly or its row is rejected; one that is absent is null, never 0; one that the platform
 * hides (-5: 1 to 4 conversions) is null with a flag. Only amounts finer than a millionth are rounded, and the exact one is kept.
 */
import { decimalText, isPlainDecimal } from '../../core/decimal.ts';
import { ExactNumber, isJsonNumber, numberOf } from '../../core/json.ts';
import { isObject, type JsonObject, own, put } from '../../core/record-object.ts';
import { kindOf, type Reading } from '../../core/record-reader.ts';
import type { Json } from '../../core/request.ts';
import type { Value } from '../../core/table.ts';
import { fromUnits } from './amounts.ts';
import { keepNews } from './fields.ts';
import { type Metric, metricsOf, type Report } from './metrics.ts';

/** A row while it is being filled. */
export type Filling = Record<string, Value>;

const [zero, point, minus] = [0x30, 0x2e, 0x2d];

/** The value of a whole number of at most 15 digits at `[from, to)` of a text, e.g. `1115`, `1115.0` or `-5`; NaN for anything else. */
export const wholeIn = (text: string, from: number, to: number): number => {
  const first = text.charCodeAt(from) === minus ? from + 1 : from;
  let value = 0;
  let at = first;
  for (; at < to; at++) {
    const digit = text.charCodeAt(at) - zero;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  const digits = at - first;
  const isNeedless = text.charCodeAt(first) === zero && (digits > 1 || first > from);
  if (digits === 0 || digits > 15 || isNeedless) return Number.NaN;
  if (at < to && (text.charCodeAt(at) !== point || at + 1 === to)) return Number.NaN;
  for (at += 1; at < to; at++) if (text.charCodeAt(at) !== zero) return Number.NaN;
  return first > from ? -value : value;
};

const wholeValue = (text: string): number => wholeIn(text, 0, text.length);

/** The vendor's number for a count of 1 to 4 (ReportField: "we present conversion counts as -5"). */
const isHidden = (number: string): boolean => number.startsWith('-') && wholeValue(number) === -5;

/** Metrics of a kind of report by their names. */
export const metricsByName = (report: Report): ReadonlyMap<string, Metric> =>
  new Map(metricsOf(report).map((metric) => [metric.name, metric]));

/**
 * Makes rows to fill: `columns`, then nulls for the report's numbers. By way of JSON, because copies of a parsed object are cheap; one that
 * is assembled from a hundred columns would be a hash table.
 */
export const rowMaker = (
  report: Report,
  columns: Readonly<Record<string, string | number | null>> = {},
): (() => Filling) => {
  const empty: Record<string, string | number | boolean | null> = { ...columns };
  for (const { column } of metricsOf(report)) empty[column] = null;
  for (const { flag } of metricsOf(report)) if (flag !== undefined) empty[flag] = false;
  const template: Filling = JSON.parse(JSON.stringify({ ...empty, extra_metrics: null, _extra: null }));
  return () => ({ ...template });
};

/** Fills the numbers of one row. Numbers come as text, as JSON writes them: no double can round them. */
export class Numbers {
  readonly #r: Reading;
  readonly #row: Filling;
  #extra: Record<string, Json> | undefined;

  constructor(r: Reading, row: Filling) {
    this.#r = r;
    this.#row = row;
  }

  /** Whether no number of this name was stored before. */
  isNew(metric: Metric | undefined, name: string): boolean {
    if (this.#extra !== undefined && Object.hasOwn(this.#extra, name)) return false;
    if (metric === undefined) return true;
    const { column, flag } = metric;
    return this.#row[column] === null && (flag === undefined || this.#row[flag] !== true);
  }

  /** Stores a count or a rate that is written plainly, as most are. False, and nothing stored, for any other text. */
  plain({ column, kind }: Metric, text: string): boolean {
    const value = kind === 'count' ? wholeValue(text) : kind === 'rate' && isPlainDecimal(text) ? text : -1;
    if (typeof value === 'number' && !(value >= 0)) return false;
    this.#row[column] = value;
    return true;
  }

  /** `metric`: undefined where no column has this name. Rejects the record where the number cannot be stored exactly. */
  set(metric: Metric | undefined, name: string, number: string): void {
    if (metric === undefined) {
      this.#keep(name, number);
      return;
    }
    const { column, kind, flag } = metric;
    if (this.plain(metric, number)) return;
    if (flag !== undefined && isHidden(number)) this.#row[flag] = true;
    else if (kind === 'count') this.#row[column] = this.#count(name, number);
    else if (kind === 'money') this.#row[column] = this.#money(name, number);
    else this.#row[column] = this.#decimal(name, number);
  }

  /** Writes `extra_metrics` and `_extra`, once everything else has been read. */
  finish(): void {
    if (this.#extra !== undefined)
      this.#row.extra_metrics = this.#r.jsonObject('extra_metrics.', this.#extra);
    this.#row._extra = this.#r.extra();
  }

  /** Counts come as floats (`73775.0`). A fraction, or a hidden number where none was expected, is kept in `extra_metrics`. */
  #count(name: string, number: string): number | bigint | null {
    if (isHidden(number)) return this.#note(name, number, 'hidden (-5) where nothing was known to be hidden');
    const [whole = '', fraction = ''] = this.#decimal(name, number).split('.');
    if (/[1-9]/.test(fraction))
      return this.#note(name, number, 'a fraction where a whole number was expected');
    if (whole.length <= 15) return Number(whole);
    const exact = BigInt(whole);
    if (BigInt.asIntN(64, exact) !== exact)
      throw this.#r.reject('bad_integer', name, 'has a % beyond 64 bits');
    return exact;
  }

  /** An amount in currency units: `amounts`, report.spend and report.revenue. */
  #money(name: string, number: string): string {
    try {
      const { text, rounded } = fromUnits(number);
      if (rounded)
        this.#note(name, number, 'finer than a millionth; rounded in its column, exact in extra_metrics');
      return text;
    } catch (error) {
      throw this.#r.because(error, name);
    }
  }

  #decimal(name: string, number: string): string {
    try {
      return decimalText(number);
    } catch (error) {
      throw this.#r.because(error, name);
    }
  }

  #note(name: string, number: string, why: string): null {
    this.#keep(name, number);
    this.#r.note(`${name}: ${why}`);
    return null;
  }

  #keep(name: string, number: string): void {
    this.#extra ??= {};
    put(this.#extra, name, numberOf(number));
  }
}

/** A JSON number as text, also one in quotes: exact decimals are often sent so. Undefined for anything else. */
const numberIn = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && isJsonNumber(value) ? value : undefined;
};

const statKeys = new Set(['field_type', 'field_value']);

/** True of the two members that the vendor's OpenAPI has (ReportField). */
const isPlainStat = (stat: JsonObject): boolean => {
  for (const name in stat) if (name !== 'field_type' && name !== 'field_value') return false;
  return true;
};

/**
 * Fills a row from `stats`, a list of `{field_type, field_value}`. A field that was requested twice comes twice (recorded). What is no number
 * is kept in `_extra` with a note; money that is no number, a metric with two values and a row without the list reject the record.
 */
export const fillStats = (
  r: Reading,
  row: Filling,
  metrics: ReadonlyMap<string, Metric>,
  stats: Json,
): void => {
  if (stats === undefined || stats === null) throw r.reject('missing_field', 'stats', 'has no %');
  if (!Array.isArray(stats))
    throw r.reject('bad_type', 'stats', `has ${kindOf(stats)} as %, expected a list`);
  const numbers = new Numbers(r, row);
  for (let index = 0; index < stats.length; index++) {
    const stat: Json = stats[index];
    const name = isObject(stat) ? own(stat, 'field_type') : undefined;
    if (!isObject(stat) || typeof name !== 'string' || name === '') {
      r.element('stats', index).flip('field_type', stat, 'a metric by name');
      continue;
    }
    if (!isPlainStat(stat)) keepNews(r, stat, statKeys, `stats[${index}].`, 'stats[].');
    const value = own(stat, 'field_value');
    if (value === undefined || value === null) continue;
    const metric = metrics.get(name);
    if (!numbers.isNew(metric, name)) checkSame(r, stats, index, name);
    else if (
      typeof value === 'number' &&
      metric?.kind === 'count' &&
      value >= 0 &&
      Number.isSafeInteger(value)
    )
      // Plus 0: -0 is 0.
      row[metric.column] = value + 0;
    else fillStat(r, numbers, metric, name, index, value);
  }
  numbers.finish();
};

const fillStat = (
  r: Reading,
  numbers: Numbers,
  metric: Metric | undefined,
  name: string,
  index: number,
  value: Json,
): void => {
  const number = numberIn(value);
  if (number !== undefined) numbers.set(metric, name, number);
  else if (metric?.kind === 'money') throw r.reject('bad_amount', name, 'has a % that is no plain number');
  else r.element('stats', index).flip(name, value, 'a number');
};

/** Rejects a row where one of the stats before has the same name and another number. */
const checkSame = (r: Reading, stats: readonly Json[], index: number, name: string): void => {
  const numberAt = (at: Json): string | undefined =>
    isObject(at) && own(at, 'field_type') === name ? numberIn(own(at, 'field_value')) : undefined;
  const number = numberAt(stats[index]);
  for (const before of stats.slice(0, index))
    if ((numberAt(before) ?? number) !== number)
      throw r.reject('ambiguous_metric', name, 'has two different values for %');
};
