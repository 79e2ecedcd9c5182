import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type pg from 'pg';
import { Fenced, LockHeld, saidBy } from '../../core/errors.ts';
import { silence } from '../../core/idle-timer.ts';
import type { Session } from '../../load/session.ts';
import { loseRuns } from './run-state.ts';

/** The right to write for one pipeline, until released, lost or taken over. */
export interface Lease {
  readonly epoch: string;
  /** Aborts with `Fenced` when the lease is found to be lost. */
  readonly signal: AbortSignal;
  /** SET LOCAL statements for each data transaction: its session is known as ours, and whoever takes the lease over can end it. */
  readonly settings: string;
  /**
   * The last statement of a data transaction: throws `Fenced` unless the lease is still ours (guarantee G7), and where the warehouse has gone back in
   * time. What it gives is to be called once the transaction is committed.
   */
  guard(session: Pick<Session, 'trx'>): Promise<() => void>;
  /** Throws `Fenced` where the warehouse has gone back in time: a replica took over that lacked what was confirmed to us. */
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
 * Takes the lease of a pipeline, also from a holder that died (its database session is gone) or froze (its heartbeat stopped). Its sessions
 * are ended: a frozen process would keep the locks of its open transactions, that on the lease among them. Throws `LockHeld` while a living
 * one has it.
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

/** Ends what a dead or frozen holder has open. One that is neither, and was only slow, finds its lease lost or tries again. */
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
  first: pg.PoolClient,
  pipeline: string,
  epoch: string,
  times: LeaseTimes,
): Lease {
  const lost = new AbortController();
  const takenOver = (): Fenced =>
    new Fenced(`${pipeline}: another process took the lease (ours was epoch ${epoch})`);
  const cutOff = (cause: unknown): Fenced =>
    new Fenced(
      `${pipeline}: no sign of life reached the warehouse for a whole lease time (${times.ttlMs / 1000} s): ${saidBy(cause)}`,
      { cause },
    );
  const forgotten = (): Fenced =>
    new Fenced(
      `${pipeline}: the warehouse has forgotten what it had confirmed (a replica took over, or it was restored): what this run has stored is not certain`,
    );
  /** How many data transactions of the pipeline were committed, as far as that was confirmed to us. */
  let confirmed = 0;
  const compare = (commits: number, least: number): void => {
    if (commits >= least) return;
    lost.abort(forgotten());
    throw forgotten();
  };
  let client = first;
  let released = false;
  let beating: Promise<void> = Promise.resolve();
  const unanswered = silence(3 * times.heartbeatMs);
  // Whoever comes before another session is open takes us for dead, for all sessions are gone when a server restarts: that is not left to the next beat.
  const broke = (): void => {
    beating = beating.then(() => beat());
  };
  client.on('error', broke);

  const beat = async (isAgain = false): Promise<void> => {
    try {
      const { rowCount } = await client.query(
        `update ops.leases set heartbeat_at = clock_timestamp(), backend_pid = pg_backend_pid(),
           backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid()),
           expires_at = clock_timestamp() + $3 * interval '1 millisecond' where pipeline = $1 and epoch = $2`,
        [pipeline, epoch, times.ttlMs],
      );
      if (rowCount === 0) lost.abort(takenOver());
      unanswered.heard();
    } catch (error) {
      // The warehouse may be restarting. Data transactions check the epoch themselves; a whole lease time without a beat ends the run.
      if (released) return;
      if (unanswered.ms > times.ttlMs) lost.abort(cutOff(error));
      if ((await reopen()) && !isAgain) await beat(true);
    }
  };
  /** Another session, as soon as there is one; false where there is none until the next beat. */
  const reopen = async (): Promise<boolean> => {
    const until = performance.now() + times.heartbeatMs;
    while (!released) {
      try {
        const next = await pool.connect();
        client.release(true);
        client = next;
        client.on('error', broke);
        return true;
      } catch {
        if (performance.now() + reopenMs > until) return false;
        await sleep(reopenMs);
      }
    }
    return false;
  };
  const timer = setInterval(() => {
    unanswered.look();
    beating = beating.then(() => beat());
  }, times.heartbeatMs);
  timer.unref();

  return {
    epoch,
    signal: lost.signal,
    settings: `set local application_name = '${sessionName(pipeline, epoch).replaceAll("'", "''")}'`,
    async guard(session) {
      const { rows } = await sql<{ commits: number }>`update ops.leases set heartbeat_at = clock_timestamp(),
          expires_at = clock_timestamp() + ${times.ttlMs} * interval '1 millisecond', commits = commits + 1
        where pipeline = ${pipeline} and epoch = ${epoch}::bigint returning commits::float8 as commits`.execute(
        session.trx,
      );
      const [ours] = rows;
      if (ours === undefined) {
        lost.abort(takenOver());
        throw takenOver();
      }
      // Whoever is here has the row to himself until he commits: the next one counts on from there.
      compare(ours.commits, confirmed + 1);
      return () => {
        confirmed = Math.max(confirmed, ours.commits);
      };
    },
    async check() {
      const { rows } = await pool.query<{ commits: number }>(
        'select commits::float8 as commits from ops.leases where pipeline = $1 and epoch = $2',
        [pipeline, epoch],
      );
      const [ours] = rows;
      if (ours !== undefined) compare(ours.commits, confirmed);
    },
    async name(runId) {
      await pool.query('update ops.leases set run_id = $3 where pipeline = $1 and epoch = $2', [
        pipeline,
        epoch,
        runId,
      ]);
    },
    async release() {
      released = true;
      clearInterval(timer);
      await beating;
      try {
        await client.query(
          `update ops.leases set holder = null, run_id = null, backend_pid = null, backend_start = null,
             expires_at = clock_timestamp() where pipeline = $1 and epoch = $2`,
          [pipeline, epoch],
        );
        client.release(true);
      } catch {
        // The session is already gone, and with it the claim: a successor sees that its backend has ended.
        client.release(true);
      }
    },
  };
}
