/** Cuts CSV text into lines and cells (RFC 4180), strictly: what is not exactly a row is told apart, never guessed. */

/** A line that is no row: quotes where none may stand, or a carriage return outside quotes. */
export class Unreadable {
  readonly why: string;
  constructor(why: string) {
    this.why = why;
  }
}

/** The cells of a line as text, or why it cannot be read. */
export type Line = readonly string[] | Unreadable;

/** A line without a character. */
export const isEmpty = (line: Line): boolean => !(line instanceof Unreadable) && line.length === 1 && line[0] === '';

export interface Scan {
  readonly lines: readonly Line[];
  /** How many characters the lines took up; what is behind them is an incomplete line. */
  readonly end: number;
}

const quote = 0x22;
const comma = 0x2c;
const feed = 0x0a;
const carriage = 0x0d;

const strayQuote = new Unreadable('a quote stands within a cell that does not begin with one');
const behindQuote = new Unreadable('text stands behind a closing quote');
const strayReturn = new Unreadable('a carriage return stands outside quotes');

/**
 * The lines of a text that begins where a line begins. Lines end in LF or CRLF; a quoted cell may hold both, commas, and quotes written
 * twice. Quotes open a cell only as its first character. A line that breaks these rules ends at its next LF. Unless `last` is set, a line
 * without its end is left for the next text, which must then begin with it. An empty line has one empty cell. `starts` is filled with the
 * place at which each line begins.
 */
export const scan = (text: string, last: boolean, starts?: number[]): Scan => {
  const lines: Line[] = [];
  let at = 0;
  let mark = text.indexOf('"');
  while (at < text.length) {
    if (mark >= 0 && mark < at) mark = text.indexOf('"', at);
    const lineFeed = text.indexOf('\n', at);
    if (lineFeed < 0 && !last) break;
    const end = lineFeed < 0 ? text.length : lineFeed;
    if (mark < 0 || mark >= end) {
      lines.push(plain(text.slice(at, end)));
      starts?.push(at);
      at = end + 1;
      continue;
    }
    const next = quoted(text, at, lines);
    if (next < 0) break;
    starts?.push(at);
    at = next;
  }
  return { lines, end: Math.min(at, text.length) };
};

/** A line without quotes, its LF cut off. */
const plain = (line: string): Line => {
  const end = line.charCodeAt(line.length - 1) === carriage ? line.length - 1 : line.length;
  const cells = end === line.length ? line : line.slice(0, end);
  return cells.includes('\r') ? strayReturn : cells.split(',');
};

/** Reads the line at `at` into `lines`; the place behind it, or -1 where a quote is open at the end of the text. */
const quoted = (text: string, at: number, lines: Line[]): number => {
  const cells: string[] = [];
  for (let from = at; ; ) {
    const isQuoted = text.charCodeAt(from) === quote;
    let end: number;
    if (isQuoted) {
      end = closing(text, from);
      if (end < 0) return -1;
      const inner = text.slice(from + 1, end);
      cells.push(inner.includes('"') ? inner.replaceAll('""', '"') : inner);
      end++;
    } else {
      end = from;
      for (let code = text.charCodeAt(end); ; code = text.charCodeAt(++end)) {
        if (code === comma || code === feed || Number.isNaN(code)) break;
        if (code === quote) return broken(text, end, strayQuote, lines);
        if (code === carriage) {
          if (!endsAt(text, end + 1)) return broken(text, end, strayReturn, lines);
          break;
        }
      }
      cells.push(text.slice(from, end));
    }
    if (text.charCodeAt(end) === comma) {
      from = end + 1;
      continue;
    }
    if (text.charCodeAt(end) === carriage && endsAt(text, end + 1)) end++;
    if (!endsAt(text, end)) return broken(text, end, behindQuote, lines);
    lines.push(cells);
    return end + 1;
  }
};

/** The place of the quote that closes the one at `from`; -1 where there is none. */
const closing = (text: string, from: number): number => {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 2))
    if (end < 0 || text.charCodeAt(end + 1) !== quote) return end;
};

/** LF, or the end of the text. */
const endsAt = (text: string, place: number): boolean => place >= text.length || text.charCodeAt(place) === feed;

const broken = (text: string, at: number, why: Unreadable, lines: Line[]): number => {
  const end = text.indexOf('\n', at);
  lines.push(why);
  return end < 0 ? text.length : end + 1;
};

/** Finds lines again in the bytes they were scanned from: the `place`-th one without its line end; undefined where there is none. */
export const linesIn = (raw: Buffer): ((place: number) => Buffer | undefined) => {
  const starts: number[] = [];
  // One character a byte: quotes, commas and line ends are the same in UTF-8.
  scan(raw.toString('latin1'), true, starts);
  return (place) => {
    const start = starts[place];
    if (start === undefined) return undefined;
    let end = starts[place + 1] ?? raw.length;
    if (raw[end - 1] === feed) end--;
    if (raw[end - 1] === carriage) end--;
    return raw.subarray(start, end);
  };
};
