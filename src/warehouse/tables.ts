/** The DDL of declared tables, made from their declarations and only ever added to; and the views. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import { sql, type Transaction } from 'kysely';
import {
  bigint,
  type Column,
  type Columns,
  type ColumnType,
  type DeclaredTable,
  numeric,
  smallint,
  text,
  timestamptz,
} from '../core/table.ts';
import type { AnyDatabase } from './connect.ts';
import { codeOf } from './pg-errors.ts';

type Db = Transaction<AnyDatabase>;

/** A table as Postgres is to have it: a declared one with its metadata columns, or one of versions or revisions. */
interface Made {
  readonly schema: string;
  readonly name: string;
  readonly about: string;
  readonly columns: Columns;
  readonly key: readonly string[];
  /** Columns and condition by the name of the index. */
  readonly indexes: Readonly<Record<string, string>>;
  readonly partitions?: DeclaredTable['options']['partitions'] | undefined;
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

/** The tables that are made from a declaration: its own, and those of its versions and revisions. */
function tablesOf({ schema, name, about, declared, key, entity, options }: DeclaredTable): readonly Made[] {
  const { firstSynced, afterLoad, versions, revisions, partitions, wide } = options;
  const keyed = ['source_id', ...key];
  const columnsOf = (names: readonly string[]): Columns =>
    Object.fromEntries(Object.entries(declared).filter(([column]) => names.includes(column)));
  const indexesOf = (table: string, all: readonly string[]): Made['indexes'] =>
    Object.fromEntries(all.map((on) => [indexName(table, on), on]));
  const beside = (into: string) => ({ schema, name: into.slice(schema.length + 1) });
  const made: Made[] = [
    {
      ...{ schema, name, about, key: keyed, wide, partitions },
      columns: {
        ...sourceId,
        ...declared,
        ...afterLoad,
        ...(firstSynced !== undefined && { _first_synced_at: timestamptz(firstSynced).default('now()') }),
        ...(entity ? entityBookkeeping : bookkeeping),
      },
      indexes: {
        ...indexesOf(name, options.indexes ?? []),
        ...(entity && { [`${name}_tombstones`]: '(source_id) where _deleted_at is not null' }),
      },
    },
  ];
  if (versions)
    made.push({
      ...beside(versions.into),
      about: versions.about,
      columns: { ...sourceId, ...columnsOf([...key, ...versions.columns]), ...validity, ...runId },
      key: [...keyed, 'valid_from'],
      // Only the open version of a row is looked for when a new one is written.
      indexes: { [`${beside(versions.into).name}_open`]: `(${keyed.join(', ')}) where valid_to is null` },
    });
  if (revisions)
    made.push({
      ...beside(revisions.into),
      about: revisions.about,
      columns: { ...sourceId, ...columnsOf(key), ...revision, ...runId },
      key: [...keyed, 'metric', 'seen_at'],
      indexes: indexesOf(beside(revisions.into).name, ['(source_id, seen_at)']),
    });
  return made;
}

/** The name that Postgres itself would give: names have at most 63 bytes. */
const indexName = (table: string, on: string): string =>
  `${[table, ...(/\((.*?)\)/.exec(on)?.[1] ?? '').split(', ')].join('_').slice(0, 59)}_idx`;

/**
 * The statements that make a table, or add what an existing one lacks. A column that may not be null and has no default is added as one that
 * may: the rows that exist have no value for it until they are read again.
 */
function statements(table: Made, exists: boolean): string {
  const { columns, key, indexes, partitions, wide, about } = table;
  const name = quoted(table);
  const by = partitions ? ` partition by range (${id(partitions.by)})` : '';
  const lines = Object.entries(columns).map(([column, is]) => columnSql(column, is));
  const added = ([column, is]: readonly [string, Column]): string =>
    `alter table ${name} add column if not exists ${columnSql(column, is.defaultSql === undefined ? is.nullable() : is)}`;
  return [
    ...(exists
      ? Object.entries(columns).map(added)
      : [`create table ${name} (${lines.join(', ')}, primary key (${key.map(id).join(', ')}))${by}`]),
    ...(wide ? [`alter table ${name} set (toast_tuple_target = 8160)`] : []),
    ...Object.entries(indexes).map(
      ([index, on]) => `create index if not exists ${id(index)} on ${name} ${on}`,
    ),
    ...partitionsOf(table),
    `comment on table ${name} is ${literal(about)}`,
    ...Object.entries(columns).map(
      ([column, is]) => `comment on column ${name}.${id(column)} is ${literal(is.about)}`,
    ),
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
function partitionsOf({ partitions, ...table }: Made): readonly string[] {
  if (!partitions) return [];
  const { by, each, from, to } = partitions;
  const perYear = each === 'year' ? 1 : 12;
  const bound = (index: number): string => {
    const day = new Date(Date.UTC(from, index * (12 / perYear), 1)).toISOString().slice(0, 10);
    return table.columns[by]?.type === 'date' ? day : `${day} 00:00:00+00`;
  };
  const part = (suffix: string, values: string): readonly string[] => {
    const name = quoted({ ...table, name: `${table.name}_${suffix}` });
    return [
      `create table if not exists ${name} partition of ${quoted(table)} ${values}`,
      `comment on table ${name} is ${literal(`Part of ${table.schema}.${table.name}, ${suffix} by ${by}.`)}`,
    ];
  };
  const ranges = Array.from({ length: (to - from + 1) * perYear }, (_, index) => {
    const suffix = bound(index)
      .slice(0, each === 'year' ? 4 : 7)
      .replace('-', '_');
    return part(suffix, `for values from (${literal(bound(index))}) to (${literal(bound(index + 1))})`);
  });
  return [...ranges.flat(), ...part('default', 'default')];
}

const id = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const quoted = ({ schema, name }: Pick<Made, 'schema' | 'name'>): string => `${id(schema)}.${id(name)}`;
const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** What the program defines in the warehouse. A step is applied once, a table or a view again when its hash differs. */
export interface Definition {
  readonly kind: 'step' | 'table' | 'view';
  /** Of a step the name of its file, else `schema.name`. */
  readonly name: string;
  readonly hash: string;
  /** The statements that make it. */
  readonly text: string;
  /** Of a table: those that add what it lacks. */
  readonly extension?: string;
}

const hashOf = (text: string): string => crypto.createHash('sha256').update(text).digest('hex');

/** What a declared table is made by: its own table, and those of its versions and revisions. */
export const tableDefinitions = (table: DeclaredTable): readonly Definition[] =>
  tablesOf(table).map((made) => {
    const text = statements(made, false);
    const name = `${made.schema}.${made.name}`;
    return { kind: 'table', name, hash: hashOf(text), text, extension: statements(made, true) };
  });

/** The definitions in a folder's `.sql` files, in order of their names; none where it does not exist. */
export function filesIn(folder: URL, kind: 'step' | 'view'): readonly Definition[] {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder).filter((file) => file.endsWith('.sql')) : [];
  return files.sort().map((file) => {
    const text = fs.readFileSync(new URL(file, folder), 'utf8');
    return { kind, name: file.slice(0, -'.sql'.length), hash: hashOf(text), text };
  });
}

/** The views of a folder, files `<schema>.<name>.sql`, each after those that it reads. */
export function viewsIn(folder: URL): readonly Definition[] {
  const views = filesIn(folder, 'view');
  const ordered = new Set<Definition>();
  const add = (view: Definition): void => {
    for (const other of views)
      if (other !== view && !ordered.has(other) && reads(view.text, other.name)) add(other);
    ordered.add(view);
  };
  views.forEach(add);
  return [...ordered];
}

const reads = (text: string, name: string): boolean =>
  new RegExp(`(?:from|join)\\s+${name.replace('.', '\\.')}\\b`).test(text);

/** `create schema if not exists` needs the right to create one also where it exists. */
export async function ensureSchema(trx: Db, schema: string): Promise<void> {
  const { rows } = await sql`select from pg_namespace where nspname = ${schema}`.execute(trx);
  if (rows.length === 0) await sql`create schema ${sql.id(schema)}`.execute(trx);
}

/** Makes a table, or extends one that an earlier migration made. A table of that name by another program fails as a duplicate. */
export async function applyTable(trx: Db, table: Definition, known: ReadonlySet<string>): Promise<void> {
  const [schema = ''] = table.name.split('.');
  await ensureSchema(trx, schema);
  await sql.raw((known.has(table.name) && table.extension) || table.text).execute(trx);
}

/** SQLSTATE of a view whose columns were renamed, removed or changed in type. */
const otherColumns = '42P16';

/** Replaces outdated views in place. Where Postgres cannot, all views are dropped and made again, with the grants that they had. */
export async function applyViews(
  trx: Db,
  outdated: readonly Definition[],
  all: readonly Definition[],
  known: ReadonlySet<string>,
): Promise<void> {
  const create = ({ text }: Definition) => sql.raw(text.replace('create or replace', 'create')).execute(trx);
  await sql`savepoint views`.execute(trx);
  try {
    for (const view of outdated)
      await (known.has(view.name) ? sql.raw(view.text).execute(trx) : create(view));
  } catch (error) {
    if (codeOf(error) !== otherColumns) throw error;
    await sql`rollback to savepoint views`.execute(trx);
    const made = all.filter(({ name }) => known.has(name)).reverse();
    const grants = await grantsOn(trx, made);
    for (const { name } of made) await sql`drop view if exists ${sql.table(name)}`.execute(trx);
    for (const view of all) await create(view);
    for (const grant of grants) await sql.raw(grant).execute(trx);
  }
}

async function grantsOn(trx: Db, views: readonly Definition[]): Promise<readonly string[]> {
  const { rows } = await sql<{ statement: string }>`
    select format('grant %s on %s to %s', privilege_type, c.oid::regclass,
      case grantee when 0 then 'public' else grantee::regrole::text end) as statement
    from pg_class c cross join aclexplode(c.relacl)
    where grantee <> relowner and c.oid = any (${views.map(({ name }) => name)}::regclass[])`.execute(trx);
  return rows.map(({ statement }) => statement);
}
