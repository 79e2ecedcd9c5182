import fs from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import { type MigrationProvider, Migrator } from 'kysely/migration';
import { Misconfigured, saidBy, Transient, Unreachable } from '../core/errors.ts';
import type { DeclaredTable } from '../core/table.ts';
import { type AnyDatabase, connect, type Warehouse } from './connect.ts';
import { applyDefinitions, type Definition, definitionOf, viewsIn } from './definitions.ts';
import { codeOf } from './pg-errors.ts';
import { isConnectionLoss } from './with-retry.ts';

const ours = new URL('../../migrations/', import.meta.url);

export interface MigrateOptions {
  /** Folder of the steps (`0001_name.sql`), with the views in `views/`; default: the project's. */
  readonly folder?: URL;
  /** How long to wait for another process that migrates, in milliseconds; default 10 min. */
  readonly patience?: number;
  readonly signal?: AbortSignal;
  /** Version of this program; default: that of package.json. */
  readonly version?: string;
}

/**
 * Brings the schema up to date in one transaction: the steps of `migrations/`, then the declared tables, then the views. Processes that start
 * at once take turns by a lock of that transaction; one that is killed half-way leaves nothing. Needs the right to create schemas, nothing more.
 * @returns what this call applied, as `pending` names it
 * Throws `Misconfigured` if the schema is newer than this program or may not be changed, `Unreachable` if the lock is not to be had,
 * `Transient` if another session keeps a table locked, or the server ends the connection again and again.
 */
export async function migrate(
  warehouse: Warehouse,
  tables: readonly DeclaredTable[],
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  if ((await pending(warehouse, tables, options).catch(() => [''])).length === 0) return [];
  const { signal } = options;
  for (let losses = 0; ; losses += 1) {
    // A connection of its own: a step may build an index for longer than any statement of a sync may take.
    const own = await connect(warehouse.url.reveal(), {
      max: 1,
      applicationName: 'tidemark migrate',
      statementTimeout: 0,
      ...(signal ? { signal } : {}),
    });
    try {
      return await own.db.transaction().execute(async (trx) => {
        await lock(trx, own.address, options);
        return apply(trx, await missing(trx, tables, options));
      });
    } catch (error) {
      const lost = isConnectionLoss(error instanceof StepFailed ? error.cause : error);
      if (lost && losses < mostLosses) continue;
      throw lost ? brokenEachTime(error, own.address) : explained(error, own.address);
    } finally {
      await own.close();
    }
  }
}

/** A restart of the server costs a migration time only; a step that ends its connection each time is not repeated for ever. */
const mostLosses = 3;

const brokenEachTime = (cause: unknown, address: string): Transient =>
  new Transient(
    `${address}: the connection broke each time while the schema was brought up to date; nothing was changed: migrate again`,
    { cause },
  );

/**
 * What `migrate` would apply: names of steps, then `tables` and `views` if any of them is new or differs. Changes nothing.
 * Throws `Misconfigured` if the schema is newer than this program.
 */
export async function pending(
  { db }: Pick<Warehouse, 'db'>,
  tables: readonly DeclaredTable[],
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  return namesOf(await missing(db, tables, options));
}

interface Missing {
  readonly folder: URL;
  readonly steps: readonly string[];
  readonly outdated: readonly Definition[];
  readonly views: readonly Definition[];
  readonly known: ReadonlySet<string>;
  readonly version: string;
}

const namesOf = ({ steps, outdated }: Missing): readonly string[] => [
  ...steps,
  ...(outdated.some(({ is }) => 'table' in is) ? ['tables'] : []),
  ...(outdated.some(({ is }) => 'view' in is) ? ['views'] : []),
];

async function missing(
  db: Kysely<AnyDatabase>,
  tables: readonly DeclaredTable[],
  { folder = ours, version }: MigrateOptions,
): Promise<Missing> {
  const [steps, views, own] = await Promise.all([
    stepsIn(folder),
    viewsIn(new URL('views/', folder)),
    version ?? ownVersion(),
  ]);
  const wanted = [...tables.map(definitionOf), ...views];
  const applied = await appliedTo(db);
  const strange = applied.steps.filter((name) => !steps.includes(name));
  const hashes = new Map(wanted.map(({ name, hash }) => [name, hash]));
  const newer = applied.definitions.filter(
    (stored) => isNewer(stored.version, own) && hashes.get(stored.name) !== stored.hash,
  );
  if (strange.length + newer.length > 0)
    throw new Misconfigured(
      `the warehouse was made by a newer Tidemark: it has ${[...strange, ...newer.map(({ name, version: by }) => `${name} of ${by}`)].join(', ')}, ` +
        `which this version (${own}) does not know. Update Tidemark`,
    );
  const stored = new Map(applied.definitions.map(({ name, hash }) => [name, hash]));
  return {
    folder,
    steps: steps.filter((name) => !applied.steps.includes(name)),
    outdated: wanted.filter(({ name, hash }) => stored.get(name) !== hash),
    views,
    known: new Set(stored.keys()),
    version: own,
  };
}

const isNewer = (version: string, than: string): boolean =>
  version.localeCompare(than, 'en', { numeric: true }) > 0;

async function ownVersion(): Promise<string> {
  const text = await fs.readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}

interface Applied {
  /** In order. */
  readonly steps: readonly string[];
  readonly definitions: readonly { readonly name: string; readonly hash: string; readonly version: string }[];
}

