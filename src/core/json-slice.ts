/** Finds the source bytes of one element of a JSON document, without parsing the rest: what a reject keeps. */

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;

/** Steps from the root of a document to a value in it: keys of objects and places in lists. */
export type JsonPath = readonly (string | number)[];

/**
 * The exact bytes of the value at `path`, as the server sent them; a view, not a copy. Undefined where the document has no such value. Of
 * a key given twice the last counts, as in `JSON.parse`. Counts brackets, so that depth does not matter. Only for documents that were
 * parsed before.
 */
export const valueSlice = (raw: Buffer, path: JsonPath): Buffer | undefined => {
  let found = raw.subarray(afterSpace(raw, raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0));
  for (const step of path) {
    const inner = typeof step === 'string' ? memberIn(found, step) : elementIn(found, step);
    if (inner === undefined) return undefined;
    found = inner;
  }
  return found;
};

const memberIn = (raw: Buffer, key: string): Buffer | undefined => {
  if (raw[0] !== openObject) return undefined;
  let found: Buffer | undefined;
  for (const [from, to] of inside(raw, 0)) {
    const keyEnd = endOfText(raw, from) + 1;
    if (JSON.parse(raw.toString('utf8', from, keyEnd)) === key)
      found = raw.subarray(afterSpace(raw, afterSpace(raw, keyEnd) + 1), to);
  }
  return found;
};

const elementIn = (raw: Buffer, index: number): Buffer | undefined => {
  if (raw[0] !== openArray) return undefined;
  let left = index;
  for (const [from, to] of inside(raw, 0)) if (left-- === 0) return raw.subarray(from, to);
  return undefined;
};

/** The path of a part within a record, found as the same value; undefined where the record does not hold it. Any depth. */
export const pathOf = (record: unknown, part: unknown): JsonPath | undefined => {
  type OpenPart = { readonly value: unknown; readonly step?: string | number; readonly within?: OpenPart };
  const open: OpenPart[] = [{ value: record }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value } = place;
    if (value === part) {
      const path: (string | number)[] = [];
      for (let at: OpenPart | undefined = place; at?.step !== undefined; at = at.within) path.push(at.step);
      return path.reverse();
    }
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value).reverse())
      open.push({ value: inner, step: Array.isArray(value) ? Number(key) : key, within: place });
  }
  return undefined;
};

/** Where the elements, or the members, of the container that opens at `start` lie. */
function* inside(raw: Buffer, start: number): Generator<readonly [from: number, to: number]> {
  let from = afterSpace(raw, start + 1);
  let depth = 0;
  for (let at = from; at < raw.length; at++) {
    const byte = raw[at];
    const isEnd = byte === closeObject || byte === closeArray;
    if (byte === quote) at = endOfText(raw, at);
    else if (byte === openObject || byte === openArray) depth++;
    else if (depth > 0 && isEnd) depth--;
    else if (depth === 0 && (isEnd || byte === comma)) {
      let to = at;
      while (isSpace(raw[to - 1])) to--;
      if (to > from) yield [from, to];
      if (isEnd) return;
      from = afterSpace(raw, at + 1);
    }
  }
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** The position of the first byte that is no white space, from `at` on. */
const afterSpace = (raw: Buffer, at: number): number => {
  let next = at;
  while (isSpace(raw[next])) next++;
  return next;
};

/** The position of the quote that ends the string which opens at `at`; the document's end where it is not closed. */
const endOfText = (raw: Buffer, at: number): number => {
  for (let close = raw.indexOf(quote, at + 1); close >= 0; close = raw.indexOf(quote, close + 1)) {
    let backslashes = 0;
    while (raw[close - 1 - backslashes] === backslash) backslashes++;
    if (backslashes % 2 === 0) return close;
  }
  return raw.length;
};
