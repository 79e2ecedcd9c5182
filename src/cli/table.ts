/** Tables for people: aligned columns, numbers to the right, fitted to the terminal; plain lines when piped. */
import type { Sink, Style } from './terminal.ts';
import { clip, count, escaped, width } from './text.ts';

/** One cell: numbers get thousands separators and stand to the right, null is a dash. Text is escaped here, so callers never need to. */
export type Cell = string | number | null | { readonly text: string; readonly style: Style };

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** May be cut with an ellipsis when the terminal is too narrow; the later such column is cut last. */
  readonly flexible?: boolean;
}

/** The lines of a table, header first, without trailing blanks. `columns` limits the width; undefined cuts nothing. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  sink: Pick<Sink, 'paint' | 'columns'>,
): readonly string[] {
  const texts = rows.map((row) => columns.map((_, at) => textOf(row[at] ?? null)));
  const right = columns.map((column, at) => (column.align ?? guess(rows, at)) === 'right');
  const widths = shrunk(
    columns.map((column, at) => Math.max(width(column.title), ...texts.map((row) => width(row[at] ?? '')))),
    columns.map((column) => column.flexible === true),
    sink.columns,
  );
  const line = (cells: readonly string[], paint: (text: string, at: number) => string): string =>
    cells
      .map((text, at) => {
        const cut = clip(text, widths[at] ?? 0);
        const blank = ' '.repeat(Math.max(0, (widths[at] ?? 0) - width(cut)));
        return right[at] ? blank + paint(cut, at) : paint(cut, at) + blank;
      })
      .join(gap)
      .trimEnd();
  return [
    line(
      columns.map((column) => column.title),
      (text) => sink.paint('dim', text),
    ),
    ...texts.map((cells, row) => line(cells, (text, at) => styled(rows[row]?.[at], text, sink))),
  ];
}

/** Two columns of names and values. */
export const facts = (
  pairs: readonly (readonly [string, Cell])[],
  sink: Pick<Sink, 'paint' | 'columns'>,
): readonly string[] => {
  const widest = Math.max(0, ...pairs.map(([name]) => width(name)));
  return pairs.map(
    ([name, value]) => `${sink.paint('dim', name.padEnd(widest))}  ${styled(value, textOf(value), sink)}`,
  );
};

const gap = '  ';
const narrowest = 8;

const textOf = (cell: Cell): string => {
  if (cell === null) return '–';
  if (typeof cell === 'number') return count(cell);
  return escaped(typeof cell === 'string' ? cell : cell.text);
};

const styled = (cell: Cell | undefined, text: string, sink: Pick<Sink, 'paint'>): string =>
  typeof cell === 'object' && cell !== null ? sink.paint(cell.style, text) : text;

const guess = (rows: readonly (readonly Cell[])[], at: number): 'left' | 'right' =>
  rows.some((row) => typeof row[at] === 'number') ? 'right' : 'left';

/** Takes columns off the widest flexible one until the line fits; gives up rather than cut below a readable width. */
function shrunk(
  widths: readonly number[],
  flexible: readonly boolean[],
  limit: number | undefined,
): readonly number[] {
  if (limit === undefined) return widths;
  const fitted = [...widths];
  const total = () => fitted.reduce((sum, each) => sum + each, 0) + gap.length * (fitted.length - 1);
  while (total() > limit) {
    let widest = -1;
    fitted.forEach((each, at) => {
      if (flexible[at] && each > narrowest && each >= (fitted[widest] ?? 0)) widest = at;
    });
    if (widest < 0) break;
    fitted[widest] = Math.max(narrowest, (fitted[widest] ?? 0) - Math.max(1, Math.min(total() - limit, 4)));
  }
  return fitted;
}
