import { BadData } from '../core/errors.ts';
import { decimalText, storableJson } from '../core/json.ts';
import type { ColumnType, Value } from '../core/table.ts';
import { daysSince1970 } from '../core/time.ts';

const unixToPostgresMicros = 946_684_800_000_000n;
const unixToPostgresDays = 10_957;
const maxBigint = 9_223_372_036_854_775_807n;
const textOid = 25;
/** UTF-16 units of a text that is written character by character. */
const shortText = 64;

/**
 * A growing buffer of fields in PostgreSQL's binary COPY format: each field is an int32 length and its bytes,
 * -1 for null. (PostgreSQL documentation, "COPY", Binary Format; the `…_send` functions of each type.)
 */
export class BinaryWriter {
  #buffer: Buffer;
  #view: DataView;
  #at = 0;
  /** The last day that was written, and how many days that is since 1970. */
  #dayText = '1970-01-01';
  #days = 0;

  /** An empty writer that reserves `capacity` bytes. */
  constructor(capacity = 1 << 16) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity);
    this.#view = viewOf(this.#buffer);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#at;
  }

  /** Appends the int16 that begins a row: how many fields follow. */
  fields(count: number): void {
    this.#reserve(2);
    this.#word(count);
  }

  /**
   * Appends one field. Throws `BadData` for a value that the type cannot hold; a half written field stays
   * until `rewind`.
   */
  field(type: ColumnType, value: Value): void {
    if (value === null) this.#null();
    else if (type === 'text') this.#text(textOf(type, value));
    else if (type === 'bigint') this.#int8(typeof value === 'number' ? value : bigintOf(type, value));
    else if (type === 'timestamptz') this.#int8(bigintOf(type, value) - unixToPostgresMicros);
    else if (type === 'jsonb') this.#jsonb(jsonOf(type, value));
    else if (type === 'json') this.#text(jsonOf(type, value));
    else if (type === 'int') this.#integer(type, 4, value);
    else if (type === 'smallint') this.#integer(type, 2, value);
    else if (type === 'bool') this.#bool(value);
    else if (type === 'float8') this.#float8(value);
    else if (type === 'date') this.#date(textOf(type, value));
    else if (type === 'numeric') this.#numeric(textOf(type, value));
    else this.#texts(value);
  }

  /** Overwrites the bigint (or timestamptz, as an instant) field that begins at `at`. */
  setInt8(at: number, type: 'bigint' | 'timestamptz', value: bigint): void {
    this.#view.setBigInt64(at + 4, type === 'bigint' ? value : value - unixToPostgresMicros);
  }

  /** Overwrites the int field that begins at `at`. */
  setInt4(at: number, value: number): void {
    this.#view.setInt32(at + 4, value);
  }

  /** Forgets everything from `length` on. */
  rewind(length: number): void {
    this.#at = length;
  }

  /** The bytes `[from, to)`; valid until the next write. */
  bytes(from: number, to: number): Buffer {
    return this.#buffer.subarray(from, to);
  }

  /** The bytes `[from, to)` as text, one character each: equal exactly when the bytes are. */
  latin1(from: number, to: number): string {
    return this.#buffer.toString('latin1', from, to);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
    this.#view = viewOf(grown);
  }

  /** Writes the length of a field and reserves its bytes. */
  #begin(bytes: number): void {
    this.#reserve(bytes + 4);
    this.#int32(bytes);
  }

  #text(text: string): void {
    if (text.length <= shortText && this.#shortAscii(text)) return;
    if (!text.isWellFormed()) throw new BadData('bad_text', 'a lone surrogate cannot be stored as text');
    if (text.includes('\0')) throw new BadData('bad_text', 'a NUL character cannot be stored as text');
    this.#reserve(text.length * 3 + 4);
    const bytes = this.#buffer.write(text, this.#at + 4, 'utf8');
    this.#view.setInt32(this.#at, bytes);
    this.#at += bytes + 4;
  }

  /**
   * Writes text of ASCII alone, or returns false. For short texts this is several times as fast as a call
   * into V8.
   */
  #shortAscii(text: string): boolean {
    this.#reserve(shortText + 4);
    const buffer = this.#buffer;
    const to = this.#at + 4;
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code === 0 || code > 127) return false;
      buffer[to + i] = code;
    }
    this.#view.setInt32(this.#at, text.length);
    this.#at = to + text.length;
    return true;
  }

  #jsonb(json: string): void {
    this.#reserve(5);
    const start = this.#at;
    // The version byte 1 belongs between length and text, so the text is written one byte late and its length
    // is put right.
    this.#at += 1;
    this.#text(json);
    this.#view.setInt32(start, this.#at - start - 4);
    this.#buffer[start + 4] = 1;
  }

  #null(): void {
    this.#reserve(4);
    this.#int32(-1);
  }

  #bool(value: Value): void {
    if (typeof value !== 'boolean') throw outOfRange('bool', value);
    this.#begin(1);
    this.#buffer[this.#at++] = value ? 1 : 0;
  }

  #float8(value: Value): void {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw outOfRange('float8', value);
    this.#begin(8);
    this.#view.setFloat64(this.#at, value);
    this.#at += 8;
  }

  #int8(value: number | bigint): void {
    this.#begin(8);
    if (typeof value === 'number') {
      if (!Number.isSafeInteger(value)) throw outOfRange('bigint', value);
      this.#view.setInt32(this.#at, Math.floor(value / 4_294_967_296));
      this.#view.setUint32(this.#at + 4, value >>> 0);
    } else {
      if (value > maxBigint || value < -maxBigint - 1n) throw outOfRange('bigint', value);
      this.#view.setBigInt64(this.#at, value);
    }
    this.#at += 8;
  }

  #integer(type: 'int' | 'smallint', bytes: 4 | 2, value: Value): void {
    const limit = bytes === 4 ? 2_147_483_647 : 32_767;
    if (typeof value !== 'number' || !Number.isInteger(value) || value > limit || value < -limit - 1)
      throw outOfRange(type, value);
    this.#begin(bytes);
    if (bytes === 4) this.#int32(value);
    else this.#word(value);
  }

  #date(text: string): void {
    // Rows of a report come by day.
    if (text !== this.#dayText) [this.#dayText, this.#days] = [text, daysSince1970(text)];
    if (Number.isNaN(this.#days)) throw new BadData('bad_date', `${text.slice(0, 40)} is not a day`);
    this.#begin(4);
    this.#int32(this.#days - unixToPostgresDays);
  }

  #texts(value: Value): void {
    if (!Array.isArray(value)) throw outOfRange('text[]', value);
    const items: readonly string[] = value;
    this.#reserve(24);
    const start = this.#at;
    this.#at += 4;
    this.#int32(items.length === 0 ? 0 : 1);
    this.#int32(0);
    this.#int32(textOid);
    if (items.length > 0) {
      this.#int32(items.length);
      this.#int32(1);
    }
    for (const item of items) this.#text(item);
    this.#view.setInt32(start, this.#at - start - 4);
  }

  /**
   * Exact decimal text as base-10000 digits: how many, the power of the first, sign, digits after the point,
   * and the digits.
   */
  #numeric(text: string): void {
    const decimal = this.#plainNumeric(text) ? undefined : plainDecimal(text);
    if (decimal !== undefined && !this.#plainNumeric(decimal)) throw outOfRange('numeric', decimal);
  }

  /** Writes digits with at most one point and a sign, or returns false and writes nothing. */
  #plainNumeric(text: string): boolean {
    const start = text.charCodeAt(0) === 0x2d ? 1 : 0;
    const dot = text.indexOf('.');
    const point = dot < 0 ? text.length : dot;
    const scale = dot < 0 ? 0 : text.length - dot - 1;
    if (point === start || dot === text.length - 1 || Math.max(point - start, scale) > mostDigits)
      return false;
    let end = 0;
    let value = 0;
    let lacks = (point - start) % 4 || 4;
    for (let at = start; at < text.length; at += 1) {
      if (at === dot) continue;
      const digit = text.charCodeAt(at) - 0x30;
      if (!(digit >= 0 && digit <= 9)) return false;
      value = value * 10 + digit;
      lacks -= 1;
      if (lacks > 0) continue;
      groups[end] = value;
      [end, value, lacks] = [end + 1, 0, 4];
    }
    groups[end] = value * 10 ** lacks;
    if (lacks < 4) end += 1;
    let first = 0;
    while (first < end && groups[first] === 0) first += 1;
    while (end > first && groups[end - 1] === 0) end -= 1;
    this.#begin(8 + (end - first) * 2);
    this.#word(end - first);
    this.#word(first === end ? 0 : Math.ceil((point - start) / 4) - 1 - first);
    this.#word(start > 0 && first < end ? 0x4000 : 0);
    this.#word(scale);
    for (let i = first; i < end; i += 1) this.#word(groups[i] ?? 0);
    return true;
  }

  #int32(value: number): void {
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  #word(value: number): void {
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }
}

const viewOf = (buffer: Buffer): DataView => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

const outOfRange = (type: ColumnType, value: Value): BadData =>
  new BadData('out_of_range', `${String(value).slice(0, 60)} does not fit a ${type} column`);

function textOf(type: ColumnType, value: Value): string {
  if (typeof value !== 'string') throw outOfRange(type, value);
  return value;
}

function bigintOf(type: ColumnType, value: Value): bigint {
  if (typeof value !== 'bigint') throw outOfRange(type, value);
  return value;
}

function jsonOf(type: ColumnType, value: Value): string {
  const json = textOf(type, value);
  if (storableJson(json) !== json)
    throw new BadData('bad_text', 'a string in it holds NUL or half of a surrogate pair');
  return json;
}

const mostDigits = 1_000;
/** The base-10000 digits of the number that is being written. */
const groups = new Uint16Array(mostDigits / 2 + 1);

/** A decimal in another notation (`1.5e3`), written out. */
function plainDecimal(text: string): string {
  const plain = decimalText(text);
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
  if (whole.length > mostDigits || fraction.length > mostDigits)
    throw new BadData('out_of_range', `${text.slice(0, 60)} has too many digits`);
  return plain;
}
