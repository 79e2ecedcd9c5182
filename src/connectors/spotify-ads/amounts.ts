/** Money of the ads platform: exact decimal text in currency units, six digits after the point, never a JavaScript number. */
import { decimalText } from '../../core/decimal.ts';
import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { type JsonObject, own } from '../../core/record-object.ts';
import type { Reading } from '../../core/record-reader.ts';

/** micros: whole millionths of the currency unit. units: the currency unit itself. */
type Unit = 'micros' | 'units';

/** Every amount there is with its unit and the source of that. Units are never guessed from a name or a size. */
export const amounts = {
  /** Contract, conventions: budget amounts are micro-amounts. Vendor: BudgetRequest.micro_amount, "multiplied by x10 to the 6th power". */
  'ad_set.budget': 'micros',
  /** Vendor: BidMicroAmount, "multiplied by x10 to the 6th power". */
  'ad_set.bid': 'micros',
  /** Vendor: base_rate_micro_amount, "multiplied by x10 to the 6th power". */
  'ad_set.base_rate': 'micros',
  /** Vendor's notes and a recorded answer: reports give SPEND in currency units although budgets are micros. */
  'report.spend': 'units',
  /** As SPEND: a recorded answer gives plain units. */
  'report.revenue': 'units',
} as const satisfies Readonly<Record<string, Unit>>;

export type Amount = keyof typeof amounts;

/** What `numeric(18,6)` holds before and after the point. */
const mostWholeDigits = 12;
const scale = 6;

/** Millionths as units: `1500000n` → `1.500000`. */
const unitsOf = (micros: bigint): string => {
  const digits = String(micros < 0n ? -micros : micros).padStart(scale + 1, '0');
  return `${micros < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
};

/** Whole millionths as units, exactly, of any size. Throws `BadData('bad_micros')` for a fraction of a millionth. */
export const fromMicros = (value: number | ExactNumber): string => {
  const [whole = '', fraction = ''] = decimalText(value).split('.');
  if (/[1-9]/.test(fraction)) throw new BadData('bad_micros', `${value} is not a whole number of millionths`);
  return unitsOf(BigInt(whole));
};

/** Units with exactly six digits after the point; `rounded` (half away from zero, as Postgres does) where there were more. */
export const fromUnits = (
  value: number | ExactNumber | string,
): { readonly text: string; readonly rounded: boolean } => {
  const text = decimalText(value);
  const [whole = '', fraction = ''] = text.split('.');
  if (fraction.length <= scale && !text.startsWith('-'))
    return { text: `${whole}.${fraction.padEnd(scale, '0')}`, rounded: false };
  const micros = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'));
  const rest = fraction.slice(scale);
  const up = rest.charAt(0) >= '5' ? (text.startsWith('-') ? -1n : 1n) : 0n;
  return { text: unitsOf(micros + up), rounded: /[1-9]/.test(rest) };
};

/** The amount as given, if `numeric(18,6)` can hold it. Throws `BadData('out_of_range')`. */
export const fitting = (text: string): string => {
  const whole = text.indexOf('.') - (text.startsWith('-') ? 1 : 0);
  if (whole > mostWholeDigits)
    throw new BadData('out_of_range', `an amount of ${whole} digits before the point`);
  return text;
};

/**
 * An amount of an entity in micros: a JSON number, or the digits of a whole one as text (64-bit numbers are often sent so). Absent or null:
 * null. What is no number, is too large or finer than a millionth rejects the record: money is not guessed.
 */
export const amount = (
  r: Reading,
  holder: JsonObject,
  key: string,
  _which: Amount,
  path = key,
): string | null => {
  const value = own(holder, key);
  if (value === undefined || value === null) return null;
  const digits = typeof value === 'string' && /^(0|-?[1-9]\d{0,99})$/.test(value);
  const number = digits ? new ExactNumber(value) : value;
  if (typeof number !== 'number' && !(number instanceof ExactNumber))
    throw r.reject('bad_amount', path, 'has a % that is no plain number');
  try {
    return fitting(fromMicros(number));
  } catch (error) {
    throw r.because(error, path);
  }
};
