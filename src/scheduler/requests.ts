/**
 * Writes of `ops.dag_runs`, the public record of run requests. Times are of the database clock.
 *
 * A request waits (queued, interrupted, lost), runs, or is over; the queue holds one open job for each that is not over. One that failed of a passing
 * cause is over, and has a job for its retry: `not_before` is later than `finished_at` then.
 */

import { sql } from 'kysely';
import { minute } from '../core/format.ts';
import type { Db } from '../queries/db.ts';
import { type Job, mostAttempts, type Queue, queueSchema, type Trx } from './queue.ts';
import { append } from './request-log.ts';
import { type Ask, type AskRow, askOf, type DagRun, type Done, paramsOf } from './run-request.ts';

/** Until the transaction ends, no other process decides what is queued for this pipeline. */
export async function lockPipeline(trx: Db, pipeline: string): Promise<void> {
  const key = `tidemark queue ${pipeline}`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${key}::text, 0))`.execute(trx);
}

/** A request to be queued. */
export interface NewRequest {
  readonly id: string;
  readonly ask: Ask;
  readonly params?: string;
  readonly trigger: 'schedule' | 'api';
  readonly by: string;
  readonly retryOf?: string;
}

/** Queues a request: record and job. One of every stream replaces the retries that it covers. False if the id is taken. */
export async function enqueue(trx: Trx, queue: Queue, request: NewRequest): Promise<boolean> {
  const { id, ask, params = paramsOf(ask), trigger, by, retryOf = null } = request;
  const { pipeline, does, streams, window } = ask;
  if (streams === undefined) await cancelRetries(trx, ask, `${id} does it`);
  const { rows } = await sql`insert into ops.dag_runs
      (dag_run_id, pipeline, does, streams, window_from, window_to, params, trigger, asked_by, retry_of)
    values (${id}, ${pipeline}, ${does}, ${streams ? [...streams] : null}::text[], ${window?.from ?? null},
      ${window?.to ?? null}, ${params}, ${trigger}, ${by}, ${retryOf})
    on conflict (dag_run_id) do nothing returning dag_run_id`.execute(trx);
  if (rows.length > 0) await queue.offer(trx, pipeline, { requestId: id, failures: 0 });
  return rows.length > 0;
}

/** Of a row of `ops.dag_runs`: it failed of a passing cause and waits for its retry. */
const waitsForRetry = sql<boolean>`(status in ('failed', 'partly_failed') and not_before > finished_at)`;

/** The end of a statement that changed the requests `d`: a line in the log of each. */
const logged = (message: string) => sql`insert into ops.run_log (dag_run_id, at, level, message)
  select dag_run_id, clock_timestamp(), 'info', ${message} from d`;

/** Cancels the retries that do the same (full covers sync; without `does`: all). Their jobs find the request over. */
export async function cancelRetries(
  db: Db,
  { pipeline, does = null }: { readonly pipeline: string; readonly does?: Ask['does'] | null },
  why: string,
): Promise<void> {
  await sql`with d as (update ops.dag_runs set not_before = finished_at
      where pipeline = ${pipeline} and ${waitsForRetry}
        and (${does}::text is null or does = ${does} or (does = 'sync' and ${does} = 'full'))
      returning dag_run_id)
    ${logged(`no retry: ${why}`)}`.execute(db);
}

/** Stops a request: one that waits is over at once, the worker of a running one is asked. Asking again changes nothing. */
export async function stopRequest(db: Db, id: string, by: string): Promise<void> {
  await sql`with d as (update ops.dag_runs set stop_asked_at = clock_timestamp(), stop_asked_by = ${by},
        status = case when status = 'running' then status else 'stopped' end,
        finished_at = case when status <> 'running' then clock_timestamp() end
      where dag_run_id = ${id} and stop_asked_at is null and finished_at is null
      returning dag_run_id)
    ${logged(`stop requested by ${by}`)}`.execute(db);
}

/** A request in a worker's hands. */
export interface Claimed {
  readonly job: Job;
  readonly id: string;
  readonly ask: Ask;
  readonly trigger: 'schedule' | 'api';
  /** What of it succeeded before its process ended, or before it was retried. */
  readonly done: readonly Done[];
}

/** Marks the request of a job as running. Undefined if it is over, was stopped, its retry was cancelled, or another worker has the job. */
export async function claim(db: Db, job: Job, worker: string): Promise<Claimed | undefined> {
  const { rows } = await sql<AskRow & Omit<Claimed, 'job' | 'ask'>>`
    update ops.dag_runs d set status = 'running', worker = ${worker}, finished_at = null, stuck_since = null,
      started_at = coalesce(started_at, clock_timestamp()), progress_at = clock_timestamp(),
      error_code = null, error_message = null
    where dag_run_id = ${job.data.requestId} and (finished_at is null or ${waitsForRetry}) and exists (
      select from ${sql.id(queueSchema, 'job')} j where j.name = d.pipeline and j.id = ${job.id}
        and j.retry_count = ${job.retryCount} and j.state = 'active')
    returning dag_run_id as id, trigger, pipeline, does, streams, window_from, window_to, array(
      select distinct jsonb_build_object('pipeline', r.pipeline, 'kind', r.kind)
      from ops.dag_run_runs l join ops.runs r using (run_id)
      where l.dag_run_id = d.dag_run_id and r.status = 'succeeded') as done`.execute(db);
  return rows[0] && { ...rows[0], job, ask: askOf(rows[0]) };
}

/** Notes how long each request of this worker has made no progress, ms. Gives the ids of those that are to stop. */
export async function reportProgress(
  db: Db,
  worker: string,
  all: readonly { readonly id: string; readonly idleMs: number }[],
  stuckMs: number,
): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string; stop: boolean }>`
    update ops.dag_runs d set progress_at = clock_timestamp() - b.idle * interval '1 millisecond',
      stuck_since = case when b.idle >= ${stuckMs} then coalesce(d.stuck_since, clock_timestamp()) end
    from unnest(${all.map(({ id }) => id)}::text[], ${all.map(({ idleMs }) => idleMs)}::float8[]) b (id, idle)
    where d.dag_run_id = b.id and d.worker = ${worker} and d.status = 'running'
    returning d.dag_run_id as id, d.stop_asked_at is not null as stop`.execute(db);
  return rows.filter(({ stop }) => stop).map(({ id }) => id);
}

/** How a run of a request ended. queued (nothing was done) and interrupted (it goes on where it was) wait for another worker. */
export interface Ended {
  readonly status: DagRun['status'];
  readonly error: DagRun['error'];
  /** Before it may be taken again, ms: where it waits, or failed of a passing cause and is retried. */
  readonly pauseMs?: number | undefined;
}

/**
 * Closes a request with the runs it became, or puts it back with a job of its own. A failure with a pause is retried. Where a stop was requested it
 * neither waits nor is retried. `also` is done in the same transaction. Nothing is written if another worker has taken the job over.
 */
export function close(
  db: Trx,
  queue: Queue,
  { job, id }: Pick<Claimed, 'job' | 'id'>,
  runs: readonly string[],
  { status, error, pauseMs }: Ended,
  also: (trx: Trx) => Promise<void>,
): Promise<void> {
  const waits = status === 'queued' || status === 'interrupted';
  return db.transaction().execute(async (trx) => {
    if (!(await queue.complete(trx, job))) return;
    const { rows } = await sql<{ stopping: boolean; at: Date }>`
      update ops.dag_runs set
        status = case when ${waits} and stop_asked_at is not null then 'stopped' else ${status} end,
        finished_at = case when not ${waits} or stop_asked_at is not null then now() end,
        not_before = now() + case when stop_asked_at is null then ${pauseMs ?? 0} else 0 end * interval '1 millisecond',
        stuck_since = null, error_code = ${error?.code ?? null}, error_message = ${error?.message ?? null}
      where dag_run_id = ${id} returning stop_asked_at is not null as stopping, not_before as at`.execute(
      trx,
    );
    await linkRuns(trx, id, runs);
    await also(trx);
    if (rows[0] === undefined || rows[0].stopping || pauseMs === undefined) return;
    const failures = job.data.failures + (waits ? 0 : 1);
    await queue.offer(trx, job.name, { requestId: id, failures }, pauseMs);
    if (!waits)
      await append(trx, id, 'info', `this may pass: retry ${failures} at ${minute(rows[0].at)} UTC`);
  });
}

/** Notes which runs a request became. Doing it again changes nothing. */
export async function linkRuns(db: Db, id: string, runs: readonly string[]): Promise<void> {
  await sql`insert into ops.dag_run_runs (dag_run_id, run_id)
    select ${id}, unnest(${[...runs]}::bigint[]) on conflict (run_id) do nothing`.execute(db);
}

/** A request whose worker died. `lost`: another worker takes it; `stopped`: that was requested; `failed`: parked, its workers die of it. */
export interface Lost {
  readonly id: string;
  readonly pipeline: string;
  readonly status: 'lost' | 'stopped' | 'failed';
  readonly message: string;
}

/** Marks requests as lost whose job no worker holds any more, and says so in their logs. Where pg-boss gave the job up they are over. */
export async function markLost(db: Db): Promise<readonly Lost[]> {
  const { rows } = await sql<Lost>`
    with dead as (
      select dag_run_id, case when stop_asked_at is not null then 'stopped' when j.id is null then 'failed'
          else 'lost' end as status,
        'its worker (' || coalesce(worker, 'none') || ') died or lost its lease' || case
          when stop_asked_at is not null then ' while it was being stopped'
          when j.id is null then ${`; parked after ${mostAttempts} times`}
          else '; another one takes it' end as message
      from ops.dag_runs d left join ${sql.id(queueSchema, 'job')} j on j.name = d.pipeline
        and j.data->>'requestId' = d.dag_run_id and j.state in ('created', 'retry', 'active')
      where finished_at is null and (j.id is null or status = 'running' and j.state = 'retry')
      for update of d skip locked
    ), d as (
      update ops.dag_runs r set stuck_since = null, status = dead.status,
        finished_at = case when dead.status <> 'lost' then clock_timestamp() end,
        error_code = case when dead.status <> 'stopped' then 'worker_lost' end,
        error_message = case when dead.status <> 'stopped' then dead.message end
      from dead where r.dag_run_id = dead.dag_run_id
      returning r.dag_run_id, r.pipeline, r.status, dead.message
    ), log as (
      insert into ops.run_log (dag_run_id, at, level, message)
      select dag_run_id, clock_timestamp(), 'warn', message from d
    )
    select dag_run_id as id, pipeline, status, message from d`.execute(db);
  return rows;
}
