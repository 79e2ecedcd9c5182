import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlledTransaction, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import type pg from 'pg';
import { stopped } from '../core/abort.ts';
import { Misconfigured, saidBy, Transient } from '../core/errors.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { codeOf, diskFull, full, readOnly } from '../warehouse/pg-errors.ts';
import { isConnectionLoss, isRepeatable, usualRetry, withRetry } from '../warehouse/with-retry.ts';

/** One database session in a transaction: Kysely for statements, the bare client for COPY. */
export interface Session {
  readonly trx: Transaction<AnyDatabase>;
  readonly client: pg.PoolClient;
}

const byClient = new WeakMap<pg.PoolClient, Kysely<AnyDatabase>>();

/** Kysely on exactly this client: its transactions and our COPY streams share the session. */
export function kyselyOn(client: pg.PoolClient): Kysely<AnyDatabase> {
  const made = byClient.get(client);
  if (made !== undefined) return made;
  const borrowed = new Proxy(client, {
    get(borrowedFrom, property) {
      if (property === 'release') return () => undefined;
      const value: unknown = Reflect.get(borrowedFrom, property);
      return typeof value === 'function' ? value.bind(borrowedFrom) : value;
    },
  });
  const pool = { connect: async () => borrowed, end: async () => undefined, options: {} };
  const db = new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool }) });
  byClient.set(client, db);
  return db;
}

const ignore = (): undefined => undefined;

/** A transaction on a session of its own. Its fate is always known: after a lost COMMIT reply the server is asked (guarantee G2). */
export class OpenTransaction {
  readonly session: Session;
  readonly #pool: pg.Pool;
  readonly #signal: AbortSignal;
  readonly #trx: ControlledTransaction<AnyDatabase>;
  /** The transaction's number, and a token that it leaves in ops.commits. */
  readonly #mark: Mark;
  #isOver = false;

  private constructor(
    pool: pg.Pool,
    client: pg.PoolClient,
    signal: AbortSignal,
    trx: ControlledTransaction<AnyDatabase>,
    mark: Mark,
  ) {
    this.session = { trx, client };
    this.#pool = pool;
    this.#signal = signal;
    this.#trx = trx;
    this.#mark = mark;
  }

  /** `settings`: SET LOCAL statements for it. */
  static async begin(pool: pg.Pool, signal: AbortSignal, settings: string): Promise<OpenTransaction> {
    const client = await pool.connect();
    // Without a listener a break of the connection would end the process; the next statement reports it.
    client.on('error', ignore);
    try {
      const trx = await kyselyOn(client).startTransaction().execute();
      const token = randomUUID();
      const xid = await opened(client, settings, token);
      return new OpenTransaction(pool, client, signal, trx, { xid, token });
    } catch (error) {
      await giveBack(pool, client, signal, error);
      throw error;
    }
  }

