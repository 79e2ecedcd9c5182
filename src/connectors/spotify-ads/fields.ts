/**
 * Columns that say which member of the source's record they are read from. One list of fields makes a table of
 * `core/table.ts` and the transform that fills it.
 */

import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import * as values from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, Slice, Transform } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { accountOf } from './ads.ts';
import { type Amount, amount } from './amounts.ts';

type Read = (r: Reading, holder: JsonObject, key: string, path: string, slice: Slice) => columns.Value;

/** A column and how it is read. `from`: members of the record, `a` or `a.b`; the first that is filled counts. */
interface Field {
  readonly column: columns.Column;
  readonly read: Read;
  readonly from: readonly string[];
}
export type Fields = Readonly<Record<string, Field>>;

/** A kind of field: `text('Why it is paused.')`, or with other members than the column's name: `text('…', 'a', 'b.c')`. */
const field =
  (column: (about: string) => columns.Column, read: Read) =>
  (about: string, ...from: readonly string[]): Field => ({ column: column(about), read, from });

const nullable = (column: (about: string) => columns.Column, read: Read) =>
  field((about) => column(about).nullable(), read);

const isFilled = (value: Json): boolean => value !== undefined && value !== null;

export const text = nullable(columns.text, values.text);
export const integer = nullable(columns.bigint, values.integer);
export const bool = nullable(columns.bool, values.bool);
export const decimal = nullable(columns.numeric, values.decimal);
/** What is no instant rejects the record. */
export const instant = nullable(columns.timestamptz, values.instant);
export const requiredText = field(columns.text, values.requiredText);
export const requiredInstant = field(columns.timestamptz, values.requiredInstant);
export const key = field((about) => columns.text(about).key(), values.requiredKey);

/** Micro-amounts of the source as units of the currency. */
export const money = (which: Amount) =>
  nullable(columns.money, (r, holder, name, path) => amount(r, holder, name, which, path));

/** A word in capitals: the contract writes kinds in small letters, the vendor in capitals. */
export const capitals = nullable(
  columns.text,
  (r, holder, name, path) => values.text(r, holder, name, path)?.toUpperCase() ?? null,
);

/** Any value, as JSON. */
export const json = nullable(columns.jsonb, (r, holder, name, path) => {
  const value = own(holder, name);
  return isFilled(value) ? r.json(path, value) : null;
});

/** Texts of a list. Where an element is no text, the list is kept as it came. */
export const textsIn = (r: Reading, holder: JsonObject, name: string, path = name): readonly string[] => {
  const found = values.list(r, holder, name, path);
  const good = found.filter((each) => typeof each === 'string');
  if (good.length < found.length) r.flip(path, found, 'a list of texts');
  return good;
};
export const texts = field(columns.texts, textsIn);

/** The ad account whose list shows the record. Another one that the record names is kept and noted. */
export const owner = field(columns.text, (r, record, name, path, slice) => {
  const account = accountOf(slice);
  const given = own(record, name);
  if (isFilled(given) && given !== account) r.flip(path, given, 'the account of its list');
  return account;
});

/** A name of the source as a note may show it: short, escaped. */
export const shown = (name: string): string =>
  /^[\w.-]{1,60}$/.test(name) ? name : JSON.stringify(name.slice(0, 60));

/** Keeps what is neither known nor null in `_extra` as `as…`, and notes each name once as `noted…`: the vendor adds fields at any time. */
export const keepNews = (
  r: Reading,
  holder: JsonObject,
  known: ReadonlySet<string>,
  as = '',
  noted = as,
): void => {
  // Without a list of the entries: this runs for each record and each of its parts.
  for (const name in holder) {
    if (known.has(name)) continue;
    const value = holder[name];
    if (!isFilled(value)) continue;
    r.keep(as + name, value);
    r.note(`${noted}${shown(name)}: a field that is not known`);
  }
};

/** The columns of some fields. */
export const columnsOf = (fields: Fields): columns.Columns =>
  Object.fromEntries(Object.entries(fields).map(([name, { column }]) => [name, column]));

interface Member {
  readonly path: string;
  /** The object within the record that holds the member; absent: the record itself. */
  readonly outer?: string;
  readonly name: string;
}

