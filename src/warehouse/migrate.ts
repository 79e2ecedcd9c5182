/**
 * Brings the schema up to date: the steps of `migrations/`, the declared tables, settings, the stored facts of `migrations/facts/`, then the
 * views of `migrations/views/`.
 */
import fs from 'node:fs';
import { type RawBuilder, sql } from 'kysely';
import { codeOf, Misconfigured, Transient, Unreachable } from '../core/errors.ts';
import type { DeclaredTable } from '../core/table.ts';
import { connect, hasRows, type Warehouse } from './connect.ts';
import { lockNotAvailable, wordsOf } from './pg-errors.ts';
import { refreshStatistics } from './statistics.ts';
import type { SchemaDefinition, ViewSettings } from './tables.ts';
import { filesIn, settingDefinitions, tableDefinitions, viewsIn } from './tables.ts';
import { isConnectionLoss, isRepeatable, withRetry } from './with-retry.ts';

export interface MigrateOptions {
  /** Folder of the steps (`0001_name.sql`), with `facts/` and `views/` in it; default: the project's. */
  readonly folder?: URL;
  /** Values of the functions in schema `ops` that tell the views what to show, by name; absent: they stay. */
  readonly settings?: ViewSettings;
  /** How long to wait for another process that migrates, in milliseconds; default 10 min. */
  readonly waitMs?: number;
  /** How long to try again what a lock or a broken connection kept from being applied, in milliseconds; default 15 s. */
  readonly retryMs?: number;
  /** Views of `bi` that a reader's open transaction keeps from being replaced are left for a later run; this hears why. */
  readonly goOn?: (why: string) => void;
  readonly signal?: AbortSignal;
  /** Version of this program; default: that of package.json. */
  readonly version?: string;
}

/**
 * Applies what is pending, in one transaction: a process that is killed half-way leaves nothing, and processes that start at once take turns.
 * Needs the right to create schemas, nothing more. Gives what it applied, as `pending` names it.
 * Throws `Misconfigured` if the schema is newer than this program or may not be changed, `Unreachable` if another process migrates for too
 * long, `Transient` if another session keeps a table locked, naming it, or the connection breaks at each try.
 */
export async function migrate(
  warehouse: Warehouse,
  tables: readonly DeclaredTable[],
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  if ((await pending(warehouse, tables, options).catch(() => [''])).length === 0) return [];
  const { waitMs = 600_000, retryMs = 15_000, signal, goOn } = options;
  const attempt = (choose: (plan: Plan) => Plan) =>
    inOwnTransaction(warehouse, signal, async (trx) => {
      await lock(trx, waitMs);
      return apply(trx, choose(await planOf(trx, tables, options)));
    });
  const fail = async (error: unknown): Promise<never> => {
    signal?.throwIfAborted();
    const isLocked = codeOf(error) === lockNotAvailable;
    throw explained(error, warehouse.address, isLocked ? await lockHolders(warehouse) : '');
  };
  const pauses = { totalMs: retryMs, firstMs: 500, longestMs: 4_000 };
  return withRetry(() => attempt((plan) => plan), pauses, isRepeatable, signal).catch(async (error) => {
    if (goOn === undefined || codeOf(error) !== lockNotAvailable) return fail(error);
    const holders = await lockHolders(warehouse);
    const applied = await attempt(withoutReadersViews).catch(fail);
    goOn(`views of bi stay as they were: ${holders}. Let it end; the next run replaces them`);
    return applied;
  });
}

/** What is left where views that readers may be reading are not replaced. Nothing of ours reads these. */
const withoutReadersViews = (plan: Plan): Plan => ({
  ...plan,
  outdated: plan.outdated.filter(({ kind, name }) => kind !== 'view' || !/^bi(_pii)?\./.test(name)),
  former: [],
});

/** On a connection of its own: a statement may take longer here than any of a sync. What it wrote is analyzed afterwards. */
async function inOwnTransaction<T>(
  { url }: Warehouse,
  signal: AbortSignal | undefined,
  work: (trx: Warehouse['db']) => Promise<T>,
): Promise<T> {
  const settings = { max: 1, applicationName: 'tidemark migrate', statementTimeout: 0 };
  const own = await connect(url.reveal(), { ...settings, signal });
  const stop = (): void => void own.close();
  signal?.addEventListener('abort', stop);
  try {
    const result = await own.db.transaction().execute(work);
    await refreshStatistics(own.pool, signal);
    return result;
  } finally {
    signal?.removeEventListener('abort', stop);
    await own.close();
  }
}

