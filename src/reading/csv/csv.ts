/** A CSV file as it streams in: decoded, checked and cut into blocks of whole lines; never whole in memory. */

import { isUtf8 } from 'node:buffer';
import { TooLarge, UnexpectedContent } from '../../core/errors.ts';
import { type Line, scan } from './lines.ts';

/** Some lines of a file, in order. */
export interface Block {
  readonly lines: readonly Line[];
  /** Their bytes, exactly; the byte order mark and the header are not in it. */
  readonly raw: Buffer;
  /** Whether no other block follows. */
  readonly last: boolean;
}

export interface CsvLimits {
  /** Bytes of a block; a block is larger only where a single line is. */
  readonly blockBytes: number;
  /** Bytes of a line. */
  readonly lineBytes: number;
}

export interface CsvFile {
  /** The cells of the first line, as given. */
  readonly header: readonly string[];
  readonly blocks: AsyncGenerator<Block, void, void>;
  /** Lets go of `chunks`, whether the blocks were read or not. */
  close(): Promise<void>;
}

const defaultLimits: CsvLimits = { blockBytes: 32 * 1024, lineBytes: 4 * 1024 * 1024 };

/**
 * Opens a file: reads its first line and gives the rest in blocks, as many bytes at a time as `chunks` gives and the consumer takes. UTF-8
 * with or without a byte order mark, lines as in `scan`. `what` names the file in messages.
 *
 * Throws `UnexpectedContent` for what makes the whole file unfit to be read: another encoding (UTF-16, Latin-1), a NUL byte, no header, lines
 * that end in CR alone, a quote that is never closed, a last line that is cut off (no line end where the others have one, and other cells
 * than the header). Throws `TooLarge` for a line beyond its limit, and whatever `chunks` throws.
 */
export const openCsv = async (
  what: string,
  chunks: AsyncIterable<Buffer>,
  limits: Partial<CsvLimits> = {},
): Promise<CsvFile> => {
  const blocks = blocksOf(what, chunks, { ...defaultLimits, ...limits });
  try {
    const first = await blocks.next();
    const [header] = first.value?.lines ?? [];
    if (header === undefined)
      throw new UnexpectedContent(`${what}: the CSV file is empty; it has not even a header`);
    if (header.cells === undefined)
      throw new UnexpectedContent(`${what}: the header cannot be read: ${header.why}`);
    return {
      header: header.cells,
      blocks: withWidth(what, blocks, header.cells.length),
      close: async () => void (await blocks.return()),
    };
  } catch (error) {
    await blocks.return();
    throw error;
  }
};

/** The blocks behind the header; notices a last line that is cut off. */
async function* withWidth(
  what: string,
  blocks: AsyncGenerator<Block & { readonly ended: boolean }, void, void>,
  width: number,
): AsyncGenerator<Block, void, void> {
  for await (const { lines, raw, last, ended } of blocks) {
    const final = lines.at(-1);
    if (last && !ended && final !== undefined && final.cells?.length !== width)
      throw new UnexpectedContent(`${what}: the file breaks off in its last line`);
    yield { lines, raw, last };
  }
}

/** Blocks of whole lines; the first one is the header's line alone. `ended`: whether the block ends in LF. */
async function* blocksOf(
  what: string,
  chunks: AsyncIterable<Buffer>,
  limits: CsvLimits,
): AsyncGenerator<Block & { readonly ended: boolean }, void, void> {
  let pieces: Buffer[] = [];
  let size = 0;
  /** Gathered bytes at which it is worth looking for whole lines; grows while a single line does not end. */
  let enough = 4;
  let begun = false;
  let marked = false;

  const cut = (raw: Buffer, isLast: boolean): { block: Block | undefined; rest: Buffer } => {
    const text = raw.toString('utf8');
    const { lines, end } = scan(text, isLast);
    const bytes = end === text.length ? raw.length : Buffer.byteLength(text.slice(0, end));
    return {
      block: lines.length === 0 ? undefined : { lines, raw: raw.subarray(0, bytes), last: false },
      rest: raw.subarray(bytes),
    };
  };

  let waiting: (Block & { readonly ended: boolean }) | undefined;
  const take = function* (isLast: boolean): Generator<Block & { readonly ended: boolean }, void, void> {
    let raw = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, size);
    if (!marked) {
      raw = withoutMark(what, raw);
      marked = true;
    }
    const whole = isLast ? raw.length : raw.lastIndexOf(0x0a) + 1;
    let part = raw.subarray(0, whole);
    const behind = raw.subarray(whole);
    checkText(what, part);
    if (!begun && part.length > 0) {
      const header = headerEnd(what, part, isLast);
      if (header > 0) {
        begun = true;
        yield { ...linesOf(part.subarray(0, header)), last: false, ended: true };
        part = part.subarray(header);
      }
    }
    const { block, rest } = begun ? cut(part, isLast) : { block: undefined, rest: part };
    if (isLast && rest.length > 0)
      throw new UnexpectedContent(
        `${what}: a quote is opened and never closed; the file breaks off or is damaged`,
      );
    if (block !== undefined) {
      // One block is held back, so that the last one is known as such.
      if (waiting !== undefined) yield waiting;
      waiting = { ...block, ended: block.raw.at(-1) === 0x0a };
    }
    const left = rest.length === 0 ? behind : behind.length === 0 ? rest : Buffer.concat([rest, behind]);
    if (left.length > limits.lineBytes)
      throw new TooLarge(
        `${what}: a line of more than ${limits.lineBytes} bytes: a quote that is never closed, or no CSV file`,
      );
    pieces = left.length === 0 ? [] : [left];
    size = left.length;
    // Twice what did not do: else a long line would be looked at again with each chunk.
    enough = begun ? Math.max(limits.blockBytes, 2 * size) : 2 * size;
  };

  for await (const chunk of chunks) {
    pieces.push(chunk);
    size += chunk.length;
    if (size >= enough) yield* take(false);
  }
  yield* take(true);
  if (waiting !== undefined) yield { ...waiting, last: true };
}

const linesOf = (raw: Buffer): Pick<Block, 'lines' | 'raw'> => ({
  lines: scan(raw.toString('utf8'), true).lines,
  raw,
});

/** Bytes within which the header is looked for; what is longer is no CSV file. */
const mostHeader = 1024 * 1024;

/** Where the header's line ends (behind its LF); 0 where it is not complete yet. */
const headerEnd = (what: string, raw: Buffer, isLast: boolean): number => {
  const text = raw.toString('utf8', 0, mostHeader);
  const { lines, end } = scan(text, isLast && raw.length <= mostHeader, 1);
  if (lines.length === 0) return 0;
  const line = text.slice(0, end);
  if (/\r(?!\n|$)/.test(line) && !line.includes('"'))
    throw new UnexpectedContent(`${what}: the lines end in CR alone; only LF and CRLF are read`);
  return Buffer.byteLength(line);
};

const withoutMark = (what: string, raw: Buffer): Buffer => {
  if ((raw[0] === 0xff && raw[1] === 0xfe) || (raw[0] === 0xfe && raw[1] === 0xff))
    throw new UnexpectedContent(`${what}: the file is UTF-16; only UTF-8 is read`);
  return raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.subarray(3) : raw;
};

const checkText = (what: string, raw: Buffer): void => {
  if (raw.includes(0))
    throw new UnexpectedContent(
      `${what}: the file holds NUL bytes: it is no text, or UTF-16; only UTF-8 is read`,
    );
  if (!isUtf8(raw)) throw new UnexpectedContent(`${what}: the file is not valid UTF-8`);
};
