/**
 * The numbers of report rows. A number is stored exactly or its row is rejected; one that is absent is null, never 0; one that the platform
 * hides (-5: 1 to 4 conversions) is null with a flag. Only amounts finer than a millionth are rounded, and the exact one is kept.
 */

import { BadData } from '../../core/errors.ts';
import { decimalText, ExactNumber, isJsonNumber, numberOf } from '../../core/json.ts';
import { isObject, kindOf, own, put, type Reading } from '../../core/record.ts';
import type { Json } from '../../core/stream.ts';
import type { Value } from '../../core/table.ts';
import { type Metric, metricsOf, type ReportKind } from './metrics.ts';

// Money as exact decimal text in currency units, six digits after the point, never a JavaScript number. Entities write whole millionths
// (contract: budget amounts are micro-amounts; vendor: BudgetRequest.micro_amount, BidMicroAmount, base_rate_micro_amount "multiplied by x10
// to the 6th power"), reports write units (vendor's notes and a recorded answer for SPEND and REVENUE). Nothing is guessed from a name or a size.

type Amount = number | ExactNumber | string;

/** What `numeric(18,6)` holds before and after the point. */
const mostWholeDigits = 12;
const scale = 6;

/** Millionths as units: `1500000` → `1.500000`. Throws `BadData('out_of_range')` where the column cannot hold them. */
const unitsOf = (micros: string): string => {
  const text = decimalText(`${micros}e-${scale}`);
  const whole = text.replace('-', '').indexOf('.');
  if (whole > mostWholeDigits)
    throw new BadData('out_of_range', `an amount of ${whole} digits before the point`);
  return text;
};

/** Whole millionths as units. Throws `BadData('bad_micros')` for a fraction of a millionth, `out_of_range`. */
export const fromMicros = (value: Amount): string => {
  const [whole = '', fraction = ''] = decimalText(value).split('.');
  if (/[1-9]/.test(fraction)) throw new BadData('bad_micros', `${value} is not a whole number of millionths`);
  return unitsOf(whole);
};

/** Units; `rounded` (half away from zero, as Postgres does) where they were finer than a millionth. Throws `BadData('out_of_range')`. */
export const fromUnits = (value: Amount): { readonly text: string; readonly rounded: boolean } => {
  const given = decimalText(value);
  const [whole = '', fraction = ''] = given.split('.');
  if (fraction.length <= scale && whole.length <= mostWholeDigits)
    return { text: `${whole}.${fraction.padEnd(scale, '0')}`, rounded: false };
  const rest = fraction.slice(scale);
  const micros = whole + fraction.slice(0, scale).padEnd(scale, '0');
  if (!/[1-9]/.test(rest)) return { text: unitsOf(micros), rounded: false };
  const away = rest.charAt(0) < '5' ? 0n : given.startsWith('-') ? -1n : 1n;
  return { text: unitsOf(String(BigInt(micros) + away)), rounded: true };
};

/**
 * Numbers as people and spreadsheets write them: separators of thousands, decimal commas, signs of a currency, percent. Exports follow the
 * locale of who made them, and APIs send amounts as text. What can mean one number is that number; what can mean two is none.
 */

/** Marks of what was not reported. */
const unreported = /^(?:|-{1,3}|[–—]|n\/?a|null)$/i;

