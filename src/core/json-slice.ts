/** Finds the source bytes of one element of a JSON document, without parsing the rest: what a reject keeps. */

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The exact bytes of the `index`-th element of the array at `path` (object keys from the root; [] is the root itself), as the server sent
 * them; a view, not a copy. Undefined where the document has no such element. Of a key given twice the last counts, as in `JSON.parse`.
 * Counts brackets, so that depth does not matter. Only for documents that were parsed before.
 */
export const elementSlice = (raw: Buffer, path: readonly string[], index: number): Buffer | undefined => {
  let at = afterSpace(raw, raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0);
  for (const key of path) {
    if (raw[at] !== openObject) return undefined;
    let found = raw.length;
    for (const [from] of inside(raw, at)) {
      const keyEnd = endOfText(raw, from) + 1;
      if (JSON.parse(raw.toString('utf8', from, keyEnd)) === key)
        found = afterSpace(raw, afterSpace(raw, keyEnd) + 1);
    }
    at = found;
  }
  if (raw[at] !== openArray) return undefined;
  let left = index;
  for (const [from, to] of inside(raw, at)) if (left-- === 0) return raw.subarray(from, to);
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
