/** Cuts CSV into lines and cells (RFC 4180), strictly: a line that breaks the rules is reported as such, never guessed. */

/** One line. `[from, to)`: its characters in the text it was read from, without the line end. */
export type Line = {
  readonly from: number;
  readonly to: number;
} & (
  | { readonly cells: readonly string[]; readonly why?: undefined }
  /** A line that is no row: a quote where none may be, or a carriage return outside quotes. */
  | { readonly cells?: undefined; readonly why: string }
);

/** True of a line without a character. */
export const isEmpty = ({ cells }: Line): boolean => cells?.length === 1 && cells[0] === '';

export interface Scan {
  readonly lines: readonly Line[];
  /** How many characters the lines took up; an incomplete line follows. */
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
 * The lines of a text that begins where a line begins. Lines end in LF or CRLF; a quoted cell may hold both, commas, and quotes written
 * twice. Quotes open a cell only as its first character. A line that breaks these rules ends at its next LF. Unless `last` is set, a line
 * without its end is left for the next text, which must then begin with it. An empty line has one empty cell. `most`: how many lines at most.
 */
export const scan = (text: string, last: boolean, most = Number.POSITIVE_INFINITY): Scan => {
  const lines: Line[] = [];
  let at = 0;
  while (at < text.length && lines.length < most) {
    const cells: string[] = [];
    let why: string | undefined;
    let end = at;
    for (let from = at; ; from = end + 1) {
      if (text.charCodeAt(from) === quote) {
        end = closing(text, from);
        if (end < 0) return { lines, end: at };
        const cell = text.slice(from + 1, end);
        cells.push(cell.includes('"') ? cell.replaceAll('""', '"') : cell);
        end++;
      } else {
        end = endOfPlain(text, from);
        const code = text.charCodeAt(end);
        if (code === quote) why = strayQuote;
        else if (code === carriage && !endsAt(text, end + 1)) why = strayReturn;
        cells.push(text.slice(from, end));
      }
      if (text.charCodeAt(end) !== comma || why !== undefined) break;
    }
    let to = end;
    if (text.charCodeAt(end) === carriage && endsAt(text, end + 1)) end++;
    if (why === undefined && !endsAt(text, end)) why = behindQuote;
    if (why !== undefined) {
      end = text.indexOf('\n', end);
      if (end < 0) end = text.length;
      to = text.charCodeAt(end - 1) === carriage ? end - 1 : end;
    }
    if (end === text.length && !last) break;
    lines.push(why === undefined ? { cells, from: at, to } : { why, from: at, to });
    at = end + 1;
  }
  return { lines, end: Math.min(at, text.length) };
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

/** The bytes of each line of a block, without its line end. */
export const linesIn = (raw: Buffer): readonly Buffer[] => {
  const text = raw.toString('utf8');
  return scan(text, true).lines.map(({ from, to }) => Buffer.from(text.slice(from, to)));
};
