/**
 * The metrics of a report row into its columns. What is told is kept exactly or rejected; what is not told is null, never 0; what the
 * platform hides (-5 stands for 1 to 4 conversions) is null with a flag. Nothing is rounded but amounts finer than a millionth of the
 * currency unit, and of those the exact number is kept beside.
 */
import { decimalText } from '../../../core/decimal.ts';
import { ExactNumber, isJsonNumber, numberOf } from '../../../core/json.ts';
import { isObject, own } from '../../../core/record-object.ts';
import { kindOf, type Reading } from '../../../core/record-reader.ts';
import type { Json } from '../../../core/request.ts';
import type { Value } from '../../../core/table.ts';
import { hiddenColumn, type Metric, metricsOf, type Report } from '../tables.ts';
import { fitting, fromUnits } from './amounts.ts';
import { keepNewsIn, words } from './mapper.ts';

/** A row while it is being filled. */
export type Filling = Record<string, Value>;

/** Where the number of one metric goes. */
export interface Slot extends Pick<Metric, 'kind'> {
  readonly column: string;
  /** The column of its flag; undefined where the platform hides nothing. */
  readonly flag: string | undefined;
}

/** How a report's numbers are read: its metrics by their names at the source, and a row in which nothing was told. */
export interface Plan {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly empty: Readonly<Record<string, Value>>;
}

/** The vendor's stand-in for a count of 1 to 4 (ReportField: "we present conversion counts as -5"). */
export const HIDDEN = -5;

export const planOf = (report: Report): Plan => {
  const known = metricsOf(report);
  const slots = known.map(([column, { kind, hidden }]): Slot => {
    return { column, kind, flag: hidden ? hiddenColumn(column) : undefined };
  });
  const nameOf = (metric: Metric): string =>
    (report === 'csv' ? metric.names.csv : metric.names.aggregate) ?? '';
  return {
    slots: new Map(slots.map((slot, i) => [nameOf((known[i] as (typeof known)[number])[1]), slot])),
    empty: {
      ...Object.fromEntries(slots.map(({ column }) => [column, null])),
      ...Object.fromEntries(slots.flatMap(({ flag }) => (flag === undefined ? [] : [[flag, false]]))),
      extra_metrics: null,
      _extra: null,
    },
  };
};

/**
 * A row to begin each row with: these columns, then the plan's. Copies of it (`{ ...template }`) are cheap, because it comes from `JSON.parse`:
 * an object that is put together of that many columns would be a hash table, and each copy of it another.
 */
export const templateOf = (columns: Readonly<Record<string, string | number | null>>, plan: Plan): Filling =>
  JSON.parse(JSON.stringify({ ...columns, ...plan.empty }));

/** One row's numbers: filled metric by metric, then finished. */
export class Numbers {
  readonly #r: Reading;
  readonly #plan: Plan;
  readonly #cells: Filling;
  #further: Record<string, Json> | undefined;

  /** `cells`: a row that begins with the plan's empty one. */
  constructor(r: Reading, plan: Plan, cells: Filling) {
    this.#r = r;
    this.#plan = plan;
    this.#cells = cells;
  }

