/** Decimals are exact text: a JavaScript number only carries them where it is exact. */
import { BadData } from './errors.ts';
import { ExactNumber } from './json.ts';

/** What Postgres `numeric` holds: digits before and after the point. */
const MOST_WHOLE_DIGITS = 131_072;
const MOST_FRACTION_DIGITS = 16_383;

const [zero, point, minus] = [0x30, 0x2e, 0x2d];

/** Whether a text is a decimal without sign, exponent or needless zeros before the point: as `decimalText` writes it. */
export const isPlainDecimal = (text: string): boolean => {
  let whole = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === point && whole === text.length) whole = at;
    else if (code < zero || code > 0x39) return false;
  }
  const isNeedless = whole > 1 && text.charCodeAt(0) === zero;
  return whole > 0 && whole !== text.length - 1 && !isNeedless;
};

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

/** The same of a whole text. */
export const wholeValue = (text: string): number => wholeIn(text, 0, text.length);

/** A number of a parsed document, or its literal, as plain decimal text (`1.5e3` → `1500`, `1e-7` → `0.0000001`). Throws `BadData('bad_number')` beyond `numeric`. */
export const decimalText = (value: number | ExactNumber | string): string => {
  const literal = value instanceof ExactNumber ? value.text : String(value);
  if (isPlainDecimal(literal)) return literal;
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (sign === undefined || whole === undefined)
    throw new BadData('bad_number', `${literal} is not a decimal`);
  const power = Number(exponent);
  if (whole.length + power > MOST_WHOLE_DIGITS || fraction.length - power > MOST_FRACTION_DIGITS)
    throw new BadData('bad_number', `a number of ${literal.length} characters is beyond what numeric holds`);
  const digits = whole + fraction;
  // Postgres knows no negative zero.
  const minus = /[1-9]/.test(digits) ? sign : '';
  const point = whole.length + power;
  return point <= 0
    ? plain(minus, '0', '0'.repeat(-point) + digits)
    : plain(minus, digits.slice(0, point).padEnd(point, '0'), digits.slice(point));
};

const plain = (sign: string, whole: string, fraction: string): string =>
  `${sign}${whole.replace(/^0+(?=\d)/, '')}${fraction === '' ? '' : `.${fraction}`}`;
