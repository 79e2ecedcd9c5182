/** The warehouse beside pictures of the ads platform, cell by cell. */

import { adsTables } from '../../src/connectors/spotify-ads/tables.ts';
import { parseJson } from '../../src/core/json.ts';
import type { ColumnType } from '../../src/core/table.ts';
import { type Cells, type Picture, type PictureOf, plain } from './ads-picture.ts';
import type { Rig } from './rig.ts';

type Rows = Rig['rows'];

const typesOf: ReadonlyMap<string, Readonly<Record<string, ColumnType>>> = new Map(
  adsTables.map(({ name, columns }) => [name, columns]),
);
const tombstoned: ReadonlySet<string> = new Set(
  adsTables.flatMap(({ name, entity }) => (entity ? [name] : [])),
);

/** A value of the warehouse as text; a number exactly, an instant in whole milliseconds. */
const cell = (value: unknown, type: ColumnType | undefined): string | null => {
  if (value === null || value === undefined) return null;
  if (type === 'timestamptz') return new Date(String(value)).toISOString();
  return type === 'numeric' ? plain(String(value)) : String(value);
};

/** The live rows of a table in these columns. */
export async function stored(
  rows: Rows,
  table: string,
  columns: readonly string[],
): Promise<readonly Cells[]> {
  const types = typesOf.get(table) ?? {};
  const found = await rows<{ row: string }>(
    `select to_jsonb(r)::text as row from (select ${columns.join(', ')} from ads.${table}
     where ${tombstoned.has(table) ? '_deleted_at is null' : 'true'}) r`,
  );
  return found.map(({ row }) => {
    const cells = parseJson(Buffer.from(row));
    return Object.fromEntries(
      columns.map((name) => [name, cell(Reflect.get(Object(cells), name), types[name])] as const),
    );
  });
}

const keyOf = (row: Cells, names: readonly string[]): string => names.map((name) => row[name]).join(' ');
const by = (rows: readonly Cells[], names: readonly string[]): ReadonlyMap<string, Cells> =>
  new Map(rows.map((row) => [keyOf(row, names), row]));

/** The columns that a picture knows of a table. */
const columnsOf = ({ table, key, rows }: PictureOf): readonly string[] =>
  Object.keys(rows[0] ?? emptyRow(table, key));
const emptyRow = (table: string, key: readonly string[]): Cells => {
  if (!typesOf.has(table)) throw new Error(`there is no table ads.${table}`);
  return Object.fromEntries(key.map((name) => [name, null]));
};

/** Rows of the warehouse that a picture does not speak of. */
export type Beside = (table: string, row: Cells) => boolean;

/** One line a difference between the warehouse and the picture; none means equal. */
export async function adsDifferences(
  rows: Rows,
  picture: Picture,
  beside: Beside = () => false,
): Promise<string[]> {
  const lines: string[] = [];
  for (const one of picture.values()) {
    const actual = by(await stored(rows, one.table, columnsOf(one)), one.key);
    const expected = by(one.rows, one.key);
    if (expected.size < one.rows.length) lines.push(`${one.table}: the picture has rows twice`);
    for (const [key, row] of expected) lines.push(...different(one.table, key, row, actual.get(key)));
    for (const [key, row] of actual)
      if (!expected.has(key) && !beside(one.table, row))
        lines.push(`${one.table} ${key}: should not be there`);
  }
  return lines;
}

function different(table: string, key: string, should: Cells, is: Cells | undefined): readonly string[] {
  if (is === undefined) return [`${table} ${key}: missing`];
  return Object.keys(should)
    .filter((name) => is[name] !== should[name])
    .map((name) => `${table} ${key}: ${name} is ${is[name]}, should be ${should[name]}`);
}

/**
 * One line for every part of the warehouse that is neither as it was nor as it is: a row of a list, a day (or hour, or capture) of a level of an
 * account, all that hangs on an ad set. `was`: undefined where there was nothing. Parts that went at the source may still be there.
 */
export async function adsHalves(
  rows: Rows,
  was: Picture | undefined,
  is: Picture,
  beside: Beside = () => false,
): Promise<string[]> {
  const lines: string[] = [];
  for (const [table, now] of is) {
    const before = was?.get(table);
    const { key, whole = key } = now;
    const columns = columnsOf(now.rows.length === 0 && before !== undefined ? before : now);
    const parts = (all: readonly Cells[]): ReadonlyMap<string, string> =>
      new Map(
        [...Map.groupBy(all, (row) => keyOf(row, whole))].map(
          ([part, some]) => [part, textOf(some, columns)] as const,
        ),
      );
    const old = parts(before?.rows ?? []);
    const young = parts(now.rows);
    const there = parts((await stored(rows, table, columns)).filter((row) => !beside(table, row)));
    for (const [part, text] of there)
      if (old.get(part) !== text && young.get(part) !== text)
        lines.push(`${table} ${part}: ${text.split('\n').length} rows, neither as it was nor as it is`);
    for (const part of old.keys())
      if (young.has(part) && !there.has(part)) lines.push(`${table} ${part}: was there and is not`);
  }
  return lines;
}

const textOf = (rows: readonly Cells[], columns: readonly string[]): string =>
  rows
    .map((row) => JSON.stringify(columns.map((name) => row[name])))
    .sort()
    .join('\n');
