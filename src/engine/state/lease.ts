import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type pg from 'pg';
import { Fenced, LockHeld, saidBy } from '../../core/errors.ts';
import { IdleTimer } from '../../core/idle-timer.ts';
import type { Session } from '../../load/session.ts';
import { loseRuns } from './run-state.ts';

/** The right to write for one pipeline, until released, lost or taken over. */
export interface Lease {
  readonly epoch: string;
  /** Aborts with `Fenced` when the lease is found to be lost. */
  readonly signal: AbortSignal;
  /**
   * SET LOCAL statements for each data transaction: its session has our name, so that the next holder can end
   * it.
   */
  readonly settings: string;
  /**
   * The last statement of a data transaction: throws `Fenced` unless the lease is still ours (guarantee G7),
   * and where the warehouse has gone back in time. What it gives is to be called once the transaction is
   * committed.
   */
  guard(session: Pick<Session, 'trx'>): Promise<() => void>;
  /**
   * Throws `Fenced` where the warehouse has gone back in time: a replica took over that lacked what was
   * confirmed to us.
   */
  check(): Promise<void>;
  /** Tells other processes which run holds it. */
  name(runId: string): Promise<void>;
  release(): Promise<void>;
}

export interface LeaseTimes {
  /** Without a heartbeat for this long, by the database clock, the lease may be taken over. */
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  /** How long to wait for a holder that is just dying before giving up. */
  readonly waitMs: number;
}

export const usualTimes: LeaseTimes = { ttlMs: 30_000, heartbeatMs: 5_000, waitMs: 2_500 };

/** So often a server that is down is asked for another session, ms. */
const reopenMs = 200;

interface Holder {
  readonly epoch: string;
  readonly run_id: string | null;
  readonly holder: string | null;
  readonly acquired_at: Date | null;
  readonly alive: boolean;
  readonly expired: boolean;
  readonly backend_pid: number | null;
}

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
    const deadline = performance.now() + times.waitMs;
    for (;;) {
      const taken = await tryTake(client, pipeline, times);
      if ('epoch' in taken && taken.ours) return hold(pool, client, pipeline, taken.epoch, times);
      if (performance.now() > deadline) throw held(pipeline, taken.holder);
      await sleep(100);
    }
  } catch (error) {
    client.release(true);
    throw error;
  }
}

type Taken =
  | { readonly ours: true; readonly epoch: string }
  | { readonly ours: false; readonly holder: Holder };

/** What a session is called while a data transaction of this holder is open; a name has at most 63 bytes. */
const sessionName = (pipeline: string, epoch: string): string =>
  `tidemark lease ${epoch} ${pipeline}`.slice(0, 63);

async function look(client: pg.PoolClient, pipeline: string, lock: '' | 'for update'): Promise<Holder> {
  const { rows } = await client.query<Holder>(
    `select epoch::text, run_id::text, holder, acquired_at, backend_pid,
       coalesce(exists (select from pg_stat_activity a where a.pid = backend_pid
         and (a.backend_start is null or a.backend_start = l.backend_start)), false) as alive,
       coalesce(expires_at <= clock_timestamp(), true) as expired
     from ops.leases l where pipeline = $1 ${lock}`,
    [pipeline],
  );
  const [holder] = rows;
  if (holder === undefined) throw new Error(`the lease row of ${pipeline} vanished`);
  return holder;
}

const isTheirs = ({ holder, alive, expired }: Holder): boolean => holder !== null && alive && !expired;

/**
 * Ends what a dead or frozen holder has open. One that is neither, and was only slow, finds its lease lost or
 * tries again.
 */
async function endSessions(
  client: pg.PoolClient,
  pipeline: string,
  { epoch, alive, backend_pid }: Holder,
): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and usename = current_user and application_name = $1`,
    [sessionName(pipeline, epoch)],
  );
  if (alive && backend_pid !== null) await client.query('select pg_terminate_backend($1)', [backend_pid]);
}

async function tryTake(client: pg.PoolClient, pipeline: string, times: LeaseTimes): Promise<Taken> {
  // Nothing here may wait for the row: a holder that froze behind its guard has it locked.
  await client.query(
    `insert into ops.leases (pipeline) select $1 where not exists (select from ops.leases where pipeline = $1)
     on conflict do nothing`,
    [pipeline],
  );
  const former = await look(client, pipeline, '');
  if (isTheirs(former)) return { ours: false, holder: former };
  if (former.holder !== null) await endSessions(client, pipeline, former);
  await client.query('begin');
  try {
    const holder = await look(client, pipeline, 'for update');
    if (isTheirs(holder)) {
      await client.query('rollback');
      return { ours: false, holder };
    }
    const { rows: taken } = await client.query<{ epoch: string }>(
      `update ops.leases set epoch = epoch + 1, run_id = null, holder = $2, backend_pid = pg_backend_pid(),
         backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid()),
         acquired_at = clock_timestamp(), heartbeat_at = clock_timestamp(),
         expires_at = clock_timestamp() + $3 * interval '1 millisecond'
       where pipeline = $1 returning epoch::text`,
      [pipeline, `${os.hostname()} process ${process.pid}`, times.ttlMs],
    );
    // A run that is still 'running' under an older epoch has lost its process.
    await client.query(loseRuns, [pipeline]);
    await client.query('commit');
    return { ours: true, epoch: taken[0]?.epoch ?? '' };
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function held(pipeline: string, holder: Holder): LockHeld {
  const since = holder.acquired_at === null ? '' : ` since ${holder.acquired_at.toISOString()}`;
  const run = holder.run_id === null ? 'a run' : `run ${holder.run_id}`;
  return new LockHeld(
    `${pipeline}: ${run} of ${holder.holder} holds the pipeline${since}; wait for it or stop it`,
  );
}

function hold(
  pool: pg.Pool,
  client: pg.PoolClient,
  pipeline: string,
  epoch: string,
  times: LeaseTimes,
): Lease {
  const held = new HeldLease(pool, client, pipeline, epoch, times);
  return {
    epoch,
    signal: held.lost.signal,
    settings: `set local application_name = '${sessionName(pipeline, epoch).replaceAll("'", "''")}'`,
    guard: (session) => held.guard(session),
    check: () => held.check(),
    name: (runId) => held.name(runId),
    release: () => held.release(),
  };
}

