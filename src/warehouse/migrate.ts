import fs from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration';
import { Misconfigured, saidBy, Transient, Unreachable } from '../core/errors.ts';
import { type AnyDatabase, connect, type Warehouse } from './connect.ts';

const ours = new URL('../../migrations/', import.meta.url);

export interface MigrateOptions {
  /** Folder of the steps, files `0001_name.ts` that export `up(db)`; default: the project's. */
  readonly folder?: URL;
  /** How long to wait for another process that migrates, in milliseconds; default 10 min. */
  readonly patience?: number;
  readonly signal?: AbortSignal;
}

/**
 * Brings the schema up to date, one step a transaction, under a lock that ends with the connection that holds it: processes that start at
 * once take turns, and one that is killed half-way leaves whole steps only. Needs the right to create schemas, nothing more.
 * @returns the names of the steps that this call applied, in order
 * Throws `Misconfigured` if the schema is newer than this program or may not be changed, `Unreachable` if the lock is not to be had,
 * `Transient` if somebody else keeps what a step changes locked, or the server ends its connection again and again.
 */
export async function migrate(
  warehouse: Warehouse,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  const { signal, folder: from = ours } = options;
  if (await isUpToDate(warehouse, from)) return [];
  const applied: string[] = [];
  for (let losses = 0; ; losses += 1) {
    // A connection of its own: a step may build an index for longer than any statement of a sync may take.
    const own = await connect(warehouse.url.reveal(), {
      max: 1,
      applicationName: 'tidemark migrate',
      statementTimeout: 0,
      ...(signal ? { signal } : {}),
    });
    try {
      const gone = await own.db.connection().execute(async (db) => {
        try {
          await lock(db, own.address, options);
          await steps(db, { from, signal, applied });
          return undefined;
        } catch (error) {
          if (await answers(db)) throw error;
          return error;
        }
      });
      if (gone === undefined) return applied;
      if (losses === mostLosses)
        throw new Transient(
          `${own.address}: the connection broke each time while the schema was brought up to date; the steps that were done stay: migrate again`,
          { cause: gone },
        );
    } catch (error) {
      throw explained(error, own.address);
    } finally {
      await own.close();
    }
  }
}

/** A server that restarts costs a migration time only: steps are whole or not there. One that a step brings down each time is not asked for ever. */
const mostLosses = 3;

/** Whether the connection still lives. What Kysely throws of one that broke within a step does not say so. */
const answers = (db: Kysely<AnyDatabase>): Promise<boolean> =>
  sql`select`.execute(db).then(
    () => true,
    () => false,
  );

/** The steps that `migrate` would apply. Throws `Misconfigured` if the schema is newer than this program. Changes nothing. */
export async function pending(
  warehouse: Warehouse,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  const known = await stepsIn(options.folder ?? ours);
  const applied = await appliedTo(warehouse.db);
  refuseNewer(applied, known);
  return known.filter((name) => !applied.includes(name));
}

/** The look of every start: no lock, no step is loaded. What cannot be looked at is left to the migration, which says why. */
async function isUpToDate({ db }: Warehouse, from: URL): Promise<boolean> {
  const [known, applied] = await Promise.all([stepsIn(from), appliedTo(db).catch(() => [])]);
  if (applied.length === 0 || applied.join() !== known.join()) return false;
  // One question after the other: two at once would open a second connection at every start.
  const { rows } = await sql<{
    text: string | null;
  }>`select obj_description('ops.migrations'::regclass) as text`.execute(db);
  return rows[0]?.text !== null;
}

async function steps(
  db: Kysely<AnyDatabase>,
  {
    from,
    signal,
    applied,
  }: { readonly from: URL; readonly signal: AbortSignal | undefined; readonly applied: string[] },
): Promise<void> {
  refuseNewer(await appliedTo(db), await stepsIn(from));
  const provider = folder(from);
  for (;;) {
    signal?.throwIfAborted();
    const { error, results = [] } = await migrator(db, provider).migrateUp();
    if (error !== undefined) {
      const broken = results.find(({ status }) => status === 'Error')?.migrationName;
      throw broken === undefined ? error : new StepFailed(broken, error);
    }
    if (results.length === 0) break;
    applied.push(...results.map(({ migrationName }) => migrationName));
  }
  await db.transaction().execute(describe);
}

class StepFailed extends Error {
  constructor(name: string, cause: unknown) {
    super(`migration ${name} failed and left no trace: ${saidBy(cause)}`, {
      cause,
    });
    this.name = 'StepFailed';
  }
}

const migrator = (db: Kysely<AnyDatabase>, provider: MigrationProvider): Migrator =>
  new Migrator({
    db,
    provider,
    migrationTableSchema: 'ops',
    migrationTableName: 'migrations',
    migrationLockTableName: 'migration_lock',
  });

/** Any number will do, as long as every version of this program uses the same. */
const lockKey = 7_236_511_094_217;

