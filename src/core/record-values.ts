/**
 * Typed values out of unknown JSON. Each reader takes the object and key to read and the path by which errors call it.
 * Absent and null are null. A value of another JSON type is kept in `_extra` with a note, and null (guarantee G11); a `required…`
 * reader rejects the record instead. A value of the right type that cannot be stored exactly always rejects the record (G17), except text
 * that Postgres cannot hold: `load/storable-text.ts`.
 */

import { decimalText, ExactNumber, isJsonNumber } from './json.ts';
import { isObject, type JsonObject, kindOf, own, type Reading } from './record.ts';
import type { Json } from './stream.ts';
import type { Decimal, Integer, JsonText } from './table.ts';
import { type Instant, parseDay, parseInstant } from './time.ts';

/** Postgres refuses index entries beyond 2,704 bytes; the other columns of a key need some of them. */
const longestKeyBytes = 2600;

const leastInt8 = -(2n ** 63n);
const greatestInt8 = 2n ** 63n - 1n;

/** Reads a value that is there; undefined for a value of another JSON type. Throws `BadData` for one that cannot be stored exactly. */
type Parse<T> = (r: Reading, path: string, value: Json) => T | undefined;

const optional =
  <T>(expected: string, parse: Parse<T>) =>
  (r: Reading, object: JsonObject, key: string, path = key): T | null => {
    const value = own(object, key);
    if (value === undefined || value === null) return null;
    return parse(r, path, value) ?? r.flip(path, value, expected);
  };

const required =
  <T>(expected: string, parse: Parse<T>) =>
  (r: Reading, object: JsonObject, key: string, path = key): T => {
    const value = own(object, key);
    if (value === undefined || value === null) throw r.reject('missing_field', path, 'has no %');
    const read = parse(r, path, value);
    if (read === undefined)
      throw r.reject('bad_type', path, `has ${kindOf(value)} as %, expected ${expected}`);
    return read;
  };

/** The readers of a member that may and of one that must be there. */
const both = <T>(expected: string, parse: Parse<T>) =>
  [optional(expected, parse), required(expected, parse)] as const;

/** Reads with a parser that throws `BadData`. */
const parsed =
  <I, T>(isRightType: (value: Json) => value is I, parse: (value: I) => T): Parse<T> =>
  (r, path, value) => {
    if (!isRightType(value)) return undefined;
    try {
      return parse(value);
    } catch (error) {
      throw r.because(error, path);
    }
  };

const isText = (value: Json): value is string => typeof value === 'string';
const asText: Parse<string> = (_r, _path, value) => (isText(value) ? value : undefined);

/** Text that is part of a key: short enough for an index, and without what Postgres cannot hold. */
export const keyText = (r: Reading, path: string, value: string): string => {
  // No character of UTF-16 takes more than three bytes of UTF-8.
  const bytes = value.length * 3 > longestKeyBytes ? Buffer.byteLength(value) : 0;
  if (bytes > longestKeyBytes)
    throw r.reject('key_too_long', path, `has a % of ${bytes} bytes, at most ${longestKeyBytes} fit`);
  if (value.includes('\0') || !value.isWellFormed())
    throw r.reject('bad_text', path, 'has NUL or half of a surrogate pair in %');
  return value;
};

/** APIs of money send numbers as text, so that no reader rounds them: text that JSON would take as a number is one. */
const isNumber = (value: Json): value is number | ExactNumber | string =>
  typeof value === 'number' || value instanceof ExactNumber || (isText(value) && isJsonNumber(value));
const aDecimal = parsed<number | ExactNumber | string, Decimal>(isNumber, decimalText);

/** An int8 as JSON number or as text of one; of an id as its digits (strictly: `007` is not 7). Rejects what is beyond 64 bits. */
const int8 =
  (isId: boolean): Parse<Integer> =>
  (r, path, value) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
    const digits = isId && isText(value) ? value : aDecimal(r, path, value)?.replace(/\.0+$/, '');
    if (digits === undefined || !/^(0|-?[1-9]\d*)$/.test(digits)) return undefined;
    if (digits.length <= 15) return Number(digits);
    const exact = digits.length <= 20 ? BigInt(digits) : undefined;
    if (exact === undefined || exact < leastInt8 || exact > greatestInt8) throw beyond(r, path, 64);
    return exact;
  };

const beyond = (r: Reading, path: string, bits: number) =>
  r.reject('bad_integer', path, `has a % beyond ${bits} bits`);

const anInstant = parsed<string | number, Instant>(
  (value) => isText(value) || typeof value === 'number',
  parseInstant,
);
const asObject: Parse<JsonObject> = (_r, _path, value) => (isObject(value) ? value : undefined);
const asList: Parse<readonly Json[]> = (_r, _path, value) => (Array.isArray(value) ? value : undefined);

export const [text, requiredText] = both('text', asText);

/** A numeric id, as number or as text of digits. */
export const [id, requiredId] = both('a numeric id', int8(true));

export const [integer, requiredInteger] = both('a whole number', int8(false));

const aBool: Parse<boolean> = (_r, _path, value) => (typeof value === 'boolean' ? value : undefined);
export const [bool, requiredBool] = both('true or false', aBool);

/** An exact decimal. */
export const [decimal, requiredDecimal] = both('a number', aDecimal);

/** An instant as text with offset, as epoch milliseconds, or as seconds where those would lie before 1973. */
export const [instant, requiredInstant] = both('an instant', anInstant);

/** A calendar day `YYYY-MM-DD`. */
export const [day, requiredDay] = both('a day', parsed(isText, parseDay));

export const [object, requiredObject] = both('an object', asObject);

const listOrNull = optional('a list', asList);
const none: readonly Json[] = [];
/** Empty where there is none. */
export const list = (...where: Parameters<typeof listOrNull>): readonly Json[] =>
  listOrNull(...where) ?? none;

/** Texts of a list; empty where there is none. Where an element is no text, the list is kept as it came. */
export const texts = (...where: Parameters<typeof listOrNull>): readonly string[] => {
  const [r, , key, path = key] = where;
  const found = list(...where);
  const good = found.filter((each) => typeof each === 'string');
  if (good.length < found.length) r.flip(path, found, 'a list of texts');
  return good;
};

/** Any value, as JSON text. */
export const json = (r: Reading, object: JsonObject, key: string, path = key): JsonText | null => {
  const value = own(object, key) ?? null;
  return value === null ? null : r.json(path, value);
};

/** Text of a key column: present, not empty, short enough for an index. */
export const requiredKey = (r: Reading, object: JsonObject, key: string, path = key): string => {
  const value = requiredText(r, object, key, path);
  if (value === '') throw r.reject('missing_field', path, 'has no %');
  return keyText(r, path, value);
};

const anInt4: Parse<number> = (r, path, value) => {
  const read = int8(false)(r, path, value);
  if (typeof read === 'bigint' || (read !== undefined && read !== (read | 0))) throw beyond(r, path, 32);
  return read;
};
/** A whole number of 32 bits. */
export const [int4, requiredInt4] = both('a whole number', anInt4);

/** An element of a list, as the reading of that element calls it. */
export const requireElement = (r: Reading, element: Json): JsonObject => {
  if (!isObject(element)) throw r.reject('bad_type', '', `has ${kindOf(element)} as %, expected an object`);
  return element;
};

/** The record itself. */
export const requireRecord = (r: Reading, record: Json): JsonObject => {
  if (!isObject(record)) throw r.reject('bad_type', '(record)', 'is not an object');
  return record;
};
