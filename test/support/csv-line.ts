import { cellsOf, type Line, scan } from '../../src/reading/csv/lines.ts';

/** The line of a CSV file with these cells, by the names in its header. */
export const csvLine = (cells: Readonly<Record<string, string>>): Line =>
  lineOf(
    Object.values(cells)
      .map((cell) => `"${cell.replaceAll('"', '""')}"`)
      .join(','),
    Object.keys(cells),
  );

/** The first line of a text. */
export const lineOf = (text: string, header: readonly string[]): Line => {
  const [line] = scan(text, true, header).lines;
  if (line === undefined) throw new Error('the text has no line');
  return line;
};

/** The cells of a record, by the names in its header. */
export const byHeader = (record: unknown): Readonly<Record<string, string>> => {
  const cells = cellsOf(record as Line);
  return Object.fromEntries((record as Line).header.map((name, index) => [name, cells[index] ?? '']));
};