/**
 * Makes all stored facts anew, from what the warehouse holds. Takes up to a minute for 200,000 issues; runs that load issues wait meanwhile.
 */
export const rebuildFacts = (warehouse: Warehouse, signal?: AbortSignal): Promise<void> =>
  inOwnTransaction(warehouse, signal, (trx) => run(trx, factsIn(ownFolder).filter(isRebuild)));

/**
 * What `migrate` would apply: names of steps, then `tables` and `views` if any of them is new or differs. Changes nothing.
 * Throws `Misconfigured` if the schema is newer than this program.
 */
export const pending = async (
  { db }: Pick<Warehouse, 'db'>,
  tables: readonly DeclaredTable[],
  options: MigrateOptions = {},
): Promise<readonly string[]> => namesOf((await planOf(db, tables, options)).outdated);

const namesOf = (definitions: readonly SchemaDefinition[]): readonly string[] => [
  ...new Set(definitions.map(({ kind, name }) => (kind === 'step' ? name : `${kind}s`))),
];

/** What has to be applied. */
type Plan = Awaited<ReturnType<typeof planOf>>;

/**
 * `outdated`: steps in order, then tables, then views, each after those that it reads. `former`: views of an earlier version, by name. `isApplied`:
 * whether an earlier migration applied a definition of that name.
 */
async function planOf(db: Warehouse['db'], tables: readonly DeclaredTable[], options: MigrateOptions) {
  const { folder = ownFolder, version = ownVersion(), settings } = options;
  const views = viewsIn(new URL('views/', folder));
  const facts = factsIn(folder);
  const made = [...tables.flatMap(tableDefinitions), ...settingDefinitions(settings)];
  const wanted = [...filesIn(folder, 'step'), ...made, ...facts, ...views];
  const hashes = new Map(wanted.map(({ name, hash }) => [name, hash]));
  const applied = new Map<string, string>();
  const former: string[] = [];
  for (const { kind, name, hash, version: by } of await appliedIn(db)) {
    applied.set(name, hash);
    if (kind === 'view' && !hashes.has(name)) former.push(name);
    // A step that another one names has become part of it.
    const isUnknown = kind === 'step' && !hashes.has(name) && !wanted.some(({ text }) => text.includes(name));
    if (isUnknown || (hashes.get(name) !== hash && by.localeCompare(version, 'en', { numeric: true }) > 0))
      throw new Misconfigured(
        `the warehouse was made by a newer Tidemark (it has ${name} of ${by}) than this version, ${version}: update Tidemark`,
      );
  }
  const outdated = wanted.filter(({ kind, name, hash }) =>
    kind === 'step' ? !applied.has(name) : applied.get(name) !== hash,
  );
  const isApplied = ({ name }: SchemaDefinition): boolean => applied.has(name);
  return { outdated, views, facts, former, isApplied, version };
}

const ownFolder = new URL('../../migrations/', import.meta.url);

const ownVersion = (): string =>
  JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

type Applied = Pick<SchemaDefinition, 'kind' | 'name' | 'hash'> & { readonly version: string };

/** Not `to_regclass`: in a transaction that has found nothing once, it does not see what another one makes. */
const definitions = sql`select from pg_class where relname = 'definitions' and relnamespace in (
  select oid from pg_namespace where nspname = 'ops')`;
const hasDefinitions = (db: Warehouse['db']): Promise<boolean> => hasRows(db, definitions);

async function appliedIn(db: Warehouse['db']): Promise<readonly Applied[]> {
  if (!(await hasDefinitions(db))) return [];
  return (await sql<Applied>`select kind, name, hash, version from ops.definitions`.execute(db)).rows;
}

