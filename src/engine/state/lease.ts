/** The right to write for one pipeline (guarantees G6 and G7): how it is taken, kept alive and given back. */

import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type pg from 'pg';
import { Fenced, LockHeld, saidBy } from '../../core/errors.ts';
import { IdleTimer } from '../../core/idle-timer.ts';
import type { Session } from '../../load/session.ts';
import { loseRuns } from './run-state.ts';

export interface LeaseTimes {
  /** Without a heartbeat for this long, by the database clock, the lease may be taken over. */
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  /** How long to wait for a holder that is just dying before giving up. */
  readonly waitMs: number;
}

export const usualTimes: LeaseTimes = { ttlMs: 30_000, heartbeatMs: 5_000, waitMs: 2_500 };

/** How often a server that is down is asked for another session, ms. */
const reopenMs = 200;

/** True of a session `a` of the server that is the holder's of the lease `l`. */
const isHolders = `a.pid = l.backend_pid and (a.backend_start is null or a.backend_start = l.backend_start)`;

/** True of a lease `l` whose holder lives: its session is there, and its heartbeat is recent. */
const isHeld = `(l.holder is not null and coalesce(l.expires_at > clock_timestamp(), false)
  and exists (select from pg_stat_activity a where ${isHolders}))`;

/** The session that beats. */
const ownSession = `backend_pid = pg_backend_pid(),
  backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid())`;

/** A sign of life. $3: `ttlMs`. */
const alive = `heartbeat_at = clock_timestamp(),
  expires_at = clock_timestamp() + $3 * interval '1 millisecond'`;

/**
 * Takes the lease of a pipeline, also from a holder that died (its database session is gone) or froze (its
 * heartbeat stopped). Its sessions are ended: a frozen process would keep the locks of its open transactions,
 * that on the lease among them. Throws `LockHeld` while a living one has it.
 */
export async function takeLease(
  pool: pg.Pool,
  pipeline: string,
  times: LeaseTimes = usualTimes,
): Promise<Lease> {
  const client = await pool.connect();
  try {
    await client.query(
      `insert into ops.leases (pipeline) select $1 where not exists (select from ops.leases where pipeline = $1)
       on conflict do nothing`,
      [pipeline],
    );
    const deadline = performance.now() + times.waitMs;
    for (;;) {
      const former = await look(client, pipeline);
      if (former.held) {
        if (performance.now() > deadline) throw heldBy(pipeline, former);
        await sleep(100);
        continue;
      }
      // Where this fails the lease has a living holder by now: the next look shows it.
      const epoch = await tryTake(client, pipeline, former, times);
      if (epoch !== undefined) return new Lease(pool, client, pipeline, epoch, times);
    }
  } catch (error) {
    client.release(true);
    throw error;
  }
}

interface Holder {
  readonly epoch: string;
  readonly run_id: string | null;
  readonly holder: string | null;
  readonly acquired_at: Date | null;
  readonly held: boolean;
}

/** Reads the lease without a lock: a holder that froze after its guard has the row locked. */
async function look(client: pg.PoolClient, pipeline: string): Promise<Holder> {
  const { rows } = await client.query<Holder>(
    `select epoch::text, run_id::text, holder, acquired_at, ${isHeld} as held from ops.leases l where pipeline = $1`,
    [pipeline],
  );
  const [holder] = rows;
  if (holder === undefined) throw new Error(`the lease row of ${pipeline} vanished`);
  return holder;
}

