/** Decimals are exact text: a JavaScript number only carries them where it is exact. */
import { ExactNumber, numericParts } from './json.ts';

/** Whether a text is a decimal without sign, exponent or needless zeros before the point: as `decimalText` writes it. */
export const isPlainDecimal = (text: string): boolean => /^(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text);

/** A number of a parsed document, or its literal, as plain decimal text (`1.5e3` → `1500`, `1e-7` → `0.0000001`). Throws `BadData('bad_number')` beyond `numeric`. */
export const decimalText = (value: number | ExactNumber | string): string => {
  const literal = value instanceof ExactNumber ? value.text : String(value);
  if (isPlainDecimal(literal)) return literal;
  const { sign, whole, fraction, power } = numericParts(literal);
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
