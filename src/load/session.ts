import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, type PostgresPool, sql, type Transaction } from 'kysely';
import type pg from 'pg';
import { Interrupted, Misconfigured, saidBy, TidemarkError, Transient } from '../core/errors.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { codeOf, diskFull, full, readOnly } from '../warehouse/pg-errors.ts';
import { isConnectionLoss, isRepeatable, type Patience, usualPatience } from '../warehouse/with-retry.ts';

/** One database session in a transaction: Kysely for statements, the bare client for COPY. */
export interface Session {
  readonly trx: Transaction<AnyDatabase>;
  readonly client: pg.PoolClient;
}

const bound = new WeakMap<pg.PoolClient, Kysely<AnyDatabase>>();

/** Kysely on exactly this client: its transactions and our COPY streams share the session. */
export function kyselyOn(client: pg.PoolClient): Kysely<AnyDatabase> {
  const known = bound.get(client);
  if (known !== undefined) return known;
  const borrowed = new Proxy(client, {
    get(target, property) {
      if (property === 'release') return () => undefined;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const pool: PostgresPool = { connect: async () => borrowed, end: async () => undefined, options: {} };
  const made = new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool }) });
  bound.set(client, made);
  return made;
}

/**
 * Runs `work` in one transaction and gives its result once it is certainly committed. `settings`: SET LOCAL statements for it.
 * A deadlock, a lock time-out or a lost connection repeats the whole transaction (`work` must be repeatable); after a lost COMMIT reply
 * the transaction's fate is asked of the server (`pg_xact_status` and the token it left in ops.commits), never assumed (guarantee G2).
 * `on`: the transaction needs what this session holds; where the session breaks there is nothing to repeat.
 * Throws what `work` throws, or `Transient` when the patience is spent.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  signal: AbortSignal,
  work: (session: Session) => Promise<T>,
  options: { readonly settings?: string; readonly patience?: Patience; readonly on?: pg.PoolClient } = {},
): Promise<T> {
  const patience = options.patience ?? usualPatience;
  const deadline = performance.now() + patience.totalMs;
  let pause = patience.firstMs;
  for (;;) {
    let fate: { readonly xid: string; readonly result: T } | undefined;
    const token = randomUUID();
    let client: pg.PoolClient | undefined;
    try {
      client = options.on ?? (await pool.connect());
      const db = kyselyOn(client);
      const session = client;
      const result = await db.transaction().execute(async (trx) => {
        const xid = await opened(session, options.settings ?? '', token);
        const done = await work({ trx, client: session });
        fate = { xid, result: done };
        return done;
      });
      if (options.on === undefined) client.release();
      return result;
    } catch (error) {
      const broken = isConnectionLoss(error);
      if (options.on === undefined) client?.release(broken);
      if (broken && client !== undefined) await endBackend(pool, client, deadline, signal);
      if (
        fate !== undefined &&
        broken &&
        (await wasCommitted(pool, { xid: fate.xid, token }, deadline, signal))
      )
        return fate.result;
      const isOver = performance.now() + pause > deadline || (broken && options.on !== undefined);
      if (!isRepeatable(error) || isOver) throw transientIf(error);
      if (signal.aborted) throw reasonOf(signal);
    }
    await sleep(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {
      throw reasonOf(signal);
    });
    pause = Math.min(pause * 2, patience.longestMs);
  }
}

/** A session of the pool. Throws `Transient` where the warehouse has none for now. */
export const connected = (pool: pg.Pool): Promise<pg.PoolClient> =>
  pool.connect().catch((error: unknown) => {
    throw transientIf(error);
  });

/** A transaction that stays open while other things go on; nothing of it can be repeated. */
export interface OpenTransaction {
  readonly session: Session;
  /** Returns once it is certainly committed (as `inTransaction`). Throws `Transient` where it is not. */
  commit(): Promise<void>;
  /** Gives the session back, without what was not committed. Harmless behind `commit`. */
  rollback(): Promise<void>;
}

