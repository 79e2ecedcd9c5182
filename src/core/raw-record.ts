/**
 * Records that are still the bytes they came as: where each value lies is known, no value has been made of it. A report has tens of thousands
 * of rows that differ in nothing but their values; what is written to the warehouse as it came need not become objects and texts on its way.
 */

import type { Json } from './request.ts';

/** What records have in common that differ in the values at these places alone. */
export interface Shape {
  /** How many values there are. */
  readonly size: number;
  /** One of these records as it was parsed. Of it only what is no value at a place is true of the others, too: keys, lengths of lists, constants. */
  readonly sample: Json;
  /** The place of the value at a path from the record's root (object keys, list indices); undefined where none lies there. */
  place(...path: readonly (string | number)[]): number | undefined;
  /** How values are written. */
  readonly notation: Notation;
  /** A record as a value. */
  parse(record: RawRecord): Json;
}

/**
 * json: numbers and null as JSON has them, texts in quotes without escapes · csv: a cell's text as it is, an empty one is null, one that begins
 * with a quote is a quoted cell in which quotes are written twice.
 */
export type Notation = 'json' | 'csv';

/** Values that are still bytes, and where they lie. */
export class Located {
  /** The answer or file they came in. */
  readonly bytes: Buffer;
  /** Two numbers a value: its first byte, and the place behind its last one. A JSON text's quotes are in it. */
  readonly spans: Int32Array;
  /** Where in `spans` the first value's numbers are. */
  readonly first: number;
  /** The bytes of all of it: `[from, to)`. */
  readonly from: number;
  readonly to: number;

  constructor(bytes: Buffer, spans: Int32Array, first: number, from: number, to: number) {
    this.bytes = bytes;
    this.spans = spans;
    this.first = first;
    this.from = from;
    this.to = to;
  }
}

/** The same numbers with room for so many; copied where there is not. What was told to lie in the old ones still does. */
export const withRoom = (spans: Int32Array<ArrayBuffer>, numbers: number): Int32Array<ArrayBuffer> => {
  if (numbers <= spans.length) return spans;
  const grown = new Int32Array(2 * numbers);
  grown.set(spans);
  return grown;
};

/** One record. */
export class RawRecord extends Located {
  readonly shape: Shape;

  constructor(shape: Shape, bytes: Buffer, spans: Int32Array, first: number, from: number, to: number) {
    super(bytes, spans, first, from, to);
    this.shape = shape;
  }

  /** The record as a value. */
  get value(): Json {
    return this.shape.parse(this);
  }

  /** The text at a place; undefined where there is none (JSON). */
  text(place: number): string | undefined {
    const at = this.first + 2 * place;
    const from = this.spans[at] ?? 0;
    const to = this.spans[at + 1] ?? 0;
    if (this.shape.notation === 'csv') return cellText(this.bytes, from, to);
    return this.bytes[from] === quote ? this.bytes.toString('utf8', from + 1, to - 1) : undefined;
  }
}

const quote = 0x22;

/** The text of a CSV cell: one whose bytes begin with a quote is in quotes, and has some written twice. */
export const cellText = (bytes: Buffer, from: number, to: number): string =>
  bytes[from] === quote && from < to
    ? bytes.toString('utf8', from + 1, to - 1).replaceAll('""', '"')
    : bytes.toString('utf8', from, to);

/** A record as a value, however it came. */
export const parsedOf = (record: Json): Json => (record instanceof RawRecord ? record.value : record);
