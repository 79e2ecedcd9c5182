/** Encodes records that are still bytes straight into the wire format, as their cells are declared. */

import type { Cell, Cells } from '../core/cell.ts';
import { BadData } from '../core/errors.ts';
import type { Notation, RawRecord } from '../core/raw-record.ts';
import type { ColumnType, Value } from '../core/table.ts';
import { BinaryWriter } from './binary.ts';
import type { Layout } from './layout.ts';

/** Appends the content columns of a record's row. False where a value is not as its cell is declared; what was written then stays: `rewind`. */
export type RawEncoder = (writer: BinaryWriter, record: RawRecord) => boolean;

/** Appends one column. */
type Column = (writer: BinaryWriter, bytes: Buffer, spans: Int32Array, first: number) => boolean;

/** The encoder of a table's rows. Throws where a column has no cell. */
export const rawEncoder = (layout: Layout, cells: Cells, notation: Notation): RawEncoder => {
  const columns = layout.content.map(([name, type]) => {
    const cell = cells[name];
    if (cell === undefined) throw new Error(`the cells of ${layout.table.name} lack ${name}`);
    return columnOf(cell, type, notation);
  });
  return (writer, { bytes, spans, first }) => {
    for (let i = 0; i < columns.length; i += 1)
      if (!(columns[i] as Column)(writer, bytes, spans, first)) return false;
    return true;
  };
};

const columnOf = (cell: Cell, type: ColumnType, notation: Notation): Column => {
  switch (cell.is) {
    case 'constant':
      return constantly(encodedAs(type, cell.value));
    case 'read':
      return remembered(cell, type);
    case 'flag':
      return flag(2 * cell.from, cell.hidden);
    case 'text':
      return notation === 'json' ? jsonText(cell) : csvText(cell);
    default:
      return number(cell, notation);
  }
};

/** A field as its bytes. */
const encodedAs = (type: ColumnType, value: Value): Uint8Array => {
  const writer = new BinaryWriter(64);
  writer.field(type, value);
  return Uint8Array.from(writer.bytes(0, writer.length));
};

const none = encodedAs('text', null);
const empty = encodedAs('text', '');
const yes = encodedAs('bool', true);
const no = encodedAs('bool', false);

const constantly =
  (field: Uint8Array): Column =>
  (writer) => {
    writer.encoded(field);
    return true;
  };

const [quote, point, zero] = [0x22, 0x2e, 0x30];
const written = (word: string): Uint8Array => Uint8Array.from(Buffer.from(word));
const nullWord = written('null');

