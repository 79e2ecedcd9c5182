/**
 * Tables whose columns say where in a record their value is found, so that a table and its transform are one declaration:
 * `records('github.issues', 'Issues, one row each.', { id: field.id('id', 'Issue id.').key(), author: field.text('user?.login', 'Who opened it.') })`.
 */

import { eachPart, isObject, type JsonObject, own, Reading } from './record.ts';
import * as values from './record-values.ts';
import type * as stream from './stream.ts';
import type { Child, Column, DeclaredTable, Row, Value } from './table.ts';
import * as core from './table.ts';

/** Reads the value of a column. `given`: what is known besides the record, e.g. its owner's key. Throws `BadData`. */
type Read<V> = (r: Reading, record: JsonObject, given: Row) => V;

/** A column with the way in which its value is read. */
export interface SourceColumn<V extends Value = Value> extends Column<V> {
  /** Makes the reader. `prefix` begins the paths in errors, e.g. `fields.`; `isNoted`: see `noted` of the table. */
  readonly reader: (prefix: string, isNoted?: boolean) => Read<V>;
  /** Paths of the members of the record that it reads, e.g. `priority.id`. */
  readonly members: readonly string[];
  key(): SourceColumn<V>;
  nullable(): SourceColumn<V | null>;
  default(sql: string): SourceColumn<V>;
  oneOf<const T extends string>(...values: readonly T[]): SourceColumn<T>;
}

/**
 * A column that is read by a function of its own. `members`: the paths that it reads, separated by blanks.
 */
export const from = <V extends Value>(column: Column<V>, members: string, read: Read<V>): SourceColumn<V> =>
  sourceOf(column, members, () => read);

const sourceOf = <V extends Value>(
  column: Column<V>,
  members: string,
  reader: SourceColumn<V>['reader'],
): SourceColumn<V> => ({
  ...column,
  reader,
  members: members.split(' ').filter((path) => path !== ''),
  key: () => sourceOf(column.key(), members, reader),
  nullable: () => sourceOf(column.nullable(), members, reader),
  default: (sql) => sourceOf(column.default(sql), members, reader),
  // The row is checked against the words, whatever reads it.
  oneOf: <const T extends string>(...values: readonly T[]) =>
    sourceOf(column.oneOf(...values), members, reader as SourceColumn<never>['reader']),
});

/**
 * `status.id` must be there; `priority?.id` may be missing (null); `updated?|created` is the first that is
 * there.
 */
type At<P extends string, V> = P extends `${string}|${infer Last}`
  ? At<Last, V>
  : P extends `${string}?${string}`
    ? V | null
    : V;

type ReadMember<V> = (r: Reading, holder: JsonObject, key: string, path: string) => V;

/** A kind of column: `optional` and `required` read a member that may and one that must be there. */
export const kind =
  <V extends Value>(
    column: (about: string) => Column<V>,
    optional: ReadMember<V | null>,
    required: ReadMember<V | null> = optional,
  ) =>
  <P extends string>(path: P, about: string): SourceColumn<At<P, V>> => {
    const ways = path.split('|');
    const isOptional = ways.at(-1)?.includes('?') === true;
    const reader = (prefix: string, isNoted = false): Read<V | null> => {
      const reads = ways.map((way) =>
        memberReader(way.split('.'), prefix, way.includes('?') ? optional : required),
      );
      if (isNoted && ways.length > 1) return chooser(ways, reads);
      return reads.reduce(
        (first, next) => (r, record, given) => first(r, record, given) ?? next(r, record, given),
      );
    };
    const members = path.replaceAll('?', '').replaceAll('|', ' ');
    const plain = column(about);
    // `At` says by the path's type what `isOptional` says by its text.
    return sourceOf(isOptional ? plain.nullable() : plain, members, reader) as SourceColumn<At<P, V>>;
  };

