/** Cuts CSV into lines and cells (RFC 4180), strictly: what is not exactly a row is told apart, never guessed. Cells stay bytes until they are asked for. */

import { cellText, Located, withRoom } from '../../core/raw-record.ts';

/** A line that is no row: quotes where none may stand, or a carriage return outside quotes. */
export class Unreadable {
  readonly why: string;
  /** Its bytes, without the line end. */
  readonly from: number;
  readonly to: number;
  constructor(why: string, from: number, to: number) {
    this.why = why;
    this.from = from;
    this.to = to;
  }
}

/** The cells of a line. Quotes around a cell are not in its span, unless some are written twice in it; the line end is not in the line. */
export class Cells extends Located {
  /** How many cells there are. */
  readonly length: number;

  constructor(bytes: Buffer, spans: Int32Array, first: number, length: number, from: number, to: number) {
    super(bytes, spans, first, from, to);
    this.length = length;
  }

  /** The text of a cell; '' where there is none. */
  cell(place: number): string {
    if (place >= this.length) return '';
    return cellText(
      this.bytes,
      this.spans[this.first + 2 * place] ?? 0,
      this.spans[this.first + 2 * place + 1] ?? 0,
    );
  }

  get texts(): readonly string[] {
    return Array.from({ length: this.length }, (_, place) => this.cell(place));
  }
}

export type Line = Cells | Unreadable;

/** A line without a character. */
export const isEmpty = (line: Line): boolean =>
  line instanceof Cells && line.length === 1 && line.spans[line.first] === line.spans[line.first + 1];

export interface Scan {
  readonly lines: readonly Line[];
  /** How many bytes the lines took up; what is behind them is an incomplete line. */
  readonly end: number;
}

const quote = 0x22;
const comma = 0x2c;
const feed = 0x0a;
const carriage = 0x0d;

const strayQuote = 'a quote stands within a cell that does not begin with one';
const behindQuote = 'text stands behind a closing quote';
const strayReturn = 'a carriage return stands outside quotes';

/**
 * The lines of bytes (UTF-8) that begin where a line begins. Lines end in LF or CRLF; a quoted cell may hold both, commas, and quotes written
 * twice. Quotes open a cell only as its first character. A line that breaks these rules ends at its next LF. Unless `last` is set, a line
 * without its end is left for the next bytes, which must then begin with it. An empty line has one empty cell. `most`: how many lines at most.
 */
export const scan = (bytes: Buffer, last: boolean, most = Number.POSITIVE_INFINITY): Scan => {
  const lines: Line[] = [];
  let spans = new Int32Array(1_024);
  let used = 0;
  let at = 0;
  while (at < bytes.length && lines.length < most) {
    const first = used;
    let why: string | undefined;
    let end = at;
    for (let from = at; ; from = end + 1) {
      spans = withRoom(spans, used + 2);
      if (bytes[from] === quote) {
        end = closing(bytes, from);
        if (end < 0) return { lines, end: at };
        const isTwice = end > from + 2 && bytes.subarray(from + 1, end).includes(quote);
        spans[used] = isTwice ? from : from + 1;
        spans[used + 1] = isTwice ? end + 1 : end;
        end++;
      } else {
        end = from;
        let byte = bytes[end];
        while (byte !== comma && byte !== feed && byte !== quote && byte !== carriage && byte !== undefined)
          byte = bytes[++end];
        if (byte === quote) why = strayQuote;
        else if (byte === carriage && !endsAt(bytes, end + 1)) why = strayReturn;
        spans[used] = from;
        spans[used + 1] = end;
      }
      used += 2;
      if (bytes[end] !== comma || why !== undefined) break;
    }
    const to = end;
    if (bytes[end] === carriage && endsAt(bytes, end + 1)) end++;
    if (why === undefined && !endsAt(bytes, end)) why = behindQuote;
    if (why !== undefined) {
      end = bytes.indexOf(feed, end);
      if (end < 0) end = bytes.length;
    }
    if (end === bytes.length && !last) break;
    if (why === undefined) lines.push(new Cells(bytes, spans, first, (used - first) / 2, at, to));
    else lines.push(new Unreadable(why, at, bytes[end - 1] === carriage ? end - 1 : end));
    at = end + 1;
  }
  return { lines, end: Math.min(at, bytes.length) };
};

/** The place of the quote that closes the one at `from`; -1 where there is none. */
const closing = (bytes: Buffer, from: number): number => {
  for (let end = bytes.indexOf(quote, from + 1); ; end = bytes.indexOf(quote, end + 2))
    if (end < 0 || bytes[end + 1] !== quote) return end;
};

/** LF, or the end. */
const endsAt = (bytes: Buffer, place: number): boolean => place >= bytes.length || bytes[place] === feed;

/** Finds lines again in the bytes they were scanned from: the `place`-th one without its line end; undefined where there is none. */
export const linesIn = (raw: Buffer): ((place: number) => Buffer | undefined) => {
  const { lines } = scan(raw, true);
  return (place) => {
    const line = lines[place];
    return line && raw.subarray(line.from, line.to);
  };
};
