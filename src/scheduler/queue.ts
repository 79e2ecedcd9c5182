/**
 * The queue of run requests: pg-boss on the warehouse's Postgres, one queue for each pipeline with at most one active job. A job says that a
 * request waits for a worker; `ops.dag_runs` is the record of the request. Both are written in the same transaction. pg-boss owns the attempts:
 * it keeps their heartbeats, gives the job of a dead worker to another one, and gives up after the third attempt.
 */

import type { Kysely } from 'kysely';
import { type Job as BossJob, fromKysely, PgBoss } from 'pg-boss';
import { hours, minutes, seconds } from '../core/time.ts';
import type { AnyDatabase, Warehouse } from '../warehouse/connect.ts';

/** The warehouse's Kysely, or a transaction of it. */
export type Trx = Kysely<AnyDatabase>;

/** Schema of pg-boss in the warehouse. */
export const queueSchema = 'pgboss';

/** How often pg-boss shows that a worker lives, ms. */
export const refreshMs = seconds(3);

/** A run longer than this is put back and goes on as another job: pg-boss ends jobs after a day. */
export const longestMs = hours(23);

/** The death of this attempt's worker parks a request as failed. */
export const mostAttempts = 3;

interface QueueTask {
  readonly requestId: string;
  /** How often the request failed of a passing cause before. */
  readonly failures: number;
}

/** A job in the hands of a worker; `name` is the pipeline. By `retryCount` a worker ends its own attempt only, never that of its successor. */
export type QueueJob = BossJob<QueueTask>;

export type Queue = Awaited<ReturnType<typeof openQueue>>;

const policy = {
  policy: 'singleton',
  // A job without a heartbeat for ten seconds (the least that pg-boss allows) belongs to a dead worker.
  heartbeatSeconds: 10,
  retryLimit: mostAttempts - 1,
  retryDelay: 5,
  retryBackoff: true,
  expireInSeconds: 24 * 3600 - 1,
} as const;

/**
 * Opens the queues of these pipelines, and makes or upgrades the schema of pg-boss. `trouble` gets errors outside of calls, e.g. of a poll while the warehouse is away. Methods that take a
 * `trx` write in that transaction.
 */
export async function openQueue(
  { pool }: Pick<Warehouse, 'pool'>,
  pipelines: readonly string[],
  trouble: (error: unknown) => void,
) {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values) },
    schema: queueSchema,
    schedule: false,
    supervise: false,
    registerInstance: false,
    monitorIntervalSeconds: 1,
  });
  // Errors of its polls come as copies that are no instances of Error.
  boss.on('error', (error) => trouble(error instanceof Error ? error : Object.assign(new Error(), error)));
  await boss.start();
  for (const pipeline of pipelines) await boss.createQueue(pipeline, policy);
  const workers = new Map<string, string>();
  return {
    /** Adds a job. No worker takes it before `pauseMs` have passed. */
    async offer(trx: Trx, pipeline: string, task: QueueTask, pauseMs = 0): Promise<void> {
      await boss.send(pipeline, task, { db: fromKysely(trx), startAfter: Math.ceil(pauseMs / 1000) });
    },
    /** Ends a job. False where it is no longer this worker's: nothing is written then. */
    async complete(trx: Trx, job: Pick<QueueJob, 'id' | 'name' | 'retryCount'>): Promise<boolean> {
      // Its declaration leaves out the count that its documentation promises.
      const answer = await boss.complete(job.name, job, null, { db: fromKysely(trx) });
      return 'affected' in answer && answer.affected === 1;
    },
    /** Takes the pipeline's jobs, one at a time. An error of `handle` fails the attempt. */
    async work(pipeline: string, handle: (job: QueueJob) => Promise<void>): Promise<void> {
      const options = { pollingIntervalSeconds: 0.5, heartbeatRefreshSeconds: refreshMs / 1000 };
      workers.set(
        pipeline,
        await boss.work<QueueTask>(pipeline, options, async ([job]) => job && handle(job)),
      );
    },
    /** A job was offered in this process: look at once. */
    wake(pipeline: string): void {
      const worker = workers.get(pipeline);
      if (worker !== undefined) boss.notifyWorker(worker);
    },
    /** Gives the jobs of dead workers back to their queues. */
    async reap(): Promise<void> {
      for (const pipeline of pipelines) await boss.supervise(pipeline, { reindex: false });
    },
    /** Takes no further job, and waits for those in hand. */
    async end(): Promise<void> {
      await Promise.all(pipelines.map((pipeline) => boss.offWork(pipeline)));
      await boss.stop({ graceful: false, close: false });
    },
  };
}

/** Durations of the scheduler, ms. */
export const usualTimes = {
  /** Between looks at the schedules. */
  tickMs: seconds(5),
  /** Between reports of progress and writes of log lines; a stop is noticed as often. */
  heartbeatMs: seconds(1),
  /** How long beginning and end of a request are tried to be written while the warehouse is away. */
  leaseMs: seconds(30),
  /** Between looks for workers that died. */
  reapMs: seconds(3),
  /** A request whose pipeline is held by another run waits so long before the next try. */
  heldMs: seconds(5),
  /** Pauses before the retries of a scheduled request that failed of a passing cause. */
  againMs: [minutes(5), minutes(15), minutes(30), hours(1), hours(2)] as readonly number[],
  /** A run without progress for so long is stuck. */
  stuckMs: minutes(15),
  /** Between looks for what to send messages about. */
  lookMs: minutes(1),
  /** A service that ends waits so long for its runs to end in good order. */
  endMs: seconds(12),
};

export type Times = Readonly<typeof usualTimes>;
