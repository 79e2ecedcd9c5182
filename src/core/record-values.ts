/**
 * Typed values out of unknown JSON. Each reader takes the object and key to read and the path by which errors call it.
 * Absent and null are null. A value of another JSON type is kept in `_extra` with a note, and null (guarantee G11); a `required…`
 * reader rejects the record instead. A value of the right type that cannot be stored exactly rejects the record always (G17).
 */

import { decimalText } from './decimal.ts';
import { ExactNumber } from './json.ts';
import { isObject, type JsonObject, own } from './record-object.ts';
import { kindOf, type Reading } from './record-reader.ts';
import type { Json } from './request.ts';
import type { Decimal, Integer } from './table.ts';
import { type Instant, parseDay, parseToldInstant } from './time.ts';

/** Postgres refuses index entries beyond 2,704 bytes; the other columns of a key need some of them. */
const LONGEST_KEY_BYTES = 2600;

const LEAST_INT8 = -(2n ** 63n);
const GREATEST_INT8 = 2n ** 63n - 1n;

const missing = (r: Reading, path: string) => r.reject('missing_field', path, 'has no %');
const wrong = (r: Reading, path: string, value: Json, expected: string) =>
  r.reject('bad_type', path, `has ${kindOf(value)} as %, expected ${expected}`);

/** Text as it is. What Postgres cannot hold of it is replaced when the row is encoded (`load/storable-text.ts`). */
export const soundText = (_r: Reading, _path: string, value: string): string => value;

/** Text that is part of a key. */
export const keyText = (r: Reading, path: string, value: string): string => {
  // No character of UTF-16 takes more than three bytes of UTF-8.
  if (value.length * 3 > LONGEST_KEY_BYTES && Buffer.byteLength(value) > LONGEST_KEY_BYTES)
    throw r.reject(
      'key_too_long',
      path,
      `has a % of ${Buffer.byteLength(value)} bytes, at most ${LONGEST_KEY_BYTES} fit`,
    );
  if (value.includes('\0') || !value.isWellFormed())
    throw r.reject('bad_text', path, 'has NUL or half of a surrogate pair in %');
  return value;
};

export const text = (r: Reading, object: JsonObject, key: string, path = key): string | null => {
  const value = own(object, key);
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? soundText(r, path, value) : r.flip(path, value, 'text');
};

export const requiredText = (r: Reading, object: JsonObject, key: string, path = key): string => {
  const value = own(object, key);
  if (value === undefined || value === null) throw missing(r, path);
  if (typeof value !== 'string') throw wrong(r, path, value, 'text');
  return soundText(r, path, value);
};

/** Text of a key column: present, not empty, short enough for an index. */
export const requiredKey = (r: Reading, object: JsonObject, key: string, path = key): string => {
  const value = requiredText(r, object, key, path);
  if (value === '') throw missing(r, path);
  return keyText(r, path, value);
};

/** The digits of a whole number: beyond 2^53, too, a number of a document is a double only where that has the digits that were written. */
const digitsOf = (value: Json, alsoText: boolean): string | undefined => {
  if (typeof value === 'number') return decimalText(value);
  if (value instanceof ExactNumber) return value.text;
  return alsoText && typeof value === 'string' ? value : undefined;
};

/** An int8 as JSON number or, where ids come as text, as its digits; undefined for anything else; rejects what is beyond int8. */
const int8 = (r: Reading, path: string, value: Json, digits: boolean): Integer | undefined => {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value;
    if (!Number.isInteger(value) && Number.isFinite(value)) return undefined;
    if (!Number.isFinite(value)) throw r.reject('bad_integer', path, 'has a % beyond 64 bits');
  }
  const literal = digitsOf(value, digits);
  if (literal === undefined) return undefined;
  if (!/^(0|-?[1-9]\d*)$/.test(literal)) {
    if (typeof value === 'string' || literal.includes('.')) return undefined;
    throw r.reject('bad_integer', path, 'has a % beyond 64 bits');
  }
  if (literal.length <= 15) return Number(literal);
  const exact = literal.length <= 20 ? BigInt(literal) : undefined;
  if (exact === undefined || exact < LEAST_INT8 || exact > GREATEST_INT8)
    throw r.reject('bad_integer', path, 'has a % beyond 64 bits');
  return exact;
};

