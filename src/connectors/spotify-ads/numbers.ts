/**
 * The numbers of report rows. A number is stored exactly or its row is rejected; one that is absent is null, never 0; one that the platform
 * hides (-5: 1 to 4 conversions) is null with a flag. Only amounts finer than a millionth are rounded, and the exact one is kept.
 */
import { decimalText } from '../../core/decimal.ts';
import { BadData } from '../../core/errors.ts';
import { ExactNumber, isJsonNumber, numberOf } from '../../core/json.ts';
import { isObject, own, put } from '../../core/record-object.ts';
import { kindOf, type Reading } from '../../core/record-reader.ts';
import type { Json } from '../../core/stream.ts';
import type { Value } from '../../core/table.ts';
import { fromUnits } from './amounts.ts';
import { type Metric, metricsOf, type Report } from './metrics.ts';
import { writtenNumber } from './written-numbers.ts';

/** A row while it is being filled. */
export type Filling = Record<string, Value>;

/**
 * Makes rows to fill: `columns`, then nulls for the report's numbers. By way of JSON, because copies of a parsed object are cheap; one that
 * is assembled from a hundred columns would be a hash table.
 */
export const rowMaker = (report: Report, columns: Readonly<Record<string, 0 | '' | null>> = {}) => {
  const empty: Record<string, 0 | '' | null | false> = { ...columns };
  for (const { column } of metricsOf(report)) empty[column] = null;
  for (const { flag } of metricsOf(report)) if (flag !== undefined) empty[flag] = false;
  const template: Filling = JSON.parse(JSON.stringify({ ...empty, extra_metrics: null, _extra: null }));
  return (): Filling => ({ ...template });
};

/** The vendor's number for a count of 1 to 4 (ReportField: "we present conversion counts as -5"). */
const isHidden = (number: string): boolean => /^-5(\.0+)?$/.test(number);

/** Fills the numbers of one row. Numbers come as text, as JSON writes them: no double can round them. */
export class Numbers {
  readonly #r: Reading;
  readonly #row: Filling;
  #extra: Record<string, Json> | undefined;

  constructor(r: Reading, row: Filling) {
    this.#r = r;
    this.#row = row;
  }

  /** `metric`: undefined where no column has this name. Rejects the record where the number cannot be stored exactly. */
  set(metric: Metric | undefined, name: string, number: string): void {
    if (metric === undefined) {
      this.#keep(name, number);
      return;
    }
    const { column, kind, flag } = metric;
    if (flag !== undefined && isHidden(number)) {
      this.#row[flag] = true;
      return;
    }
    try {
      this.#row[column] = this.#read(kind, name, number);
    } catch (error) {
      throw this.#r.because(error, name);
    }
  }

  /** Writes `extra_metrics` and `_extra`, once everything else has been read. */
  finish(): void {
    if (this.#extra !== undefined)
      this.#row.extra_metrics = this.#r.jsonObject('extra_metrics.', this.#extra);
    this.#row._extra = this.#r.extra();
  }

  #read(kind: Metric['kind'], name: string, number: string): Value {
    if (kind === 'rate') return decimalText(number);
    return kind === 'count' ? this.#count(name, number) : this.#money(name, number);
  }

  /** Counts come as floats (`73775.0`). A fraction, or a hidden number where none was expected, is kept in `extra_metrics`. */
  #count(name: string, number: string): number | bigint | null {
    if (isHidden(number)) return this.#note(name, number, 'hidden (-5) where nothing was known to be hidden');
    const [whole = '', fraction = ''] = decimalText(number).split('.');
    if (/[1-9]/.test(fraction))
      return this.#note(name, number, 'a fraction where a whole number was expected');
    if (whole.length <= 15) return Number(whole);
    const exact = BigInt(whole);
    if (BigInt.asIntN(64, exact) === exact) return exact;
    throw new BadData('bad_integer', `a number of ${whole.length} digits is beyond 64 bits`);
  }

  /** An amount in currency units. */
  #money(name: string, number: string): string {
    const { text, rounded } = fromUnits(number);
    if (rounded)
      this.#note(name, number, 'finer than a millionth; rounded in its column, exact in extra_metrics');
    return text;
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

/** A JSON number as text, also one in quotes: exact decimals are often sent so. Null: not reported. Undefined for anything else. */
const numberIn = (value: Json, metric: Metric | undefined): string | null | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  if (typeof value !== 'string') return undefined;
  if (metric !== undefined) return writtenNumber(value, metric.kind);
  return isJsonNumber(value) ? value : undefined;
};

/** A value for a message. */
const given = (value: Json): string => JSON.stringify(value)?.slice(0, 40) ?? '';

const statKeys = new Set(['field_type', 'field_value']);

/**
 * The reader of `stats`, a list of `{field_type, field_value}`, into a row. A field that was requested twice comes twice (recorded). What is
 * no number is kept in `_extra` with a note; money that is no number, a metric with two values and a row without the list reject the record.
 */
export const statsReader = (report: Report) => {
  const metrics = new Map(metricsOf(report).map((metric) => [metric.name, metric]));
  return (r: Reading, row: Filling, stats: Json): void => {
    if (stats === undefined || stats === null) throw r.reject('missing_field', 'stats', 'has no %');
    if (!Array.isArray(stats))
      throw r.reject('bad_type', 'stats', `has ${kindOf(stats)} as %, expected a list`);
    const numbers = new Numbers(r, row);
    const seen = new Map<string, string>();
    for (const [index, stat] of stats.entries()) {
      const name = isObject(stat) ? own(stat, 'field_type') : undefined;
      if (!isObject(stat) || typeof name !== 'string' || name === '') {
        r.element('stats', index).flip('field_type', stat, 'a metric by name');
        continue;
      }
      for (const key in stat)
        if (!statKeys.has(key)) r.element('stats', index).keepUnknown(stat, statKeys, '', true);
      const value = own(stat, 'field_value');
      if (value === undefined || value === null) continue;
      const metric = metrics.get(name);
      const number = numberIn(value, metric);
      if (number === null) continue;
      if (number === undefined && metric?.kind === 'money')
        throw r.reject('bad_amount', name, `has a % of ${given(value)}: it is no number, or can mean two`);
      if (number === undefined) r.element('stats', index).flip(name, value, 'a number');
      else if (!seen.has(name)) numbers.set(metric, name, number);
      else if (seen.get(name) !== number)
        throw r.reject('ambiguous_metric', name, 'has two different values for %');
      if (number !== undefined) seen.set(name, number);
    }
    numbers.finish();
  };
};
