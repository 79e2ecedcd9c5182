/** Finds the source bytes of one element of a JSON document, without parsing the rest: what a reject keeps. */

import { endOfString } from './json-numbers.ts';

const [quote, comma, colon] = [0x22, 0x2c, 0x3a];
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The exact bytes of the `index`-th element of the array at `path` (object keys from the root; [] is the root itself), as the server sent
 * them; a view, not a copy. Undefined where the document has no such element. Of a key given twice the last counts, as in `JSON.parse`.
 * Counts brackets, so that depth does not matter. Meant for documents that were parsed before; of others it may give nonsense, never loop.
 */
export const elementSlice = (raw: Buffer, path: readonly string[], index: number): Buffer | undefined => {
  const list = path.reduce<number | undefined>(
    (at, key) => (at === undefined ? undefined : member(raw, at, key)),
    start(raw),
  );
  if (list === undefined || raw[list] !== openArray || index < 0) return undefined;
  let at = skipSpace(raw, list + 1);
  for (let i = 0; at < raw.length && raw[at] !== closeArray; i++) {
    const end = endOfValue(raw, at);
    if (i === index) return raw.subarray(at, end);
    at = skipSpace(raw, end);
    if (raw[at] === comma) at = skipSpace(raw, at + 1);
    else if (raw[at] !== closeArray) return undefined;
  }
  return undefined;
};

/** The place after the byte order mark and white space. */
const start = (raw: Buffer): number =>
  skipSpace(raw, raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0);

/** Where the value of `key` begins in the object that opens at `at`: of a key given twice the last one. */
const member = (raw: Buffer, at: number, key: string): number | undefined => {
  if (raw[at] !== openObject) return undefined;
  let found: number | undefined;
  for (let next = skipSpace(raw, at + 1); raw[next] === quote; ) {
    const keyEnd = endOfString(raw, next);
    const value = skipSpace(raw, skipSpace(raw, keyEnd) + 1);
    if (raw[skipSpace(raw, keyEnd)] !== colon) return undefined;
    if (isKey(raw, next, keyEnd, key)) found = value;
    next = skipSpace(raw, endOfValue(raw, value));
    if (raw[next] !== comma) break;
    next = skipSpace(raw, next + 1);
  }
  return found;
};

const isKey = (raw: Buffer, from: number, to: number, key: string): boolean => {
  const text = raw.toString('utf8', from, to);
  if (!text.includes('\\')) return text === `"${key}"`;
  try {
    return JSON.parse(text) === key;
  } catch {
    // Not a string of JSON, hence not this key.
    return false;
  }
};

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** The place of the first byte that is no white space, from `at` on. */
const skipSpace = (raw: Buffer, at: number): number => {
  let next = at;
  while (isSpace(raw[next])) next++;
  return next;
};

/** The place after the value that begins at `at`. */
const endOfValue = (raw: Buffer, at: number): number => {
  let depth = 0;
  let next = at;
  while (next < raw.length) {
    const byte = raw[next];
    if (byte === quote) {
      next = endOfString(raw, next);
      if (depth === 0) return next;
      continue;
    }
    if (byte === openObject || byte === openArray) depth++;
    else if (byte === closeObject || byte === closeArray) {
      if (depth === 0) return next;
      depth--;
      if (depth === 0) return next + 1;
    } else if (depth === 0 && (byte === comma || isSpace(byte))) return next;
    next++;
  }
  return next;
};
