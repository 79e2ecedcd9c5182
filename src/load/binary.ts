import { BadData } from '../core/errors.ts';
import { storableJson } from '../core/json.ts';
import type { ColumnType, Value } from '../core/table.ts';

/**
 * A growing buffer of fields in PostgreSQL's binary COPY format: each field is an int32 length and its bytes, -1 for null.
 * (PostgreSQL documentation, "COPY", Binary Format; the `…_send` functions of each type.)
 */
export interface BinaryWriter {
  /** Bytes written so far. */
  readonly length: number;
  /** Appends the int16 that begins a row: how many fields follow. */
  fields(count: number): void;
  /** Appends one field. Throws `BadData` for a value that the type cannot hold; what was half written stays: `rewind`. */
  field(type: ColumnType, value: Value): void;
  /** Appends fields that were encoded before. */
  encoded(fields: Uint8Array): void;
  /** Appends a text field: bytes of valid UTF-8 without NUL. */
  textOf(bytes: Uint8Array, from: number, to: number): void;
  /** Appends a bigint field; a safe integer that is not negative. */
  wholeOf(value: number): void;
  /**
   * Appends a numeric field: ASCII digits with at most one point among them, some on both sides of it. `scale`: digits behind the point, zeros beyond
   * those that there are. False, and nothing appended, for anything else.
   */
  decimalOf(bytes: Uint8Array, from: number, to: number, scale?: number): boolean;
  /** Forgets everything from `length` on. */
  rewind(length: number): void;
  /** The bytes `[from, to)`; valid until the next write. */
  bytes(from: number, to: number): Buffer;
  /** The int32 at a place: the length of the field that begins there. */
  int32(at: number): number;
  /** The bytes `[from, to)` as text, one character each: equal exactly when the bytes are. */
  latin1(from: number, to: number): string;
}

const unixToPostgresMicros = 946_684_800_000_000n;
const unixToPostgresDays = 10_957;
const maxBigint = 9_223_372_036_854_775_807n;
const textOid = 25;
/** UTF-16 units of a text that is written character by character. */
const shortText = 64;

/** A longer decimal is written the long way. */
const longPlain = 400;

