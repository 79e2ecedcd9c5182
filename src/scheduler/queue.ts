/**
 * The queue of run requests: pg-boss on the warehouse's own Postgres, one queue for each pipeline, at most one active job in each. A job is a
 * hint that a request waits; `ops.dag_runs` is the record of the request. Both are written in the same transaction.
 */

import type { Kysely } from 'kysely';
import { fromKysely, PgBoss } from 'pg-boss';
import { hours } from '../core/time.ts';
import type { AnyDatabase, Warehouse } from '../warehouse/connect.ts';

/** Schema of pg-boss in the warehouse. */
export const queueSchema = 'pgboss';

/** A job without a heartbeat for so long belongs to a dead worker (seconds; pg-boss allows no less). */
const heartbeatSeconds = 10;

/** How often a worker shows that it lives, in seconds. */
export const refreshSeconds = 3;

/** A run longer than this is put back and goes on as another job: pg-boss ends jobs after a day. */
export const longestMs = hours(23);

/** After the death of a worker its job waits so long, after the next one twice as long, and so on (seconds). */
const retrySeconds = 5;

/** A job in the hands of a worker. */
export interface Job {
  readonly pipeline: string;
  /** The job's own id. */
  readonly jobId: string;
  /** pg-boss counts the attempts of a job. A worker ends or fails only the attempt that it took, never that of its successor. */
  readonly attempt: number;
  /** Id of the request in `ops.dag_runs`. */
  readonly requestId: string;
}

/** What the scheduler knows of pg-boss. Every method that takes `trx` writes in that transaction. */
export interface Queue {
  /** Makes the pipeline's queue unless it exists. Call it before the transaction that offers the first job. */
  prepare(pipeline: string): Promise<void>;
  /** Adds a job. No worker takes it before `pauseMs` have passed. */
  offer(trx: Kysely<AnyDatabase>, job: Pick<Job, 'pipeline' | 'requestId'>, pauseMs?: number): Promise<void>;
  /** Ends a job whose request is over, or was put back with a job of its own. */
  complete(trx: Kysely<AnyDatabase>, job: Job): Promise<void>;
  /** Gives a job up: another worker takes it after a pause. */
  fail(trx: Kysely<AnyDatabase>, job: Job): Promise<void>;
  /** Takes the pipeline's jobs, one at a time, until `pause`. Calling it again changes nothing. What `handle` throws counts as the death of its worker. */
  work(pipeline: string, handle: (job: Job) => Promise<void>): Promise<void>;
  /** A job was offered in this process: look at once. */
  wake(pipeline: string): void;
  /** Gives the jobs of dead workers back to their queues. */
  reap(pipelines: readonly string[]): Promise<void>;
  /** Takes no further job. Jobs in hand go on. */
  pause(): Promise<void>;
  end(): Promise<void>;
}

/**
 * Opens the queue over the warehouse's connections and installs pg-boss's schema where it is missing or older. `trouble` hears of what goes
 * wrong beside the calls, e.g. a poll while the warehouse is away.
 */
export function openQueue(
  { pool }: Pick<Warehouse, 'pool'>,
  trouble: (error: unknown) => void,
  pollMs = 1000,
): Queue {
  const boss = bossOver(pool);
  boss.on('error', trouble);
  const started = memoize(() => boss.start());
  const prepared = new Map<string, Promise<void>>();
  const workers = new Map<string, string>();
  const prepare = (pipeline: string): Promise<void> => {
    const known = prepared.get(pipeline);
    if (known !== undefined) return known;
    const made = started().then(() => boss.createQueue(pipeline, policy));
    prepared.set(pipeline, made);
    made.catch(() => prepared.delete(pipeline));
    return made;
  };
  return {
    prepare,
    async offer(trx, { pipeline, requestId }, pauseMs = 0) {
      await boss.send(
        pipeline,
        { requestId },
        { db: fromKysely(trx), startAfter: Math.ceil(pauseMs / 1000) },
      );
    },
    async complete(trx, { pipeline, jobId, attempt }) {
      await boss.complete(pipeline, { id: jobId, retryCount: attempt }, null, { db: fromKysely(trx) });
    },
    async fail(trx, { pipeline, jobId, attempt }) {
      await boss.fail(pipeline, { id: jobId, retryCount: attempt }, null, { db: fromKysely(trx) });
    },
    async work(pipeline, handle) {
      if (workers.has(pipeline)) return;
      await prepare(pipeline);
      const options = {
        pollingIntervalSeconds: Math.max(0.5, pollMs / 1000),
        heartbeatRefreshSeconds: refreshSeconds,
      };
      const worker = await boss.work<{ requestId: string }>(pipeline, options, async ([job]) => {
        if (job === undefined) return;
        await handle({
          pipeline,
          jobId: job.id,
          attempt: job.retryCount,
          requestId: job.data.requestId,
        });
      });
      workers.set(pipeline, worker);
    },
    wake(pipeline) {
      const worker = workers.get(pipeline);
      if (worker !== undefined) boss.notifyWorker(worker);
    },
    async reap(pipelines) {
      await started();
      for (const pipeline of pipelines) await boss.supervise(pipeline, { reindex: false });
    },
    async pause() {
      await Promise.all([...workers.keys()].map((pipeline) => boss.offWork(pipeline, { wait: false })));
    },
    async end() {
      await boss.stop({ graceful: false, close: false });
    },
  };
}

/** Makes pg-boss's schema, or brings it up to date. Every process that opens the queue does so by itself. */
export async function installQueue({ pool }: Pick<Warehouse, 'pool'>): Promise<void> {
  const boss = bossOver(pool);
  await boss.start();
  await boss.stop({ graceful: false, close: false });
}

const bossOver = (pool: Warehouse['pool']): PgBoss =>
  new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values) },
    schema: queueSchema,
    schedule: false,
    supervise: false,
    registerInstance: false,
    monitorIntervalSeconds: 1,
  });

const policy = {
  policy: 'singleton',
  heartbeatSeconds,
  // A request is parked by `ops.dag_runs.losses`, not by pg-boss.
  retryLimit: 1000,
  retryDelay: retrySeconds,
  retryBackoff: true,
  retryDelayMax: 120,
  // The most that pg-boss allows. The worker puts a longer run back in time (`longestMs`).
  expireInSeconds: 24 * 3600 - 1,
  deleteAfterSeconds: 86_400,
} as const;

const memoize = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
};
