/** A CSV file as it streams in: decoded, checked and cut into blocks of whole lines; never whole in memory. */

import { isUtf8 } from 'node:buffer';
import { TooLarge, UnexpectedContent } from '../../core/errors.ts';
import { cellsOf, type Line, scan } from './lines.ts';

/** Some lines of a file, in order. */
export interface Block {
  readonly lines: readonly Line[];
}

export interface CsvLimits {
  /** Bytes of a block; a block is larger only where a single line is. */
  readonly blockBytes: number;
  /** Bytes of a line. */
  readonly lineBytes: number;
}

const defaultLimits: CsvLimits = { blockBytes: 32 * 1024, lineBytes: 4 * 1024 * 1024 };

/**
 * Opens a file: reads its first line, whose cells are the header, and gives the rest in blocks, as many bytes at a time as `chunks` gives and the
 * consumer takes. `close` lets go of `chunks`, whether the blocks were read or not. UTF-8 with or without a byte order mark, lines as in `scan`. `what` names the file in messages.
 *
 * Throws `UnexpectedContent` for what makes the whole file unfit to be read: another encoding (UTF-16, Latin-1), a NUL byte, no header, lines
 * that end in CR alone, a quote that is never closed, a last line that is cut off (no line end where the others have one, and other cells
 * than the header). Throws `TooLarge` for a line beyond its limit, and whatever `chunks` throws.
 */
export const openCsv = async (
  what: string,
  chunks: AsyncIterable<Buffer>,
  limits: Partial<CsvLimits> = {},
) => {
  const reader = new CsvReader(what, { ...defaultLimits, ...limits });
  const blocks = reader.blocks(chunks);
  const close = async (): Promise<void> => void (await blocks.return());
  try {
    await blocks.next();
    return { header: reader.header, blocks, close };
  } catch (error) {
    await close();
    throw error;
  }
};

/** Gathers chunks of a file until they hold whole lines. */
class CsvReader {
  header: readonly string[] = [];
  readonly #what: string;
  readonly #limits: CsvLimits;
  #pieces: Buffer[] = [];
  #size = 0;
  /** Gathered bytes at which it is worth looking for whole lines; grows while a single line does not end. */
  #enough = 4;
  #isMarkRead = false;

  constructor(what: string, limits: CsvLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** The blocks; the first one, without lines, comes when the header has been read. */
  async *blocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Block, void, void> {
    for await (const chunk of chunks) {
      this.#pieces.push(chunk);
      this.#size += chunk.length;
      if (this.#size >= this.#enough) yield* this.#block(false);
    }
    yield* this.#block(true);
    if (!this.#isBegun) this.#fail('the CSV file is empty; it has not even a header');
  }

  *#block(isLast: boolean): Generator<Block, void, void> {
    const wasBegun = this.#isBegun;
    const lines = this.#lines(isLast);
    if (this.#isBegun && !wasBegun) yield { lines: [] };
    if (isLast) this.#checkEnd(lines.at(-1));
    if (lines.length > 0) yield { lines };
  }

  get #isBegun(): boolean {
    return this.header.length > 0;
  }

  /** The whole lines of what was gathered; the rest stays for the next time. */
  #lines(isLast: boolean): readonly Line[] {
    let raw =
      this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces, this.#size);
    if (!this.#isMarkRead) raw = this.#withoutMark(raw);
    const whole = raw.subarray(0, isLast ? raw.length : raw.lastIndexOf(0x0a) + 1);
    this.#checkText(whole);
    let text = whole.toString('utf8');
    if (!this.#isBegun) text = text.slice(this.#readHeader(text, isLast));
    const { lines, end } = this.#isBegun ? scan(text, isLast, this.header) : { lines: [], end: 0 };
    const rest = Buffer.byteLength(end === 0 ? text : text.slice(end));
    if (isLast && rest > 0)
      this.#fail('a quote is opened and never closed; the file breaks off or is damaged');
    this.#keep(raw.subarray(whole.length - rest));
    return lines;
  }

  #keep(rest: Buffer): void {
    const { lineBytes, blockBytes } = this.#limits;
    if (rest.length > lineBytes)
      throw new TooLarge(
        `${this.#what}: a line of more than ${lineBytes} bytes: a quote that is never closed, or no CSV file`,
      );
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    // Twice what did not do: else a long line would be looked at again with each chunk.
    this.#enough = this.#isBegun ? Math.max(blockBytes, 2 * rest.length) : 2 * rest.length;
  }

  /** How many characters the header takes; 0 where it is not complete yet. */
  #readHeader(text: string, isLast: boolean): number {
    const { lines, end } = scan(text, isLast, [], 1);
    const [line] = lines;
    if (line === undefined) return 0;
    const given = text.slice(0, end);
    if (/\r(?!\n|$)/.test(given) && !given.includes('"'))
      this.#fail('the lines end in CR alone; only LF and CRLF are read');
    if (line.why !== undefined) this.#fail(`the header cannot be read: ${line.why}`);
    this.header = cellsOf(line);
    return end;
  }

  #withoutMark(raw: Buffer): Buffer {
    this.#isMarkRead = true;
    if ((raw[0] === 0xff && raw[1] === 0xfe) || (raw[0] === 0xfe && raw[1] === 0xff))
      this.#fail('the file is UTF-16; only UTF-8 is read');
    return raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.subarray(3) : raw;
  }

  #checkText(raw: Buffer): void {
    if (raw.includes(0)) this.#fail('the file holds NUL bytes: it is no text, or UTF-16; only UTF-8 is read');
    if (!isUtf8(raw)) this.#fail('the file is not valid UTF-8');
  }

  /** A last line without its end may be cut off: then it has other cells than the header. */
  #checkEnd(line: Line | undefined): void {
    const isEnded = line === undefined || line.text.endsWith('\n');
    if (!isEnded && line.count !== this.header.length) this.#fail('the file breaks off in its last line');
  }

  #fail(why: string): never {
    throw new UnexpectedContent(`${this.#what}: ${why}`);
  }
}
