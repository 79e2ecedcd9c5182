/** Views as Parquet files, which are written row group by row group. */
import path from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { ClientBase } from 'pg';
import { makeDirectory } from '../core/make-directory.ts';
import { decimalOf, type Encoding, encodingOf, type ParquetValue } from './parquet-types.ts';
import { dayOf, type Writing, type Written } from './views.ts';

/** Values as Postgres writes them. */
type TextRow = readonly (string | null)[];

/** A column with the values that are held of it, and the sum of all. */
interface ParquetColumn {
  readonly name: string;
  readonly encoding: Encoding;
  held: (ParquetValue | null)[];
  sum: bigint;
}

/** Rows without a day. */
const noMonth = 'month=__HIVE_DEFAULT_PARTITION__';

/**
 * A view with `date_day` gets a file for each month (`month=2026-01`, as Hive names partitions), another view one file. A file for each day
 * would make thousands of a few kilobytes.
 */
export async function writeParquet(writing: Writing): Promise<Written> {
  const { client, view, where, signal } = writing;
  const encodings = view.columns.map(({ name, type }) => ({ name, encoding: encodingOf(type) }));
  const columns = encodings.map((one): ParquetColumn => ({ ...one, held: [], sum: 0n }));
  const hasMonths = dayOf(view) === 'date_day';
  const month = hasMonths ? `coalesce('month=' || to_char(date_day, 'YYYY-MM'), '${noMonth}')` : `''`;
  const list = view.columns.map(({ id }, at) => columns[at]?.encoding.select(id));
  const order = hasMonths ? ' order by date_day' : '';
  const files: ParquetFile[] = [];
  const begin = (part: string): ParquetFile => {
    files.at(-1)?.close();
    const file = new ParquetFile(writing, part, columns);
    files.push(file);
    return file;
  };
  let file: ParquetFile | undefined;
  const select = `select ${[...list, month].join(', ')} from ${view.id}${where}${order}`;
  for await (const rows of fetched(client, select, signal))
    for (const row of rows) {
      const part = row.at(-1) ?? '';
      if (file?.part !== part) file = begin(part);
      file.add(row);
    }
  // A view without rows has its columns all the same.
  (file ?? begin(hasMonths ? noMonth : '')).close();
  const sums = columns.flatMap(({ name, sum, encoding: { scale } }) =>
    scale === undefined ? [] : [[name, { sum: decimalOf(sum, scale) }] as const],
  );
  return { files: files.map(({ path, rows }) => ({ path, rows })), sums: new Map(sums) };
}

/** So many rows at once: a description may have 32,000 characters. */
const fetchRows = 2_000;
const asText = { getTypeParser: () => String };

async function* fetched(client: ClientBase, select: string, signal?: AbortSignal) {
  await client.query(`declare exported no scroll cursor for ${select}`);
  for (;;) {
    signal?.throwIfAborted();
    const fetch = { text: `fetch ${fetchRows} from exported`, rowMode: 'array', types: asText } as const;
    const { rows } = await client.query<(string | null)[]>(fetch);
    if (rows.length === 0) break;
    yield rows;
  }
  await client.query('close exported');
}

/** A row group ends at so many rows, or at about so many bytes of values: this bounds the memory. */
const groupRows = 100_000;
const groupBytes = 32_000_000;
/** What a value takes besides its characters. */
const valueBytes = 16;

/** A file that is compressed by zstd. */
class ParquetFile {
  rows = 0;
  /** The folder within that of the view, or nothing. */
  readonly part: string;
  /** Below the folder of the export. */
  readonly path: string;
  readonly #columns: readonly ParquetColumn[];
  readonly #writer: ParquetWriter;
  #held = 0;
  #bytes = 0;

  constructor({ folder, view, version }: Writing, part: string, columns: readonly ParquetColumn[]) {
    this.part = part;
    this.path = path.posix.join(view.name, part, 'data.parquet');
    this.#columns = columns;
    makeDirectory(path.join(folder, view.name, part));
    this.#writer = new ParquetWriter({
      writer: fileWriter(path.join(folder, this.path)),
      createdBy: `tidemark ${version}`,
      codec: 'ZSTD',
      compressors: { ZSTD: zstdCompressSync },
      schema: schemaOf(columns),
    });
  }

  add(row: TextRow): void {
    this.#columns.forEach((column, at) => {
      const text = row[at] ?? null;
      const value = text === null ? null : column.encoding.parse(text);
      column.held.push(value);
      if (column.encoding.scale !== undefined && typeof value === 'bigint') column.sum += value;
      this.#bytes += valueBytes + (text?.length ?? 0);
    });
    this.rows += 1;
    this.#held += 1;
    if (this.#held === groupRows || this.#bytes >= groupBytes) this.#writeGroup();
  }

  /** Writes what is held, and the end of the file. */
  close(): void {
    if (this.#held > 0) this.#writeGroup();
    this.#writer.finish();
  }

  #writeGroup(): void {
    const columnData = this.#columns.map(({ name, held }) => ({ name, data: held }));
    this.#writer.write({ columnData, rowGroupSize: groupRows });
    for (const column of this.#columns) column.held = [];
    this.#held = 0;
    this.#bytes = 0;
  }
}

const schemaOf = (columns: readonly ParquetColumn[]): SchemaElement[] => [
  { name: 'root', num_children: columns.length },
  ...columns.map(({ name, encoding }) => ({
    name,
    repetition_type: 'OPTIONAL' as const,
    ...encoding.element,
  })),
];
