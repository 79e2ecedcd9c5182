/** Cuts CSV into lines and cells (RFC 4180), strictly: a line that breaks the rules is reported as such, never guessed. */

/**
 * One line of a text. Its cells are places in the text, two numbers each, and become text only when they are needed: a report has a hundred
 * columns and half a million lines.
 */
export interface Line {
  /** The names of the columns; empty for the header's own line. */
  readonly header: readonly string[];
  readonly text: string;
  /** `[from, to)`: its characters, without the line end. */
  readonly from: number;
  readonly to: number;
  /** From `first` on: where each cell begins and ends, without its quotes. A cell with quotes written twice begins with its own quote. */
  readonly spans: Int32Array;
  readonly first: number;
  /** How many cells there are; 0 in a line that is no row. */
  readonly count: number;
  /** Why the line is no row: a quote where none may be, or a carriage return outside quotes. */
  readonly why: string | undefined;
}

/** The text of the cell at `index`; '' where there is none. */
export const cellOf = ({ text, spans, first, count }: Line, index: number): string => {
  if (index < 0 || index >= count) return '';
  const from = spans[first + 2 * index] ?? 0;
  const to = spans[first + 2 * index + 1] ?? 0;
  return text.charCodeAt(from) === quote && from < to
    ? text.slice(from + 1, to - 1).replaceAll('""', '"')
    : text.slice(from, to);
};

/** The cells of a line as text. */
export const cellsOf = (line: Line): readonly string[] =>
  Array.from({ length: line.count }, (_, index) => cellOf(line, index));

/** True of a line without a character. */
export const isEmpty = ({ from, to }: Line): boolean => from === to;

const quote = 0x22;
const comma = 0x2c;
const feed = 0x0a;
const carriage = 0x0d;

const strayQuote = 'a quote is within a cell that does not begin with one';
const afterQuote = 'text follows a closing quote';
const strayReturn = 'a carriage return is outside quotes';

/**
 * The lines of a text that begins where a line begins. Lines end in LF or CRLF; a quoted cell may hold both, commas, and quotes written
 * twice. Quotes open a cell only as its first character. A line that breaks these rules ends at its next LF. Unless `last` is set, a line
 * without its end is left for the next text, which must then begin with it. An empty line has one empty cell. `most`: how many lines at most.
 * `end`: how many characters the lines took up; an incomplete line follows.
 */
export const scan = (
  text: string,
  last: boolean,
  header: readonly string[] = [],
  most = Number.POSITIVE_INFINITY,
) => {
  const lines: Line[] = [];
  let spans = new Int32Array(1024 + (text.length >> 1));
  let used = 0;
  let at = 0;
  while (at < text.length && lines.length < most) {
    const first = used;
    let why: string | undefined;
    let end = at;
    for (let from = at; ; from = end + 1) {
      if (used + 2 > spans.length) spans = larger(spans);
      spans[used] = from;
      if (text.charCodeAt(from) === quote) {
        end = closing(text, from);
        if (end < 0) return { lines, end: at };
        const isPlain = text.lastIndexOf('"', end - 1) === from;
        if (isPlain) spans[used] = from + 1;
        spans[used + 1] = isPlain ? end : end + 1;
        end++;
      } else {
        end = endOfPlain(text, from);
        spans[used + 1] = end;
        const code = text.charCodeAt(end);
        if (code === quote) why = strayQuote;
        else if (code === carriage && !endsAt(text, end + 1)) why = strayReturn;
      }
      used += 2;
      if (text.charCodeAt(end) !== comma || why !== undefined) break;
    }
    let to = end;
    if (text.charCodeAt(end) === carriage && endsAt(text, end + 1)) end++;
    if (why === undefined && !endsAt(text, end)) why = afterQuote;
    if (why !== undefined) {
      end = text.indexOf('\n', end);
      if (end < 0) end = text.length;
      to = text.charCodeAt(end - 1) === carriage ? end - 1 : end;
    }
    if (end === text.length && !last) break;
    const count = why === undefined ? (used - first) / 2 : 0;
    lines.push({ header, text, from: at, to, spans, first, count, why });
    at = end + 1;
  }
  return { lines, end: Math.min(at, text.length) };
};

const larger = (spans: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
  const grown = new Int32Array(spans.length * 2);
  grown.set(spans);
  return grown;
};

/** Where a cell without quotes ends. */
const endOfPlain = (text: string, from: number): number => {
  let end = from;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === comma || code === feed || code === quote || code === carriage) break;
  }
  return end;
};

/** The index of the quote that closes the one at `from`; -1 where there is none. */
const closing = (text: string, from: number): number => {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 2))
    if (end < 0 || text.charCodeAt(end + 1) !== quote) return end;
};

/** True at LF and at the end of the text. */
const endsAt = (text: string, index: number): boolean =>
  index >= text.length || text.charCodeAt(index) === feed;

/** What a header means apart from its spelling: `Impressions on Spotify` and `impressions_on_spotify` are the same column. */
export const columnName = (header: string): string =>
  header
    .trim()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .toUpperCase();