  /** Returns once it is certainly committed. */
  async commit(): Promise<void> {
    this.#isOver = true;
    try {
      await this.#trx.commit().execute();
      await giveBack(this.#pool, this.session.client, this.#signal);
    } catch (error) {
      await giveBack(this.#pool, this.session.client, this.#signal, error);
      if (isConnectionLoss(error) && (await wasCommitted(this.#pool, this.#mark, this.#signal))) return;
      throw error;
    }
  }

  /** Gives the session back, without what was not committed. `cause`: the error of the work. Harmless after `commit`. */
  async rollback(cause?: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const broken = await this.#trx
      .rollback()
      .execute()
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    await giveBack(this.#pool, this.session.client, this.#signal, isConnectionLoss(cause) ? cause : broken);
  }
}

interface Mark {
  readonly xid: string;
  readonly token: string;
}

/**
 * Runs `work` in one transaction and gives its result once it is certainly committed. `settings`: SET LOCAL statements for it.
 * A deadlock, a lock time-out or a lost connection repeats the whole transaction: `work` must be repeatable. Throws what `work` throws, or
 * `Transient` when retrying has taken too long.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  signal: AbortSignal,
  work: (session: Session) => Promise<T>,
  { settings = '' }: { readonly settings?: string } = {},
): Promise<T> {
  const attempt = async (): Promise<T> => {
    const open = await OpenTransaction.begin(pool, signal, settings);
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

const pauseFor = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {
    throw stopped(signal);
  });

/** Gives the client back to its pool; after an error of the connection it is closed, and so is the server's side of it. */
async function giveBack(
  pool: pg.Pool,
  client: pg.PoolClient,
  signal: AbortSignal,
  error?: unknown,
): Promise<void> {
  client.off('error', ignore);
  client.release(error !== undefined);
  if (isConnectionLoss(error)) await endBackend(pool, client, signal);
}

/** Where only the packets vanished, the server's side of a lost connection would hold its locks, and the next try would wait for them. */
async function endBackend(pool: pg.Pool, client: pg.PoolClient, signal: AbortSignal): Promise<void> {
  const pid: unknown = Reflect.get(client, 'processID');
  if (typeof pid !== 'number') return;
  const end = () =>
    pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and datname = current_database()
         and usename = current_user
         and (application_name = current_setting('application_name') or application_name like 'tidemark %')`,
      [pid],
    );
  // Also where the server restarts, or where this connection of the pool is dead, too.
  await withRetry(end, usualRetry, isRepeatable, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Settings, the transaction's token and its number in one round trip. */
async function opened(client: pg.PoolClient, settings: string, token: string): Promise<string> {
  const answer: unknown = await client.query(
    `${settings === '' ? '' : `${settings};`} insert into ops.commits (token) values ('${token}'); select pg_current_xact_id()::text as xid`,
  );
  const results = (Array.isArray(answer) ? answer : [answer]) as readonly pg.QueryResult<{ xid: string }>[];
  return results.at(-1)?.rows[0]?.xid ?? '';
}

/** `pg_xact_status` of a number that was not given out yet. */
const inTheFuture = '22023';

/**
 * Asks until the server knows whether the transaction was committed. The number says whether it is over, the token how it ended: a server
 * that crashed before the transaction reached the disk forgets the number and gives it to the next one.
 */
async function wasCommitted(pool: pg.Pool, { xid, token }: Mark, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + usualRetry.totalMs;
  for (;;) {
    try {
      const { rows } = await pool.query<{ status: string | null }>(
        'select pg_xact_status($1::xid8) as status',
        [xid],
      );
      const status = rows[0]?.status;
      if (status === 'aborted') return false;
      if (status === 'committed')
        return (await pool.query('select from ops.commits where token = $1', [token])).rowCount === 1;
    } catch (error) {
      if (codeOf(error) === inTheFuture) return false;
      if (!isRepeatable(error)) throw error;
    }
    if (performance.now() > deadline)
      throw new Transient(`the warehouse did not say in time whether transaction ${xid} was committed`);
    await pauseFor(200, signal);
  }
}

/** Removes tokens that no transaction can ask for any more. */
export async function pruneCommits(db: Kysely<AnyDatabase>): Promise<void> {
  await sql`delete from ops.commits where committed_at < now() - interval '1 day'`.execute(db);
}

/**
 * What to throw for an error of the warehouse: `Transient` where the same work may succeed another time (the session is gone, a lock was
 * not to be had), `WarehouseFull` where its disk is full, `Misconfigured` where it takes no writes; else the error itself.
 */
export function transientIf(error: unknown): unknown {
  if (isRepeatable(error))
    return new Transient(`the warehouse could not take the batch: ${saidBy(error)}`, { cause: error });
  if (!(error instanceof Error)) return error;
  if (codeOf(error) === readOnly)
    return new Misconfigured(
      `the warehouse takes no writes (${error.message}): it has become a replica, or default_transaction_read_only was set; what was committed stays`,
      { cause: error },
    );
  return codeOf(error) === diskFull ? full(error.message, { cause: error }) : error;
}
