/** Columns that are read in the platform's own ways, and its entities: see `core/record-table.ts`. */

import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own, type Reading } from '../../core/record.ts';
import { kind, type RecordTableOptions, type readerOf, readInto, records } from '../../core/record-table.ts';
import * as values from '../../core/record-values.ts';
import type { Json, LoadSide, Mapped } from '../../core/stream.ts';
import * as core from '../../core/table.ts';
import { fromMicros, writtenNumber } from './numbers.ts';

/**
 * Micro-amounts of the source as units of the currency: a JSON number, or a whole one as text (64-bit numbers are often sent so).
 * What is no number, is too large or finer than a millionth rejects the record: money is not guessed.
 */
export const micros = kind(core.money, (r: Reading, holder: JsonObject, name: string, path: string) => {
  const value = own(holder, name);
  if (value === undefined || value === null) return null;
  const given = typeof value === 'string' ? writtenNumber(value, 'count') : value;
  if (given === null) return null;
  if (typeof given !== 'string' && typeof given !== 'number' && !(given instanceof ExactNumber))
    throw r.reject('bad_amount', path, 'has a % that is no plain number');
  try {
    return fromMicros(given);
  } catch (error) {
    throw r.because(error, path);
  }
});

/**
 * The rows of a list of objects in a record: what `read` makes of each beside `given`. One that cannot be read is rejected by itself. What it
 * keeps lands in the record's `_extra`.
 */
export const rowsOf = (
  r: Reading,
  record: JsonObject,
  { child, list, read }: { child: string; list: string; read: ReturnType<typeof readerOf> },
  given: (index: number) => core.Row,
): readonly core.Row[] => {
  const row = (each: Json, index: number) => {
    const at = r.element(list, index);
    if (!isObject(each)) throw at.reject('bad_type', '', 'has a % that is no object');
    return [{ ...given(index), ...read(at, each) }];
  };
  return r.parts(child, values.list(r, record, list), row, given);
};

/** One kind of record: its table, the tables of its parts, and the transform that fills them. */
export interface Entity extends Pick<LoadSide, 'children' | 'transform'> {
  readonly table: core.DeclaredTable;
}

interface EntityOptions extends Pick<Entity, 'children'>, RecordTableOptions {
  readonly parts?: (r: Reading, record: JsonObject, id: string) => Omit<Mapped, 'row'>;
}

/**
 * Declares an entity, a table of schema `ads`. The transform throws `BadData` for a record without its id or with a value
 * that cannot be stored exactly; everything else of a record may be missing. The vendor adds fields at any time: they are
 * kept and noted.
 */
export const entity = (
  name: string,
  about: string,
  columns: core.Columns,
  { children, parts, ...options }: EntityOptions = {},
): Entity => {
  const table = records(`ads.${name}`, about, columns, { noted: true, ...options });
  const more = parts && ((r: Reading, record: JsonObject, { id }: core.Row) => parts(r, record, String(id)));
  return { table, ...(children && { children }), transform: readInto(table, {}, more).transform };
};
