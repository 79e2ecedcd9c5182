import { randomUUID } from 'node:crypto';
import { Kysely, PostgresDialect, type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { stopped } from '../core/abort.ts';
import { codeOf, Misconfigured, Transient } from '../core/errors.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { diskFull, full, readOnly, wordsOf } from '../warehouse/pg-errors.ts';
import { isConnectionLoss, isRepeatable, usualRetry, withRetry } from '../warehouse/with-retry.ts';

/** One database session in a transaction: Kysely for statements, the bare client for COPY. */
export interface Session {
  readonly trx: Kysely<AnyDatabase>;
  readonly client: pg.PoolClient;
}

/**
 * Settings of every load. A staging table has no statistics, and a young target has old ones: left alone, the
 * planner hashes the entire target once a batch, or scans it once a staged row. All joins here are look-ups
 * by key.
 */
export const planner = `set local enable_hashjoin = off; set local enable_mergejoin = off;
  set local enable_seqscan = off; set local enable_material = off; set local lock_timeout = '30s'`;

/** Executes a statement that joins by hash: both of its sides may be large and are not looked up by key. */
export async function withHashJoin<T>({ client, trx }: Session, statement: RawBuilder<T>) {
  await client.query('set local enable_hashjoin = on; set local enable_nestloop = off');
  const result = await statement.execute(trx);
  await client.query('set local enable_hashjoin = off; set local enable_nestloop = on');
  return result;
}

/** Kysely on exactly this client: its statements and our COPY streams share the session. */
export function kyselyOn(client: pg.PoolClient): Kysely<AnyDatabase> {
  const borrowed = { query: client.query.bind(client), release: () => undefined };
  const pool = { connect: async () => borrowed, end: async () => undefined, options: {} };
  return new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool }) });
}

const ignore = (): undefined => undefined;

/** A transaction on a session of its own. */
export interface OpenTransaction {
  readonly session: Session;
  /**
   * Returns once it is certainly committed: after a lost answer to the COMMIT the server is asked (guarantee
   * G2).
   */
  commit(): Promise<void>;
  /**
   * Gives the session back, without what was not committed. `cause`: the error of the work. Harmless after
   * `commit`.
   */
  rollback(cause?: unknown): Promise<void>;
}

/** How to reach the warehouse, and until when. */
type Access = { readonly pool: pg.Pool; readonly signal: AbortSignal };

/** Begins a transaction. `settings`: SET LOCAL statements for it. */
export async function begin(pool: pg.Pool, signal: AbortSignal, settings: string): Promise<OpenTransaction> {
  const client = await pool.connect();
  // Without a listener a break of the connection would end the process; the next statement reports it.
  client.on('error', ignore);
  const end = (error?: unknown): Promise<void> => giveBack({ pool, signal }, client, error);
  const token = randomUUID();
  const xid = await start(client, settings, token).catch(async (error: unknown) => {
    await end(error);
    throw error;
  });
  let isOver = false;
  return {
    session: { trx: kyselyOn(client), client },
    async commit() {
      isOver = true;
      try {
        const { command } = await client.query('commit');
        // A statement had failed before, and its error was lost.
        if (command !== 'COMMIT') throw new Error(`the warehouse answered COMMIT with ${command}`);
      } catch (error) {
        await end(error);
        if (isConnectionLoss(error) && (await wasCommitted({ pool, signal }, xid, token))) return;
        throw error;
      }
      await end();
    },
    async rollback(cause) {
      if (isOver) return;
      isOver = true;
      if (isConnectionLoss(cause)) await end(cause);
      else await client.query('rollback').then(() => end(), end);
    },
  };
}

/** Settings, the transaction's token and its number in one round trip. */
async function start(client: pg.PoolClient, settings: string, token: string): Promise<string> {
  const answers: unknown = await client.query(`begin; ${settings};
    insert into ops.commits (token) values ('${token}'); select pg_current_xact_id()::text as xid`);
  return (answers as readonly pg.QueryResult<{ xid: string }>[]).at(-1)?.rows[0]?.xid ?? '';
}