async function lock(
  db: Kysely<AnyDatabase>,
  address: string,
  { patience = 600_000, signal }: MigrateOptions,
): Promise<void> {
  const deadline = performance.now() + patience;
  for (;;) {
    signal?.throwIfAborted();
    const { rows } = await sql<{
      locked: boolean;
    }>`select pg_try_advisory_lock(${lockKey}::bigint) as locked`.execute(db);
    if (rows[0]?.locked) return;
    if (performance.now() > deadline) {
      throw new Unreachable(
        `another process has been migrating ${address} for ${Math.round(patience / 1000)} s`,
      );
    }
    await sleep(50);
  }
}

/** The steps that the schema has, in order. */
async function appliedTo(db: Kysely<AnyDatabase>): Promise<readonly string[]> {
  const { rows: exists } = await sql<{ there: boolean }>`
    select to_regclass('ops.migrations') is not null as there`.execute(db);
  if (!exists[0]?.there) return [];
  const { rows } = await sql<{
    name: string;
  }>`select name from ops.migrations order by name collate "C"`.execute(db);
  return rows.map(({ name }) => name);
}

function refuseNewer(applied: readonly string[], known: readonly string[]): void {
  const strange = applied.filter((name) => !known.includes(name));
  if (strange.length > 0) {
    throw new Misconfigured(
      `the warehouse was made by a newer Tidemark: it has ${strange.join(', ')}, which this version does not know. Update Tidemark`,
    );
  }
}

/** What the migrator of Kysely makes, described as our own tables are. */
async function describe(db: Kysely<AnyDatabase>): Promise<void> {
  await sql`comment on table ops.migrations is 'Steps of the schema that have been applied; written by tidemark migrate.'`.execute(
    db,
  );
  await sql`comment on column ops.migrations.name is 'File name of the step in migrations/, without its ending.'`.execute(
    db,
  );
  await sql`comment on column ops.migrations.timestamp is 'When it was applied, ISO 8601 text in UTC.'`.execute(
    db,
  );
  await sql`comment on table ops.migration_lock is 'One row that the migrator of Kysely demands; the lock itself is an advisory one.'`.execute(
    db,
  );
  await sql`comment on column ops.migration_lock.id is 'Always migration_lock.'`.execute(db);
  await sql`comment on column ops.migration_lock.is_locked is 'Unused on Postgres.'`.execute(db);
}

/** The names of a folder's steps, in order: its files without their ending. */
async function stepsIn(from: URL): Promise<readonly string[]> {
  const files = (await fs.readdir(from)).filter((file) => /^\d{4}_[a-z0-9_]+\.ts$/.test(file)).sort();
  return files.map((file) => file.slice(0, -'.ts'.length));
}

const folder = (from: URL): MigrationProvider => ({
  getMigrations: async () => {
    const found: Record<string, Migration> = {};
    for (const name of await stepsIn(from)) {
      const step: Partial<Migration> = await import(new URL(`${name}.ts`, from).href);
      if (typeof step.up !== 'function')
        throw new Misconfigured(`migrations/${name}.ts exports no function up(db)`);
      found[name] = { up: step.up };
    }
    return found;
  },
});

const duplicates: ReadonlySet<unknown> = new Set(['42P07', '42710', '42723']); // duplicate_table, duplicate_object, duplicate_function

const lockNotAvailable = '55P03';

function explained(error: unknown, address: string): unknown {
  const cause = error instanceof StepFailed ? error.cause : error;
  if (!(cause instanceof Error && 'code' in cause)) return error;
  const database = address.slice(address.indexOf('/') + 1);
  const facts = { cause: error };
  const ownDatabase =
    'give the warehouse a database of its own (createdb tidemark) and name that in DATABASE_URL';
  if (duplicates.has(cause.code))
    return new Misconfigured(
      `${address}: another program keeps its tables where Tidemark's belong (${cause.message}): ${ownDatabase}`,
      facts,
    );
  if (cause.code === lockNotAvailable)
    return new Transient(
      `${address}: ${error instanceof Error ? error.message : cause.message}: somebody else keeps what it changes locked, a transaction of a BI tool that is left open perhaps (pg_stat_activity shows it): let it end, then migrate again`,
      facts,
    );
  if (cause.code !== '42501') return error;
  const schema = /^(?:permission denied for|must be owner of) schema (\w+)$/.exec(cause.message)?.[1];
  if (schema !== undefined && schema !== 'public')
    return new Misconfigured(
      `${address}: the schema ${schema} belongs to another user: let that one run: alter schema ${schema} owner to <user>; or, where it is another program's, ${ownDatabase}`,
      facts,
    );
  return new Misconfigured(
    `${address}: this user may not change the schema (${cause.message}): ` +
      `let the owner run: grant create on database "${database}" to <user>; tables made by another user must be given to it`,
    facts,
  );
}