/** Reads the first of the members that is filled; others beside it are kept and noted. */
const chooser = <V>(ways: readonly string[], reads: readonly Read<V>[]): Read<V> => {
  const paths = ways.map((way) => way.replaceAll('?', ''));
  // An object that holds other members is no value itself: `budget` is an amount or holds one.
  const isHolder = (path: string) => paths.some((other) => other.startsWith(`${path}.`));
  const valueAt = (record: stream.Json, path: string): stream.Json => {
    let value = record;
    for (const step of path.split('.')) value = isObject(value) ? own(value, step) : null;
    return isObject(value) && isHolder(path) ? null : (value ?? null);
  };
  return (r, record, given) => {
    const filled = [...paths.keys()].filter((at) => valueAt(record, paths[at] ?? '') !== null);
    const [first = paths.length - 1, ...beside] = filled;
    for (const path of beside.map((at) => paths[at] ?? '')) {
      r.keep(path, valueAt(record, path));
      r.note(`${path}: given beside ${paths[first]}`);
    }
    return (reads[first] as Read<V>)(r, record, given);
  };
};

/** Reads the member at the end of the steps, e.g. `priority?`, `id`. */
const memberReader = <V>(
  [step = '', ...inner]: readonly string[],
  prefix: string,
  read: ReadMember<V | null>,
): Read<V | null> => {
  const name = step.replace('?', '');
  const path = prefix + name;
  if (inner.length === 0) return (r, record) => read(r, record, name, path);
  const holder = step.endsWith('?') ? values.object : values.requiredObject;
  const readInner = memberReader(inner, `${path}.`, read);
  return (r, record, given) => {
    const within = holder(r, record, name, path);
    return within === null ? null : readInner(r, within, given);
  };
};

const lowerCase =
  (read: ReadMember<string | null>): ReadMember<string | null> =>
  (...at) =>
    read(...at)?.toLowerCase() ?? null;

const upperCase: ReadMember<string | null> = (...at) => values.text(...at)?.toUpperCase() ?? null;

/** A column of the owner's key that a record may repeat; another owner that it names is kept and noted. */
const owner = (name: string, about: string): SourceColumn<string> =>
  from(core.text(about), name, (r, record, { [name]: owner }) => {
    if (typeof owner !== 'string') throw new TypeError(`the slice has no partition key ${name}`);
    const named = own(record, name) ?? owner;
    if (named !== owner) r.flip(name, named, 'the owner of its list');
    return owner;
  });

/**
 * Columns by the path of their value: `status.id` must be there, `priority?.id` may be missing (null), `updated?|created` is the first that is
 * there. A value of another type is kept in `_extra` with a note; where it must be there, the record is rejected.
 */
export const field = {
  /** A numeric id, as a number or as digits. */
  id: kind(core.bigint, values.id, values.requiredId),
  /** A whole number of 64 bits, as a number or as text. */
  whole: kind(core.bigint, values.integer, values.requiredInteger),
  int4: kind(core.int, values.int4, values.requiredInt4),
  /** An exact decimal, as a number or as text. */
  decimal: kind(core.numeric, values.decimal, values.requiredDecimal),
  text: kind(core.text, values.text, values.requiredText),
  /** Text that is part of a key or an index. */
  keyText: kind(core.text, values.requiredKey),
  /** A word of the vendor, in lower case. */
  word: kind(core.text, lowerCase(values.text), lowerCase(values.requiredText)),
  /** A word of the vendor, in capitals. */
  capitals: kind(core.text, upperCase),
  /** Texts of a list, empty where there is none. */
  texts: kind(core.texts, values.texts),
  /** Any value, as JSON. */
  json: kind(core.jsonb, values.json),
  /** An amount in units of a currency, exact to the millionth. */
  money: kind(core.money, values.decimal, values.requiredDecimal),
  owner,
  bool: kind(core.bool, values.bool, values.requiredBool),
  day: kind(core.date, values.day, values.requiredDay),
  /** An instant with an offset, or milliseconds since 1970; UTC. */
  instant: kind(core.timestamptz, values.instant, values.requiredInstant),
};