/** A numeric id, as number or as text of digits (strictly: `007` is not 7). */
export const id = (r: Reading, object: JsonObject, key: string, path = key): Integer | null => {
  const value = own(object, key);
  if (value === undefined || value === null) return null;
  return int8(r, path, value, true) ?? r.flip(path, value, 'a numeric id');
};

export const requiredId = (r: Reading, object: JsonObject, key: string, path = key): Integer => {
  const value = own(object, key);
  if (value === undefined || value === null) throw missing(r, path);
  const read = int8(r, path, value, true);
  if (read === undefined) throw wrong(r, path, value, 'a numeric id');
  return read;
};

export const integer = (r: Reading, object: JsonObject, key: string, path = key): Integer | null => {
  const value = own(object, key);
  if (value === undefined || value === null) return null;
  return int8(r, path, value, false) ?? r.flip(path, value, 'a whole number');
};

export const requiredInteger = (r: Reading, object: JsonObject, key: string, path = key): Integer => {
  const value = own(object, key);
  if (value === undefined || value === null) throw missing(r, path);
  const read = int8(r, path, value, false);
  if (read === undefined) throw wrong(r, path, value, 'a whole number');
  return read;
};

/** A whole number of 32 bits. */
export const int4 = (r: Reading, object: JsonObject, key: string, path = key): number | null => {
  const value = integer(r, object, key, path);
  if (value === null) return null;
  if (typeof value === 'bigint' || value !== (value | 0))
    throw r.reject('bad_integer', path, 'has a % beyond 32 bits');
  return value;
};

/** An exact decimal. */
export const decimal = (r: Reading, object: JsonObject, key: string, path = key): Decimal | null => {
  const value = own(object, key);
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' && !(value instanceof ExactNumber)) return r.flip(path, value, 'a number');
  try {
    return decimalText(value);
  } catch (error) {
    throw r.because(error, path);
  }
};

export const bool = (r: Reading, object: JsonObject, key: string, path = key): boolean | null => {
  const value = own(object, key);
  if (value === undefined || value === null) return null;
  return typeof value === 'boolean' ? value : r.flip(path, value, 'true or false');
};

const parsed = (r: Reading, path: string, value: Json): Instant => {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw r.reject('bad_instant', path, `has ${kindOf(value)} as %, expected an instant`);
  try {
    return parseToldInstant(value);
  } catch (error) {
    throw r.because(error, path);
  }
};

/** An instant as text with offset, as epoch milliseconds, or as seconds where those would lie before 1973; anything else that is not null rejects the record. */
export const instant = (r: Reading, object: JsonObject, key: string, path = key): Instant | null => {
  const value = own(object, key);
  return value === undefined || value === null ? null : parsed(r, path, value);
};

export const requiredInstant = (r: Reading, object: JsonObject, key: string, path = key): Instant => {
  const value = own(object, key);
  if (value === undefined || value === null) throw missing(r, path);
  return parsed(r, path, value);
};

/** A calendar day `YYYY-MM-DD`; anything else that is not null rejects the record. */
export const day = (r: Reading, object: JsonObject, key: string, path = key): string | null => {
  const value = own(object, key);
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string')
    throw r.reject('bad_date', path, `has ${kindOf(value)} as %, expected a day`);
  try {
    return parseDay(value);
  } catch (error) {
    throw r.because(error, path);
  }
};

export const object = (r: Reading, holder: JsonObject, key: string, path = key): JsonObject | null => {
  const value = own(holder, key);
  if (value === undefined || value === null) return null;
  return isObject(value) ? value : r.flip(path, value, 'an object');
};

export const requiredObject = (r: Reading, holder: JsonObject, key: string, path = key): JsonObject => {
  const value = own(holder, key);
  if (value === undefined || value === null) throw missing(r, path);
  if (!isObject(value)) throw wrong(r, path, value, 'an object');
  return value;
};

const none: readonly Json[] = [];

export const list = (r: Reading, holder: JsonObject, key: string, path = key): readonly Json[] => {
  const value = own(holder, key);
  if (value === undefined || value === null) return none;
  if (Array.isArray(value)) return value;
  r.flip(path, value, 'a list');
  return none;
};

/** The record itself. */
export const requireRecord = (r: Reading, record: Json): JsonObject => {
  if (!isObject(record)) throw r.reject('bad_type', '(record)', 'is not an object');
  return record;
};
