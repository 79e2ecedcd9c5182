/** What `serve` does besides answering: fires schedules, runs requests, looks for dead workers, and for what to send messages about. */

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { caught, Interrupted, LockHeld } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { hours, minutes } from '../core/time.ts';
import { usualTimes as leaseTimes, takeLease } from '../engine/state/lease.ts';
import type { Finding } from '../outbound/health.ts';
import { type Db, query } from '../queries/db.ts';
import type { Runner } from '../runs/ask.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { refreshMs } from './queue.ts';
import { repeat } from './repeat.ts';
import { databaseNow, markLost } from './requests.ts';
import type { DagCatalogue } from './run-request.ts';
import { lookout, scheduled, tick } from './ticks.ts';
import { handleJob, type WorkerDeps } from './worker.ts';

export type Service = Awaited<ReturnType<typeof startService>>;

/** `warehouse` serves queue and bookkeeping alone: runs must not be able to take its connections. `queue` is opened over it, and ended by `end`. */
export interface ServiceDeps extends WorkerDeps {
  readonly catalogue: DagCatalogue;
  /** How many requests this process runs at once. */
  readonly jobs: number;
  /** Once a minute: sends messages about what is stale or stuck, and what else is due outside. `findings`: what was found here. */
  readonly look: (findings: readonly Finding[], signal: AbortSignal) => Promise<void>;
}

/** Throws Misconfigured where a schedule cannot be read. */
export async function startService(deps: ServiceDeps) {
  const { warehouse, queue, catalogue, jobs, name, times, trouble, look } = deps;
  const { db } = warehouse;
  const dueNow = lookout(scheduled(catalogue));
  const over = new AbortController();
  const { signal } = over;
  const configured = new Set(catalogue.filter((dag) => dag.configured).map((dag) => dag.name));
  const runner: Runner = {
    ...deps.runner,
    parts: (ask) => (configured.has(ask.pipeline) ? deps.runner.parts(ask) : undefined),
    async run(ask, how) {
      if (configured.has(ask.pipeline)) return deps.runner.run(ask, how);
      throw new LockHeld(`${ask.pipeline} is not configured in this process: it waits for another one`);
    },
  };
  await queue.work(jobs, times.pollMs, (job) => handleJob({ ...deps, runner }, job, signal));

  // Leases are renewed every five seconds and jobs every three: the grace period after a clock gap is long enough for both.
  const grace = { longestMs: 2 * refreshMs, graceMs: 3 * leaseTimes.heartbeatMs };
  let cleaned = Number.NEGATIVE_INFINITY;
  const reap = afterClockGaps(db, grace, async (at) => {
    // pg-boss also deletes old jobs then: that is due where nothing runs, too.
    if (performance.now() < cleaned + minutes(1) && !(await hasOpen(db))) return;
    await queue.reap();
    cleaned = performance.now();
    for (const { id, pipeline, status, message: cause } of await markLost(db))
      if (status === 'failed')
        await look([{ pipeline, state: status, which: { request: id }, cause }], signal);
    await endDeadRuns(warehouse, at);
  });
  const every = (what: string, ms: number, work: () => Promise<void>): Promise<void> =>
    repeat(ms, signal, work, (error) => trouble(what, error));
  const loops = [
    every('looking at the schedules', times.tickMs, async () => {
      for (const schedule of await dueNow(db)) await tick(db, queue, schedule, name);
    }),
    every('looking for dead workers', times.reapMs, () => reap(signal)),
    every('looking around', times.lookMs, async () => look(await stuck(db, times.stuckMs), signal)),
    every('cleaning up', hours(1), () => clean(db)),
  ];

  return {
    /**
     * Ends in good order: nothing new is taken, what runs is interrupted and waits for another process. False if that took too long because
     * the warehouse does not answer: then its runs are lost, and taken when their leases are over.
     */
    end(): Promise<boolean> {
      over.abort(new Interrupted('its process was asked to end; it goes on elsewhere, or after the restart'));
      const inOrder = Promise.all([queue.end(), ...loops]).then(() => true);
      return Promise.race([inOrder, sleep(times.endMs, false, { ref: false })]);
    },
  };
}

/** Whether a worker may have died: something is queued or runs. */
async function hasOpen(db: Db): Promise<boolean> {
  const [row] = await query(db)<{ open: boolean }>`
    select exists (select from ops.dag_runs where status in ('queued', 'running', 'interrupted', 'lost'))
      or exists (select from ops.runs where status = 'running') as open`;
  return row?.open ?? true;
}

/** Requests without progress, as their workers report it. */
function stuck(db: Db, ms: number): Promise<readonly Finding[]> {
  const cause = `no progress for ${plural(Math.round(ms / 60_000), 'minute')}`;
  return query(db)<Finding>`select pipeline, 'stuck' as state, ${cause}::text as cause,
    json_build_object('request', dag_run_id) as which
    from ops.dag_runs where status = 'running' and stuck_since is not null`;
}

/** Log lines are kept for 90 days, ticks and audit lines for 400. */
async function clean(db: Db): Promise<void> {
  await sql`with log as (delete from ops.run_log where at < clock_timestamp() - interval '90 days'),
    ticks as (delete from ops.ticks where scheduled_for < clock_timestamp() - interval '400 days')
    delete from ops.audit where at < clock_timestamp() - interval '400 days'`.execute(db);
}

/**
 * Wraps work that judges whether others are dead. Where the warehouse's clock moved by more than `longestMs` between two looks, the machine slept,
 * this process stood still or the clock was set, and every lease seems to be over: then it waits `graceMs` first, so that the living can show
 * themselves. `at`: the moment of the look by that clock. Waiting ends with the signal.
 */
export function afterClockGaps(
  db: Db,
  { longestMs, graceMs }: { readonly longestMs: number; readonly graceMs: number },
  work: (at: Date) => Promise<void>,
): (signal: AbortSignal) => Promise<void> {
  let last: number | undefined;
  return async (signal) => {
    // The grace period itself is no gap, however long it is.
    for (let waited = 0; ; waited = graceMs) {
      const asked = Date.now();
      const now = (await databaseNow(db)).getTime();
      // A process that stood still while it waited for the answer has an old one.
      const gaps = [Date.now() - asked, last === undefined ? 0 : now - last - waited];
      last = now;
      if (gaps.every((ms) => Math.abs(ms) <= longestMs)) return work(new Date(now));
      await sleep(graceMs, undefined, { signal });
    }
  };
}

/** Ends the expired leases of runs that say running, by which those runs become lost (guarantee G13). `at`: the time to judge by. */
export async function endDeadRuns({ db, pool }: Warehouse, at: Date): Promise<void> {
  const { rows } = await sql<{ pipeline: string }>`
    select pipeline from ops.leases l where expires_at <= ${at}::timestamptz
      and exists (select from ops.runs r where r.pipeline = l.pipeline and r.status = 'running')`.execute(db);
  for (const { pipeline } of rows) {
    // Taking the lease marks the dead run lost and makes its writes impossible.
    const lease = await takeLease(pool, pipeline, { ...leaseTimes, waitMs: 0 }).catch(caught(LockHeld));
    // It came back to life, or a new run was faster.
    if (!(lease instanceof LockHeld)) await lease.release();
  }
}
