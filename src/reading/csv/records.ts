/** Records out of the lines of a CSV file: cells by the names in its header. */

import { UnexpectedContent } from '../../core/errors.ts';
import { RawRecord, type Shape } from '../../core/raw-record.ts';
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
      throw new UnexpectedContent(
        `${what}: the CSV file has two columns ${JSON.stringify(given.slice(0, 60))}`,
      );
    columns.set(name, place);
  });
  return columns;
};

/** The shape of a file's rows: a cell a column, each under its name in the header, which must differ. */
class CsvShape implements Shape {
  readonly notation = 'csv';
  readonly size: number;
  readonly sample: CsvRecord;
  readonly #header: readonly string[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(header: readonly string[]) {
    this.size = header.length;
    this.#header = header;
    this.#places = new Map(header.map((name, place) => [name, place]));
    // From text: an object that is put together of that many columns would be a hash table, and `__proto__` is one like any other.
    this.sample = JSON.parse(`{${header.map((name) => `${JSON.stringify(name)}:""`).join(',')}}`);
  }

  place(...[name, ...below]: readonly (string | number)[]): number | undefined {
    return below.length === 0 && typeof name === 'string' ? this.#places.get(name) : undefined;
  }

  parse(record: RawRecord): CsvRecord {
    const cells: Record<string, string | number> = { ...this.sample };
    for (let place = 0; place < this.size; place++)
      cells[this.#header[place] ?? ''] = record.text(place) ?? '';
    return cells;
  }
}

/** Makes records: of a line with as many cells as the header a `RawRecord` (a `CsvRecord` in its bytes), of others one that says what is wrong. */
export const recordsBy = (header: readonly string[]): ((line: Line) => RawRecord | CsvRecord) => {
  const shape = new CsvShape(header);
  return (line) => {
    if (line instanceof Unreadable) return { [RAGGED]: line.why };
    if (line.length !== header.length) return { [RAGGED]: line.length };
    return new RawRecord(shape, line.bytes, line.spans, line.first, line.from, line.to);
  };
};
