/** JSON as sources send it and as the warehouse keeps it: numbers exact, text exact, depth bounded. */

import { isUtf8 } from 'node:buffer';
import { BadData } from './errors.ts';
import type { Json } from './stream.ts';

// Number literals: which of them a double cannot hold, and which Postgres `numeric` holds.

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
const suspicious = (bytes: Buffer, text: string): boolean => {
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
const isLossy = (text: string): boolean => {
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

// Decimals are exact text: a JavaScript number only carries them where it is exact.

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

/** `JSON.rawJSON` is in V8 since Node 21, not yet in the compiler's library. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

/** Whether a text is a number as JSON writes it. */
export const isJsonNumber = (text: string): boolean => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);

/** A number of the source that a double cannot hold, e.g. `9007199254740993`, `12345678901234567.89` or `1e400`, as it was written. */
export class ExactNumber {
  /** The JSON literal, byte for byte. */
  readonly text: string;
  constructor(text: string) {
    if (!isJsonNumber(text)) throw new TypeError('an ExactNumber needs a JSON number');
    this.text = text;
  }
  /** Written by `JSON.stringify` as the same literal. */
  toJSON(): object {
    return rawJSON(this.text);
  }
  toString(): string {
    return this.text;
  }
}

/** A number literal as a value: a double where that is exact, else an `ExactNumber`. */
export const numberOf = (literal: string): number | ExactNumber =>
  isLossy(literal) ? new ExactNumber(literal) : Number(literal);

/**
 * The one document in `raw`: valid UTF-8, a byte order mark is dropped, nothing may follow. Every number is exact: a double, or an
 * `ExactNumber`. Any depth without such a number, else some thousand levels. A key given twice: the last wins. `__proto__` is a key like any other.
 * Throws `BadData` ('bad_utf8', 'bad_json', 'too_deep'); its message quotes nothing of the document.
 */
export const parseJson = (raw: Buffer): Json => {
  if (!isUtf8(raw)) throw new BadData('bad_utf8', 'the answer is not valid UTF-8');
  const bytes = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.subarray(3) : raw;
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text, suspicious(bytes, text) ? exact : undefined);
  } catch (error) {
    // A reviver descends by recursion.
    if (error instanceof RangeError) throw new BadData('too_deep', 'the answer is nested too deeply');
    // V8's own message quotes the text around the fault: it may be personal data.
    throw new BadData('bad_json', 'the answer is not one complete JSON document');
  }
};

/** A reviver is given the source of a number (since V8 11.4, not yet in the compiler's library). */
const exact = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && context?.source !== undefined ? numberOf(context.source) : value;

/** Arrays and objects inside each other that a json or jsonb column takes. Postgres itself gives up between 6,000 and 50,000. */
const mostDepth = 200;

/**
 * JSON text for a json or jsonb column. Numbers that came exact leave exact. Throws `BadData`: 'too_deep' (an input of any depth is safe
 * to give), 'bad_number' (not finite, or beyond `numeric`: 131,072 digits before the point, 16,383 after it). NUL and lone surrogates
 * leave as escapes, which Postgres refuses: see `storableJson`.
 */
export const toJson = (value: Json): string => {
  check(value, mostDepth);
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError('toJson was given a value that JSON has no word for');
  return text;
};

/**
 * JSON text of an object of these members, as `toJson` would write it, but in the order given: without an object, which is dear where it has many
 * members. Keys must differ. Throws as `toJson`.
 */
export const membersToJson = (keys: readonly string[], values: readonly Json[]): string => {
  let text = '{';
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? '';
    text += `${i === 0 ? '' : ','}${isBare(key) ? `"${key}"` : toJson(key)}:`;
    const value = values[i];
    if (typeof value === 'string') text += isBare(value) ? `"${value}"` : toJson(value);
    else if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      text += value;
    else {
      check(value, mostDepth - 1);
      text += JSON.stringify(value);
    }
  }
  return `${text}}`;
};

/** Whether a text needs no escapes between quotes: a short one of printable ASCII. */
const isBare = (text: string): boolean => {
  if (text.length > 64) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return false;
  }
  return true;
};

/** Recursive, but never deeper than `left`. */
const check = (value: Json, left: number): void => {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new BadData('bad_number', `${value} is not a JSON number`);
  } else if (value instanceof ExactNumber) {
    numericParts(value.text);
  } else if (typeof value === 'object' && value !== null) {
    if (left === 0) throw new BadData('too_deep', `nested deeper than ${mostDepth} levels`);
    if (Array.isArray(value)) for (const item of value) check(item, left - 1);
    else for (const item of Object.values(value)) check(item, left - 1);
  }
};

/** The text with U+FFFD for every NUL and every half of a surrogate pair: Postgres can hold neither. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

/**
 * The same for JSON text made by `toJson`, in strings and in member names. `JSON.stringify` writes NUL as \u0000 and a lone surrogate
 * as \ud800 … \udfff; a backslash of the text itself is doubled, and is consumed here together with its twin.
 */
export const storableJson = (json: string): string =>
  json.includes('\\u')
    ? json.replace(/\\(u0000|ud[0-9a-f]{3}|.)/g, (found, kind: string) =>
        kind.length > 1 ? '\\ufffd' : found,
      )
    : json;

export { pathOf, valueSlice } from './json-slice.ts';
