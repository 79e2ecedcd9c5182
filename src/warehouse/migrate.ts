/** Brings the schema up to date: the steps of `migrations/`, then the declared tables, then the views of `migrations/views/`. */
import fs from 'node:fs';
import { type Kysely, sql, type Transaction } from 'kysely';
import { Misconfigured, saidBy, Transient, Unreachable } from '../core/errors.ts';
import type { DeclaredTable } from '../core/table.ts';
import { type AnyDatabase, connect, type Warehouse } from './connect.ts';
import { codeOf } from './pg-errors.ts';
import {
  applyTable,
  applyViews,
  type Definition,
  ensureSchema,
  filesIn,
  tableDefinitions,
  viewsIn,
} from './tables.ts';
import { isConnectionLoss, withRetry } from './with-retry.ts';

export interface MigrateOptions {
  /** Folder of the steps (`0001_name.sql`), with the views in `views/`; default: the project's. */
  readonly folder?: URL;
  /** How long to wait for another process that migrates, in milliseconds; default 10 min. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Version of this program; default: that of package.json. */
  readonly version?: string;
}

/**
 * Applies what is pending, in one transaction: a process that is killed half-way leaves nothing, and processes that start at once take turns.
 * Needs the right to create schemas, nothing more. Gives what it applied, as `pending` names it.
 * Throws `Misconfigured` if the schema is newer than this program or may not be changed, `Unreachable` if another process migrates for too
 * long, `Transient` if another session keeps a table locked or the connection breaks again and again.
 */
export async function migrate(
  warehouse: Warehouse,
  tables: readonly DeclaredTable[],
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  if ((await pending(warehouse, tables, options).catch(() => [''])).length === 0) return [];
  const { waitMs = 600_000, signal } = options;
  const once = async (): Promise<readonly string[]> => {
    // A connection of its own: a step may build an index for longer than any statement of a sync may take.
    const own = await connect(warehouse.url.reveal(), {
      max: 1,
      applicationName: 'tidemark migrate',
      statementTimeout: 0,
      ...(signal && { signal }),
    });
    const stop = (): void => void own.close();
    signal?.addEventListener('abort', stop);
    try {
      return await own.db.transaction().execute(async (trx) => {
        await lock(trx, waitMs);
        return apply(trx, await planOf(trx, tables, options));
      });
    } finally {
      signal?.removeEventListener('abort', stop);
      await own.close();
    }
  };
  try {
    return await withRetry(once, { totalMs: 3_000, firstMs: 50, longestMs: 1_000 });
  } catch (error) {
    signal?.throwIfAborted();
    throw explained(error, warehouse.address);
  }
}

/**
 * What `migrate` would apply: names of steps, then `tables` and `views` if any of them is new or differs. Changes nothing.
 * Throws `Misconfigured` if the schema is newer than this program.
 */
export async function pending(
  { db }: Pick<Warehouse, 'db'>,
  tables: readonly DeclaredTable[],
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  return namesOf(await planOf(db, tables, options));
}

/** What has to be applied. */
interface Plan {
  /** Steps in order, then tables, then views, each after those that it reads. */
  readonly outdated: readonly Definition[];
  readonly views: readonly Definition[];
  /** Names of what earlier migrations applied. */
  readonly known: ReadonlySet<string>;
  readonly version: string;
}

const namesOf = ({ outdated }: Plan): readonly string[] => [
  ...new Set(outdated.map(({ kind, name }) => (kind === 'step' ? name : `${kind}s`))),
];