const stands = (word: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean => {
  if (to - from < word.length) return false;
  for (let i = 0; i < word.length; i += 1) if (bytes[from + i] !== word[i]) return false;
  return true;
};

const jsonText =
  ({ from: place, needed }: Extract<Cell, { is: 'text' }>): Column =>
  (writer, bytes, spans, first) => {
    const from = spans[first + 2 * place] ?? 0;
    const to = spans[first + 2 * place + 1] ?? 0;
    if (bytes[from] === quote) {
      if (needed === true && to - from === 2) return false;
      writer.textOf(bytes, from + 1, to - 1);
      return true;
    }
    if (needed === true || !stands(nullWord, bytes, from, to)) return false;
    writer.encoded(none);
    return true;
  };

const csvText = ({ from: place, needed, empty: instead }: Extract<Cell, { is: 'text' }>): Column => {
  const nothing = instead === undefined ? none : empty;
  return (writer, bytes, spans, first) => {
    const from = spans[first + 2 * place] ?? 0;
    const to = spans[first + 2 * place + 1] ?? 0;
    // A cell in which quotes are written twice.
    if (bytes[from] === quote && from < to) return false;
    if (from === to) {
      if (needed === true) return false;
      writer.encoded(nothing);
    } else writer.textOf(bytes, from, to);
    return true;
  };
};

const flag = (at: number, hidden: string): Column => {
  const word = written(hidden);
  return (writer, bytes, spans, first) => {
    const from = spans[first + at] ?? 0;
    writer.encoded(isHidden(word, bytes, from, spans[first + at + 1] ?? 0) ? yes : no);
    return true;
  };
};

/** The word, perhaps with a fraction of zeros. */
const isHidden = (word: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean => {
  if (bytes[from] !== word[0] || !stands(word, bytes, from, to)) return false;
  const behind = from + word.length;
  return (
    behind === to || (bytes[behind] === point && behind + 1 < to && endOfZeros(bytes, behind, to) === behind)
  );
};

/** The place behind the last digit of a fraction that is no zero; the point's own where there is none. */
const endOfZeros = (bytes: Uint8Array, from: number, to: number): number => {
  let end = to;
  while (end > from + 1 && bytes[end - 1] === zero) end -= 1;
  return end === from + 1 ? from : end;
};

/** Digits that a double surely keeps. */
const mostSafe = 15;
const mostWholeOfAmount = 12;
const scaleOfAmount = 6;

/** Where a number's parts lie. One for all: it is read before the next is looked at. */
const parts = { point: 0, end: 0 };

/** Whether these are digits without a needless zero, perhaps a point and more digits. Fills `parts`: `point` is the end where there is none. */
const isDecimal = (bytes: Uint8Array, from: number, to: number): boolean => {
  let dot = to;
  for (let i = from; i < to; i += 1) {
    const code = bytes[i] ?? 0;
    if (code === point && dot === to) dot = i;
    else if (code < zero || code > 0x39) return false;
  }
  if (dot === from || dot === to - 1 || (bytes[from] === zero && dot > from + 1)) return false;
  parts.point = dot;
  // Without the zeros at its end; without the point where nothing else is left.
  parts.end = dot === to ? to : endOfZeros(bytes, dot, to);
  return true;
};

const number = (cell: Extract<Cell, { is: 'count' | 'amount' | 'rate' }>, notation: Notation): Column => {
  const { is, from: place } = cell;
  const at = 2 * place;
  const hidden = cell.hidden === undefined ? undefined : written(cell.hidden);
  const write = is === 'count' ? count : is === 'amount' ? amount : notation === 'json' ? jsonRate : csvRate;
  return (writer, bytes, spans, first) => {
    const from = spans[first + at] ?? 0;
    const to = spans[first + at + 1] ?? 0;
    if (isDecimal(bytes, from, to)) return write(writer, bytes, from, to);
    const isNone =
      (notation === 'csv' ? from === to : bytes[from] === nullWord[0]) ||
      (hidden !== undefined && isHidden(hidden, bytes, from, to));
    if (!isNone) return false;
    writer.encoded(none);
    return true;
  };
};

/** Writes a decimal whose `parts` are known. */
type Write = (writer: BinaryWriter, bytes: Uint8Array, from: number, to: number) => boolean;

const count: Write = (writer, bytes, from) => {
  const { point: dot, end } = parts;
  if (end !== dot || dot - from > mostSafe) return false;
  let value = 0;
  for (let i = from; i < dot; i += 1) value = value * 10 + (bytes[i] ?? 0) - zero;
  writer.wholeOf(value);
  return true;
};

const amount: Write = (writer, bytes, from) => {
  const { point: dot, end } = parts;
  return dot - from <= mostWholeOfAmount && writer.decimalOf(bytes, from, end, scaleOfAmount);
};

/** A literal of more digits is kept as it stands where a double does not hold it: its zeros, too. */
const jsonRate: Write = (writer, bytes, from, to) => {
  const { end } = parts;
  return (end === to || to - from <= mostSafe) && writer.decimalOf(bytes, from, end);
};

const csvRate: Write = (writer, bytes, from, to) => {
  const { point: dot, end } = parts;
  if (end !== dot) return writer.decimalOf(bytes, from, to);
  return dot - from <= mostSafe && writer.decimalOf(bytes, from, dot);
};

/** What was made of so many different values is remembered. */
const mostRemembered = 4_096;

const remembered = ({ from: places, read }: Extract<Cell, { is: 'read' }>, type: ColumnType): Column => {
  const known = new Map<string, Uint8Array | undefined>();
  const only = places.length === 1 ? places[0] : undefined;
  const literal = (bytes: Buffer, spans: Int32Array, at: number): string =>
    bytes.toString('utf8', spans[at], spans[at + 1]);
  return (writer, bytes, spans, first) => {
    let key = '';
    if (only !== undefined) key = literal(bytes, spans, first + 2 * only);
    else for (const place of places) key += `${literal(bytes, spans, first + 2 * place)}\n`;
    let field = known.get(key);
    if (field === undefined && !known.has(key)) {
      field = reading(
        places.map((place) => literal(bytes, spans, first + 2 * place)),
        read,
        type,
      );
      if (known.size === mostRemembered) known.clear();
      known.set(key, field);
    }
    if (field === undefined) return false;
    writer.encoded(field);
    return true;
  };
};

const reading = (
  values: readonly string[],
  read: Extract<Cell, { is: 'read' }>['read'],
  type: ColumnType,
): Uint8Array | undefined => {
  try {
    const value = read(values);
    return value === undefined ? undefined : encodedAs(type, value);
  } catch (error) {
    // The transform will say it, with the record's name.
    if (error instanceof BadData) return undefined;
    throw error;
  }
};
