/** The right to write for one pipeline (guarantees G6 and G7): how it is taken, kept alive and given back. */

import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type pg from 'pg';
import { Fenced, LockHeld, saidBy } from '../../core/errors.ts';
import { inTransaction, type Session } from '../../load/session.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { loseRuns } from './run-state.ts';

export interface LeaseTimes {
  /** Without a heartbeat for this long, by the database clock, the lease may be taken over. */
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  /** How long to wait for a holder that is just dying before giving up. */
  readonly waitMs: number;
}

export const usualTimes: LeaseTimes = { ttlMs: 30_000, heartbeatMs: 5_000, waitMs: 2_500 };

/** True of a session `a` of the server that is the holder's of the lease `l`. */
const isHolders = `a.pid = l.backend_pid and (a.backend_start is null or a.backend_start = l.backend_start)`;

/** The session that beats. */
const ownSession = `backend_pid = pg_backend_pid(),
  backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid())`;

/** A sign of life. $3: `ttlMs`. */
const alive = `heartbeat_at = clock_timestamp(),
  expires_at = clock_timestamp() + $3 * interval '1 millisecond'`;

/**
 * Takes the lease of the pipeline $1 for the holder $2, unless its former holder lives: its session exists and
 * its heartbeat is recent. The sessions of a dead or frozen holder are ended first: they would keep the locks of
 * their open transactions, that on the lease among them. Its runs are lost. `epoch` is null where the holder
 * lives, has just shown a sign of life, or where another process was faster.
 */
const take = `
  with former as materialized (
    select *, holder is not null and coalesce(expires_at > clock_timestamp(), false)
      and exists (select from pg_stat_activity a where ${isHolders}) as held
    from ops.leases l where pipeline = $1),
  ended as materialized (
    select count(pg_terminate_backend(a.pid)) from former l, pg_stat_activity a
    where l.holder is not null and not l.held and (${isHolders} or (a.datname = current_database()
      and a.usename = current_user and a.application_name = left('tidemark lease ' || epoch || ' ' || pipeline, 63)))),
  taken as (
    update ops.leases l set epoch = l.epoch + 1, run_id = null, holder = $2, ${ownSession},
      acquired_at = clock_timestamp(), ${alive}
    from former f, ended where l.pipeline = f.pipeline and not f.held and l.epoch = f.epoch
      and l.expires_at is not distinct from f.expires_at returning l.epoch),
  lost as (${loseRuns} and exists (select from taken))
  select (select epoch::text from taken), run_id::text, holder, acquired_at, held from former`;

const register = 'insert into ops.leases (pipeline) values ($1) on conflict do nothing';

interface Former {
  readonly epoch: string | null;
  readonly run_id: string | null;
  readonly holder: string | null;
  readonly acquired_at: Date | null;
  readonly held: boolean;
}

/**
 * Takes the lease of a pipeline, also from a holder that died (its database session is gone) or froze (its
 * heartbeat stopped). Throws `LockHeld` while a living one has it. `until` ends its data transactions.
 */
export async function takeLease(
  pool: pg.Pool,
  pipeline: string,
  { until, ...times }: LeaseTimes & { readonly until?: AbortSignal } = usualTimes,
): Promise<Lease> {
  const client = await pool.connect();
  try {
    const mine = [pipeline, `${os.hostname()} process ${process.pid}`, times.ttlMs];
    const deadline = performance.now() + times.waitMs;
    for (;;) {
      const [former] = (await client.query<Former>(take, mine)).rows;
      const epoch = former?.epoch ?? undefined;
      if (epoch !== undefined) return new Lease({ pool, pipeline, times, epoch }, client, until);
      if (former === undefined) await client.query(register, [pipeline]);
      // Where another process was faster, the next look says so.
      else if (performance.now() > deadline + (former.held ? 0 : 2_000)) throw heldBy(pipeline, former);
      else await sleep(former.held ? 100 : 10);
    }
  } catch (error) {
    client.release(true);
    throw error;
  }
}

function heldBy(pipeline: string, { acquired_at, run_id, holder }: Former): LockHeld {
  const since = acquired_at === null ? '' : ` since ${acquired_at.toISOString()}`;
  const run = run_id === null ? 'a run' : `run ${run_id}`;
  return new LockHeld(
    `${pipeline}: ${run} of ${holder ?? 'another process'} holds the pipeline${since}; wait for it or stop it`,
  );
}

/** Which lease it is. */
interface LeaseContext {
  readonly pool: pg.Pool;
  readonly pipeline: string;
  readonly epoch: string;
  readonly times: LeaseTimes;
}

/** A lease that is held, until released, lost or taken over. Its session is replaced when it breaks. */
export class Lease {
  readonly epoch: string;
  /** Aborts with `Fenced` when the lease is found to be lost, and with `until`. */
  readonly signal: AbortSignal;
  /** SET LOCAL statements for each data transaction: the next holder finds its session by our name. */
  readonly settings: string;
  readonly #facts: LeaseContext;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #client: pg.PoolClient | undefined;
  #isReleased = false;
  #beating: Promise<void> | undefined;
  /** Data transactions of the pipeline whose commit was confirmed to us. */
  #confirmed = 0;

