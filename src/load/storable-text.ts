/**
 * Text with U+0000 or half of a surrogate pair, which Postgres cannot hold, is stored with U+FFFD in its
 * place. The exact value is kept in `_extra` under `_exact_text`, by column, as the JSON text of the value:
 * `JSON.parse` gives it back.
 */

import { BadData } from '../core/errors.ts';
import { storableJson, storableText } from '../core/json.ts';
import type { Mapped, Stream } from '../core/stream.ts';
import type { ColumnType, Row, Table, Value } from '../core/table.ts';

/** Rows of lists that were fetched apart from their record, by child. */
export type NestedRows = Readonly<Record<string, readonly Row[]>>;

/** Exact values as JSON text, by column. */
type Exact = Record<string, string>;

const unstorable = 'NUL or half of a surrogate pair';

/**
 * The rows of a record with text that Postgres can hold, and a note for each column that was changed. Rows of
 * a child without `_extra` keep their exact text in that of the record. Key columns stay as they are: the
 * encoder rejects them. Throws `BadData` where no `_extra` can keep the exact text.
 */
export function withStorableText(
  { table, children = {} }: Pick<Stream, 'table' | 'children'>,
  mapped: Mapped,
  nested: NestedRows = {},
): { readonly mapped: Mapped; readonly nested: NestedRows } {
  const notes = new Set(mapped.notes);
  const ofRecord: Exact = {};
  /** `prefix`: the row's name in the `_extra` of the record, where that may keep its exact text. */
  const mend = (of: Table, row: Row, prefix: string | undefined): Row => {
    const [stored, exact] = storableRow(of, row);
    const keepsOwn = hasExtra(of) && prefix !== '';
    for (const [column, text] of Object.entries(exact)) {
      const name = `${of.name}.${column}`;
      notes.add(`${name}: ${unstorable} is stored as U+FFFD, exact text in _extra`);
      if (keepsOwn) continue;
      if (prefix === undefined || !hasExtra(table))
        throw new BadData('bad_text', `${name}: ${unstorable}`, { field: column });
      ofRecord[prefix + column] = text;
    }
    return keepsOwn ? withExactText(stored, exact) : stored;
  };
  const mendAll = (lists: NestedRows, isOfRecord: boolean): NestedRows => {
    const mended: Record<string, readonly Row[]> = { ...lists };
    for (const [name, { table: of }] of Object.entries(children)) {
      const prefix = (at: number) => (isOfRecord ? `${name}[${at}].` : undefined);
      if (lists[name]) mended[name] = lists[name].map((row, at) => mend(of, row, prefix(at)));
    }
    return mended;
  };
  const own = mend(table, mapped.row, '');
  const ofMapped = mendAll(mapped.children, true);
  const ofNested = mendAll(nested, false);
  const row = withExactText(own, ofRecord);
  return { mapped: { ...mapped, row, children: ofMapped, notes: [...notes] }, nested: ofNested };
}

const hasExtra = (table: Table): boolean => '_extra' in table.columns;

/** The row with storable text, and the exact values of the columns that were changed. */
function storableRow(table: Table, row: Row): readonly [Row, Exact] {
  const stored: Record<string, Value> = { ...row };
  const exact: Exact = {};
  for (const [column, type] of Object.entries<ColumnType>(table.columns)) {
    const value = row[column] ?? null;
    const mended = storableValue(type, value);
    if (mended === value || table.key.includes(column)) continue;
    stored[column] = mended;
    exact[column] = type === 'json' || type === 'jsonb' ? String(value) : JSON.stringify(value);
  }
  return [stored, exact];
}

/** The value itself where it can be stored. */
function storableValue(type: ColumnType, value: Value): Value {
  if (typeof value === 'string' && type === 'text') return storableText(value);
  if (typeof value === 'string' && type.startsWith('json')) return storableJson(value);
  if (!Array.isArray(value)) return value;
  const items = value.map(storableText);
  return items.some((item, at) => item !== value[at]) ? items : value;
}

function withExactText(row: Row, exact: Exact): Row {
  if (Object.keys(exact).length === 0) return row;
  const extra = typeof row._extra === 'string' ? row._extra : '{}';
  const before = extra === '{}' ? '{' : `${extra.slice(0, -1)},`;
  return { ...row, _extra: `${before}"_exact_text":${JSON.stringify(exact)}}` };
}
