/**
 * Columns that say which member of the source's record they are read from. One list of fields makes a table of
 * `core/table.ts` and the transform that fills it.
 */

import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import * as values from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, Slice, Transform } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { accountOf } from './ads.ts';
import { fromMicros } from './amounts.ts';
import { writtenNumber } from './written-numbers.ts';

type Read = (r: Reading, holder: JsonObject, key: string, path: string, slice: Slice) => columns.Value;

/** A column and how it is read. `from`: members of the record, `a` or `a.b`; the first that is filled counts. */
export interface Field {
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
/** A day that this program writes into the record. */
export const requiredDay = field(columns.date, values.requiredText);
export const requiredInstant = field(columns.timestamptz, values.requiredInstant);
export const key = field((about) => columns.text(about).key(), values.requiredKey);

/**
 * Micro-amounts of the source as units of the currency: a JSON number, or a whole one as text (64-bit numbers are often sent so).
 * What is no number, is too large or finer than a millionth rejects the record: money is not guessed.
 */
export const micros = nullable(columns.money, (r, holder, name, path) => {
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

/** A member of the record, or of the object that the record holds as `outer`. */
interface Member {
  readonly path: string;
  readonly outer: string | undefined;
  readonly name: string;
}

const memberOf = (path: string): Member => {
  const [name = '', outer] = path.split('.').reverse();
  return { path, outer, name };
};

const holderOf = (record: JsonObject, { outer }: Member): JsonObject => {
  const holder = outer === undefined ? record : own(record, outer);
  return isObject(holder) ? holder : {};
};

type Filled = Readonly<Record<string, columns.Value>>;

/**
 * The reader of some fields. What no field and none of `others` takes is kept in `_extra` and noted.
 * `list`: prefix of notes about elements of a list, e.g. `changes[].`.
 */
export const readerOf = (fields: Fields, others: readonly string[] = []) => {
  const plan = Object.entries(fields).map(([column, { read, from }]) => ({
    column,
    read,
    members: (from.length > 0 ? from : [column]).map(memberOf),
  }));
  const members = [...others.map(memberOf), ...plan.flatMap((one) => one.members)];
  const paths = new Set(members.map(({ path }) => path));
  const known = new Set(members.map(({ outer, name }) => outer ?? name));
  const inner = Map.groupBy(
    members.filter(({ outer }) => outer !== undefined),
    ({ outer = '' }) => outer,
  );
  const holders = [...inner].map(([outer, all]) => [outer, new Set(all.map(({ name }) => name))] as const);
  /** An object that holds other members is no value itself: `budget` is an amount or holds one. */
  const isGiven = (record: JsonObject, member: Member): boolean => {
    const value = own(holderOf(record, member), member.name);
    return isFilled(value) && !(inner.has(member.path) && isObject(value));
  };
  const chosen = (r: Reading, record: JsonObject, all: readonly Member[]): Member => {
    const [first, ...beside] = all.length === 1 ? all : all.filter((one) => isGiven(record, one));
    for (const one of beside) {
      r.keep(one.path, own(holderOf(record, one), one.name));
      r.note(`${one.path}: given beside ${first?.path}`);
    }
    return first ?? (all[0] as Member);
  };
  return (r: Reading, record: JsonObject, slice: Slice, list = ''): Filled => {
    const row: Record<string, columns.Value> = {};
    for (const { column, read, members: all } of plan) {
      const member = chosen(r, record, all);
      row[column] = read(r, holderOf(record, member), member.name, member.path, slice);
    }
    for (const [outer, names] of holders) {
      const holder = own(record, outer);
      if (isObject(holder)) keepNews(r, holder, names, `${outer}.`);
      else if (isFilled(holder) && !paths.has(outer)) r.flip(outer, holder, 'an object');
    }
    keepNews(r, record, known, '', list);
    return row;
  };
};

/** What a record became, with the notes of its reading. */
export const mapped = (
  r: Reading,
  row: columns.Row,
  more: Omit<Mapped, 'row'> = { children: {} },
): Mapped => {
  return { row, ...more, ...r.remarks() };
};

/** One kind of record: its table, the tables of its parts, and the transform that fills them. */
export interface Entity {
  readonly table: columns.DeclaredTable;
  readonly children?: Readonly<Record<string, columns.Child>>;
  readonly transform: Transform;
}

interface EntityOptions extends Pick<Entity, 'children'>, columns.TableOptions {
  /** Members of the record that `parts` reads. */
  readonly others?: readonly string[];
  readonly parts?: (r: Reading, record: JsonObject, id: string) => Omit<Mapped, 'row'>;
}

/** `draft campaign` of the table `campaign_drafts`, `ad category` of `ad_categories`. */
const nounOf = (name: string): string =>
  name
    .replace(/^(.*)_drafts$/, 'draft $1')
    .replaceAll('_', ' ')
    .replace(/ies$/, 'y')
    .replace(/sses$/, 'ss')
    .replace(/(?<!s)s$/, '');

/**
 * Declares an entity, a table of schema `ads`. The transform throws `BadData` for a record without its id or with a value
 * that cannot be stored exactly; everything else of a record may be missing.
 */
export const entity = (
  name: string,
  about: string,
  fields: Fields,
  { others, children, parts, ...options }: EntityOptions = {},
): Entity => {
  const read = readerOf(fields, others);
  const noun = nounOf(name);
  return {
    table: columns.table(`ads.${name}`, about, columnsOf(fields), options),
    ...(children && { children }),
    transform: (given, slice) => {
      const r = new Reading(`ads.${name}`, noun, given);
      const record = values.requireRecord(r, given);
      const content = read(r, record, slice);
      const more = parts?.(r, record, String(content.id));
      // Last: everything before it may keep something.
      return mapped(r, { ...content, _extra: r.extra() }, more);
    },
  };
};