/** An empty writer that reserves `capacity` bytes. */
export function binaryWriter(capacity = 1 << 16): BinaryWriter {
  let buffer = Buffer.allocUnsafeSlow(capacity);
  let view = viewOf(buffer);
  let at = 0;

  const reserve = (bytes: number): void => {
    if (at + bytes <= buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, at + bytes));
    buffer.copy(grown, 0, 0, at);
    buffer = grown;
    view = viewOf(grown);
  };

  /** Writes text of ASCII alone at `to`, or says that it is not. For short texts this is several times as fast as a call into V8. */
  const isAscii = (text: string, to: number): boolean => {
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code === 0 || code > 127) return false;
      buffer[to + i] = code;
    }
    return true;
  };

  const utf8 = (text: string): void => {
    if (text.length <= shortText) {
      reserve(shortText + 4);
      if (isAscii(text, at + 4)) {
        view.setInt32(at, text.length);
        at += text.length + 4;
        return;
      }
    }
    if (!text.isWellFormed()) throw new BadData('bad_text', 'a lone surrogate cannot be stored as text');
    if (text.includes('\0')) throw new BadData('bad_text', 'a NUL character cannot be stored as text');
    reserve(text.length * 3 + 4);
    const bytes = buffer.write(text, at + 4, 'utf8');
    view.setInt32(at, bytes);
    at += bytes + 4;
  };

  const int8 = (value: number | bigint): void => {
    reserve(12);
    view.setInt32(at, 8);
    if (typeof value === 'number') {
      if (!Number.isSafeInteger(value)) throw outOfRange('bigint', value);
      view.setInt32(at + 4, Math.floor(value / 4_294_967_296));
      view.setUint32(at + 8, value >>> 0);
    } else {
      if (value > maxBigint || value < -maxBigint - 1n) throw outOfRange('bigint', value);
      view.setBigInt64(at + 4, value);
    }
    at += 12;
  };

  const integer = (type: 'int' | 'smallint', value: Value): void => {
    const limit = type === 'int' ? 2_147_483_647 : 32_767;
    if (typeof value !== 'number' || !Number.isInteger(value) || value > limit || value < -limit - 1)
      throw outOfRange(type, value);
    reserve(8);
    if (type === 'int') {
      view.setInt32(at, 4);
      view.setInt32(at + 4, value);
      at += 8;
    } else {
      view.setInt32(at, 2);
      view.setInt16(at + 4, value);
      at += 6;
    }
  };

  const array = (items: readonly string[]): void => {
    reserve(24);
    const start = at;
    view.setInt32(at + 4, items.length === 0 ? 0 : 1);
    view.setInt32(at + 8, 0);
    view.setInt32(at + 12, textOid);
    at += 16;
    if (items.length > 0) {
      view.setInt32(at, items.length);
      view.setInt32(at + 4, 1);
      at += 8;
      for (const item of items) utf8(item);
    }
    view.setInt32(start, at - start - 4);
  };

  /** Digits with at most one point among them, and nothing else: base-10000 digits are counted from the point, written as they come. */
  const decimal = (bytes: Uint8Array, from: number, to: number, scaled?: number): boolean => {
    let point = to;
    for (let i = from; i < to; i += 1) {
      const code = bytes[i] ?? 0;
      if (code === 0x2e && point === to) point = i;
      else if (code < 0x30 || code > 0x39) return false;
    }
    if (point === from || point === to - 1 || to - from > longPlain) return false;
    const digits = point === to ? 0 : to - point - 1;
    const scale = scaled ?? digits;
    if (scale < digits) return false;
    reserve(16 + to - from);
    const start = at;
    let groups = 0;
    let weight = Math.ceil((point - from) / 4) - 1;
    let zeros = 0;
    let group = 0;
    /** Digits until the group is full. */
    let left = ((point - from - 1) & 3) + 1;
    for (let i = from; ; i += 1) {
      const isOver = i >= to;
      if (isOver && left === 4) break;
      if (i === point && !isOver) continue;
      group = group * 10 + (isOver ? 0 : (bytes[i] ?? 0) - 0x30);
      left -= 1;
      if (left > 0) continue;
      left = 4;
      if (group === 0 && groups === 0) weight -= 1;
      else {
        view.setInt16(start + 12 + groups * 2, group);
        groups += 1;
        zeros = group === 0 ? zeros + 1 : 0;
      }
      group = 0;
    }
    groups -= zeros;
    view.setInt32(start, 8 + groups * 2);
    view.setInt16(start + 4, groups);
    view.setInt16(start + 6, groups === 0 ? 0 : weight);
    view.setUint16(start + 8, 0);
    view.setInt16(start + 10, scale);
    at = start + 12 + groups * 2;
    return true;
  };

  const characters = new Uint8Array(longPlain);
  const plainNumeric = (text: string): boolean => {
    if (text.length > longPlain) return false;
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      characters[i] = code;
    }
    return decimal(characters, 0, text.length);
  };

  const numeric = (text: string): void => {
    if (plainNumeric(text)) return;
    const digits = numericDigits(text);
    reserve(12 + digits.groups.length * 2);
    view.setInt32(at, 8 + digits.groups.length * 2);
    view.setInt16(at + 4, digits.groups.length);
    view.setInt16(at + 6, digits.weight);
    view.setUint16(at + 8, digits.negative ? 0x4000 : 0);
    view.setInt16(at + 10, digits.scale);
    at += 12;
    for (const group of digits.groups) {
      view.setInt16(at, group);
      at += 2;
    }
  };

  return {
    get length() {
      return at;
    },
    fields(count) {
      reserve(2);
      view.setInt16(at, count);
      at += 2;
    },
    field(type, value) {
      if (value === null) {
        reserve(4);
        view.setInt32(at, -1);
        at += 4;
        return;
      }
      switch (type) {
        case 'text':
          return utf8(asText(type, value));
        case 'json':
          return utf8(asJson(type, value));
        case 'bigint':
          if (typeof value !== 'number' && typeof value !== 'bigint') throw outOfRange(type, value);
          return int8(value);
        case 'timestamptz':
          if (typeof value !== 'bigint') throw outOfRange(type, value);
          return int8(value - unixToPostgresMicros);
        case 'int':
        case 'smallint':
          return integer(type, value);
        case 'bool':
          if (typeof value !== 'boolean') throw outOfRange(type, value);
          reserve(5);
          view.setInt32(at, 1);
          buffer[at + 4] = value ? 1 : 0;
          at += 5;
          return;
        case 'float8':
          if (typeof value !== 'number' || !Number.isFinite(value)) throw outOfRange(type, value);
          reserve(12);
          view.setInt32(at, 8);
          view.setFloat64(at + 4, value);
          at += 12;
          return;
        case 'date':
          reserve(8);
          view.setInt32(at, 4);
          view.setInt32(at + 4, daysSince1970(asText(type, value)) - unixToPostgresDays);
          at += 8;
          return;
        case 'numeric':
          return numeric(asText(type, value));
        case 'jsonb': {
          const start = at;
          reserve(5);
          at += 1;
          utf8(asJson(type, value));
          // utf8 wrote its length one byte late: the version byte 1 of jsonb belongs between length and text.
          const bytes = view.getInt32(start + 1);
          view.setInt32(start, bytes + 1);
          buffer[start + 4] = 1;
          return;
        }
        case 'text[]':
          if (!Array.isArray(value)) throw outOfRange(type, value);
          return array(value);
      }
    },
    encoded(fields) {
      reserve(fields.length);
      for (let i = 0; i < fields.length; i += 1) buffer[at + i] = fields[i] ?? 0;
      at += fields.length;
    },
    textOf(bytes, from, to) {
      reserve(to - from + 4);
      view.setInt32(at, to - from);
      at += 4;
      if (to - from > shortText) buffer.set(bytes.subarray(from, to), at);
      else for (let i = 0; i < to - from; i += 1) buffer[at + i] = bytes[from + i] ?? 0;
      at += to - from;
    },
    wholeOf: int8,
    decimalOf: decimal,
    rewind(length) {
      at = length;
    },
    bytes: (from, to) => buffer.subarray(from, to),
    int32: (place) => view.getInt32(place),
    latin1: (from, to) => buffer.toString('latin1', from, to),
  };
}

