/**
 * Text with U+0000 or half of a surrogate pair, which Postgres cannot hold, is stored with U+FFFD in its place. The exact value is
 * kept in `_extra` under `_exact_text`, by column, as the JSON text of the value: `JSON.parse` gives it back.
 */

import { BadData } from '../core/errors.ts';
import { storableJson, storableText } from '../core/json.ts';
import type { Mapped, Stream } from '../core/stream.ts';
import type { ColumnType, Row, Table, Value } from '../core/table.ts';

/** Rows of lists that were fetched apart from their record, by child. */
export type TailRows = Readonly<Record<string, readonly Row[]>>;

/** Exact values as JSON text, by column. */
type Exact = Record<string, string>;

/**
 * The rows of a record with text that Postgres can hold, and a note for each column that was changed. Rows of a child without `_extra`
 * keep their exact text in that of the record. Key columns stay as they are: the encoder rejects them. Throws `BadData` where no
 * `_extra` can keep the exact text.
 */
export function withStorableText(
  stream: Pick<Stream, 'table' | 'children'>,
  mapped: Mapped,
  tails: TailRows = {},
): { readonly mapped: Mapped; readonly tails: TailRows } {
  const notes = new Set(mapped.notes);
  const ofRecord: Exact = {};
  const canKeep = hasExtra(stream.table);
  const mend = (table: Table, row: Row, path?: string): Row => {
    const exact: Exact = {};
    const stored = storableRow(table, row, exact);
    for (const [column, text] of Object.entries(exact)) {
      const name = `${table.name}.${column}`;
      notes.add(`${name}: NUL or half of a surrogate pair is stored as U+FFFD, exact text in _extra`);
      if (hasExtra(table)) continue;
      if (path === undefined || !canKeep)
        throw new BadData('bad_text', `${name}: NUL or half of a surrogate pair`, { field: column });
      ofRecord[`${path}.${column}`] = text;
    }
    return hasExtra(table) ? withExactText(stored, exact) : stored;
  };
  const mendAll = (rows: TailRows, inRecord: boolean): TailRows => {
    const mended = Object.entries(rows).map(([name, list]) => {
      const table = stream.children?.[name]?.table;
      const mendOne = (row: Row, at: number): Row =>
        table === undefined ? row : mend(table, row, inRecord ? `${name}[${at}]` : undefined);
      return [name, list.map(mendOne)] as const;
    });
    return Object.fromEntries(mended);
  };
  const children = mendAll(mapped.children, true);
  const row = withExactText(mend(stream.table, mapped.row), ofRecord);
  const mendedTails = mendAll(tails, false);
  return { mapped: { ...mapped, row, children, notes: [...notes] }, tails: mendedTails };
}

const hasExtra = (table: Table): boolean => '_extra' in table.columns;

function storableRow(table: Table, row: Row, exact: Exact): Row {
  const stored: Record<string, Value> = { ...row };
  for (const [column, type] of Object.entries<ColumnType>(table.columns)) {
    const value = row[column] ?? null;
    const mended = storableValue(type, value);
    if (mended === value || table.key.includes(column)) continue;
    stored[column] = mended;
    exact[column] = type === 'json' || type === 'jsonb' ? String(value) : JSON.stringify(value);
  }
  return stored;
}

/** The value itself where it can be stored. */
function storableValue(type: ColumnType, value: Value): Value {
  if (typeof value === 'string') {
    if (type === 'text') return storableText(value);
    return type === 'json' || type === 'jsonb' ? storableJson(value) : value;
  }
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