/** Waits for other processes that migrate; the lock ends with the transaction. */
async function lock(trx: Warehouse['db'], waitMs: number): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${Math.max(waitMs, 1)}ms`}, true)`.execute(trx);
  try {
    // Any number. Any role can take such a lock, so it serves only until there is a table that a reader may not lock.
    if (!(await hasDefinitions(trx))) await sql`select pg_advisory_xact_lock(7236511094217)`.execute(trx);
    if (await hasDefinitions(trx))
      await sql`lock table ops.definitions in share row exclusive mode`.execute(trx);
  } catch (cause) {
    if (codeOf(cause) !== lockNotAvailable) throw cause;
    const seconds = Math.round(waitMs / 1000);
    throw new Unreachable(`another process has been migrating this warehouse for ${seconds} s`, { cause });
  }
  // Who reads what we wait for queues behind us.
  await sql`set local lock_timeout = '3s'`.execute(trx);
}

/** Which sessions keep tables or views of ours locked, the oldest transaction first, in words. */
async function lockHolders({ db }: Pick<Warehouse, 'db'>): Promise<string> {
  const { rows } = await sql<{ holder: string }>`
    select concat('session ', a.pid, ' of ', a.usename, ' (' || nullif(a.application_name, '') || ')',
      ' since ' || to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')) as holder
    from pg_stat_activity a
    where a.datname = current_database() and a.pid <> pg_backend_pid() and a.pid in (
      select l.pid from pg_locks l
      where l.granted and l.relation in (select to_regclass(name) from ops.definitions where kind in ('table', 'view')))
    order by a.xact_start limit 3`.execute(db);
  const holders = rows.map(({ holder }) => holder).join(', ') || 'another session';
  return `what must change is locked by ${holders}, perhaps a transaction that a BI tool left open`;
}

async function apply(trx: Warehouse['db'], plan: Plan): Promise<readonly string[]> {
  const { outdated, facts, isApplied, version } = plan;
  await ensureSchema(trx, 'ops');
  await sql`create table if not exists ops.definitions (
    kind text not null, name text primary key, hash text not null, version text not null,
    applied_at timestamptz not null default now())`.execute(trx);
  for (const definition of outdated) {
    const { kind, name, text, extension } = definition;
    if (kind === 'step') await runStep(trx, definition);
    if (kind === 'setting') await sql.raw(text).execute(trx);
    if (kind !== 'table') continue;
    await ensureSchema(trx, name.slice(0, name.indexOf('.')));
    // A table of that name by another program fails as a duplicate.
    await sql.raw(isApplied(definition) && extension ? extension() : text).execute(trx);
  }
  const areOutdated = outdated.some(({ kind }) => kind === 'fact');
  const others = facts.filter((fact) => !isRebuild(fact));
  if (areOutdated) await run(trx, others);
  for (const { kind, name, hash } of outdated)
    await sql`insert into ops.definitions values (${kind}, ${name}, ${hash}, ${version}) on conflict (name)
      do update set (hash, version, applied_at) = (excluded.hash, excluded.version, now())`.execute(trx);
  await applyViews(trx, plan);
  // They depend on the settings that they name.
  const isNamed = ({ kind, name }: SchemaDefinition) =>
    kind === 'setting' && facts.some(({ text }) => text.includes(name));
  if (areOutdated || outdated.some(isNamed)) await run(trx, facts.filter(isRebuild));
  return namesOf(outdated);
}

const factsIn = (folder: URL): readonly SchemaDefinition[] => filesIn(new URL('facts/', folder), 'fact');

/** The file that makes all facts anew. */
const isRebuild = ({ name }: SchemaDefinition): boolean => name === 'rebuild';

async function run(trx: Warehouse['db'], definitions: readonly SchemaDefinition[]) {
  for (const { text } of definitions) await sql.raw(text).execute(trx);
}

/** `create schema if not exists` needs the right to create one also where it exists. */
async function ensureSchema(trx: Warehouse['db'], schema: string): Promise<void> {
  if (!(await hasRows(trx, sql`select from pg_namespace where nspname = ${schema}`)))
    await sql`create schema ${sql.id(schema)}`.execute(trx);
}

async function runStep(trx: Warehouse['db'], { name, text }: SchemaDefinition): Promise<void> {
  const named = (error: unknown) => {
    if (error instanceof Error)
      error.message = `migration ${name} failed and left no trace: ${error.message}`;
    throw error;
  };
  await sql.raw(text).execute(trx).catch(named);
}

/**
 * Replaces outdated views in place. Where Postgres cannot, all views are dropped and made anew, with the grants that they had. The views that
 * syncs made of them follow.
 */
