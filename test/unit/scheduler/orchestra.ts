import { PgBoss } from 'pg-boss';
import type { RunReport } from '../../../src/core/run.ts';
import { noCounts } from '../../../src/core/run.ts';
import type { Ask, Control, Runner } from '../../../src/scheduler/control.ts';
import { openControl } from '../../../src/scheduler/open-control.ts';
import type { Catalogue, KnownDag, Timed } from '../../../src/scheduler/pipelines.ts';
import { openQueue, type Queue } from '../../../src/scheduler/queue.ts';
import {
  type Claimed,
  claim,
  type Ended,
  finish,
  type Lost,
  markLost,
} from '../../../src/scheduler/requests.ts';
import { type Times, usualTimes } from '../../../src/scheduler/schedule-times.ts';
import { type Service, startService, type Told } from '../../../src/scheduler/service.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';

/**
 * As the usual ones, with quick looks. A lease and the time to being stuck stay long: on a busy machine a test must not lose its run to them. A
 * test of these sets its own.
 */
export const quick: Times = {
  ...usualTimes,
  pollMs: 20,
  heartbeatMs: 50,
  reapMs: 50,
  heldMs: 100,
  againMs: [],
  lookMs: 50,
  logMs: 20,
};

/** A DAG that is configured and starts nothing by itself. */
export const dag = (name: string, more: Partial<KnownDag> = {}): KnownDag => ({
  name,
  about: `About ${name}.`,
  configured: true,
  needs: 'nothing',
  timed: [],
  streams: ['issues', 'projects'],
  parts: [name],
  ...more,
});

export const timed = (cron: string, more: Partial<Timed> = {}): Timed => ({
  does: 'sync',
  cron,
  timeZone: 'UTC',
  starts: true,
  ...more,
});

export const catalogue = (...dags: readonly KnownDag[]): Catalogue => ({ dags });

/** A report as a run of that status would give it. */
export const report = (ask: Ask, status: RunReport['status'] = 'succeeded'): RunReport => ({
  runId: null,
  pipeline: ask.pipeline,
  kind: ask.does,
  status,
  streams: [],
  counts: noCounts,
  deleted: 0,
  requests: 0,
  retries: 0,
  throttledMs: 0,
  seconds: 0,
});

/** A runner that does what it is told for each request. */
export const runnerOf = (configured: readonly string[], run: Runner['run']): Runner => ({
  configured,
  run,
  preview: async () => [],
});

/** A scheduler and worker over a warehouse, as one process has it; `troubles` fills with what went wrong beside the runs. */
export interface Conductor {
  readonly service: Service;
  readonly control: Control;
  readonly troubles: readonly string[];
  readonly looks: readonly unknown[];
}

export function conduct(
  warehouse: Warehouse,
  known: Catalogue,
  runner: Runner,
  how: { readonly name?: string; readonly times?: Partial<Times>; readonly told?: Partial<Told> } = {},
): Conductor {
  const troubles: string[] = [];
  const looks: unknown[] = [];
  const queue = openQueue(warehouse, (error) => troubles.push(`queue: ${String(error)}`), quick.pollMs);
  const service = startService({
    warehouse,
    queue,
    catalogue: known,
    runner,
    name: how.name ?? 'here',
    times: { ...quick, ...how.times },
    told: {
      ticked: () => undefined,
      ended: async () => undefined,
      look: async (findings) => {
        looks.push(...findings);
      },
      trouble: (what, error) => {
        troubles.push(`${what}: ${String(error)}`);
      },
      ...how.told,
    },
  });
  const control = openControl({ warehouse, catalogue: known, preview: runner.preview, queue });
  return { service, control, troubles, looks };
}

const queues = new Map<Warehouse, Queue>();

/** A queue that offers without a worker. */
export const queueOf = (warehouse: Warehouse): Queue => {
  const known = queues.get(warehouse) ?? openQueue(warehouse, () => undefined);
  queues.set(warehouse, known);
  return known;
};

/** Asks without a worker. */
export const controlOf = (warehouse: Warehouse, known: Catalogue): Control =>
  openControl({ warehouse, catalogue: known, preview: async () => [], queue: queueOf(warehouse) });

/** Takes the first job of these pipelines and claims its request, as a worker does; undefined where none waits. */
export async function take(
  warehouse: Warehouse,
  pipelines: readonly string[],
  worker = 'w',
): Promise<Claimed | undefined> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => warehouse.pool.query(text, values) },
    schedule: false,
    supervise: false,
  });
  await boss.start();
  try {
    for (const pipeline of pipelines) {
      if ((await boss.getQueue(pipeline)) === null) continue;
      const [job] = await boss.fetch<{ requestId: string }>(pipeline);
      if (job !== undefined)
        return await claim(
          warehouse.db,
          { pipeline, jobId: job.id, attempt: job.retryCount, requestId: job.data.requestId },
          worker,
        );
    }
    return undefined;
  } finally {
    await boss.stop({ graceful: false, close: false });
  }
}

/** Ends a claimed request. */
export const close = (
  warehouse: Warehouse,
  claimed: Claimed,
  ended: Ended,
  runs: readonly string[] = [],
  also: Parameters<typeof finish>[5] = async () => undefined,
): Promise<boolean> => finish(warehouse.db, queueOf(warehouse), claimed, runs, ended, also);

/** Makes the workers of all active jobs look dead: their last sign of life was a minute ago. */
export const silenceWorkers = async ({ pool }: Warehouse): Promise<void> => {
  await pool.query(`update pgboss.job set heartbeat_on = now() - interval '1 minute' where state = 'active'`);
};

/** Lets jobs that wait for a retry go at once. */
export const hurryRetries = async ({ pool }: Warehouse): Promise<void> => {
  await pool.query(`update pgboss.job set start_after = now() where state = 'retry'`);
};

/** What a service does about workers that died a minute ago: their jobs go back to the queue, their requests are lost. */
export async function loseDead(warehouse: Warehouse, pipelines: readonly string[]): Promise<readonly Lost[]> {
  await silenceWorkers(warehouse);
  await warehouse.pool.query(`update pgboss.queue set monitor_on = null, monitor_claim_on = null`);
  await queueOf(warehouse).reap(pipelines);
  return markLost(warehouse.db);
}

/** Empties the queue and the bookkeeping of requests. */
export const emptyRequests = async ({ pool }: Warehouse): Promise<void> => {
  await pool.query(
    'truncate ops.schedules, ops.ticks, ops.dag_runs, ops.dag_run_runs, ops.run_log, ops.runs, ops.run_streams, ops.leases, pgboss.job',
  );
};