/** A table whose rows are read from records. */
export interface RecordTable extends DeclaredTable {
  /** What one record is called in errors, e.g. `issue type`. */
  readonly noun: string;
  /** Names of the record's own members that columns read. */
  readonly members: ReadonlySet<string>;
  /** The row of a record; `given` has the values of columns that are no `SourceColumn`. Throws `BadData`. */
  rowOf(r: Reading, record: JsonObject, given?: Row): Row;
  /** The same table with these options, too. */
  with(options: RecordTableOptions): RecordTable;
}

export interface RecordTableOptions extends core.TableOptions {
  /**
   * Paths of members, separated by white space, that are neither read nor kept in `_extra`; `parent.*`: all that
   * `parent` holds.
   */
  readonly ignored?: string;
  /** Names of members that are ignored in every object of the record. */
  readonly ignoredEverywhere?: readonly string[];
  /** What the paths in errors begin with, e.g. `fields.`. */
  readonly prefix?: string;
  /** Also notes each member that is kept: those that no column reads, and those beside the first of `a?|b?` that is filled. */
  readonly noted?: boolean;
  /** What one record is called in errors. Default: from the name of the table. */
  readonly noun?: string;
}

type RecordReadingOptions = Pick<RecordTableOptions, 'ignored' | 'ignoredEverywhere' | 'prefix' | 'noted'>;

const membersOf = (content: core.Columns): readonly string[] =>
  Object.values<Column | SourceColumn>(content).flatMap((column) =>
    'members' in column ? column.members : [],
  );

/**
 * The reader of some columns, without `_extra`: gives a new object for each record. What no column reads and `ignored`
 * does not name is kept.
 */
export const readerOf = (
  content: core.Columns,
  options: RecordReadingOptions,
  more: readonly string[] = [],
) => {
  const { ignored = '', ignoredEverywhere = [], prefix = '', noted = false } = options;
  const columns = Object.entries<Column | SourceColumn>(content).map(([column, source]) => ({
    column,
    read: 'reader' in source ? source.reader(prefix, noted) : undefined,
    isRequired: source.isNullable !== true,
    values: source.values,
  }));
  // V8 keeps an object that gets more than a dozen members one by one as a hash table, but copies one that JSON.parse made as it is.
  const blank: Row = JSON.parse(
    `{${[...Object.keys(content), ...more].map((column) => `"${column}":null`)}}`,
  );
  const holders = holdersOf([...membersOf(content), ...ignored.split(/\s+/)], ignoredEverywhere);
  return (r: Reading, record: JsonObject, given: Row = {}): Record<string, Value> => {
    const row: Record<string, Value> = { ...blank };
    for (let i = 0; i < columns.length; i += 1) {
      const { column, read, isRequired, values: words } = columns[i] as (typeof columns)[number];
      const value = read === undefined ? given[column] : read(r, record, given);
      if (value === undefined) throw new TypeError(`nothing gives ${column}`);
      if (value === null && isRequired) throw r.reject('missing_field', column, 'has no value for %');
      if (words !== undefined && value !== null && !words.includes(value as string))
        throw r.reject('bad_word', column, `has another word in % than ${words.join(', ')}`);
      // The blank row has null everywhere.
      if (value !== null) row[column] = value;
    }
    for (const holder of holders) keepUnknown(r, record, holder, noted);
    return row;
  };
};

/** Declares a table. Members that no column reads are kept in `_extra`. */
export const records = (
  name: `${string}.${string}`,
  about: string,
  content: core.Columns,
  options: RecordTableOptions = {},
): RecordTable => {
  const { ignored, ignoredEverywhere, prefix, noted, noun = nounOf(name), ...others } = options;
  const table: DeclaredTable = core.table(name, about, content, others);
  const read = readerOf(content, options, table.entity ? ['_extra'] : []);
  return {
    ...table,
    noun,
    members: new Set(membersOf(content).map((path) => path.split('.')[0] ?? path)),
    rowOf(r, record, given) {
      const row = read(r, record, given);
      // Last: everything before it may keep something.
      if (table.entity) row._extra = r.extra();
      return row;
    },
    with: (more) => records(name, about, content, { ...options, ...more }),
  };
};

