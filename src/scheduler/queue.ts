/**
 * The queue of run requests: pg-boss on the warehouse's Postgres, with at most one active job for each pipeline. A job says that a request
 * waits for a worker; `ops.dag_runs` is the record of the request. Both are written in the same transaction. pg-boss owns the attempts:
 * it keeps their heartbeats, gives the job of a dead worker to another one, and gives up after the third attempt.
 */

import { type Kysely, sql } from 'kysely';
import { type Job as BossJob, fromKysely, PgBoss } from 'pg-boss';
import { hours, minutes, seconds } from '../core/time.ts';
import type { AnyDatabase, Warehouse } from '../warehouse/connect.ts';
import { type Listener, listen } from './listen.ts';

/** The warehouse's Kysely, or a transaction of it. */
export type Trx = Kysely<AnyDatabase>;

/** Schema of pg-boss in the warehouse. */
export const queueSchema = 'pgboss';

/** Its name in pg-boss. */
export const queueName = 'runs';

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

/** A job in the hands of a worker. By `retryCount` a worker ends its own attempt only, never that of its successor. */
export type QueueJob = BossJob<QueueTask>;

export type Queue = Awaited<ReturnType<typeof openQueue>>;

const policy = {
  // One active job for each singleton key, which is the pipeline.
  policy: 'singleton',
  notify: true,
  // A job without a heartbeat for ten seconds (the least that pg-boss allows) belongs to a dead worker.
  heartbeatSeconds: 10,
  retryLimit: mostAttempts - 1,
  retryDelay: 5,
  retryBackoff: true,
  expireInSeconds: 24 * 3600 - 1,
} as const;

/** How many runs of the pipelines of one site may be active, in all processes. `of`: the site of a pipeline, where it is known. */
export interface SiteLimit {
  readonly jobs: number;
  readonly of: (pipeline: string) => string | undefined;
}

/**
 * Opens the queue, and makes or upgrades the schema of pg-boss. `trouble` gets errors outside of calls, e.g. of a poll while the warehouse is
 * away. Methods that take a `trx` write in that transaction.
 */
export async function openQueue(
  { pool, db }: Pick<Warehouse, 'pool' | 'db'>,
  trouble: (error: unknown) => void,
  sites?: SiteLimit,
) {
  // Only a process that takes jobs has a session that listens.
  let begin: (() => Listener) | undefined;
  let listening: Listener | undefined;
  let polling: NodeJS.Timeout | undefined;
  const boss = new PgBoss({
    db: {
      executeSql: async (text, values = []) => {
        if (!text.includes('group_ranking')) return pool.query(text, values);
        const look = 'select ops.look_in_turn($1, $2) as job';
        const { rows } = await pool.query<{ job: unknown }>(look, [text, ...values]);
        return { rows: rows.map(({ job }) => job) };
      },
      listen: async (...how) => {
        begin = () => listen(pool, ...how);
        return { close: async () => listening?.close() };
      },
    },
    schema: queueSchema,
    useListenNotify: true,
    schedule: false,
    supervise: false,
    registerInstance: false,
    monitorIntervalSeconds: 1,
  });
  // Errors of its polls come as copies that are no instances of Error.
  boss.on('error', (error) => trouble(error instanceof Error ? error : Object.assign(new Error(), error)));
  await boss.start();
  await boss.createQueue(queueName, policy);
  const offer = async (trx: Trx, pipeline: string, task: QueueTask, { pauseMs = 0, priority = 0 } = {}) => {
    const startAfter = Math.ceil(pauseMs / 1000);
    const site = sites?.of(pipeline);
    const options = { db: fromKysely(trx), singletonKey: pipeline, priority, startAfter };
    await boss.send(queueName, task, { ...options, ...(site && { group: { id: site } }) });
  };
  // Earlier versions had a queue for each pipeline. Queues of other programs may be in the schema.
  const { rows } = await sql<{ pipeline: string }>`select distinct pipeline from ops.dag_runs`.execute(db);
  const own = new Set(rows.map(({ pipeline }) => pipeline));
  for (const { name } of await boss.getQueues())
    if (own.has(name) && name !== queueName) {
      await db.transaction().execute(async (trx) => {
        for (const { data, pauseMs } of await takeJobs(trx, name)) await offer(trx, name, data, { pauseMs });
      });
      await boss.deleteQueue(name);
    }
  return {
    /** Adds a job. No worker takes it before `pauseMs` have passed. The largest priority is taken first. */
    offer,
    /** Ends a job. False where it is no longer this worker's: nothing is written then. */
    async complete(trx: Trx, job: Pick<QueueJob, 'id' | 'retryCount'>): Promise<boolean> {
      // Its declaration leaves out the count that its documentation promises.
      const answer = await boss.complete(queueName, job, null, { db: fromKysely(trx) });
      return 'affected' in answer && answer.affected === 1;
    },
    /**
     * Takes jobs, `jobs` at a time. A new job is seen at once, and so is the next one when a job is over; one whose time comes, within `pollMs`.
     * An error of `handle` fails the attempt.
     */
    async work(jobs: number, pollMs: number, handle: (job: QueueJob) => Promise<void>): Promise<void> {
      // Workers look when they are woken: by a new job, by one that took a job or has done it, and one of them each `pollMs`.
      const options = {
        pollingIntervalSeconds: hours(1) / 1000,
        notifyPollingIntervalSeconds: hours(1) / 1000,
        heartbeatRefreshSeconds: refreshMs / 1000,
        ...(sites && { groupConcurrency: sites.jobs }),
      };
      const idle = new Set<string>();
      // Any of them: one may wait for a connection that says nothing.
      const wakeOne = (): void => boss.notifyWorker([...idle].at(Math.random() * idle.size) ?? '');
      polling ??= setInterval(wakeOne, pollMs);
      listening ??= begin?.();
      for (let n = 0; n < jobs; n += 1) {
        let id = '';
        id = await boss.work<QueueTask>(queueName, options, async ([job]) => {
          if (job === undefined) return;
          idle.delete(id);
          wakeOne();
          await handle(job).finally(() => {
            idle.add(id);
            boss.notifyWorker(id);
          });
        });
        idle.add(id);
      }
    },
    /** Gives the jobs of dead workers back to the queue. */
    async reap(): Promise<void> {
      await boss.supervise(queueName, { reindex: false });
    },
    /** Takes no further job, and waits for those in hand. */
    async end(): Promise<void> {
      clearInterval(polling);
      await boss.offWork(queueName);
      await boss.stop({ graceful: false, close: false });
    },
  };
}

/** Takes the jobs that are not over out of the queue of an earlier version. */
async function takeJobs(trx: Trx, queue: string) {
  const { rows } = await sql<{ data: QueueTask; pauseMs: number }>`
    delete from ${sql.id(queueSchema, 'job')} where name = ${queue} and state in ('created', 'retry', 'active')
    returning data, greatest(0, extract(epoch from start_after - now()) * 1000)::float8 as "pauseMs"`.execute(
    trx,
  );
  return rows;
}

/** Durations of the scheduler, ms. */
export const usualTimes = {
  /** Between looks at the schedules. */
  tickMs: seconds(5),
  /** Between looks for jobs whose time has come. */
  pollMs: seconds(5),
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
