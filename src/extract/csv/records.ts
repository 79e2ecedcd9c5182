/** Records out of the lines of a CSV file: cells by the names in its header. */

import { UnexpectedContent } from '../../core/errors.ts';
import { type Line, Unreadable } from './lines.ts';

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
 * The columns of a file by their meaning, with the place of each. Throws `UnexpectedContent` where a column has no name or two have the same
 * one: which of them is meant could only be guessed.
 */
export const columnsOf = (what: string, header: readonly string[]): ReadonlyMap<string, number> => {
  const columns = new Map<string, number>();
  header.forEach((given, place) => {
    const name = columnName(given);
    if (name === '') throw new UnexpectedContent(`${what}: column ${place + 1} of the CSV file has no name`);
    if (columns.has(name))
      throw new UnexpectedContent(`${what}: the CSV file has two columns ${JSON.stringify(given.slice(0, 60))}`);
    columns.set(name, place);
  });
  return columns;
};

/** Makes records; each has all columns, in the header's order. The names of the header differ. */
export const recordsBy = (header: readonly string[]): ((line: Line) => CsvRecord) => {
  // All records are copies of one that has its columns already: cheaper than adding them one by one, and `__proto__` is one like any other.
  const empty: Record<string, string | number> = JSON.parse(
    `{${header.map((name) => `${JSON.stringify(name)}:""`).join(',')}}`,
  );
  const width = header.length;
  return (line) => {
    if (line instanceof Unreadable) return { [RAGGED]: line.why };
    if (line.length !== width) return { [RAGGED]: line.length };
    const record = { ...empty };
    for (let place = 0; place < width; place++) record[header[place] ?? ''] = line[place] ?? '';
    return record;
  };
};