/**
 * Runs `work` in one transaction and gives its result once it is certainly committed. `settings`: SET LOCAL
 * statements for it. A deadlock, a lock time-out or a lost connection repeats the whole transaction: `work`
 * must be repeatable. Throws what `work` throws, or `Transient` when retrying has taken too long.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  signal: AbortSignal,
  work: (session: Session) => Promise<T>,
  { settings = '' }: { readonly settings?: string } = {},
): Promise<T> {
  const attempt = async (): Promise<T> => {
    const open = await begin(pool, signal, settings);
    try {
      const result = await work(open.session);
      await open.commit();
      return result;
    } catch (error) {
      await open.rollback(error);
      throw error;
    }
  };
  try {
    return await withRetry(attempt, usualRetry, isRepeatable, signal);
  } catch (error) {
    throw signal.aborted && error === signal.reason ? stopped(signal) : transientIf(error);
  }
}

/**
 * Gives the client back to its pool; after an error it is closed. Where only the packets of a lost connection
 * vanished, the server's side would hold its locks, and the next try would wait for them: it is ended.
 */
async function giveBack({ pool, signal }: Access, client: pg.PoolClient, error: unknown): Promise<void> {
  client.off('error', ignore);
  client.release(error !== undefined);
  const pid: unknown = Reflect.get(client, 'processID');
  if (!isConnectionLoss(error) || typeof pid !== 'number') return;
  const statement = `select pg_terminate_backend(pid) from pg_stat_activity
    where pid = $1 and datname = current_database() and usename = current_user
      and (application_name = current_setting('application_name') or application_name like 'tidemark %')`;
  const endBackend = () => pool.query(statement, [pid]);
  // Also where the server restarts, or where this connection of the pool is dead, too.
  await withRetry(endBackend, usualRetry, isRepeatable, signal).catch((failure: unknown) => {
    if (!signal.aborted) throw failure;
  });
}

/** `pg_xact_status` of a number that was not given out yet. */
const inTheFuture = '22023';

/**
 * Asks until the server knows whether the transaction was committed. The number says whether it is over, the
 * token how it ended: a server that crashed before the transaction reached the disk forgets the number and
 * gives it to the next one. Throws `Transient` where it is not known in time.
 */
async function wasCommitted({ pool, signal }: Access, xid: string, token: string): Promise<boolean> {
  const undecided = new Transient(
    `the warehouse did not say in time whether transaction ${xid} was committed`,
  );
  const ask = async (): Promise<boolean> => {
    const status = 'select pg_xact_status($1::xid8) as status';
    const { rows } = await pool.query<{ status: string | null }>(status, [xid]);
    if (rows[0]?.status === 'aborted') return false;
    if (rows[0]?.status !== 'committed') throw undecided;
    return (await pool.query('select from ops.commits where token = $1', [token])).rowCount === 1;
  };
  const isWorthIt = (error: unknown): boolean => error === undecided || isRepeatable(error);
  return withRetry(ask, usualRetry, isWorthIt, signal).catch((error: unknown) => {
    if (codeOf(error) === inTheFuture) return false;
    if (signal.aborted && error === signal.reason) throw stopped(signal);
    // Not repeatable: the rows may be there already.
    throw isRepeatable(error) ? undecided : error;
  });
}

/** Removes tokens that no transaction can ask for any more. */
export async function pruneCommits(db: Kysely<AnyDatabase>): Promise<void> {
  await sql`delete from ops.commits where committed_at < now() - interval '1 day'`.execute(db);
}

/**
 * What to throw for an error of the warehouse: `Transient` where the same work may succeed another time (the
 * session is gone, a lock was not to be had), `WarehouseFull` where its disk is full, `Misconfigured` where
 * it takes no writes; else the error itself.
 */
export function transientIf(error: unknown): unknown {
  if (isRepeatable(error))
    return new Transient(`the warehouse could not take the batch: ${wordsOf(error)}`, { cause: error });
  if (!(error instanceof Error)) return error;
  if (codeOf(error) === readOnly)
    return new Misconfigured(
      `the warehouse takes no writes (${wordsOf(error)}): it is a replica or read-only; committed rows stay`,
      { cause: error },
    );
  return codeOf(error) === diskFull ? full(wordsOf(error), { cause: error }) : error;
}