/** Signs, currency and percent around the digits. Accountants write `(12.50)` for -12.50; some programs write the minus last. */
const written =
  /^(?<open>\()?(?<minus>[-+−])? ?(?<before>[A-Z]{0,3}\p{Sc}|[A-Z]{3})? ?(?<inner>[-+−])?(?<digits>[\d.,'’ ]*\d\.?) ?(?<after>%|\p{Sc}|[A-Z]{3})?(?<last>[-−])?(?<close>\))?$/u;

/** Whole thousands with one separator; India also groups by two: `12,34,567`. */
const grouped = /^[1-9]\d{0,2}(?:(?<by>[., '])\d{3})(?:\k<by>\d{3})*$|^[1-9]\d?(?:,\d\d)+,\d{3}$/;

/** One separator and what follows it: a fraction, also without a whole part or without digits. */
const fraction = /^(?<whole>\d*)(?<point>[.,])(?<rest>\d*)$/;

/** Digits with separators as plain decimal; undefined where they mean nothing, or more than one number. */
const plain = (digits: string, isWhole: boolean): string | undefined => {
  if (/^\d+$/.test(digits)) return digits;
  const { whole = '', point, rest = '' } = fraction.exec(digits)?.groups ?? {};
  // `1,212` is a thousand or a fraction, unless it counts something. A point is what machines write.
  const isGrouped = grouped.test(digits);
  if (isGrouped && (point === undefined || isWhole))
    return point === '.' ? undefined : digits.replace(/\D/g, '');
  if (point !== undefined)
    return isGrouped && point === ',' ? undefined : `${whole || '0'}${rest && `.${rest}`}`;
  const at = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  const left = digits.slice(0, at);
  const right = digits.slice(at + 1);
  // The last separator is the decimal one where it differs from those before it.
  const isDecimal = at > 0 && /^\d+$/.test(right) && grouped.test(left) && !left.includes(digits.charAt(at));
  return isDecimal ? `${left.replace(/\D/g, '')}.${right}` : undefined;
};

/** A thousand where a point parts thousands, a fraction where it is the decimal one. */
export const isPointOfThousand = (text: string): boolean => /^\D*[1-9]\d{0,2}\.\d{3}\D*$/.test(text);

/** Whether a number is written with a decimal comma, or with points between thousands. */
export const hasDecimalComma = (text: string): boolean => /,(?!\d{3}(?!\d))|\.\d{3}[.,]/.test(text);

/**
 * `1,212.50`, `1.212,50`, `1 212,50`, `$1,212.50`, `(12.50)`, `12%` as decimal text; null for `--`, `N/A` and an empty text: not reported.
 * Undefined for what is no number of this kind (a count has no currency), and for what can mean two: `1,212` of an amount, `1.212` of a
 * count. A decimal point is what JSON has, so `1.212` of an amount is a fraction.
 */
export const writtenNumber = (text: string, kind: Metric['kind']): string | null | undefined => {
  if (isJsonNumber(text) && !(kind === 'count' && isPointOfThousand(text))) return text;
  // Spaces of every width, ordinary and not to be broken, part thousands.
  const spaced = text.replace(/\s/g, ' ').replaceAll('’', "'").trim();
  if (unreported.test(spaced)) return null;
  const { open, minus, before, inner, digits = '', after, last, close } = written.exec(spaced)?.groups ?? {};
  const signs = [open, minus, inner, last].filter((one) => one !== undefined);
  const isPercent = after === '%';
  const currency = [before, isPercent ? undefined : after].filter((one) => one !== undefined);
  if (signs.length > 1 || (open === undefined) !== (close === undefined) || currency.length > 1)
    return undefined;
  if ((currency.length > 0 && kind === 'count') || (isPercent && kind !== 'rate')) return undefined;
  const number = plain(digits, kind === 'count');
  if (number === undefined) return undefined;
  const [sign] = signs;
  return decimalText(`${sign === undefined || sign === '+' ? '' : '-'}${number}${isPercent ? 'e-2' : ''}`);
};

/** A row while it is being filled. */
export type Filling = Record<string, Value>;

/**
 * Makes rows to fill: `columns`, then nulls for the report's numbers. By way of JSON, because copies of a parsed object are cheap; one that
 * is assembled from a hundred columns would be a hash table.
 */
export const rowMaker = (report: ReportKind, columns: Readonly<Record<string, 0 | '' | null>> = {}) => {
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
export const statsReader = (report: ReportKind) => {
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