const memberOf = (path: string): Member => {
  const [first = '', second] = path.split('.');
  return second === undefined ? { path, name: first } : { path, outer: first, name: second };
};

type ReadFields = (
  r: Reading,
  record: JsonObject,
  slice: Slice,
  list?: string,
) => Readonly<Record<string, columns.Value>>;

/**
 * The reader of some fields. What no field and none of `others` takes is kept in `_extra` and noted.
 * `list`: prefix of notes about elements of a list, e.g. `changes[].`.
 */
export const readerOf = (fields: Fields, others: readonly string[] = []): ReadFields => {
  const plan = Object.entries(fields).map(([column, { read, from }]) => ({
    column,
    read,
    members: (from.length > 0 ? from : [column]).map(memberOf),
  }));
  const members = [...others.map(memberOf), ...plan.flatMap((one) => one.members)];
  const known = new Set(members.map(({ outer, name }) => outer ?? name));
  const direct = new Set(members.flatMap(({ outer, name }) => (outer === undefined ? [name] : [])));
  const inner = new Map<string, Set<string>>();
  for (const { outer, name } of members)
    if (outer !== undefined) inner.set(outer, (inner.get(outer) ?? new Set()).add(name));
  const holderOf = (record: JsonObject, { outer }: Member): JsonObject => {
    const holder = outer === undefined ? record : own(record, outer);
    return isObject(holder) ? holder : {};
  };
  /** An object that holds other members is no value itself: `budget` is an amount or holds one. */
  const givenBy = (record: JsonObject, member: Member): Json => {
    const value = own(holderOf(record, member), member.name);
    return member.outer === undefined && inner.has(member.name) && isObject(value) ? undefined : value;
  };
  const chosen = (r: Reading, record: JsonObject, all: readonly Member[]): Member => {
    if (all.length === 1) return all[0] as Member;
    const [first = all[0] ?? memberOf(''), ...beside] = all.filter((one) => isFilled(givenBy(record, one)));
    for (const one of beside) {
      r.keep(one.path, givenBy(record, one));
      r.note(`${one.path}: given beside ${first.path}`);
    }
    return first;
  };
  return (r, record, slice, list = '') => {
    const row: Record<string, columns.Value> = {};
    for (const { column, read, members: all } of plan) {
      const member = chosen(r, record, all);
      row[column] = read(r, holderOf(record, member), member.name, member.path, slice);
    }
    for (const [outer, names] of inner) {
      const holder = own(record, outer);
      if (isObject(holder)) keepNews(r, holder, names, `${outer}.`);
      else if (isFilled(holder) && !direct.has(outer)) r.flip(outer, holder, 'an object');
    }
    keepNews(r, record, known, '', list);
    return row;
  };
};

/** One kind of record: its table, the tables of its parts, and the transform that fills them. */
export interface Entity {
  readonly table: columns.DeclaredTable;
  readonly children: Readonly<Record<string, columns.Child>>;
  readonly transform: Transform;
}

interface EntityOptions {
  /** Members of the record that `parts` reads. */
  readonly others?: readonly string[];
  readonly children?: Entity['children'];
  readonly parts?: (r: Reading, record: JsonObject, id: string) => Pick<Mapped, 'children' | 'partial'>;
}

/**
 * Declares an entity. `noun`: what messages call a record. The transform throws `BadData` for a record without its id or
 * with a value that cannot be stored exactly; everything else of a record may be missing.
 */
export const entity = (
  name: `ads.${string}`,
  noun: string,
  about: string,
  fields: Fields,
  {
    others,
    children = {},
    parts = () => ({ children: {} }),
    ...options
  }: EntityOptions & Parameters<typeof columns.table>[3] = {},
): Entity => {
  const read = readerOf(fields, others);
  return {
    table: columns.table(name, about, columnsOf(fields), options),
    children,
    transform: (given, slice) => {
      const r = new Reading(name, noun, given);
      const record = values.requireRecord(r, given);
      const content = read(r, record, slice);
      const mapped = parts(r, record, String(content.id));
      // Last: everything before it may keep something.
      const row = { ...content, _extra: r.extra() };
      const notes = r.notes();
      return { row, ...mapped, ...(notes.length > 0 && { notes }) };
    },
  };
};
