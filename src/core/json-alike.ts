/** Documents that are a long list of objects which differ in their values alone: read as `RawRecord`s, without a value made of any. */

import { isUtf8 } from 'node:buffer';
import { parseJson } from './json.ts';
import { type JsonShape, learnShape } from './json-shape.ts';
import { endOfValue, member, skipSpace, start } from './json-slice.ts';
import { RawRecord, withRoom } from './raw-record.ts';
import type { Json } from './request.ts';

const comma = 0x2c;
const [openObject, openArray, closeArray] = [0x7b, 0x5b, 0x5d];

/** Shapes that a reader keeps at a time, and learns in all: objects of further ones are parsed as ever. */
const mostShapes = 8;
const mostLearnt = 100;
/** Stands for the list while the rest of the document is parsed. Cannot occur by chance, nor be guessed. */
const mark = `\u0000list:${crypto.randomUUID()}`;
const quotedMark = Buffer.from(JSON.stringify(mark));

/**
 * A reader of documents: as `parseJson`, but the elements of the list `list` of the outermost object are `RawRecord`s where they are like others
 * before them. Texts under the keys in `constants` tell shapes apart. A reader remembers the shapes it has seen.
 */
export const alikeReader = (list: string, constants: readonly string[]): ((raw: Buffer) => Json) => {
  const fixed = new Set(constants);
  const shapes: JsonShape[] = [];
  /** Two numbers a value, of all records of a document. */
  let room = 1_024;
  let learnt = 0;

  const learn = (element: Buffer, value: Json): void => {
    const shape = learnShape(element, value, fixed);
    if (shape === undefined) return;
    learnt++;
    shapes.unshift(shape);
    // The one that was not met for the longest time.
    if (shapes.length > mostShapes) shapes.pop();
  };

  /** The elements of the list that opens at `open`, and the place behind it; undefined where they are no list of objects as they should be. */
  const elements = (
    raw: Buffer,
    open: number,
  ): { readonly rows: readonly Json[]; readonly end: number } | undefined => {
    const rows: Json[] = [];
    let spans = new Int32Array(room);
    let used = 0;
    let at = skipSpace(raw, open + 1);
    if (raw[at] === closeArray) return { rows, end: at + 1 };
    for (;;) {
      let end = -1;
      for (let i = 0; i < shapes.length && end < 0; i++) {
        const shape = shapes[i] as JsonShape;
        spans = withRoom(spans, used + 2 * shape.size);
        room = spans.length;
        end = shape.match(raw, at, spans, used);
        if (end < 0) continue;
        rows.push(new RawRecord(shape, raw, spans, used, at, end));
        used += 2 * shape.size;
        // The next one is most likely of the same shape.
        if (i > 0) shapes.unshift(...shapes.splice(i, 1));
      }
      if (end < 0) {
        if (raw[at] !== openObject) return undefined;
        end = endOfValue(raw, at);
        const element = raw.subarray(at, end);
        const value = parseJson(element);
        rows.push(value);
        if (learnt < mostLearnt) learn(element, value);
      }
      at = skipSpace(raw, end);
      if (raw[at] === closeArray) return { rows, end: at + 1 };
      if (raw[at] !== comma) return undefined;
      at = skipSpace(raw, at + 1);
    }
  };

  return (raw) => {
    if (!isUtf8(raw)) return parseJson(raw);
    // The first one: to look for another would mean to skip through all of this one.
    const open = member(raw, start(raw), list, true);
    const found = open === undefined || raw[open] !== openArray ? undefined : elements(raw, open);
    if (open === undefined || found === undefined) return parseJson(raw);
    const rest = parseJson(Buffer.concat([raw.subarray(0, open), quotedMark, raw.subarray(found.end)]));
    // The key may be there once more, behind the list: then that one counts.
    return isMarked(rest, list) ? { ...rest, [list]: found.rows } : parseJson(raw);
  };
};

const isMarked = (value: Json, list: string): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' &&
  value !== null &&
  Object.hasOwn(value, list) &&
  (value as Readonly<Record<string, Json>>)[list] === mark;
