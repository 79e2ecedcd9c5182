/**
 * Money of the ads platform: exact decimal text in currency units, six digits behind the point, never by way of a JavaScript number. In
 * which unit an amount arrives is declared here, field by field; nothing is guessed from a name or a size.
 */
import { decimalText } from '../../../core/decimal.ts';
import { BadData } from '../../../core/errors.ts';
import { ExactNumber } from '../../../core/json.ts';
import { type JsonObject, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import type { Json } from '../../../core/request.ts';

/** micros: whole millionths of the currency unit. units: the currency unit itself. */
export type Unit = 'micros' | 'units';

/** Every amount there is: its unit, and who says so. */
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

/** What `numeric(18,6)` holds before the point. */
const MOST_WHOLE_DIGITS = 12;
/** Digits behind the point. */
const SCALE = 6;

/** A decimal in its parts, without needless zeros: `-007.50` → minus, `7`, `5`. */
const partsOf = (
  text: string,
): { readonly minus: string; readonly whole: string; readonly fraction: string } => {
  const minus = text.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = text.slice(minus.length).split('.');
  return { minus, whole: whole.replace(/^0+(?=\d)/, ''), fraction: fraction.replace(/0+$/, '') };
};

const signed = (minus: string, whole: string, fraction: string): string =>
  `${/[1-9]/.test(whole + fraction) ? minus : ''}${whole}.${fraction}`;

/**
 * Whole millionths as units, exactly, of any size: `9007199254740993` → `9007199254.740993`, `1.5e6` → `1.500000`, `-1` → `-0.000001`.
 * Throws `BadData('bad_micros')` where millionths have a fraction.
 */
export const fromMicros = (value: number | ExactNumber): string => {
  const { minus, whole, fraction } = partsOf(decimalText(value));
  if (fraction !== '') throw new BadData('bad_micros', `${value} is not a whole number of millionths`);
  const digits = whole.padStart(SCALE + 1, '0');
  return signed(minus, digits.slice(0, -SCALE), digits.slice(-SCALE));
};

/** Units with exactly six digits behind the point; `rounded` (half away from zero, as Postgres does) where they had more. */
export const fromUnits = (
  value: number | ExactNumber,
): { readonly text: string; readonly rounded: boolean } => {
  const told = decimalText(value);
  const point = told.indexOf('.');
  if (point > 0 && told.length - point - 1 <= SCALE && !told.startsWith('-'))
    return { text: told.padEnd(point + 1 + SCALE, '0'), rounded: false };
  const { minus, whole, fraction } = partsOf(told);
  if (fraction.length <= SCALE)
    return { text: signed(minus, whole, fraction.padEnd(SCALE, '0')), rounded: false };
  const millionths = BigInt(whole + fraction.slice(0, SCALE)) + (fraction.charAt(SCALE) >= '5' ? 1n : 0n);
  const digits = String(millionths).padStart(SCALE + 1, '0');
  return { text: signed(minus, digits.slice(0, -SCALE), digits.slice(-SCALE)), rounded: true };
};

/** The amount as it came, if `numeric(18,6)` can hold it. Throws `BadData('out_of_range')`. */
export const fitting = (text: string): string => {
  const whole = text.indexOf('.') - (text.startsWith('-') ? 1 : 0);
  if (whole > MOST_WHOLE_DIGITS)
    throw new BadData('out_of_range', `an amount of ${whole} digits before the point`);
  return text;
};

/** A JSON number, or the digits of a whole one as text (64-bit numbers are often sent so); undefined for anything else. */
const numeral = (value: Json): number | ExactNumber | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return value;
  return typeof value === 'string' && /^(0|-?[1-9]\d{0,99})$/.test(value)
    ? new ExactNumber(value)
    : undefined;
};

/** An amount of an entity. Absent or null: null. What is no number, is too large or finer than a millionth rejects the record: money is not guessed. */
export const amount = (
  r: Reading,
  holder: JsonObject,
  key: string,
  which: Amount,
  path = key,
): string | null => {
  const value = own(holder, key);
  if (value === undefined || value === null) return null;
  const number = numeral(value);
  if (number === undefined) throw r.reject('bad_amount', path, 'has a % that is no plain number');
  try {
    if (amounts[which] === 'micros') return fitting(fromMicros(number));
    const { text, rounded } = fromUnits(number);
    if (rounded) throw new BadData('bad_amount', 'finer than a millionth of the currency unit');
    return fitting(text);
  } catch (error) {
    throw r.because(error, path);
  }
};