async function appliedTo(db: Kysely<AnyDatabase>): Promise<Applied> {
  const { rows: exist } = await sql<{ steps: boolean; definitions: boolean }>`
    select to_regclass('ops.migrations') is not null as steps, to_regclass('ops.definitions') is not null as definitions`.execute(
    db,
  );
  const steps = exist[0]?.steps
    ? await sql<{ name: string }>`select name from ops.migrations order by name collate "C"`.execute(db)
    : { rows: [] };
  const definitions = exist[0]?.definitions
    ? await sql<Applied['definitions'][number]>`select name, hash, version from ops.definitions`.execute(db)
    : { rows: [] };
  return { steps: steps.rows.map(({ name }) => name), definitions: definitions.rows };
}

async function apply(trx: Transaction<AnyDatabase>, changes: Missing): Promise<readonly string[]> {
  if (changes.steps.length > 0) await applySteps(trx, changes.folder);
  if (changes.outdated.length > 0) await applyDefinitions(trx, changes);
  return namesOf(changes);
}

async function applySteps(trx: Transaction<AnyDatabase>, folder: URL): Promise<void> {
  // Kysely's own error may be the one of its clean-up in a transaction that is aborted already.
  let failed: StepFailed | undefined;
  const { error } = await new Migrator({
    db: trx,
    provider: providerOf(folder, (step) => {
      failed = step;
    }),
    migrationTableSchema: 'ops',
    migrationTableName: 'migrations',
    migrationLockTableName: 'migration_lock',
  }).migrateToLatest();
  if (error !== undefined) throw failed ?? error;
}

class StepFailed extends Error {
  constructor(name: string, cause: unknown) {
    super(`migration ${name} failed and left no trace: ${saidBy(cause)}`, { cause });
    this.name = 'StepFailed';
  }
}

/** Any number will do, as long as every version of this program uses the same. */
const lockKey = 7_236_511_094_217;

/** Takes the lock until the end of the transaction. */
async function lock(
  trx: Transaction<AnyDatabase>,
  address: string,
  { patience = 600_000, signal }: MigrateOptions,
): Promise<void> {
  const deadline = performance.now() + patience;
  for (;;) {
    signal?.throwIfAborted();
    const { rows } = await sql<{
      locked: boolean;
    }>`select pg_try_advisory_xact_lock(${lockKey}::bigint) as locked`.execute(trx);
    if (rows[0]?.locked) return;
    if (performance.now() > deadline) {
      throw new Unreachable(
        `another process has been migrating ${address} for ${Math.round(patience / 1000)} s`,
      );
    }
    await sleep(50);
  }
}

/** The names of a folder's steps, in order: its files without their ending. */
async function stepsIn(folder: URL): Promise<readonly string[]> {
  const files = (await fs.readdir(folder)).filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file)).sort();
  return files.map((file) => file.slice(0, -'.sql'.length));
}

const providerOf = (folder: URL, failed: (step: StepFailed) => void): MigrationProvider => ({
  async getMigrations() {
    const steps = (await stepsIn(folder)).map(async (name) => {
      const text = await fs.readFile(new URL(`${name}.sql`, folder), 'utf8');
      const up = async (db: Kysely<unknown>): Promise<void> => {
        try {
          // Kysely has set an hour for the rest of the transaction.
          await sql.raw(`set local lock_timeout = '60s';\n${text}`).execute(db);
        } catch (cause) {
          const step = new StepFailed(name, cause);
          failed(step);
          throw step;
        }
      };
      return [name, { up }] as const;
    });
    return Object.fromEntries(await Promise.all(steps));
  },
});

/** Says what the user can do about an error of Postgres; any other error is given back as it is. */
function explained(error: unknown, address: string): unknown {
  const cause = error instanceof StepFailed ? error.cause : error;
  const said = saidBy(cause);
  const facts = { cause: error };
  const ownDatabase =
    'give the warehouse a database of its own (createdb tidemark) and name that in DATABASE_URL';
  switch (codeOf(cause)) {
    case '42P07': // duplicate_table
    case '42710': // duplicate_object
    case '42723': // duplicate_function
      return new Misconfigured(
        `${address}: another program keeps its tables where Tidemark's belong (${said}): ${ownDatabase}`,
        facts,
      );
    case '2BP01': // dependent_objects_still_exist
      return new Misconfigured(
        `${address}: a view of yours reads one that must be made anew (${said}; ${detailOf(cause)}): drop yours, migrate, make it again`,
        facts,
      );
    case '55P03': // lock_not_available
      return new Transient(
        `${address}: ${saidBy(error)}: another session keeps a table locked that must change, perhaps a transaction of a BI tool ` +
          'that is left open (pg_stat_activity shows it): let it end, then migrate again',
        facts,
      );
    case '42501':
      return forbidden(said, address, ownDatabase, facts);
    default:
      return error;
  }
}

const detailOf = (error: unknown): string =>
  error instanceof Error && 'detail' in error ? String(error.detail) : '';

function forbidden(
  said: string,
  address: string,
  ownDatabase: string,
  facts: { readonly cause: unknown },
): Misconfigured {
  const schema = /^(?:permission denied for|must be owner of) schema (\w+)$/.exec(said)?.[1];
  if (schema !== undefined && schema !== 'public')
    return new Misconfigured(
      `${address}: the schema ${schema} belongs to another user: let that one run: alter schema ${schema} owner to <user>; or, where it is another program's, ${ownDatabase}`,
      facts,
    );
  const database = address.slice(address.indexOf('/') + 1);
  return new Misconfigured(
    `${address}: this user may not change the schema (${said}): ` +
      `let the owner run: grant create on database "${database}" to <user>; tables made by another user must be given to it`,
    facts,
  );
}