/** A lease that is ours: its heartbeats, over one session that is replaced when it breaks. */
class HeldLease {
  readonly lost = new AbortController();
  readonly #pool: pg.Pool;
  readonly #pipeline: string;
  readonly #epoch: string;
  readonly #times: LeaseTimes;
  readonly #timer: NodeJS.Timeout;
  readonly #sinceBeat: IdleTimer;
  #client: pg.PoolClient;
  #isReleased = false;
  #beating: Promise<void> = Promise.resolve();
  /** Data transactions of the pipeline whose commit was confirmed to us. */
  #confirmed = 0;

  constructor(pool: pg.Pool, client: pg.PoolClient, pipeline: string, epoch: string, times: LeaseTimes) {
    this.#pool = pool;
    this.#pipeline = pipeline;
    this.#epoch = epoch;
    this.#times = times;
    this.#sinceBeat = new IdleTimer(3 * times.heartbeatMs);
    this.#client = client;
    this.#watch(client);
    this.#timer = setInterval(() => {
      this.#sinceBeat.look();
      this.#beatNext();
    }, times.heartbeatMs);
    this.#timer.unref();
  }

  async guard({ trx }: Pick<Session, 'trx'>): Promise<() => void> {
    const { rows } = await sql<{ commits: number }>`update ops.leases set heartbeat_at = clock_timestamp(),
        expires_at = clock_timestamp() + ${this.#times.ttlMs} * interval '1 millisecond', commits = commits + 1
      where pipeline = ${this.#pipeline} and epoch = ${this.#epoch}::bigint returning commits::float8 as commits`.execute(
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

  async check(): Promise<void> {
    const { rows } = await this.#pool.query<{ commits: number }>(
      'select commits::float8 as commits from ops.leases where pipeline = $1 and epoch = $2',
      [this.#pipeline, this.#epoch],
    );
    const [ours] = rows;
    if (ours !== undefined) this.#compare(ours.commits, this.#confirmed);
  }

  async name(runId: string): Promise<void> {
    await this.#pool.query('update ops.leases set run_id = $3 where pipeline = $1 and epoch = $2', [
      this.#pipeline,
      this.#epoch,
      runId,
    ]);
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    clearInterval(this.#timer);
    await this.#beating;
    // Where the session has ended, a successor sees that its backend is gone.
    await this.#client
      .query(
        `update ops.leases set holder = null, run_id = null, backend_pid = null, backend_start = null,
           expires_at = clock_timestamp() where pipeline = $1 and epoch = $2`,
        [this.#pipeline, this.#epoch],
      )
      .catch(() => undefined);
    this.#client.release(true);
  }

  /**
   * Reconnects at once when the session breaks: after a server restart another worker would take the lease
   * before the next heartbeat.
   */
  #watch(client: pg.PoolClient): void {
    client.on('error', () => this.#beatNext());
  }

  #beatNext(): void {
    this.#beating = this.#beating.then(() => this.#beat());
  }

  async #beat(isSecond = false): Promise<void> {
    try {
      const { rowCount } = await this.#client.query(
        `update ops.leases set heartbeat_at = clock_timestamp(), backend_pid = pg_backend_pid(),
           backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid()),
           expires_at = clock_timestamp() + $3 * interval '1 millisecond' where pipeline = $1 and epoch = $2`,
        [this.#pipeline, this.#epoch, this.#times.ttlMs],
      );
      if (rowCount === 0) this.#lose(this.#takenOver());
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
        this.#watch(next);
        return true;
      } catch {
        if (performance.now() + reopenMs > until) return false;
        await sleep(reopenMs);
      }
    }
    return false;
  }

  #lose(reason: Fenced): Fenced {
    this.lost.abort(reason);
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
    return new Fenced(`${this.#pipeline}: another process took the lease (ours was epoch ${this.#epoch})`);
  }

  #cutOff(cause: unknown): Fenced {
    return new Fenced(
      `${this.#pipeline}: no sign of life reached the warehouse for a whole lease time (${this.#times.ttlMs / 1000} s): ${saidBy(cause)}`,
      { cause },
    );
  }
}
