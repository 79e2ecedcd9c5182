/** What `serve` does besides answering: makes ticks, takes up requests, finds dead workers, looks whether somebody is to be told. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { Interrupted } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { usualTimes as runTimes } from '../engine/state/lease.ts';
import type { Finding } from '../outbound/health.ts';
import type { AnyDatabase, Warehouse } from '../warehouse/connect.ts';
import { unlessAway } from './clock-gap.ts';
import type { Runner } from './control.ts';
import type { Catalogue } from './pipelines.ts';
import { type Claimed, type Ended, type Lost, reap } from './queue.ts';
import { fenceDead, missedMs } from './reap-dead-runs.ts';
import { append } from './request-log.ts';
import type { Times } from './schedule-times.ts';
import { scheduled, type Tick, tick } from './ticks.ts';
import { databaseNow, openWorker } from './worker.ts';

/** Who is told of what happens. Each may be called from any of the loops; what it throws is trouble, not an end. */
export interface Told {
  /** A schedule came due and its run is queued. */
  readonly ticked: (tick: Tick) => void;
  /** What else is written when a request that ran here is over, in the transaction that says so. */
  readonly ended: (claimed: Claimed, ended: Ended, trx: Kysely<AnyDatabase>) => Promise<void>;
  /** Once around: what is stale or stuck now, and whatever else is due outside. `findings`: what was found out here. */
  readonly look: (findings: readonly Finding[], signal: AbortSignal) => Promise<void>;
  /** Something beside the runs went wrong: the loop goes on. */
  readonly trouble: (what: string, error: unknown) => void;
}

export interface ServiceDeps {
  /** For the queue and the bookkeeping alone: runs must not be able to take its connections. */
  readonly warehouse: Warehouse;
  readonly catalogue: Catalogue;
  readonly runner: Runner;
  /** The name of this process, for people. */
  readonly name: string;
  readonly times: Times;
  readonly told: Told;
}

export interface Service {
  /** A request was queued in this process: it need not wait for the next look. */
  nudge(): void;
  /** Requests that run here. */
  readonly busy: number;
  /**
   * Ends in good order: nothing new is taken up, what runs is interrupted and waits for somebody else. False if that took too long, because
   * the warehouse does not answer: then its runs are lost, and taken up when their leases are over.
   */
  end(): Promise<boolean>;
}

/** Throws Misconfigured where a schedule cannot be read. */
export function startService(deps: ServiceDeps): Service {
  const { warehouse, catalogue, runner, name, times, told } = deps;
  const { db } = warehouse;
  const schedules = scheduled(catalogue);
  const { trouble, ended } = told;
  const lost = (gone: Lost): Promise<void> => tellLost(deps, gone);
  const worker = openWorker({ warehouse, runner, name, times, trouble, ended, lost });
  const over = new AbortController();
  const loops: Loop[] = [];
  const every = (what: string, ms: number, work: () => Promise<void>): Loop => {
    const loop = repeat(ms, over.signal, work, (error) => told.trouble(what, error));
    loops.push(loop);
    return loop;
  };

  const looking = every('looking for requests', times.pollMs, async () => {
    while (!over.signal.aborted && (await worker.take()));
  });
  // Not one of the loops that end first: a run that is being interrupted still has to show that it lives.
  const beating = repeat(
    times.heartbeatMs,
    new AbortController().signal,
    () => worker.beat(),
    (error) => told.trouble('giving signs of life', error),
    // Whoever waits longer each time for a warehouse that is away is taken for dead when it is back.
    times.heartbeatMs,
  );
  every(
    'looking at the schedules',
    times.pollMs,
    ticking(deps, schedules, () => looking.wake()),
  );
  const reaping = unlessAway(
    db,
    { longestMs: times.leaseMs / 2, graceMs: 3 * times.heartbeatMs },
    async (at) => {
      for (const gone of await reap(db, times, { at })) await lost(gone);
    },
  );
  const fencing = unlessAway(db, { longestMs: runTimes.ttlMs / 2, graceMs: missedMs }, async (at) => {
    await fenceDead(warehouse, at);
  });
  every('looking for dead workers', times.reapMs, async () => {
    await reaping(over.signal);
    await fencing(over.signal);
  });
  every('looking around', times.lookMs, async () => told.look(await stuck(deps), over.signal));
  every('cleaning up', cleanEvery, () => clean(deps));

  return {
    nudge: () => looking.wake(),
    get busy() {
      return worker.busy;
    },
    async end() {
      over.abort(new Interrupted('the service is ending'));
      const reason = new Interrupted(
        'its process was told to end; it goes on elsewhere, or after the restart',
      );
      const inOrder = async (): Promise<boolean> => {
        // What runs is told at once, whatever the loops are waiting for; and once more what they had just taken up.
        await Promise.all([worker.end(reason), ...loops.map((loop) => loop.done)]);
        await worker.end(reason);
        beating.stop();
        await beating.done;
        return true;
      };
      const isInOrder = await Promise.race([inOrder(), sleep(times.endMs, false, { ref: false })]);
      beating.stop();
      return isInOrder;
    },
  };
}