const viewOf = (buffer: Buffer): DataView => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

const outOfRange = (type: ColumnType, value: Value): BadData =>
  new BadData('out_of_range', `${String(value).slice(0, 60)} does not fit a ${type} column`);

function asText(type: ColumnType, value: Value): string {
  if (typeof value !== 'string') throw outOfRange(type, value);
  return value;
}

function asJson(type: ColumnType, value: Value): string {
  const json = asText(type, value);
  if (storableJson(json) !== json)
    throw new BadData('bad_text', 'a string in it holds NUL or half of a surrogate pair');
  return json;
}

/** Days from 1970-01-01 to a proleptic Gregorian `YYYY-MM-DD` (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
function daysSince1970(text: string): number {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (match === null) throw new BadData('bad_date', `${text.slice(0, 40)} is not a day`);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const year = Number(match[1]) - (month <= 2 ? 1 : 0);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

interface NumericDigits {
  readonly negative: boolean;
  /** Base-10000 digits, most significant first. */
  readonly groups: readonly number[];
  /** Power of 10000 of the first group. */
  readonly weight: number;
  /** Decimal digits after the point. */
  readonly scale: number;
}

/** Exact decimal text (`-12.50`, `1.5e6`) as the digits of a PostgreSQL numeric. */
function numericDigits(text: string): NumericDigits {
  const match = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (match === null || `${match[2] ?? ''}${match[3] ?? ''}` === '')
    throw new BadData('bad_number', `${text.slice(0, 60)} is not a decimal number`);
  const exponent = Number(match[4] ?? 0);
  const fraction = match[3] ?? '';
  const all = `${match[2] ?? ''}${fraction}`;
  const point = all.length - fraction.length + exponent;
  const padded = point <= 0 ? `${'0'.repeat(-point)}${all}` : all.padEnd(point, '0');
  const whole = padded.slice(0, Math.max(point, 0));
  const rest = padded.slice(Math.max(point, 0));
  if (whole.length > 1000 || rest.length > 1000)
    throw new BadData('out_of_range', `${text.slice(0, 60)} has too many digits`);
  const left = whole.padStart(Math.ceil(whole.length / 4) * 4, '0');
  const right = rest.padEnd(Math.ceil(rest.length / 4) * 4, '0');
  const groups: number[] = [];
  for (let i = 0; i < left.length; i += 4) groups.push(Number(left.slice(i, i + 4)));
  let weight = groups.length - 1;
  for (let i = 0; i < right.length; i += 4) groups.push(Number(right.slice(i, i + 4)));
  while (groups.length > 0 && groups[0] === 0) {
    groups.shift();
    weight -= 1;
  }
  while (groups.length > 0 && groups[groups.length - 1] === 0) groups.pop();
  if (groups.length === 0) return { negative: false, groups, weight: 0, scale: rest.length };
  return { negative: match[1] === '-', groups, weight, scale: rest.length };
}