async function planOf(
  db: Kysely<AnyDatabase>,
  tables: readonly DeclaredTable[],
  { folder = new URL('../../migrations/', import.meta.url), version = ownVersion() }: MigrateOptions,
): Promise<Plan> {
  const views = viewsIn(new URL('views/', folder));
  const wanted = [...filesIn(folder, 'step'), ...tables.flatMap(tableDefinitions), ...views];
  const byName = new Map(wanted.map((each) => [each.name, each]));
  const stored = await storedIn(db);
  const hashes = new Map(stored.map(({ name, hash }) => [name, hash]));
  const newer = stored.filter(
    (each) =>
      byName.get(each.name)?.hash !== each.hash &&
      (each.version.localeCompare(version, 'en', { numeric: true }) > 0 ||
        (each.kind === 'step' && !byName.has(each.name))),
  );
  if (newer.length > 0)
    throw new Misconfigured(
      `the warehouse was made by a newer Tidemark (it has ${newer.map((each) => `${each.name} of ${each.version}`).join(', ')}) ` +
        `than this version, ${version}: update Tidemark`,
    );
  const isOutdated = ({ kind, name, hash }: Definition): boolean =>
    kind === 'step' ? !hashes.has(name) : hashes.get(name) !== hash;
  return { outdated: wanted.filter(isOutdated), views, known: new Set(hashes.keys()), version };
}

function ownVersion(): string {
  const text = fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

interface Stored {
  readonly kind: Definition['kind'];
  readonly name: string;
  readonly hash: string;
  readonly version: string;
}

async function storedIn(db: Kysely<AnyDatabase>): Promise<readonly Stored[]> {
  const { rows } = await sql<{
    exists: boolean;
  }>`select to_regclass('ops.definitions') is not null as exists`.execute(db);
  if (!rows[0]?.exists) return [];
  return (await sql<Stored>`select kind, name, hash, version from ops.definitions order by name`.execute(db))
    .rows;
}

/** Waits for other processes that migrate; the lock ends with the transaction. */
async function lock(trx: Transaction<AnyDatabase>, waitMs: number): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${Math.max(waitMs, 1)}ms`}, true)`.execute(trx);
  // Any number, as long as every version of this program uses the same.
  await sql`select pg_advisory_xact_lock(7236511094217)`.execute(trx).catch((cause: unknown) => {
    if (codeOf(cause) !== lockNotAvailable) throw cause;
    const seconds = Math.round(waitMs / 1000);
    throw new Unreachable(`another process has been migrating this warehouse for ${seconds} s`, { cause });
  });
  await sql`set local lock_timeout = '60s'`.execute(trx);
}

async function apply(trx: Transaction<AnyDatabase>, plan: Plan): Promise<readonly string[]> {
  const { outdated, views, known, version } = plan;
  await ensureSchema(trx, 'ops');
  await sql`create table if not exists ops.definitions (
    kind text not null, name text primary key, hash text not null, version text not null, applied_at timestamptz not null default now())`.execute(
    trx,
  );
  for (const each of outdated) {
    if (each.kind === 'table') await applyTable(trx, each, known);
    if (each.kind === 'step')
      await sql
        .raw(each.text)
        .execute(trx)
        .catch((cause: unknown) => {
          throw new StepFailed(`migration ${each.name} failed and left no trace: ${saidBy(cause)}`, {
            cause,
          });
        });
  }
  await applyViews(
    trx,
    outdated.filter(({ kind }) => kind === 'view'),
    views,
    known,
  );
  for (const { kind, name, hash } of outdated)
    await sql`insert into ops.definitions (kind, name, hash, version) values (${kind}, ${name}, ${hash}, ${version})
      on conflict (name) do update set hash = excluded.hash, version = excluded.version, applied_at = now()`.execute(
      trx,
    );
  return namesOf(plan);
}

class StepFailed extends Error {}

const lockNotAvailable = '55P03';
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

function explained(error: unknown, address: string): unknown {
  const cause = error instanceof StepFailed ? error.cause : error;
  const detail =
    cause instanceof Error && 'detail' in cause && cause.detail !== undefined
      ? `; ${String(cause.detail)}`
      : '';
  const what = `${address}: ${saidBy(error)}${detail}`;
  if (isConnectionLoss(cause))
    return new Transient(`${what}: the connection broke each time; nothing was changed: migrate again`, {
      cause,
    });
  const code = codeOf(cause) ?? '';
  if (code === lockNotAvailable)
    return new Transient(
      `${what}: another session keeps a table locked that must change, perhaps a transaction that a BI tool left open ` +
        '(pg_stat_activity shows it): let it end, then migrate again',
      { cause },
    );
  return advice[code] === undefined ? error : new Misconfigured(`${what}: ${advice[code]}`, { cause });
}
