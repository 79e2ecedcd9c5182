/** What `serve` does besides answering: fires schedules, runs requests, finds dead workers, and looks at what people should hear of. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import nodeCron from 'node-cron';
import { Interrupted } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { usualTimes as runTimes } from '../engine/state/lease.ts';
import type { Finding } from '../outbound/health.ts';
import type { AnyDatabase, Warehouse } from '../warehouse/connect.ts';
import { unlessAway } from './clock-gap.ts';
import type { Runner } from './control.ts';
import type { Catalogue } from './pipelines.ts';
import { type Queue, refreshSeconds } from './queue.ts';
import { fenceDead, missedMs } from './reap-dead-runs.ts';
import { append } from './request-log.ts';
import { type Claimed, type Ended, type Lost, markLost } from './requests.ts';
import type { Times } from './schedule-times.ts';
import { type Scheduled, scheduled, type Tick, tick } from './ticks.ts';
import { databaseNow, Worker } from './worker.ts';

/** Callbacks. An error in one is reported as trouble and ends nothing. */
export interface Told {
  /** A schedule came due and its run is queued. */
  readonly ticked: (tick: Tick) => void;
  /** What else is written when a request that ran here is over, in the transaction that closes it. */
  readonly ended: (claimed: Claimed, ended: Ended, trx: Kysely<AnyDatabase>) => Promise<void>;
  /** Once a minute: what is stale or stuck now, and what is due outside. `findings`: what was found here. */
  readonly look: (findings: readonly Finding[], signal: AbortSignal) => Promise<void>;
  /** Something beside the runs went wrong: the service goes on. */
  readonly trouble: (what: string, error: unknown) => void;
}

export interface ServiceDeps {
  /** For the queue and the bookkeeping alone: runs must not be able to take its connections. */
  readonly warehouse: Warehouse;
  /** Opened over `warehouse`; ended by `end`. */
  readonly queue: Queue;
  readonly catalogue: Catalogue;
  readonly runner: Runner;
  /** The name of this process, for people. */
  readonly name: string;
  readonly times: Times;
  readonly told: Told;
}

export interface Service {
  /** Number of requests that run here. */
  readonly busy: number;
  /**
   * Ends in good order: nothing new is taken, what runs is interrupted and waits for another process. False if that took too long because
   * the warehouse does not answer: then its runs are lost, and taken when their leases are over.
   */
  end(): Promise<boolean>;
}

/** Throws Misconfigured where a schedule cannot be read. */
export function startService(deps: ServiceDeps): Service {
  const { warehouse, queue, catalogue, runner, name, times, told } = deps;
  const { trouble, ended } = told;
  const schedules = scheduled(catalogue);
  const lost = (gone: Lost): Promise<void> => reportLost(deps, gone);
  const worker = new Worker({ warehouse, queue, runner, name, times, trouble, ended, lost });
  const pipelines = [...runner.configured, 'nightly'];
  const over = new AbortController();
  const every = (what: string, ms: number, work: () => Promise<void>, signal = over.signal): Loop =>
    repeat(ms, signal, work, (error) => trouble(what, error));

  const taking = every('looking for requests', hourMs, async () => {
    for (const pipeline of pipelines) await queue.work(pipeline, (job) => worker.handle(job));
  });
  const look = looking(deps, over.signal);
  const ticking = every('looking at the schedules', hourMs, async () => {
    for (const schedule of schedules) await look(schedule);
  });
  const cron = schedules.map((schedule) =>
    // A schedule that could not be looked at is looked at again with all others, until the warehouse answers.
    nodeCron.schedule(schedule.cron, () => look(schedule).catch(() => ticking.wake()), {
      timezone: schedule.timeZone,
    }),
  );
  const graceMs = 2 * refreshSeconds * 1000;
  const reap = unlessAway(warehouse.db, { longestMs: graceMs, graceMs }, async () => {
    await queue.reap(pipelines);
    for (const gone of await markLost(warehouse.db)) await lost(gone);
  });
  const fence = unlessAway(warehouse.db, { longestMs: runTimes.ttlMs / 2, graceMs: missedMs }, async (at) => {
    await fenceDead(warehouse, at);
  });
  const loops = [
    taking,
    ticking,
    every('looking for dead workers', times.reapMs, () => reap(over.signal)),
    every('looking for dead runs', times.reapMs, () => fence(over.signal)),
    every('looking around', times.lookMs, async () => told.look(await stuck(deps), over.signal)),
    every('cleaning up', hourMs, () => clean(deps)),
  ];
  // Ends last: a run that is being interrupted still shows that it makes progress.
  const reported = new AbortController();
  const reports = every('reporting progress', times.heartbeatMs, () => worker.report(), reported.signal);

  return {
    get busy() {
      return worker.busy;
    },
    async end() {
      over.abort(new Interrupted('the service is ending'));
      for (const task of cron) void task.destroy();
      const reason = new Interrupted(
        'its process was asked to end; it goes on elsewhere, or after the restart',
      );
      const inOrder = async (): Promise<boolean> => {
        // Runs are interrupted at once, whatever the loops wait for, and once more what was taken meanwhile.
        await Promise.all([queue.pause(), worker.end(reason), ...loops.map((loop) => loop.done)]);
        await worker.end(reason);
        reported.abort();
        await Promise.all([reports.done, queue.end()]);
        return true;
      };
      const isInOrder = await Promise.race([inOrder(), sleep(times.endMs, false, { ref: false })]);
      reported.abort();
      return isInOrder;
    },
  };
}