/** Opens a transaction on a session of its own. `settings`: SET LOCAL statements for it. Throws `Transient` where there is no session to be had. */
export async function beginTransaction(
  pool: pg.Pool,
  signal: AbortSignal,
  settings: string,
): Promise<OpenTransaction> {
  const client = await connected(pool);
  // A break shows itself in the next statement.
  const ignore = (): undefined => undefined;
  client.on('error', ignore);
  let over = false;
  const release = (broken: boolean): void => {
    over = true;
    client.off('error', ignore);
    client.release(broken);
  };
  const token = randomUUID();
  try {
    const trx = await kyselyOn(client).startTransaction().execute();
    const xid = await opened(client, settings, token);
    return {
      session: { trx, client },
      async commit() {
        try {
          await trx.commit().execute();
          release(false);
        } catch (error) {
          const broken = isConnectionLoss(error);
          release(true);
          const deadline = performance.now() + usualPatience.totalMs;
          if (broken) await endBackend(pool, client, deadline, signal);
          if (!broken || !(await wasCommitted(pool, { xid, token }, deadline, signal)))
            throw transientIf(error);
        }
      },
      async rollback() {
        if (over) return;
        await trx
          .rollback()
          .execute()
          .then(
            () => release(false),
            // The session is broken, and with it its transaction.
            () => release(true),
          );
      },
    };
  } catch (error) {
    release(true);
    throw transientIf(error);
  }
}

/**
 * Ends the server's side of a connection that we gave up: where only the packets vanished, its transaction would go on holding its locks,
 * and the next try would wait for them.
 */
async function endBackend(
  pool: pg.Pool,
  client: pg.PoolClient,
  deadline: number,
  signal: AbortSignal,
): Promise<void> {
  const pid: unknown = Reflect.get(client, 'processID');
  if (typeof pid !== 'number') return;
  while (performance.now() < deadline && !signal.aborted) {
    try {
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and datname = current_database()
           and usename = current_user
           and (application_name = current_setting('application_name') or application_name like 'tidemark %')`,
        [pid],
      );
      return;
    } catch (error) {
      // The server is not there yet, or this connection of the pool is a dead one, too: the next may live.
      if (!isRepeatable(error)) throw error;
    }
    await sleep(usualPatience.firstMs);
  }
}

/** Settings, the transaction's token and its number in one round trip. */
async function opened(client: pg.PoolClient, settings: string, token: string): Promise<string> {
  const answer: unknown = await client.query(
    `${settings === '' ? '' : `${settings};`} insert into ops.commits (token) values ('${token}'); select pg_current_xact_id()::text as xid`,
  );
  const results = (Array.isArray(answer) ? answer : [answer]) as readonly pg.QueryResult<{ xid: string }>[];
  return results.at(-1)?.rows[0]?.xid ?? '';
}

/**
 * Asks until the server knows whether the transaction was committed. Its number tells when it is over, its token how: a server that crashed
 * before the transaction reached the disk knows nothing of the number, and gives it to the next one.
 */
async function wasCommitted(
  pool: pg.Pool,
  { xid, token }: { readonly xid: string; readonly token: string },
  deadline: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    try {
      const { rows } = await pool.query<{ status: string | null }>(
        'select pg_xact_status($1::xid8) as status',
        [xid],
      );
      const status = rows[0]?.status;
      if (status === 'aborted') return false;
      if (status === 'committed') {
        const found = await pool.query('select from ops.commits where token = $1', [token]);
        return found.rowCount === 1;
      }
    } catch (error) {
      if (codeOf(error) === inTheFuture) return false;
      if (!isRepeatable(error)) throw error;
    }
    if (performance.now() > deadline)
      throw new Transient(`the warehouse did not say in time whether transaction ${xid} was committed`);
    await sleep(200, undefined, { signal }).catch(() => {
      throw reasonOf(signal);
    });
  }
}

/** `pg_xact_status` of a number that was not given yet. */
const inTheFuture = '22023';

/** Away with the tokens that nobody can ask for any more. */
export async function pruneCommits(db: Kysely<AnyDatabase>): Promise<void> {
  await sql`delete from ops.commits where committed_at < now() - interval '1 day'`.execute(db);
}

const reasonOf = (signal: AbortSignal): TidemarkError =>
  signal.reason instanceof TidemarkError
    ? signal.reason
    : new Interrupted('asked to stop', { cause: signal.reason });

/**
 * What is to be thrown for an error of work that cannot be repeated here: `Transient` where the same work may succeed another time (the session
 * is gone, a lock was not to be had), else as `unwritableIf`.
 */
export function transientIf(error: unknown): unknown {
  if (!isRepeatable(error)) return unwritableIf(error);
  const text = saidBy(error);
  return new Transient(`the warehouse could not take the batch: ${text}`, { cause: error });
}

/** `WarehouseFull` for what the server says when its disk is full, `Misconfigured` where it takes no writes at all, else the error itself. */
function unwritableIf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (codeOf(error) === readOnly)
    return new Misconfigured(
      `the warehouse takes no writes (${error.message}): it has become a replica, or default_transaction_read_only was set; what was committed stays`,
      { cause: error },
    );
  if (codeOf(error) !== diskFull) return error;
  return full(error.message, { cause: error });
}
