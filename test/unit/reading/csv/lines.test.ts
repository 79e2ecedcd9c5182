import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UnexpectedContent } from '../../../../src/core/errors.ts';
import { type Block, type CsvLimits, openCsv } from '../../../../src/reading/csv/csv.ts';
import { cellsOf, type Line } from '../../../../src/reading/csv/lines.ts';

/** The bytes in pieces of these sizes, the last size again and again. */
async function* pieces(bytes: Buffer, ...sizes: readonly number[]): AsyncGenerator<Buffer, void, void> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[Math.min(n, sizes.length - 1)] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

interface Whole {
  readonly header: readonly string[];
  readonly blocks: readonly Block[];
}

const read = async (
  text: string | Buffer,
  limits: Partial<CsvLimits> = {},
  ...sizes: number[]
): Promise<Whole> => {
  const file = await openCsv('file', pieces(Buffer.from(text), ...sizes), limits);
  const blocks: Block[] = [];
  for await (const block of file.blocks) blocks.push(block);
  return { header: file.header, blocks };
};

const linesOf = ({ blocks }: Whole): readonly Line[] => blocks.flatMap(({ lines }) => lines);
const textOf = ({ text, from, to }: Line): string => text.slice(from, to);
const cells = async (text: string | Buffer): Promise<readonly (readonly string[] | string)[]> =>
  linesOf(await read(text)).map((line) => line.why ?? cellsOf(line));

/** Any table of text, written in any dialect that is read, cut into pieces anywhere. */
const table = fc
  .record({
    width: fc.integer({ min: 1, max: 6 }),
    rows: fc.integer({ min: 0, max: 12 }),
    end: fc.constantFrom('\n', '\r\n'),
    mark: fc.boolean(),
    ended: fc.boolean(),
    quotes: fc.constantFrom('needed', 'all'),
    chunk: fc.integer({ min: 1, max: 40 }),
    blockBytes: fc.integer({ min: 1, max: 200 }),
  })
  .chain((dialect) => {
    const cell = fc.oneof(
      fc.string({
        unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'ü', '💶', "'", ';', '\t', '0'),
        maxLength: 8,
      }),
      fc
        .string({ unit: 'binary', maxLength: 8 })
        .filter((text) => !text.includes('\0') && text.isWellFormed()),
    );
    return fc.record({
      dialect: fc.constant(dialect),
      rows: fc.array(fc.array(cell, { minLength: dialect.width, maxLength: dialect.width }), {
        minLength: dialect.rows,
        maxLength: dialect.rows,
      }),
    });
  });

const written = (cell: string, quotes: string): string =>
  quotes === 'all' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

test('any table, written in any dialect and cut anywhere, is read as the same cells', async () => {
  await fc.assert(
    fc.asyncProperty(table, async ({ dialect, rows }) => {
      const { width, end, quotes, mark, ended, chunk, blockBytes } = dialect;
      const header = Array.from({ length: width }, (_, n) => `c${n}`);
      const lines = [header, ...rows].map((row) => row.map((cell) => written(cell, quotes)).join(','));
      const last = rows.at(-1);
      // A last line that is empty and not ended is no line.
      const mustEnd = last !== undefined && lines.at(-1) === '';
      const text = `${mark ? '\ufeff' : ''}${lines.join(end)}${ended || mustEnd ? end : ''}`;
      const whole = await read(text, { blockBytes }, chunk);
      expect(whole.header).toEqual(header);
      expect(linesOf(whole).map(cellsOf)).toEqual(rows);
      expect(linesOf(whole).every((line) => line.header === whole.header)).toBe(true);
      // Each line has its exact text.
      expect(linesOf(whole).map(textOf)).toEqual(lines.slice(1));
    }),
    { numRuns: 60 },
  );
});