/** Gives the new epoch; undefined where the holder showed a sign of life, or another process was faster. */
async function tryTake(
  client: pg.PoolClient,
  pipeline: string,
  former: Holder,
  { ttlMs }: LeaseTimes,
): Promise<string | undefined> {
  if (former.holder !== null)
    await client.query(
      `select pg_terminate_backend(a.pid) from pg_stat_activity a, ops.leases l
       where l.pipeline = $1 and l.epoch = $2 and (${isHolders} or (a.datname = current_database()
         and a.usename = current_user and a.application_name = $3))`,
      [pipeline, former.epoch, sessionName(pipeline, former.epoch)],
    );
  await client.query('begin');
  // Locked first: the list of sessions, which Postgres reads once a transaction, must not be older than the row.
  await client.query('select from ops.leases where pipeline = $1 for update', [pipeline]);
  const { rows } = await client.query<{ epoch: string }>(
    `update ops.leases l set epoch = epoch + 1, run_id = null, holder = $2, ${ownSession},
       acquired_at = clock_timestamp(), ${alive}
     where pipeline = $1 and epoch = $4 and not ${isHeld} returning epoch::text`,
    [pipeline, `${os.hostname()} process ${process.pid}`, ttlMs, former.epoch],
  );
  // A run that is still 'running' under an older epoch has lost its process.
  if (rows.length > 0) await client.query(loseRuns, [pipeline]);
  await client.query('commit');
  return rows[0]?.epoch;
}

/** What a session is called while a data transaction of this holder is open; a name has at most 63 bytes. */
const sessionName = (pipeline: string, epoch: string): string =>
  `tidemark lease ${epoch} ${pipeline}`.slice(0, 63);

function heldBy(pipeline: string, { acquired_at, run_id, holder }: Holder): LockHeld {
  const since = acquired_at === null ? '' : ` since ${acquired_at.toISOString()}`;
  const run = run_id === null ? 'a run' : `run ${run_id}`;
  return new LockHeld(`${pipeline}: ${run} of ${holder} holds the pipeline${since}; wait for it or stop it`);
}

/** A lease that is held, until released, lost or taken over. Its session is replaced when it breaks. */
export class Lease {
  readonly epoch: string;
  /** Aborts with `Fenced` when the lease is found to be lost, and with `alsoEndWith`. */
  signal: AbortSignal;
  /** SET LOCAL statements for each data transaction: the next holder finds its session by our name. */
  readonly settings: string;
  readonly #lost = new AbortController();
  readonly #pool: pg.Pool;
  readonly #pipeline: string;
  readonly #times: LeaseTimes;
  readonly #timer: NodeJS.Timeout;
  readonly #sinceBeat: IdleTimer;
  #client: pg.PoolClient;
  #isReleased = false;
  #beating: Promise<void> = Promise.resolve();
  /** Data transactions of the pipeline whose commit was confirmed to us. */
  #confirmed = 0;