/** An object in a record, and the names of its members that are read or ignored. */
interface Holder {
  readonly steps: readonly string[];
  readonly prefix: string;
  readonly names: ReadonlySet<string>;
}

/** The objects of a record that hold the members of these paths, the innermost first. One that is ignored as a whole (`*`) is left out. */
const holdersOf = (paths: readonly string[], everywhere: readonly string[]): readonly Holder[] => {
  const byPath = new Map<string, Set<string>>();
  for (const path of paths) {
    const steps = path.split('.');
    for (const [index, name] of steps.entries()) {
      const holder = steps.slice(0, index).join('.');
      byPath.set(holder, (byPath.get(holder) ?? new Set(everywhere)).add(name));
    }
  }
  return [...byPath]
    .filter(([, names]) => !names.has('*'))
    .map(([path, names]) => ({
      steps: path === '' ? [] : path.split('.'),
      prefix: path === '' ? '' : `${path}.`,
      names,
    }))
    .reverse();
};

const keepUnknown = (r: Reading, record: JsonObject, { steps, prefix, names }: Holder, isNoted: boolean) => {
  let holder: stream.Json = record;
  for (const step of steps) holder = isObject(holder) ? own(holder, step) : null;
  if (isObject(holder)) r.keepUnknown(holder, names, prefix, isNoted);
};

/** The transform of a stream whose records become one row each. Columns that read nothing are of the slice's partition. */
export const transformOf = (table: RecordTable): stream.Transform => readInto(table).transform;

/** Rows that belong to a record's row. The first columns of their key are the key of that row. */
export interface Part {
  readonly table: RecordTable;
  /** The record's own list whose elements become the rows, e.g. `labels`. */
  readonly list?: string;
  /** A list that is fetched apart where the record is new or has changed: its pages; undefined: it has none. */
  readonly walk?: (record: JsonObject) => stream.PageWalk | undefined;
  /** The member of the record that says how many that list has: a list with fewer is no proof, and is read again. */
  readonly count?: string;
}

/**
 * The loading half of a stream: records into `table`, and what belongs to each into tables of their own, by name.
 * `more`: what else a record becomes.
 */
export const readInto = (
  table: RecordTable,
  parts: Readonly<Record<string, Part>> = {},
  more?: (r: Reading, record: JsonObject, row: Row) => Omit<stream.Mapped, 'row'>,
): Pick<stream.LoadSide, 'table' | 'children' | 'transform' | 'partRows'> => {
  const all = Object.entries(parts).map(([name, part]) => ({
    name,
    ...part,
    parent: part.table.key.slice(0, table.key.length),
  }));
  const transform: stream.Transform = (record, slice) => {
    const r = new Reading(core.nameOf(table), table.noun, record);
    const object = values.requireRecord(r, record);
    const row = table.rowOf(r, object, ownerOf(table, r, slice));
    const others = more?.(r, object, row);
    const children: Record<string, readonly Row[]> = {};
    const nestedLists: stream.NestedList[] = [];
    for (const { name, table: inner, list, walk, count, parent } of all) {
      const owner = Object.fromEntries(
        parent.map((column, at) => [column, row[table.key[at] ?? ''] ?? null]),
      );
      const given = () => jsonOf(owner);
      const elements = list === undefined ? undefined : elementsOf(r, object, list);
      if (elements !== undefined && list !== undefined) {
        const read = (each: stream.Json, index: number) => {
          const at = r.element(list, index);
          return [inner.rowOf(at, values.requireElement(at, each), owner)];
        };
        children[name] = lastOfEach(inner, r.parts(name, elements, read, given));
      }
      if (walk === undefined) continue;
      const pages = counted(walk(object), count === undefined ? undefined : own(object, count));
      const rows = (records: readonly stream.Json[], bad?: stream.TakeBadPart) =>
        eachPart(name, records, (each) => [rowAlone(inner, each, owner)], bad, given);
      if (pages === undefined) children[name] = [];
      else nestedLists.push({ child: name, walk: pages, rows });
    }
    return {
      // A list may have kept something, too.
      row: (all.length > 0 || more) && table.entity ? { ...row, _extra: r.extra() } : row,
      children,
      ...others,
      ...(nestedLists.length > 0 && { nestedLists }),
      ...r.remarks(),
    };
  };
  const partRows = (child: string, part: stream.Json, given: stream.Json): readonly Row[] => {
    const { table: inner, parent } = all.find(({ name }) => name === child) ?? { table, parent: [] };
    return [rowAlone(inner, part, keyValues(inner, parent, given))];
  };
  const children = all.map(({ name, table, parent }): [string, Child] => [
    name,
    { table, parent, absent: 'deleted' },
  ]);
  return { table, transform, ...(all.length > 0 && { partRows, children: Object.fromEntries(children) }) };
};

