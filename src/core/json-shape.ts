/** The shape of JSON objects that are alike: learnt from one of them, found again in others byte by byte. */

import { parseJson } from './json.ts';
import { endOfString } from './json-numbers.ts';
import { skipSpace } from './json-slice.ts';
import type { RawRecord, Shape } from './raw-record.ts';
import type { Json } from './request.ts';

const [quote, backslash, minus, point] = [0x22, 0x5c, 0x2d, 0x2e];
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d];
const [comma, colon] = [0x2c, 0x3a];

/** Beyond these a record is not worth a shape. */
const mostValues = 1_000;
const deepest = 16;

/** A shape of JSON objects: what stands between their values, to the byte. */
export class JsonShape implements Shape {
  readonly notation = 'json';
  readonly sample: Json;
  readonly size: number;
  readonly #places: ReadonlyMap<string, number>;
  /** The same by key, of the values right below the root. */
  readonly #keys: ReadonlyMap<string, number>;
  /** What stands before each value, one behind the other; what stands behind the last one. */
  readonly #fixed: Uint8Array;
  /** Where in `fixed` the bytes behind the i-th value end; the last number is its length. */
  readonly #ends: Int32Array;

  constructor(sample: Json, values: readonly Found[], element: Buffer) {
    this.sample = sample;
    this.size = values.length;
    this.#places = new Map(values.map(({ path }, place) => [JSON.stringify(path), place]));
    this.#keys = new Map(
      values.flatMap(({ path: [key, ...below] }, place) =>
        typeof key === 'string' && below.length === 0 ? [[key, place]] : [],
      ),
    );
    const fixed: Buffer[] = [];
    const ends: number[] = [];
    let from = 0;
    let length = 0;
    for (const to of [...values.map(({ start }) => start), element.length]) {
      fixed.push(element.subarray(from, to));
      length += to - from;
      ends.push(length);
      from = values[ends.length - 1]?.end ?? to;
    }
    this.#fixed = new Uint8Array(Buffer.concat(fixed));
    this.#ends = Int32Array.from(ends);
  }

  place(...path: readonly (string | number)[]): number | undefined {
    const [key] = path;
    return path.length === 1 && typeof key === 'string'
      ? this.#keys.get(key)
      : this.#places.get(JSON.stringify(path));
  }

  parse({ bytes, from, to }: RawRecord): Json {
    return parseJson(bytes.subarray(from, to));
  }

  /**
   * The place behind the object that begins at `at`, if it is of this shape; else -1. `spans` gets two numbers a value from its index `first` on. What is of the
   * shape is valid JSON: its keys and brackets are those of a document that was parsed, its values are checked here.
   */
  match(bytes: Uint8Array, at: number, spans: Int32Array, first: number): number {
    const fixed = this.#fixed;
    const ends = this.#ends;
    const { size } = this;
    let next = at;
    let place = 0;
    for (let fit = 0; ; ) {
      for (const end = ends[place] ?? 0; fit < end; fit++, next++) if (bytes[next] !== fixed[fit]) return -1;
      if (place === size) return next;
      const end = endOfScalar(bytes, next);
      if (end < 0) return -1;
      spans[first + 2 * place] = next;
      spans[first + 2 * place + 1] = end;
      next = end;
      place++;
    }
  }
}

/** The place behind the text without escapes, number, `true`, `false` or `null` at `at`; -1 where there is none that JSON knows. */
const endOfScalar = (bytes: Uint8Array, at: number): number => {
  const byte = bytes[at] ?? 0;
  if (byte === quote) {
    let end = at + 1;
    for (let one = bytes[end] ?? 0; one !== quote; one = bytes[++end] ?? 0)
      if (one === backslash || one < 0x20) return -1;
    return end + 1;
  }
  if (byte === minus || isDigit(byte)) return endOfNumber(bytes, at);
  for (const word of words)
    if (word.every((one, place) => bytes[at + place] === one)) return at + word.length;
  return -1;
};

const words: readonly (readonly number[])[] = ['null', 'true', 'false'].map((word) => [...Buffer.from(word)]);

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

/** Digits without a needless zero, a fraction; -1 for anything else, an exponent too: such numbers are few. */
const endOfNumber = (bytes: Uint8Array, at: number): number => {
  let end = bytes[at] === minus ? at + 1 : at;
  const whole = end;
  while (isDigit(bytes[end] ?? 0)) end++;
  if (end === whole || (bytes[whole] === 0x30 && end > whole + 1)) return -1;
  if (bytes[end] === point) {
    const fraction = ++end;
    while (isDigit(bytes[end] ?? 0)) end++;
    if (end === fraction) return -1;
  }
  const behind = bytes[end] ?? 0;
  return behind === 0x65 || behind === 0x45 ? -1 : end;
};

/** A value's place in its document and in its record. */
interface Found {
  /** Keys and indices from the record's root. */
  readonly path: readonly (string | number)[];
  readonly start: number;
  readonly end: number;
}

/**
 * The shape of an object (its bytes alone, valid JSON; `sample`: the same, parsed). Texts under the keys in `constants` belong to the shape. Undefined where
 * the object is none that others could be like: a key twice or with an escape, too many or too deep.
 */
export const learnShape = (
  element: Buffer,
  sample: Json,
  constants: ReadonlySet<string>,
): JsonShape | undefined => {
  const values: Found[] = [];
  const path: (string | number)[] = [];

  const space = (at: number): number => skipSpace(element, at);

  /** Behind the value at `at`; -1 where it cannot be learnt. */
  const value = (at: number, isConstant: boolean): number => {
    const byte = element[at];
    if (path.length > deepest) return -1;
    if (byte === openObject) return members(at);
    if (byte === openArray) return items(at);
    const end = endOfScalar(element, at);
    if (end < 0 || values.length === mostValues) return -1;
    if (!isConstant || byte !== quote) values.push({ path: [...path], start: at, end });
    return end;
  };

  const members = (open: number): number => {
    const seen = new Set<string>();
    let at = space(open + 1);
    if (element[at] === closeObject) return at + 1;
    for (;;) {
      const end = endOfString(element, at);
      const key = element.toString('utf8', at + 1, end - 1);
      if (key.includes('\\') || seen.has(key)) return -1;
      seen.add(key);
      at = space(end);
      if (element[at] !== colon) return -1;
      path.push(key);
      at = value(space(at + 1), constants.has(key));
      path.pop();
      if (at < 0) return -1;
      at = space(at);
      if (element[at] === closeObject) return at + 1;
      if (element[at] !== comma) return -1;
      at = space(at + 1);
    }
  };

  const items = (open: number): number => {
    let at = space(open + 1);
    if (element[at] === closeArray) return at + 1;
    for (let index = 0; ; index++) {
      path.push(index);
      at = value(at, false);
      path.pop();
      if (at < 0) return -1;
      at = space(at);
      if (element[at] === closeArray) return at + 1;
      if (element[at] !== comma) return -1;
      at = space(at + 1);
    }
  };

  if (element[0] !== openObject || members(0) !== element.length) return undefined;
  return new JsonShape(sample, values, element);
};
