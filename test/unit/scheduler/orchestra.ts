import { PgBoss } from 'pg-boss';
import type { RunReport } from '../../../src/core/run.ts';
import { type Ask, type Control, openControl, type Runner } from '../../../src/scheduler/control.ts';
import {
  openQueue,
  type Queue,
  type QueueJob,
  queueName,
  queueSchema,
  type SiteLimit,
  type Times,
  usualTimes,
} from '../../../src/scheduler/queue.ts';
import {
  type Claimed,
  claim,
  close as closeIn,
  type Ended,
  markLost,
} from '../../../src/scheduler/requests.ts';
import type { DagCatalogue, KnownDag, Timed } from '../../../src/scheduler/run-request.ts';
import { type Service, type ServiceDeps, startService } from '../../../src/scheduler/service.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { runReport } from '../../support/run-report.ts';

/**
 * As the usual ones, with quick looks. A lease and the time to being stuck stay long: on a busy machine a test must not lose its run to them. A
 * test of these sets its own.
 */
export const quick: Times = {
  ...usualTimes,
  tickMs: 50,
  pollMs: 500,
  heartbeatMs: 50,
  reapMs: 50,
  heldMs: 100,
  againMs: [],
  lookMs: 50,
};

/** A DAG that is configured and starts nothing by itself. */
export const dag = (name: string, more: Partial<KnownDag> = {}): KnownDag => ({
  name,
  about: `About ${name}.`,
  configured: true,
  needs: 'nothing',
  timed: [],
  streams: ['issues', 'projects'],
  hasReconcile: true,
  ...more,
});

export const timed = (cron: string, more: Partial<Timed> = {}): Timed => ({
  does: 'sync',
  cron,
  timeZone: 'UTC',
  starts: true,
  ...more,
});

export const catalogue = (...dags: readonly KnownDag[]): DagCatalogue => dags;

/** Due once a day, and the last time two minutes before this call: no test of a file can meet its next instant. */
export const dailySinceJustNow = (): string => {
  const at = new Date(Date.now() - 120_000);
  return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
};

/** A report as a run of that status gives it. */
export const report = (ask: Ask, status: RunReport['status'] = 'succeeded'): RunReport =>
  runReport({ runId: null, pipeline: ask.pipeline, kind: ask.does, status, seconds: 0 });

export const runnerOf = (run: Runner['run']): Runner => ({
  run,
  parts: () => undefined,
  next: async () => undefined,
  preview: async () => [],
  replay: async () => undefined,
  tonight: async () => ({ at: new Date(), tonight: [], failed: [], atOnce: 1 }),
});

/** A scheduler and worker over a warehouse, as one process has it; `troubles` fills with what went wrong beside the runs. */
export interface Conductor {
  readonly service: Service;
  readonly control: Control;
  readonly troubles: readonly string[];
  /** What messages would be sent about. */
  readonly findings: readonly unknown[];
}

export async function conduct(
  warehouse: Warehouse,
  known: DagCatalogue,
  runner: Runner,
  {
    times = {},
    sites,
    ...how
  }: Partial<Omit<ServiceDeps, 'times'>> & {
    readonly times?: Partial<Times>;
    readonly sites?: SiteLimit;
  } = {},
): Promise<Conductor> {
  const troubles: string[] = [];
  const findings: unknown[] = [];
  const queue = await queueOf(warehouse, troubles, sites);
  const service = await startService({
    warehouse,
    queue,
    catalogue: known,
    runner,
    jobs: 4,
    name: 'here',
    times: { ...quick, ...times },
    ended: async () => undefined,
    look: async (found) => void findings.push(...found),
    trouble: (what, error) => troubles.push(`${what}: ${String(error)}`),
    ...how,
  });
  return { service, control: openControl(warehouse, known, queue, runner.preview), troubles, findings };
}

/** A queue; without a service it has no worker. */
export const queueOf = (warehouse: Warehouse, troubles: string[] = [], sites?: SiteLimit): Promise<Queue> =>
  openQueue(warehouse, (error) => troubles.push(`queue: ${String(error)}`), sites);

/** Does work with a queue that no worker has. */
async function withQueue<T>(warehouse: Warehouse, work: (queue: Queue) => Promise<T>): Promise<T> {
  const queue = await queueOf(warehouse);
  return work(queue).finally(() => queue.end());
}

/** Asks without a worker. */
export const controlOf = async (warehouse: Warehouse, known: DagCatalogue): Promise<Control> =>
  openControl(warehouse, known, await queueOf(warehouse), async () => []);

/** Takes the first job and claims its request, as a worker does; undefined where none waits. */
export async function take(warehouse: Warehouse, worker = 'w'): Promise<Claimed | undefined> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => warehouse.pool.query(text, values) },
    schema: queueSchema,
    supervise: false,
    schedule: false,
  });
  await boss.start();
  try {
    const [job] = await boss.fetch<QueueJob['data']>(queueName);
    return job && (await claim(warehouse.db, job, worker));
  } finally {
    await boss.stop({ graceful: false, close: false });
  }
}

/** Ends a claimed request. */
export const close = async (
  warehouse: Warehouse,
  claimed: Claimed,
  ended: Ended,
  runs: readonly string[] = [],
  also: Parameters<typeof closeIn>[5] = async () => undefined,
): Promise<void> => withQueue(warehouse, (queue) => closeIn(warehouse.db, queue, claimed, runs, ended, also));

/** Makes the workers of all active jobs look dead: their last sign of life was a minute ago. */
export const silenceWorkers = async ({ pool }: Warehouse): Promise<void> => {
  await pool.query(`update pgboss.job set heartbeat_on = now() - interval '1 minute' where state = 'active'`);
};

/** Lets jobs that wait for their time go at once. */
export const hurryJobs = async ({ pool }: Warehouse): Promise<void> => {
  await pool.query(`update pgboss.job set start_after = now() where state in ('retry', 'created')`);
};

/** What a service does about workers that died a minute ago: their jobs go back to the queue, their requests are lost. */
export async function loseDead(warehouse: Warehouse): ReturnType<typeof markLost> {
  await silenceWorkers(warehouse);
  await warehouse.pool.query(`update pgboss.queue set monitor_on = null, monitor_claim_on = null`);
  await withQueue(warehouse, (queue) => queue.reap());
  return markLost(warehouse.db);
}

/** Empties the queue and the bookkeeping of requests. */
export const emptyRequests = async ({ pool }: Warehouse): Promise<void> => {
  await pool.query(
    'truncate ops.schedules, ops.ticks, ops.dag_runs, ops.dag_run_runs, ops.run_log, ops.runs, ops.run_streams, ops.leases, pgboss.job',
  );
};