  constructor(facts: LeaseContext, client: pg.PoolClient, until?: AbortSignal) {
    const { pipeline, epoch, times } = facts;
    this.#facts = facts;
    this.epoch = epoch;
    this.signal = AbortSignal.any([this.#lost.signal, ...(until === undefined ? [] : [until])]);
    // A name has at most 63 bytes.
    const name = `tidemark lease ${epoch} ${pipeline}`.slice(0, 63).replaceAll("'", "''");
    this.settings = `set local application_name = '${name}'`;
    this.#use(client);
    this.#timer = setInterval(() => this.#beat(), times.heartbeatMs).unref();
  }

  /**
   * One data transaction, on a session of its own; it commits only while the lease is still held (guarantee
   * G7). `work` must be repeatable. Throws as `inTransaction`, or `Fenced`.
   */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const guarded = async (session: Session) => ({
      result: await work(session),
      confirm: await this.guard(session),
    });
    const { settings } = this;
    const { result, confirm } = await inTransaction(this.#facts.pool, this.signal, guarded, { settings });
    confirm();
    return result;
  }

  /**
   * The last statement of a data transaction: throws `Fenced` unless the lease is still ours (guarantee G7),
   * and where the warehouse has gone back in time. Call what it gives once the transaction is committed.
   */
  async guard({ trx }: Pick<Session, 'trx'>): Promise<() => void> {
    const { pipeline, epoch, times } = this.#facts;
    const { rows } = await sql<{ commits: number }>`update ops.leases set heartbeat_at = clock_timestamp(),
        expires_at = clock_timestamp() + ${times.ttlMs} * interval '1 millisecond', commits = commits + 1
      where pipeline = ${pipeline} and epoch = ${epoch}::bigint returning commits::float8 as commits`.execute(
      trx,
    );
    const [row] = rows;
    if (row === undefined) throw this.#lose(this.#takenOver);
    const { commits } = row;
    // The row is locked until the commit: the next transaction counts on from here.
    if (commits <= this.#confirmed)
      throw this.#lose(
        'the warehouse has forgotten what it had confirmed (a replica took over, or it was restored): what this run has stored is not certain',
      );
    return () => {
      this.#confirmed = Math.max(this.#confirmed, commits);
    };
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    clearInterval(this.#timer);
    await this.#beating;
    const free = `holder = null, run_id = null, backend_pid = null, backend_start = null, expires_at = clock_timestamp()`;
    // Where the session has ended, a successor sees that its backend is gone.
    if (this.#client !== undefined) await this.#update(this.#client, free).catch(() => undefined);
    this.#client?.release(true);
  }

  /** Gives whether the lease is still ours. */
  async #update(client: pg.PoolClient, set: string, ...values: readonly unknown[]): Promise<boolean> {
    const { pipeline, epoch } = this.#facts;
    const text = `update ops.leases set ${set} where pipeline = $1 and epoch = $2`;
    return (await client.query(text, [pipeline, epoch, ...values])).rowCount === 1;
  }

  /** Beats by this session. When it breaks, another process would take the lease before the next beat. */
  #use(client: pg.PoolClient): pg.PoolClient {
    this.#client = client.on('error', () => this.#beat());
    return client;
  }

  /** One beat at a time. */
  #beat(): void {
    if (this.#isReleased) return;
    this.#beating ??= this.#showLife().finally(() => {
      this.#beating = undefined;
    });
  }

  /**
   * The warehouse may be restarting: tries for a whole lease time, then ends the run. Data transactions check
   * the epoch themselves.
   */
  async #showLife(): Promise<void> {
    const { pool, times } = this.#facts;
    const attempt = async (): Promise<void> => {
      const client = this.#client ?? this.#use(await pool.connect());
      try {
        if (!(await this.#update(client, `${ownSession}, ${alive}`, times.ttlMs)))
          this.#lose(this.#takenOver);
      } catch (error) {
        this.#client = undefined;
        client.release(true);
        throw error;
      }
    };
    const pauses = { totalMs: times.ttlMs, firstMs: 200, longestMs: 200 };
    await withRetry(attempt, pauses, () => !this.#isReleased).catch((error: unknown) => {
      const text = `no sign of life reached the warehouse for a whole lease time (${times.ttlMs / 1000} s)`;
      if (!this.#isReleased) this.#lose(`${text}: ${saidBy(error)}`, error);
    });
  }

  get #takenOver(): string {
    return `another process took the lease (ours was epoch ${this.epoch})`;
  }

  #lose(why: string, cause?: unknown): Fenced {
    const reason = new Fenced(`${this.#facts.pipeline}: ${why}`, { cause });
    this.#lost.abort(reason);
    return reason;
  }
}
