/**
 * Money as exact decimal text in currency units, six digits after the point, never a JavaScript number. Entities write whole millionths
 * (contract: budget amounts are micro-amounts; vendor: BudgetRequest.micro_amount, BidMicroAmount, base_rate_micro_amount "multiplied by x10
 * to the 6th power"), reports write units (vendor's notes and a recorded answer for SPEND and REVENUE). Nothing is guessed from a name or a size.
 */
import { decimalText } from '../../core/decimal.ts';
import { BadData } from '../../core/errors.ts';
import type { ExactNumber } from '../../core/json.ts';

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