async function applyViews(trx: Warehouse['db'], { outdated, views, former, isApplied }: Plan): Promise<void> {
  // A view of that name by another program fails as a duplicate.
  const create = (text: string): RawBuilder<unknown> => sql.raw(text.replace('create or replace', 'create'));
  const generated = await generatedViews(trx);
  let grants: readonly string[] = [];
  await sql`savepoint views`.execute(trx);
  try {
    for (const view of outdated.filter(({ kind }) => kind === 'view'))
      await (isApplied(view) ? sql.raw(view.text) : create(view.text)).execute(trx);
  } catch (error) {
    if (codeOf(error) !== otherColumns) throw error;
    await sql`rollback to savepoint views`.execute(trx);
    const made = [...views.filter(isApplied).map(({ name }) => name), ...generated];
    grants = await grantsOn(trx, made);
    await dropViews(trx, [...former, ...made]);
    for (const { text } of views) await create(text).execute(trx);
  }
  // It makes the comments of columns that several views have.
  const meanings = views.filter(({ name }) => name === 'ops.meanings');
  await run(trx, meanings);
  if (generated.length > 0)
    await sql`select ops.make_issues_wide(source_id) from ops.issues_wide_views`.execute(trx);
  for (const grant of grants) await sql.raw(grant).execute(trx);
  if (former.length === 0) return;
  await dropViews(trx, former);
  await sql`delete from ops.definitions where name = any (${former})`.execute(trx);
}

async function generatedViews(trx: Warehouse['db']): Promise<readonly string[]> {
  if (!(await hasRows(trx, sql`select where to_regclass('ops.issues_wide_views') is not null`))) return [];
  const { rows } = await sql<{ name: string }>`
    select 'bi.' || view_name as name from ops.issues_wide_views
    where to_regclass('bi.' || view_name) is not null`.execute(trx);
  return rows.map(({ name }) => name);
}

/** In one statement, because they may read each other. */
const dropViews = (trx: Warehouse['db'], names: readonly string[]) =>
  sql`drop view if exists ${sql.join(names.map((name) => sql.table(name)))}`.execute(trx);

async function grantsOn(trx: Warehouse['db'], views: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ statement: string }>`
    select format('grant %s on %s to %s', privilege_type, c.oid::regclass,
      case grantee when 0 then 'public' else grantee::regrole::text end) as statement
    from pg_class c cross join aclexplode(c.relacl)
    where grantee <> relowner and c.oid = any (${views}::regclass[])`.execute(trx);
  return rows.map(({ statement }) => statement);
}

/** invalid_table_definition: a view whose columns were renamed, removed or changed in type. */
const otherColumns = '42P16';

const ownDatabase =
  'give the warehouse a database of its own (createdb tidemark) and name that in DATABASE_URL';

const otherProgram = `another program keeps its tables where Tidemark's belong: ${ownDatabase}`;

/** What the user can do about an error of Postgres, by its SQLSTATE. */
const advice: Readonly<Record<string, string>> = {
  '42P07': otherProgram, // duplicate_table
  '42710': otherProgram, // duplicate_object
  '42723': otherProgram, // duplicate_function
  // dependent_objects_still_exist
  '2BP01': 'a view of yours reads one that must be made anew: drop yours, migrate, make it again',
  // insufficient_privilege
  '42501':
    'this user may not change the schema: let the owner run grant create on database … to this user, and give it the schemas and tables ' +
    `of Tidemark that another user made (alter … owner to …); where they are another program's, ${ownDatabase}`,
};

/** `locked`: who keeps it locked, where the cause is a lock. */
function explained(cause: unknown, address: string, locked: string): unknown {
  const isLost = isConnectionLoss(cause);
  const todo = isLost
    ? 'the connection broke each time; nothing was changed: migrate again'
    : locked
      ? `${locked}: let it end, then migrate again`
      : advice[codeOf(cause) ?? ''];
  if (todo === undefined) return cause;
  const Kind = isLost || locked ? Transient : Misconfigured;
  const detail = Reflect.get(Object(cause), 'detail');
  return new Kind(`${address}: ${wordsOf(cause)}${detail ? `; ${detail}` : ''}: ${todo}`, { cause });
}
