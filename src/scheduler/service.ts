/** What `serve` does besides answering: fires schedules, runs requests, looks for dead workers, and for what to send messages about. */

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { Interrupted } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { days, hours, seconds } from '../core/time.ts';
import { usualTimes as leaseTimes } from '../engine/state/lease.ts';
import type { Finding } from '../outbound/health.ts';
import { afterClockGaps, endDeadRuns } from './dead-workers.ts';
import type { Catalogue } from './pipelines.ts';
import { refreshMs } from './queue.ts';
import { append } from './request-log.ts';
import { type Lost, markLost } from './requests.ts';
import { scheduled, type Tick, tick } from './ticks.ts';
import { Worker, type WorkerDeps } from './worker.ts';

export type Service = ReturnType<typeof startService>;

/** `warehouse` serves queue and bookkeeping alone: runs must not be able to take its connections. `queue` is opened over it, and ended by `end`. */
export interface ServiceDeps extends WorkerDeps {
  readonly catalogue: Catalogue;
  /** Called for a schedule that came due and whose run is queued. */
  readonly ticked: (tick: Tick) => void;
  /** Once a minute: sends messages about what is stale or stuck, and what else is due outside. `findings`: what was found here. */
  readonly look: (findings: readonly Finding[], signal: AbortSignal) => Promise<void>;
}

/** How long log lines are kept, and how long ticks and audit lines, ms. */
const keep = { log: days(90), others: days(400) };

/** Throws Misconfigured where a schedule cannot be read. */
export function startService(deps: ServiceDeps) {
  const { warehouse, queue, catalogue, runner, name, times, trouble } = deps;
  const schedules = scheduled(catalogue);
  const worker = new Worker(deps);
  const over = new AbortController();
  const every = (what: string, ms: number, work: () => Promise<void>, signal = over.signal): Promise<void> =>
    repeat(ms, signal, work, (error) => trouble(what, error));

  // Leases are renewed every five seconds and jobs every three: the grace period after a clock gap is long enough for both.
  const grace = { longestMs: 2 * refreshMs, graceMs: 3 * leaseTimes.heartbeatMs };
  const reap = afterClockGaps(warehouse.db, grace, async (at) => {
    await queue.reap();
    for (const gone of await markLost(warehouse.db)) await reportLost(deps, gone);
    await endDeadRuns(warehouse, at);
  });
  const loops = [
    every('looking for requests', hours(1), async () => {
      for (const pipeline of [...runner.configured, 'nightly'])
        await queue.work(pipeline, (job) => worker.handle(job));
    }),
    every('looking at the schedules', times.tickMs, async () => {
      for (const schedule of schedules) {
        const made = await tick(warehouse.db, queue, schedule, name);
        if (made !== undefined) {
          queue.wake(made.pipeline);
          deps.ticked(made);
        }
      }
    }),
    every('looking for dead workers', times.reapMs, () => reap(over.signal)),
    every('looking around', times.lookMs, async () => deps.look(await stuck(deps), over.signal)),
    every('cleaning up', hours(1), () => clean(deps)),
  ];
  // Ends last: a run that is being interrupted still shows that it makes progress.
  const reported = new AbortController();
  const reports = every('reporting progress', times.heartbeatMs, () => worker.report(), reported.signal);

  return {
    /**
     * Ends in good order: nothing new is taken, what runs is interrupted and waits for another process. False if that took too long because
     * the warehouse does not answer: then its runs are lost, and taken when their leases are over.
     */
    async end(): Promise<boolean> {
      over.abort(new Interrupted('the service is ending'));
      const reason = new Interrupted(
        'its process was asked to end; it goes on elsewhere, or after the restart',
      );
      const inOrder = async (): Promise<boolean> => {
        // Runs are interrupted at once, whatever the loops wait for, and once more what was taken meanwhile.
        await Promise.all([queue.pause(), worker.end(reason), ...loops]);
        await worker.end(reason);
        reported.abort();
        await Promise.all([reports, queue.end()]);
        return true;
      };
      const isInOrder = await Promise.race([inOrder(), sleep(times.endMs, false, { ref: false })]);
      reported.abort();
      return isInOrder;
    },
  };
}

async function reportLost(
  { warehouse, look }: ServiceDeps,
  { id, pipeline, status, message }: Lost,
): Promise<void> {
  await append(warehouse.db, id, status === 'lost' ? 'warn' : 'error', message);
  if (status !== 'failed') return;
  await look(
    [{ pipeline, state: 'failed', which: { request: id }, cause: message }],
    new AbortController().signal,
  );
}

/** Requests without progress, as their workers report it. */
async function stuck({ warehouse, times }: ServiceDeps): Promise<readonly Finding[]> {
  const { rows } = await sql<{ pipeline: string; id: string }>`
    select pipeline, dag_run_id as id from ops.dag_runs
    where status = 'running' and stuck_since is not null`.execute(warehouse.db);
  const cause = `no progress for ${plural(Math.round(times.stuckMs / 60_000), 'minute')}`;
  return rows.map(({ pipeline, id }) => ({ pipeline, state: 'stuck', which: { request: id }, cause }));
}

async function clean({ warehouse: { db } }: ServiceDeps): Promise<void> {
  const before = (ms: number) => sql`clock_timestamp() - ${ms} * interval '1 millisecond'`;
  await sql`delete from ops.run_log where at < ${before(keep.log)}`.execute(db);
  await sql`delete from ops.ticks where scheduled_for < ${before(keep.others)}`.execute(db);
  await sql`delete from ops.audit where at < ${before(keep.others)}`.execute(db);
}

/** Does the work again and again, `ms` after its end, until the signal. After an error the pauses grow to half a minute, at random. */
async function repeat(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  trouble: (error: unknown) => void,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      await work();
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      trouble(error);
    }
    const backOff = Math.min(seconds(0.5) * 2 ** failures, seconds(30)) * (0.5 + Math.random() / 2);
    await sleep(failures === 0 ? ms : backOff, undefined, { signal }).catch(() => undefined);
  }
}