/** The pages with a total that the record states, where it is a number. */
const counted = (walk: stream.PageWalk | undefined, total: stream.Json): stream.PageWalk | undefined =>
  walk && typeof total === 'number' ? { ...walk, paging: { ...walk.paging, total: () => total } } : walk;

/** The elements of a list within the record; undefined where it is no list: it is kept in `_extra`. */
const elementsOf = (r: Reading, record: JsonObject, list: string): readonly stream.Json[] | undefined => {
  const elements = own(record, list) ?? [];
  return Array.isArray(elements) ? elements : (r.flip(list, elements, 'a list') ?? undefined);
};

/** The last row of each key. */
export const lastOfEach = ({ key }: Pick<core.Table, 'key'>, rows: readonly Row[]): readonly Row[] =>
  rows.length < 2
    ? rows
    : [...new Map(rows.map((row) => [key.map((column) => String(row[column])).join('\n'), row])).values()];

/** Values of a key as JSON: a bigint as its digits. */
const jsonOf = (key: Row): stream.Json =>
  Object.fromEntries(
    Object.entries(key).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value]),
  );

/** The columns of a parent's key, from its JSON; numeric ones are read as strictly as every id. */
const keyValues = (table: RecordTable, names: readonly string[], given: stream.Json): Row => {
  const r = new Reading(core.nameOf(table), table.noun, given);
  const key = values.requireRecord(r, given);
  return Object.fromEntries(names.map((name) => [name, keyValue(table, r, key, name)]));
};

const keyValue = ({ columns }: RecordTable, r: Reading, key: JsonObject, name: string): Value =>
  columns[name] === 'bigint' ? values.requiredId(r, key, name) : ((own(key, name) ?? null) as Value);

/** The row of a record that was fetched by itself. */
const rowAlone = (table: RecordTable, record: stream.Json, owner: Row): Row => {
  const r = new Reading(core.nameOf(table), table.noun, record);
  return table.rowOf(r, values.requireRecord(r, record), owner);
};

/** What one record is called in errors: `issue type` of the table `issue_types`. */
const nounOf = (name: string): string =>
  name
    .replace(/^.*\./, '')
    .replaceAll('_', ' ')
    .replace(/ies$/, 'y')
    .replace(/(?<=us|ss)es$|s$/, '');

/** The key columns of the partition's owner; numeric ones are read as strictly as every id. */
const ownerOf = (table: RecordTable, r: Reading, { partition = {} }: stream.Slice): Row =>
  Object.fromEntries(Object.keys(partition).map((name) => [name, keyValue(table, r, partition, name)]));
