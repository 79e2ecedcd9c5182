/** What the program defines in the warehouse: the steps of `migrations/`, the DDL of declared tables, and the views. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import type { Column, Columns, ColumnType, DeclaredTable } from '../core/table.ts';
import { bigint, numeric, smallint, text, timestamptz } from '../core/table.ts';

/** A step is applied once; a table, a setting or a view whenever its hash differs; facts all together when one of them differs. */
export interface SchemaDefinition {
  readonly kind: 'step' | 'table' | 'setting' | 'fact' | 'view';
  /** Of a step or a fact the name of its file, else `schema.name`. */
  readonly name: string;
  readonly hash: string;
  /** The statements that make it. */
  readonly text: string;
  /** Of a table: those that add what an existing one lacks. */
  readonly extension?: () => string;
}

/** A table as Postgres is to have it: a declared one with its metadata columns, or one of versions or revisions. */
interface Made {
  /** `schema.name`. */
  readonly name: string;
  readonly about: string;
  readonly columns: Columns;
  readonly key: readonly string[];
  /** Columns and condition by the name of the index. */
  readonly indexes: Readonly<Record<string, string>>;
  readonly partitions?: DeclaredTable['partitions'] | undefined;
  readonly wide?: true | undefined;
}

const sourceId = { source_id: smallint('The source, see ops.sources.') };
const runId = { _run_id: bigint('The run that wrote this content, see ops.runs.').nullable() };
const bookkeeping = {
  _synced_at: timestamptz("When this row's content last changed here (not: last seen).").default('now()'),
  ...runId,
};
const entityBookkeeping = {
  ...bookkeeping,
  _deleted_at: timestamptz('When it was found to be gone at the source; null while it lives.').nullable(),
  _row_hash: bigint('64-bit hash of the content; an equal hash means that nothing is written.').nullable(),
};
const validity = {
  valid_from: timestamptz(
    'Since when it holds (UTC): when the platform says that it was last changed, else when the change was seen here.',
  ),
  valid_to: timestamptz('Until when they held (UTC), exclusive; null for the current ones.').nullable(),
};
const revision = {
  metric: text('The column that changed, or the name of a metric in extra_metrics.'),
  old_value: numeric('What the warehouse held; null if nothing.').nullable(),
  new_value: numeric('What the source says now; null if the number went away.').nullable(),
  seen_at: timestamptz('When the change was seen here (UTC).'),
};

/** What a declared table is made by: its own table, and those of its versions and revisions. */
export const tableDefinitions = (table: DeclaredTable): readonly SchemaDefinition[] =>
  tablesOf(table).map((made) => {
    const create = statements(made, false);
    const extension = () => statements(made, true);
    return { kind: 'table', name: made.name, hash: hashOf(create), text: create, extension };
  });

function tablesOf(table: DeclaredTable): readonly Made[] {
  const { schema, name, about, declared, key, entity } = table;
  const { firstSynced, afterLoad, versions, revisions, partitions, wide, indexes = [] } = table;
  const keyed = ['source_id', ...key];
  const columnsOf = (names: readonly string[]): Columns =>
    Object.fromEntries(Object.entries(declared).filter(([column]) => names.includes(column)));
  const first = firstSynced !== undefined && { _first_synced_at: timestamptz(firstSynced).default('now()') };
  const made: Made[] = [
    {
      name: `${schema}.${name}`,
      about,
      key: keyed,
      wide,
      partitions,
      columns: {
        ...sourceId,
        ...declared,
        ...afterLoad,
        ...first,
        ...(entity ? entityBookkeeping : bookkeeping),
      },
      indexes: {
        ...Object.fromEntries(indexes.map((on) => [indexName(name, on), on])),
        ...(entity && { [`${name}_tombstones`]: '(source_id) where _deleted_at is not null' }),
      },
    },
  ];
  if (versions)
    made.push({
      name: versions.into,
      about: versions.about,
      key: [...keyed, 'valid_from'],
      columns: { ...sourceId, ...columnsOf([...key, ...versions.columns]), ...validity, ...runId },
      // Only the open version of a row is looked for when a new one is written.
      indexes: { [`${bare(versions.into)}_open`]: `(${keyed.join(', ')}) where valid_to is null` },
    });
  if (revisions)
    made.push({
      name: revisions.into,
      about: revisions.about,
      key: [...keyed, 'metric', 'seen_at'],
      columns: { ...sourceId, ...columnsOf(key), ...revision, ...runId },
      indexes: { [indexName(bare(revisions.into), '(source_id, seen_at)')]: '(source_id, seen_at)' },
    });
  return made;
}

