/** Records out of the lines of a CSV file: cells by the names in its header. */

import { UnexpectedContent } from '../../core/errors.ts';
import type { Line } from './lines.ts';

/**
 * The only key of a record whose line has not as many cells as the header (its value: how many it has), or cannot be read at all (its
 * value: why). No cell of such a line is put under a name.
 */
export const RAGGED = '#ragged';

/** { header as given: cell as text }, or { '#ragged': number of cells, or why }. */
export type CsvRecord = Readonly<Record<string, string | number>>;

/** What a header means apart from its spelling: `Impressions on Spotify` and `impressions_on_spotify` are the same column. */
export const columnName = (header: string): string =>
  header
    .trim()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .toUpperCase();

/**
 * The columns of a file by their meaning, with the index of each. Throws `UnexpectedContent` where a column has no name or two have the same
 * one: which of them is meant could only be guessed.
 */
export const columnsOf = (what: string, header: readonly string[]): ReadonlyMap<string, number> => {
  const columns = new Map<string, number>();
  header.forEach((given, index) => {
    const name = columnName(given);
    if (name === '') throw new UnexpectedContent(`${what}: column ${index + 1} of the CSV file has no name`);
    if (columns.has(name))
      throw new UnexpectedContent(
        `${what}: the CSV file has two columns ${JSON.stringify(given.slice(0, 60))}`,
      );
    columns.set(name, index);
  });
  return columns;
};

/** Makes records of lines; of a line that is no row, one that says what is wrong. */
export const recordsBy = (header: readonly string[]): ((line: Line) => CsvRecord) => {
  // From JSON text: copies of such an object are cheap, and `__proto__` is a key like any other.
  const sample: Record<string, string> = JSON.parse(
    `{${header.map((name) => `${JSON.stringify(name)}:""`).join(',')}}`,
  );
  return ({ cells, why }) => {
    if (cells === undefined) return { [RAGGED]: why };
    if (cells.length !== header.length) return { [RAGGED]: cells.length };
    const record = { ...sample };
    for (let index = 0; index < cells.length; index++) record[header[index] ?? ''] = cells[index] ?? '';
    return record;
  };
};