describe('a CSV file', () => {
  test('a byte order mark, CRLF, quotes, quotes written twice, embedded line ends and commas are read exactly', async () => {
    const text = '\ufeffa,b\r\n"1,5","say ""hi"""\r\n"two\nlines","two\r\nlines"\r\n"lone\rreturn",x\r\n';
    expect(await cells(text)).toEqual([
      ['1,5', 'say "hi"'],
      ['two\nlines', 'two\r\nlines'],
      ['lone\rreturn', 'x'],
    ]);
  });

  test('a byte order mark in pieces is no part of the first name', async () => {
    expect((await read('\ufeffa,b\n1,2\n', {}, 1)).header).toEqual(['a', 'b']);
  });

  test('the last line may have no end, and a file no lines', async () => {
    expect(await cells('a,b\n1,2')).toEqual([['1', '2']]);
    expect(await cells('a,b\n')).toEqual([]);
    expect(await cells('a,b')).toEqual([]);
  });

  test.each([
    ['a quote within a cell', 'a,b\n5" disc,1\n2,3\n', 'a quote is within'],
    ['text after a closing quote', 'a,b\n"x"y,1\n2,3\n', 'text follows'],
    ['a lone carriage return', 'a,b\nx\ry,1\n2,3\n', 'a carriage return is'],
    ['a lone carriage return beside quotes', 'a,b\n"z",x\ry\n2,3\n', 'a carriage return is'],
  ])('%s makes its line unreadable, and only that', async (_, text, why) => {
    expect(await cells(text)).toEqual([expect.stringContaining(why), ['2', '3']]);
    expect(linesOf(await read(text)).map(textOf)[0]).toBe(text.split('\n')[1]);
  });

  test.each([
    ['UTF-16 with a mark', Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'), 'UTF-16'],
    ['UTF-16 without a mark', Buffer.from('a,b\n1,2\n', 'utf16le'), 'NUL'],
    ['Latin-1', Buffer.from('a,b\nM\xfcnchen,2\n', 'latin1'), 'not valid UTF-8'],
    ['a NUL', Buffer.from('a,b\n1,\0\n'), 'NUL'],
    ['lines that end in CR alone', Buffer.from('a,b\r1,2\r'), 'CR alone'],
    ['a quote that is never closed', Buffer.from('a,b\n1,2\n"3,4\n5,6\n'), 'never closed'],
    ['a quote that is never closed in the header', Buffer.from('a,"b\n1,2\n'), 'never closed'],
    ['nothing', Buffer.from(''), 'empty'],
    ['a mark alone', Buffer.from('\ufeff'), 'empty'],
    ['a last line that breaks off', Buffer.from('a,b,c\n1,2,3\n4,5'), 'breaks off'],
    ['an unreadable last line that breaks off', Buffer.from('a,b\n1,2\n"3"4'), 'breaks off'],
  ])('%s: the whole file is refused, with its class', async (_, bytes, message) => {
    for (const size of [1, 3, 1000]) {
      const refused = read(bytes, {}, size);
      await expect(refused).rejects.toThrow(message);
      await expect(refused).rejects.toBeInstanceOf(UnexpectedContent);
    }
  });

  test('a line beyond its limit is refused before it fills the memory', async () => {
    const endless = async function* (): AsyncGenerator<Buffer, void, void> {
      yield Buffer.from('a,b\n"');
      for (;;) yield Buffer.alloc(64 * 1024, 'x');
    };
    const file = await openCsv('file', endless(), { lineBytes: 1024 * 1024 });
    await expect(file.blocks.next()).rejects.toMatchObject({ code: 'page_too_large' });
  });
});

test('a line with too few or too many cells keeps their number', async () => {
  const lines = linesOf(await read('a,b\n1,2\n3\n4,5,6\n"x"y,7\n'));
  expect(lines.map(({ count }) => count)).toEqual([2, 1, 3, 0]);
});

test('leaving a file early, read or not, ends what it comes from', async () => {
  for (const readOne of [false, true]) {
    let ended = false;
    const chunks = async function* (): AsyncGenerator<Buffer, void, void> {
      try {
        for (;;) yield Buffer.from('a,b\n1,2\n');
      } finally {
        ended = true;
      }
    };
    const file = await openCsv('file', chunks(), { blockBytes: 10 });
    if (readOne) await file.blocks.next();
    await file.close();
    expect(ended).toBe(true);
  }
});