/** The name that Postgres itself would give: names have at most 63 bytes. */
const indexName = (table: string, on: string): string =>
  `${[table, ...(/\w[\w, ]*/.exec(on)?.[0] ?? '').split(', ')].join('_').slice(0, 59)}_idx`;

/**
 * The statements that make a table, or add what an existing one lacks. A column that may not be null and has no default is added as one that
 * may: the rows that exist have no value for it until they are read again.
 */
function statements(table: Made, exists: boolean): string {
  const name = quoted(table.name);
  const columns = Object.entries(table.columns);
  const indexes = Object.entries(table.indexes);
  const key = `primary key (${table.key.map(id).join(', ')})`;
  const by = table.partitions ? ` partition by range (${id(table.partitions.by)})` : '';
  const added = (is: Column): Column => (is.defaultSql === undefined ? is.nullable() : is);
  const lines = columns.map(([column, is]) => columnSql(column, exists ? added(is) : is));
  return [
    ...(exists
      ? lines.map((line) => `alter table ${name} add column if not exists ${line}`)
      : [`create table ${name} (${[...lines, key].join(', ')})${by}`]),
    ...(table.wide ? [`alter table ${name} set (toast_tuple_target = 8160)`] : []),
    ...indexes.map(([index, on]) => `create index if not exists ${id(index)} on ${name} ${on}`),
    ...partitionsOf(table),
    `comment on table ${name} is ${literal(table.about)}`,
    ...columns.map(([column, is]) => `comment on column ${name}.${id(column)} is ${literal(is.about)}`),
  ].join(';\n');
}

const postgresTypes: Partial<Record<ColumnType, string>> = { bool: 'boolean', int: 'integer' };

const columnSql = (name: string, { type, digits, isNullable, defaultSql, values }: Column): string =>
  [
    `${id(name)} ${postgresTypes[type] ?? type}${digits ? `(${digits.join(', ')})` : ''}`,
    ...(isNullable ? [] : ['not null']),
    ...(defaultSql === undefined ? [] : [`default ${defaultSql}`]),
    ...(values ? [`check (${id(name)} in (${values.map(literal).join(', ')}))`] : []),
  ].join(' ');

/** The partitions by name and bounds; rows outside of them go to the default one. Few, because each costs at every planning. */
function partitionsOf({ partitions, name, columns }: Made): readonly string[] {
  if (!partitions) return [];
  const { by, each, from, to } = partitions;
  const months = each === 'year' ? 12 : 1;
  const bound = (index: number): string => {
    const day = new Date(Date.UTC(from, index * months, 1)).toISOString().slice(0, 10);
    return columns[by]?.type === 'date' ? day : `${day} 00:00:00+00`;
  };
  const part = (suffix: string, values: string): readonly string[] => {
    const partition = quoted(`${name}_${suffix}`);
    return [
      `create table if not exists ${partition} partition of ${quoted(name)} ${values}`,
      `comment on table ${partition} is ${literal(`Part of ${name}, ${suffix} by ${by}.`)}`,
    ];
  };
  const ranges = Array.from({ length: ((to - from + 1) * 12) / months }, (_, index) => {
    const suffix = bound(index).slice(0, each === 'year' ? 4 : 7);
    const values = `for values from (${literal(bound(index))}) to (${literal(bound(index + 1))})`;
    return part(suffix.replace('-', '_'), values);
  });
  return [...ranges.flat(), ...part('default', 'default')];
}