  /** A metric asked for twice is told twice. Rejects the row where the two differ. */
  tell(name: string, value: number | ExactNumber | null): void {
    if (value === null) return;
    this.tellOf(this.#plan.slots.get(name), name, value);
  }

  /** The same for a metric whose place is known. */
  tellOf(slot: Slot | undefined, name: string, value: number | ExactNumber): void {
    if (this.#isTold(slot, name)) this.#compare(slot, name, value);
    else if (slot === undefined) this.further(name, value);
    else this.#fill(slot, name, value);
  }

  #isTold(slot: Slot | undefined, name: string): boolean {
    if (this.#further !== undefined && Object.hasOwn(this.#further, name)) return true;
    if (slot === undefined) return false;
    return this.#cells[slot.column] !== null || (slot.flag !== undefined && this.#cells[slot.flag] === true);
  }

  #compare(slot: Slot | undefined, name: string, value: number | ExactNumber): void {
    const other = new Numbers(this.#r, this.#plan, { ...this.#plan.empty });
    other.tellOf(slot, name, value);
    const told = (numbers: Numbers): string =>
      String([
        slot && numbers.#cells[slot.column],
        slot?.flag && numbers.#cells[slot.flag],
        numbers.#further !== undefined && Object.hasOwn(numbers.#further, name)
          ? numbers.#further[name]
          : undefined,
      ]);
    if (told(this) !== told(other))
      throw this.#r.reject('ambiguous_metric', name, 'has two different values for %');
  }

  /** Whether a metric is an amount of money. */
  isMoney(name: string): boolean {
    return this.#plan.slots.get(name)?.kind === 'money';
  }

  /** A number that no column holds. */
  further(name: string, value: number | ExactNumber): void {
    this.#further ??= {};
    Object.defineProperty(this.#further, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }

  /** Writes `extra_metrics` and `_extra`: everything else has been read by now. */
  finish(): void {
    if (this.#further !== undefined)
      this.#cells.extra_metrics = this.#r.jsonObject('extra_metrics.', this.#further);
    this.#cells._extra = this.#r.extra();
  }

  #fill(slot: Slot, name: string, value: number | ExactNumber): void {
    const { column, flag, kind } = slot;
    if (value === HIDDEN && flag !== undefined) this.#cells[flag] = true;
    else if (kind === 'count') this.#cells[column] = this.#count(name, value);
    else if (kind === 'money') this.#cells[column] = this.#money(name, value);
    else this.#cells[column] = this.#decimal(name, value);
  }

  /** Counts come as floats (`73775.0`). One with a fraction, or hidden where nothing should be, is no count: it is kept beside, and told. */
  #count(name: string, value: number | ExactNumber): number | bigint | null {
    if (value === HIDDEN)
      return this.#beside(name, value, 'hidden (-5) where nothing was known to be hidden');
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value === 0 ? 0 : value;
    const [whole = '', fraction = ''] = this.#decimal(name, value).split('.');
    if (/[1-9]/.test(fraction))
      return this.#beside(name, value, 'a fraction where a whole number was expected');
    if (whole.length <= 15) return Number(whole);
    const exact = whole.length <= 20 ? BigInt(whole) : undefined;
    if (exact === undefined || BigInt.asIntN(64, exact) !== exact)
      throw this.#r.reject('bad_integer', name, 'has a % beyond 64 bits');
    return exact;
  }

  /** An amount in currency units (`amounts`, `report.spend` and `report.revenue`). */
  #money(name: string, value: number | ExactNumber): string {
    try {
      const { text, rounded } = fromUnits(value);
      if (rounded)
        this.#beside(name, value, 'finer than a millionth; rounded in its column, exact in extra_metrics');
      return fitting(text);
    } catch (error) {
      throw this.#r.because(error, name);
    }
  }

  #beside(name: string, value: number | ExactNumber, why: string): null {
    this.further(name, value);
    this.#r.note(`${name}: ${why}`);
    return null;
  }

  #decimal(name: string, value: number | ExactNumber): string {
    try {
      return decimalText(value);
    } catch (error) {
      throw this.#r.because(error, name);
    }
  }
}

const STAT_KEYS = words('field_type field_value');

/**
 * `stats`: a list of `{field_type, field_value}`. A number in quotes is that number: many servers send exact decimals so. What is not so is kept
 * in `_extra` with a note. A row without the list is rejected; so is one whose money is no number: nothing in the place of an amount would be
 * summed as if nothing had been spent.
 */
export const tellStats = (r: Reading, numbers: Numbers, stats: Json): void => {
  if (stats === undefined || stats === null) throw r.reject('missing_field', 'stats', 'has no %');
  if (!Array.isArray(stats))
    throw r.reject('bad_type', 'stats', `has ${kindOf(stats)} as %, expected a list`);
  for (let index = 0; index < stats.length; index++) {
    const stat: Json = stats[index];
    const name = isObject(stat) ? own(stat, 'field_type') : undefined;
    const given = isObject(stat) ? own(stat, 'field_value') : undefined;
    const told = isObject(stat) ? (given ?? null) : undefined;
    const known = given === undefined ? STAT_KEYS.size - 1 : STAT_KEYS.size;
    if (isObject(stat) && Object.keys(stat).length > known) keepNewsIn(r, 'stats', index, stat, STAT_KEYS);
    const value = typeof told === 'string' && isJsonNumber(told) ? numberOf(told) : told;
    if (typeof name !== 'string' || name === '')
      r.element('stats', index).flip('field_type', stat, 'a metric by name');
    else if (value === null || typeof value === 'number' || value instanceof ExactNumber)
      numbers.tell(name, value);
    else if (numbers.isMoney(name)) throw r.reject('bad_amount', name, 'has a % that is no plain number');
    else r.element('stats', index).flip(name, value, 'a number');
  }
};
