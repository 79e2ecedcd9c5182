import type { Sink } from '../../../src/cli/terminal.ts';

/** A terminal that understands what the live display sends, and nothing else: an unknown sequence is an error. */
export interface Screen extends Sink {
  /** What a person sees now, scrolled-up lines included. */
  readonly lines: () => readonly string[];
  /** Everything that was written. */
  readonly raw: () => string;
}

/** `columns` wide; a longer line wraps, as on a real terminal. */
export function screen(columns = 80): Screen {
  const rows: string[] = [''];
  let row = 0;
  let column = 0;
  let raw = '';
  const put = (letter: string) => {
    if (column === columns) {
      row += 1;
      column = 0;
    }
    const line = (rows[row] ?? '').padEnd(column);
    rows[row] = line.slice(0, column) + letter + line.slice(column + 1);
    column += 1;
  };
  const sequences: Readonly<Record<string, (n: number) => void>> = {
    A: (n) => {
      row = Math.max(0, row - n);
    },
    J: () => {
      rows[row] = (rows[row] ?? '').slice(0, column);
      rows.length = row + 1;
    },
    K: () => {
      rows[row] = '';
    },
    m: () => undefined,
  };
  const write = (text: string) => {
    raw += text;
    for (let at = 0; at < text.length; ) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal reads
      const found = /^\x1b\[(\d*)([A-Za-z])/.exec(text.slice(at));
      if (found) {
        const act = sequences[found[2] ?? ''];
        if (act === undefined) throw new Error(`the screen does not know ${JSON.stringify(found[0])}`);
        act(Number(found[1] || 1));
        at += found[0].length;
        continue;
      }
      const letter = text[at] ?? '';
      if (letter === '\n') {
        row += 1;
        column = 0;
        rows[row] ??= '';
      } else if (letter === '\r') column = 0;
      else put(letter);
      at += 1;
    }
  };
  return {
    write,
    line: (text = '') => write(`${text}\n`),
    paint: (_, text) => text,
    live: true,
    columns,
    flush: async () => undefined,
    lines: () => rows.map((line) => line.trimEnd()).filter((line) => line !== ''),
    raw: () => raw,
  };
}
