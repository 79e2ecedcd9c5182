/** Decimals as most of them come, read character by character: reports are made of these, and a regular expression costs ten times as much. */

/** Digits beyond which a plain decimal is looked at the long way. */
const MOST_PLAIN = 400;

/**
 * Whether a text is a decimal in the one way that `decimalText` writes it: digits without needless zeros before the point, digits behind it, no
 * exponent, no sign. Read character by character: reports are made of these.
 */
export const isPlainDecimal = (text: string): boolean => {
  const { length } = text;
  if (length === 0 || length > MOST_PLAIN) return false;
  let point = -1;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x2e && point < 0) point = at;
    else if (code < 0x30 || code > 0x39) return false;
  }
  const whole = point < 0 ? length : point;
  return whole > 0 && point !== length - 1 && (whole === 1 || text.charCodeAt(0) !== 0x30);
};

/** Digits of a whole number that a double surely keeps. */
const MOST_SAFE_DIGITS = 15;

/**
 * The value of a decimal that is whole and that a double keeps, if it is written plainly: `1115`, `1115.0`, `-5`. NaN for any other text.
 */
export const wholeValue = (text: string): number => {
  const { length } = text;
  const minus = text.charCodeAt(0) === 0x2d;
  const start = minus ? 1 : 0;
  let value = 0;
  let at = start;
  for (; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) break;
    value = value * 10 + code - 0x30;
  }
  const digits = at - start;
  if (digits === 0 || digits > MOST_SAFE_DIGITS) return Number.NaN;
  if (text.charCodeAt(start) === 0x30 && (digits > 1 || minus)) return Number.NaN;
  if (minus) value = -value;
  if (at === length) return value;
  if (text.charCodeAt(at) !== 0x2e || at === length - 1) return Number.NaN;
  while (++at < length) if (text.charCodeAt(at) !== 0x30) return Number.NaN;
  return value;
};