/** The database clock is asked this often; in between ours, which only grows, carries it on. */
const clockEvery = 30_000;

/** Looks at each schedule when its next instant has passed by the database clock, and in any case with each look at that clock. */
function ticking(
  { warehouse, name, told }: ServiceDeps,
  schedules: readonly ReturnType<typeof scheduled>[number][],
  wake: () => void,
): () => Promise<void> {
  let clock: { readonly at: number; readonly now: number } | undefined;
  const nextAt = new Map<string, number>();
  return async () => {
    const since = clock === undefined ? Number.POSITIVE_INFINITY : performance.now() - clock.at;
    const fresh = clock === undefined || since >= clockEvery;
    if (clock === undefined || fresh) clock = { now: await databaseNow(warehouse.db), at: performance.now() };
    const now = clock.now + (performance.now() - clock.at);
    for (const schedule of schedules) {
      const key = `${schedule.pipeline} ${schedule.does}`;
      if (!fresh && now < (nextAt.get(key) ?? 0)) continue;
      const made = await tick(warehouse.db, schedule, name);
      nextAt.set(key, schedule.due.next(new Date(now)).getTime());
      if (made === undefined) continue;
      told.ticked(made);
      wake();
    }
  };
}

async function tellLost({ warehouse, told }: ServiceDeps, lost: Lost): Promise<void> {
  const { id, pipeline, status } = lost;
  const message = lost.message ?? `its worker (${lost.worker}) died while it was being stopped`;
  await append(warehouse.db, id, [{ at: new Date(), level: status === 'lost' ? 'warn' : 'error', message }]);
  if (status === 'failed')
    await told.look(
      [{ pipeline, state: 'failed', which: { request: id }, cause: message }],
      new AbortController().signal,
    );
}

/** Runs that do not get ahead, as their workers say. */
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

const cleanEvery = 3_600_000;

async function clean({ warehouse: { db }, times }: ServiceDeps): Promise<void> {
  await sql`delete from ops.run_log where at < clock_timestamp() - ${times.keepLogMs} * interval '1 millisecond'`.execute(
    db,
  );
  await sql`delete from ops.ticks where scheduled_for < clock_timestamp() - ${times.keepMs} * interval '1 millisecond'`.execute(
    db,
  );
  await sql`delete from ops.audit where at < clock_timestamp() - ${times.keepMs} * interval '1 millisecond'`.execute(
    db,
  );
}

/** Something that is done again and again. */
interface Loop {
  /** Does it now instead of later. */
  wake(): void;
  stop(): void;
  readonly done: Promise<void>;
}

/**
 * Does the work, then waits `ms`, until the signal or `stop`. What the work throws is told, and the next try waits longer, up to `longest`,
 * and not all at once with those of other processes.
 */
function repeat(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  trouble: (error: unknown) => void,
  longest = longestPause,
): Loop {
  let stopped = signal.aborted;
  let woken = false;
  let rouse = (): void => undefined;
  const wait = (pause: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, woken || stopped ? 0 : pause);
      rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const stop = (): void => {
    stopped = true;
    rouse();
  };
  signal.addEventListener('abort', stop, { once: true });
  const run = async (): Promise<void> => {
    let failures = 0;
    while (!stopped) {
      woken = false;
      try {
        await work();
        failures = 0;
      } catch (error) {
        if (stopped) return;
        failures += 1;
        trouble(error);
      }
      const longer = Math.min(ms * 2 ** failures, Math.max(ms, longest));
      await wait(failures === 0 ? ms : longer * (0.5 + Math.random() / 2));
    }
  };
  return {
    wake: () => {
      woken = true;
      rouse();
    },
    stop,
    done: run(),
  };
}

const longestPause = 30_000;
