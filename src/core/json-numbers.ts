/** Number literals of JSON: which of them a double cannot hold, and which Postgres `numeric` holds. */
import { BadData } from './errors.ts';

/** 1 for the bytes a number is made of: 0-9 . e E + - */
const inNumber = new Uint8Array(256);
for (const char of '0123456789.eE+-') inNumber[char.charCodeAt(0)] = 1;
/** 1 for the bytes that may stand beside a number. */
const beside = new Uint8Array(256);
for (const char of ',:[]{} \t\r\n') beside[char.charCodeAt(0)] = 1;

/** A literal of fewer bytes has at most 15 digits, and those a double keeps, unless its exponent has three digits or more. */
const stride = 16;
/** Such exponents. V8 skips through the text looking for these, at a tenth of what parsing it costs. */
const longExponent = /[0-9][eE][-+]?[0-9]{3}[0-9]*(?:[\s,}\]]|$)/;

/**
 * Whether the document (its bytes, and the same as text) may hold a number that a double cannot. Never misses one; may be wrong the other
 * way where a string's text looks like such a number. Looks at every sixteenth byte, and around those that could belong to a number.
 */
export const suspicious = (bytes: Buffer, text: string): boolean => {
  for (let at = stride - 1; at < bytes.length; at += stride) {
    if (inNumber[bytes[at] ?? 0] === 0) continue;
    let start = at;
    while (start > 0 && inNumber[bytes[start - 1] ?? 0] === 1) start--;
    let end = at + 1;
    while (end < bytes.length && inNumber[bytes[end] ?? 0] === 1) end++;
    if (isApart(bytes, start, end) && isLossy(bytes.toString('latin1', start, end))) return true;
    // The rest of this run has been judged.
    at = end - 1 - ((end - 1 - at) % stride);
  }
  return longExponent.test(text);
};

/** Long enough, and between bytes that may stand beside a number: quoted ids and the dates in texts are not. */
const isApart = (bytes: Buffer, start: number, end: number): boolean =>
  end - start >= stride &&
  (start === 0 || beside[bytes[start - 1] ?? 0] === 1) &&
  (end === bytes.length || beside[bytes[end] ?? 0] === 1);

/** Whether a number literal, read as a double and written again, is another number. Text that is no number literal is not lossy. */
export const isLossy = (text: string): boolean => {
  if (text.length < stride && !/[eE][-+]?\d{3}/.test(text)) return false;
  const written = significant(text);
  return written !== undefined && written !== significant(String(Number(text)));
};

/** Text that is the same for equal numbers: the digits without zeros at either end, and their power of ten. The sign is left out: a double keeps it. */
const significant = (text: string): string | undefined => {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  const digits = (parts.whole + parts.fraction).replace(/^0+/, '');
  let end = digits.length;
  // Not `/0+$/`: that is quadratic in a long number with many inner zeros.
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--;
  const power = parts.power - parts.fraction.length + digits.length - end;
  return end === 0 ? '0' : `${digits.slice(0, end)}e${power}`;
};

/** sign whole.fraction × 10^power */
const partsOf = (literal: string) => {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (sign === undefined || whole === undefined) return undefined;
  return { sign, whole, fraction, power: Number(exponent) };
};

/** The parts of a literal. Throws `BadData('bad_number')` for what is no number, or beyond `numeric`: 131,072 digits before the point, 16,383 after it. */
export const numericParts = (literal: string) => {
  const parts = partsOf(literal);
  if (parts === undefined) throw new BadData('bad_number', `${literal} is not a decimal`);
  // One value that Postgres refuses would take its whole COPY with it.
  if (parts.whole.length + parts.power > 131_072 || parts.fraction.length - parts.power > 16_383)
    throw new BadData('bad_number', `a number of ${literal.length} characters is beyond what numeric holds`);
  return parts;
};