  constructor(pool: pg.Pool, client: pg.PoolClient, pipeline: string, epoch: string, times: LeaseTimes) {
    this.epoch = epoch;
    this.signal = this.#lost.signal;
    this.settings = `set local application_name = '${sessionName(pipeline, epoch).replaceAll("'", "''")}'`;
    this.#pool = pool;
    this.#pipeline = pipeline;
    this.#times = times;
    this.#sinceBeat = new IdleTimer(3 * times.heartbeatMs);
    this.#client = client;
    this.#watch();
    this.#timer = setInterval(() => {
      this.#sinceBeat.look();
      this.#beatNext();
    }, times.heartbeatMs);
    this.#timer.unref();
  }

  /** Ends data transactions with this signal, too. */
  alsoEndWith(signal: AbortSignal): void {
    this.signal = AbortSignal.any([this.signal, signal]);
  }

  /**
   * The last statement of a data transaction: throws `Fenced` unless the lease is still ours (guarantee G7),
   * and where the warehouse has gone back in time. Call what it gives once the transaction is committed.
   */
  async guard({ trx }: Pick<Session, 'trx'>): Promise<() => void> {
    const { rows } = await sql<{ commits: number }>`update ops.leases set heartbeat_at = clock_timestamp(),
        expires_at = clock_timestamp() + ${this.#times.ttlMs} * interval '1 millisecond', commits = commits + 1
      where pipeline = ${this.#pipeline} and epoch = ${this.epoch}::bigint returning commits::float8 as commits`.execute(
      trx,
    );
    const [ours] = rows;
    if (ours === undefined) throw this.#lose(this.#takenOver());
    // The row is locked until the commit: the next transaction counts on from here.
    this.#compare(ours.commits, this.#confirmed + 1);
    return () => {
      this.#confirmed = Math.max(this.#confirmed, ours.commits);
    };
  }

  /** Throws `Fenced` where the warehouse lacks what it confirmed: a replica took over, or it was restored. */
  async check(): Promise<void> {
    const { rows } = await this.#pool.query<{ commits: number }>(
      'select commits::float8 as commits from ops.leases where pipeline = $1 and epoch = $2',
      [this.#pipeline, this.epoch],
    );
    if (rows[0] !== undefined) this.#compare(rows[0].commits, this.#confirmed);
  }

  /** Shows other processes which run holds it. */
  async name(runId: string): Promise<void> {
    await this.#update(this.#pool, 'run_id = $3', runId);
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    clearInterval(this.#timer);
    await this.#beating;
    const free = `holder = null, run_id = null, backend_pid = null, backend_start = null, expires_at = clock_timestamp()`;
    // Where the session has ended, a successor sees that its backend is gone.
    await this.#update(this.#client, free).catch(() => undefined);
    this.#client.release(true);
  }

  /** Gives whether the lease is still ours. */
  async #update(on: pg.Pool | pg.PoolClient, set: string, ...values: readonly unknown[]): Promise<boolean> {
    const text = `update ops.leases set ${set} where pipeline = $1 and epoch = $2`;
    const { rowCount } = await on.query(text, [this.#pipeline, this.epoch, ...values]);
    return rowCount === 1;
  }

  /** Reconnects at once when the session breaks: before the next beat another process would take the lease. */
  #watch(): void {
    this.#client.on('error', () => this.#beatNext());
  }

  #beatNext(): void {
    this.#beating = this.#beating.then(() => this.#beat());
  }

  async #beat(isSecond = false): Promise<void> {
    try {
      const isOurs = await this.#update(this.#client, `${ownSession}, ${alive}`, this.#times.ttlMs);
      if (!isOurs) this.#lose(this.#takenOver());
      this.#sinceBeat.heard();
    } catch (error) {
      // The warehouse may be restarting. Data transactions check the epoch themselves; a whole lease time
      // without a beat ends the run.
      if (this.#isReleased) return;
      if (this.#sinceBeat.ms > this.#times.ttlMs) this.#lose(this.#cutOff(error));
      if ((await this.#reopen()) && !isSecond) await this.#beat(true);
    }
  }

  /** Opens another session; false where there is none until the next beat. */
  async #reopen(): Promise<boolean> {
    const until = performance.now() + this.#times.heartbeatMs;
    while (!this.#isReleased) {
      try {
        const next = await this.#pool.connect();
        this.#client.release(true);
        this.#client = next;
        this.#watch();
        return true;
      } catch {
        if (performance.now() + reopenMs > until) return false;
        await sleep(reopenMs);
      }
    }
    return false;
  }

  #lose(reason: Fenced): Fenced {
    this.#lost.abort(reason);
    return reason;
  }

  /** Throws where the warehouse counts fewer commits than were confirmed to us. */
  #compare(commits: number, least: number): void {
    if (commits >= least) return;
    throw this.#lose(
      new Fenced(
        `${this.#pipeline}: the warehouse has forgotten what it had confirmed (a replica took over, or it was restored): what this run has stored is not certain`,
      ),
    );
  }

  #takenOver(): Fenced {
    return new Fenced(`${this.#pipeline}: another process took the lease (ours was epoch ${this.epoch})`);
  }

  #cutOff(cause: unknown): Fenced {
    return new Fenced(
      `${this.#pipeline}: no sign of life reached the warehouse for a whole lease time (${this.#times.ttlMs / 1000} s): ${saidBy(cause)}`,
      { cause },
    );
  }
}
