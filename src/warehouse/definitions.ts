/** Tables and views that the program defines: brought up to date where the hash in `ops.definitions` is another one. */
import crypto from 'node:crypto';
import fs from 'node:fs/promises';
import { sql, type Transaction } from 'kysely';
import { type DeclaredTable, nameOf } from '../core/table.ts';
import type { AnyDatabase } from './connect.ts';
import { codeOf } from './pg-errors.ts';
import { createTable, extendTable, type TableDefinition, tablesOf } from './tables.ts';

type Db = Transaction<AnyDatabase>;

/** A table with what belongs to it, or a view. */
export interface Definition {
  /** `schema.name` */
  readonly name: string;
  readonly hash: string;
  readonly is: { readonly table: DeclaredTable } | { readonly view: string };
}

const digest = (text: string): string => crypto.createHash('sha256').update(text).digest('hex');

export const definitionOf = (table: DeclaredTable): Definition => ({
  name: nameOf(table),
  hash: digest(tablesOf(table).map(createTable).join(';\n')),
  is: { table },
});

/** The views of a folder, files `<schema>.<name>.sql`, each after those that it reads. */
export async function viewsIn(folder: URL): Promise<readonly Definition[]> {
  const files = (await fs.readdir(folder).catch(() => [])).filter((file) => file.endsWith('.sql'));
  const views = await Promise.all(
    files.sort().map(async (file) => {
      const view = await fs.readFile(new URL(file, folder), 'utf8');
      return { name: file.slice(0, -'.sql'.length), hash: digest(view), is: { view } };
    }),
  );
  const ordered = new Set<Definition>();
  const add = (one: (typeof views)[number]): void => {
    for (const other of views)
      if (other !== one && !ordered.has(other) && reads(one.is.view, other.name)) add(other);
    ordered.add(one);
  };
  views.forEach(add);
  return [...ordered];
}

const reads = (text: string, name: string): boolean =>
  new RegExp(`(?:from|join)\\s+${name.replace('.', '\\.')}\\b`).test(text);

/** What `applyDefinitions` is given. */
export interface Changes {
  readonly outdated: readonly Definition[];
  /** All views, in their order. */
  readonly views: readonly Definition[];
  /** Names of what an earlier migration made. Anything else of these names is another program's, and fails as a duplicate. */
  readonly known: ReadonlySet<string>;
  readonly version: string;
}

/** Makes and extends the tables, then the views, and records what was applied. For a transaction that holds the migration lock. */
export async function applyDefinitions(trx: Db, changes: Changes): Promise<void> {
  const { outdated, known, version } = changes;
  for (const { is } of outdated) if ('table' in is) await applyTable(trx, is.table, known);
  await applyViews(trx, changes);
  for (const { name, hash } of outdated)
    await sql`insert into ops.definitions (name, hash, version) values (${name}, ${hash}, ${version})
      on conflict (name) do update set hash = excluded.hash, version = excluded.version, applied_at = now()`.execute(
      trx,
    );
}

async function applyTable(trx: Db, table: DeclaredTable, known: ReadonlySet<string>): Promise<void> {
  const { rows } = await sql`select from pg_namespace where nspname = ${table.schema}`.execute(trx);
  if (rows.length === 0) await sql`create schema ${sql.id(table.schema)}`.execute(trx);
  for (const made of tablesOf(table)) {
    const columns = known.has(nameOf(table)) ? await columnsOf(trx, made) : new Set<string>();
    await sql.raw(columns.size > 0 ? extendTable(made, columns) : createTable(made)).execute(trx);
  }
}

/** The columns that a table has; none where it does not exist. */
async function columnsOf(trx: Db, { schema, name }: TableDefinition): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select attname as name from pg_attribute join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
    where nspname = ${schema} and relname = ${name} and attnum > 0 and not attisdropped`.execute(trx);
  return new Set(rows.map((row) => row.name));
}

/** SQLSTATE of a view whose columns were renamed, removed or changed in type. */
const otherColumns = '42P16';

/** Replaces the outdated views in place. Where Postgres cannot, all views are dropped and made again, with the grants that they had. */
async function applyViews(trx: Db, { outdated, views, known }: Changes): Promise<void> {
  const changed = views.filter((view) => outdated.includes(view));
  const make = (view: Definition, how: 'create' | 'create or replace'): Promise<unknown> =>
    sql.raw('view' in view.is ? view.is.view.replace('create or replace', how) : '').execute(trx);
  await sql`savepoint views`.execute(trx);
  try {
    for (const view of changed) await make(view, known.has(view.name) ? 'create or replace' : 'create');
  } catch (error) {
    if (codeOf(error) !== otherColumns) throw error;
    await sql`rollback to savepoint views`.execute(trx);
    const made = views.filter(({ name }) => known.has(name)).reverse();
    const grants = await grantsOn(trx, made);
    for (const { name } of made) await sql`drop view if exists ${sql.table(name)}`.execute(trx);
    for (const view of views) await make(view, 'create');
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