const hourMs = 3_600_000;

/** Clocks of machines may differ by so much. */
const soonMs = 120_000;

/**
 * Looks at one schedule. node-cron calls by this process's clock; `tick` decides by the database clock and makes each tick once over all
 * processes. Where the database clock comes to the next instant soon, it looks again then: this process's clock may be ahead.
 */
function looking({ warehouse, queue, name, told }: ServiceDeps, signal: AbortSignal) {
  const waiting = new Set<Scheduled>();
  const look = async (schedule: Scheduled): Promise<void> => {
    const made = await tick(warehouse.db, queue, schedule, name);
    if (made !== undefined) told.ticked(made);
    const now = await databaseNow(warehouse.db);
    const wait = schedule.due.next(new Date(now)).getTime() - now;
    if (wait > soonMs || waiting.has(schedule)) return;
    waiting.add(schedule);
    sleep(wait, undefined, { signal, ref: false })
      .finally(() => waiting.delete(schedule))
      .then(() => look(schedule))
      .catch((error: unknown) => (signal.aborted ? undefined : told.trouble('looking at a schedule', error)));
  };
  return look;
}

async function reportLost({ warehouse, told }: ServiceDeps, lost: Lost): Promise<void> {
  const { id, pipeline, status } = lost;
  const message = lost.message ?? `its worker (${lost.worker}) died while it was being stopped`;
  await append(warehouse.db, id, [{ at: new Date(), level: status === 'lost' ? 'warn' : 'error', message }]);
  if (status === 'failed')
    await told.look(
      [{ pipeline, state: 'failed', which: { request: id }, cause: message }],
      new AbortController().signal,
    );
}

/** Requests without progress, as their workers report it. */
async function stuck({ warehouse, times }: ServiceDeps): Promise<readonly Finding[]> {
  const { rows } = await sql<{ pipeline: string; id: string }>`
    select pipeline, dag_run_id as id from ops.dag_runs where status = 'running' and stuck_since is not null`.execute(
    warehouse.db,
  );
  return rows.map(({ pipeline, id }) => ({
    pipeline,
    state: 'stuck' as const,
    which: { request: id },
    cause: `nothing new came for ${plural(Math.round(times.stuckMs / 60_000), 'minute')}`,
  }));
}

async function clean({ warehouse: { db }, times }: ServiceDeps): Promise<void> {
  const olderThan = (ms: number) => sql`clock_timestamp() - ${ms} * interval '1 millisecond'`;
  await sql`delete from ops.run_log where at < ${olderThan(times.keepLogMs)}`.execute(db);
  await sql`delete from ops.ticks where scheduled_for < ${olderThan(times.keepMs)}`.execute(db);
  await sql`delete from ops.audit where at < ${olderThan(times.keepMs)}`.execute(db);
}

/** Work that is repeated. */
interface Loop {
  /** Does it now instead of later. */
  wake(): void;
  readonly done: Promise<void>;
}

/**
 * Does the work, then waits `ms`, until the signal. An error is reported; the next try comes after a second, then after twice as long each time
 * up to half a minute, at random so that processes do not try together.
 */
function repeat(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  trouble: (error: unknown) => void,
): Loop {
  let nap = new AbortController();
  const run = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      nap = new AbortController();
      try {
        await work();
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        trouble(error);
      }
      const pause = failures === 0 ? ms : Math.min(500 * 2 ** failures, 30_000) * (0.5 + Math.random() / 2);
      await sleep(pause, undefined, { signal: AbortSignal.any([signal, nap.signal]) }).catch(() => undefined);
    }
  };
  return { wake: () => nap.abort(), done: run() };
}