const id = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const quoted = (name: string): string => name.split('.').map(id).join('.');
const bare = (name: string): string => name.slice(name.indexOf('.') + 1);
const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const hashOf = (value: string): string => crypto.createHash('sha256').update(value).digest('hex');

/** The definitions in a folder's `.sql` files, in order of their names; none where it does not exist. */
export function filesIn(folder: URL, kind: 'step' | 'fact' | 'view'): readonly SchemaDefinition[] {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder).filter((file) => file.endsWith('.sql')) : [];
  return files.sort().map((file) => {
    const statements = withComments(withColumns(fs.readFileSync(new URL(file, folder), 'utf8'), folder));
    return { kind, name: file.slice(0, -'.sql'.length), hash: hashOf(statements), text: statements };
  });
}

/** Each `t.{list}` as the columns of `t` that `columns/list.sql` in the folder names; a list may name another one. */
const withColumns = (text: string, folder: URL): string =>
  text.replace(/\b(\w+)\.\{(\w+)\}/g, (_, table, list) => {
    const columns = fs.readFileSync(new URL(`columns/${list}.sql`, folder), 'utf8').trimEnd();
    return withColumns(columns.replace(/^/gm, `${table}.`).replaceAll('\n', ',\n  '), folder);
  });

const created = /^create .*?(table|view) (?:if not exists )?([\w.]+).*? -- (.+)\n([\s\S]*?);$/gm;
/** A column of a table begins a line, one of a view ends it. */
const columnOf = {
  table: /^ {2}(\w+) (?:.|\n(?! {2}\w))*?(?<=\S) -- (.+)$/gm,
  view: /^(?! *--).*?(\w+),? -- (.+)$/gm,
};

/** Adds the statements for the comments behind the first line of `create table` and `create view`, and behind their columns. */
const withComments = (text: string): string =>
  text.replace(created, (statement, kind: keyof typeof columnOf, name, about, columns: string) =>
    [
      statement,
      `comment on ${kind} ${name} is ${literal(about)};`,
      ...columns
        .matchAll(columnOf[kind])
        .map(([, column, meaning = '']) => `comment on column ${name}.${column} is ${literal(meaning)};`),
    ].join('\n'),
  );

/**
 * What the views are told, as functions of schema `ops`: SQL expressions by signature, e.g. `'UTC'` by
 * `reporting_time_zone() returns text`.
 */
export type ViewSettings = Readonly<Record<string, string>>;

export const settingDefinitions = (settings: ViewSettings = {}): readonly SchemaDefinition[] =>
  Object.entries(settings).map(([signature, value]) => {
    const made = `create or replace function ops.${signature} immutable parallel safe return ${value}`;
    return { kind: 'setting', name: `ops.${signature.replace(/\(.*/, '')}`, hash: hashOf(made), text: made };
  });

/** The views of a folder, files `<schema>.<name>.sql`, each after those that it reads. */
export function viewsIn(folder: URL): readonly SchemaDefinition[] {
  const views = filesIn(folder, 'view');
  const ordered = new Set<SchemaDefinition>();
  const add = (view: SchemaDefinition): void => {
    const read = relationsIn(view);
    for (const other of views) if (other !== view && read.has(other.name) && !ordered.has(other)) add(other);
    ordered.add(view);
  };
  views.forEach(add);
  return [...ordered];
}

/** The relations that a view reads, as `schema.name`. */
const relationsIn = ({ text }: SchemaDefinition): ReadonlySet<string> =>
  new Set(Array.from(text.matchAll(/(?:from|join)\s+(\w+\.\w+)/g), ([, name = '']) => name));
