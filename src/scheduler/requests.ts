/** Writes of `ops.dag_runs`, the public record of run requests, each in one transaction with the queue's job. Times are of the database clock. */

import { sql } from 'kysely';
import { minute } from '../core/format.ts';
import type { Db } from '../queries/db.ts';
import { type Job, type Queue, queueSchema, type Trx } from './queue.ts';
import { append } from './request-log.ts';
import { type Ask, type AskRow, askOf, type DagRun, type Done, paramsOf } from './run-request.ts';

/** The third death of its worker parks a request as failed. */
const mostLosses = 3;

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
  if (rows.length > 0) await queue.offer(trx, { pipeline, requestId: id });
  return rows.length > 0;
}

/** Of a row of `ops.dag_runs`: it failed of a passing cause and waits for its retry. */
const waitsForRetry = sql<boolean>`(status in ('failed', 'partly_failed') and not_before > clock_timestamp())`;

/** When a failed request is retried; null of every other. For a query of `ops.dag_runs`. */
export const retryAt = sql<Date | null>`case when ${waitsForRetry} then not_before end`;

/** Cancels the retries that do the same (full covers sync; without `does`: all). Their jobs find another claim than the one that failed. */
export async function cancelRetries(
  db: Trx,
  { pipeline, does = null }: { readonly pipeline: string; readonly does?: Ask['does'] | null },
  why: string,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    update ops.dag_runs set claim = claim + 1, not_before = clock_timestamp()
    where pipeline = ${pipeline} and ${waitsForRetry}
      and (${does}::text is null or does = ${does} or (does = 'sync' and ${does} = 'full'))
    returning dag_run_id as id`.execute(db);
  for (const { id } of rows) await append(db, id, 'info', `no retry: ${why}`);
}

/** A request in a worker's hands. `claim` is a fencing number: the holder of an older one writes nothing of the request. */
export interface Claimed {
  readonly job: Job;
  readonly id: string;
  readonly claim: number;
  readonly ask: Ask;
  readonly trigger: 'schedule' | 'api';
  /** What of it succeeded before its process ended, or before it was retried. */
  readonly done: readonly Done[];
}

/**
 * Marks the request of a job as running. Undefined if it is over, was stopped, or its retry was cancelled. A request that still says running had a
 * worker that died: the queue gives a job to one worker at a time.
 */
export async function claim(db: Db, job: Job, worker: string): Promise<Claimed | undefined> {
  const { rows } = await sql<AskRow & Omit<Claimed, 'job' | 'ask'>>`
    update ops.dag_runs d set status = 'running', claim = claim + 1, worker = ${worker}, finished_at = null,
      losses = losses + (status = 'running')::int, started_at = coalesce(started_at, clock_timestamp()),
      progress_at = clock_timestamp(), stuck_since = null, error_code = null, error_message = null
    where dag_run_id = ${job.requestId} and (finished_at is null or claim = ${job.failedClaim ?? -1}::int)
    returning dag_run_id as id, claim, trigger, pipeline, does, streams, window_from, window_to, array(
      select distinct jsonb_build_object('pipeline', r.pipeline, 'kind', r.kind)
      from ops.dag_run_runs l join ops.runs r using (run_id)
      where l.dag_run_id = d.dag_run_id and r.status = 'succeeded') as done`.execute(db);
  return rows[0] && { ...rows[0], job, ask: askOf(rows[0]) };
}

/** Notes how long each request in hand has made no progress, ms. Gives those that are still this worker's, and whether a stop was requested. */
export async function reportProgress(
  db: Db,
  all: readonly (Claimed & { readonly idleMs: number })[],
  stuckMs: number,
) {
  const { rows } = await sql<Pick<Claimed, 'id' | 'claim'> & { readonly stop: boolean }>`
    update ops.dag_runs d set progress_at = clock_timestamp() - b.idle * interval '1 millisecond',
      stuck_since = case when b.idle >= ${stuckMs} then coalesce(d.stuck_since, clock_timestamp()) end
    from unnest(${all.map(({ id }) => id)}::text[], ${all.map((each) => each.claim)}::int[],
      ${all.map(({ idleMs }) => idleMs)}::float8[]) b (id, claim, idle)
    where d.dag_run_id = b.id and d.claim = b.claim and d.status = 'running'
    returning d.dag_run_id as id, d.claim, d.stop_asked_at is not null as stop`.execute(db);
  return rows;
}

/** How a run of a request ended. queued (nothing was done) and interrupted (it goes on where it was) wait for another worker. */
export interface Ended {
  readonly status: DagRun['status'];
  readonly error: DagRun['error'];
  /** Before it may be taken again, ms: where it waits, or failed of a passing cause and is retried. */
  readonly pauseMs?: number | undefined;
}

/**
 * Closes a request with the runs it became, or puts it back with a job of its own; neither is a loss. A failure with a pause is retried, unless a
 * stop was requested. `also` is done in the same transaction. Nothing is written if another worker has taken the request over.
 */
export function settle(
  db: Trx,
  queue: Queue,
  { job, id, claim: number }: Claimed,
  runs: readonly string[],
  { status, error, pauseMs }: Ended,
  also: (trx: Trx) => Promise<void>,
): Promise<void> {
  const waits = status === 'queued' || status === 'interrupted';
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ stopping: boolean; at: Date }>`
      update ops.dag_runs set
        status = case when ${waits} and stop_asked_at is not null then 'stopped' else ${status} end,
        finished_at = case when not ${waits} or stop_asked_at is not null then clock_timestamp() end,
        not_before = clock_timestamp() + interval '1 millisecond' *
          case when stop_asked_at is null then ${pauseMs ?? 0} else 0 end,
        stuck_since = null, error_code = ${waits ? null : (error?.code ?? null)},
        error_message = ${waits ? null : (error?.message ?? null)}
      where dag_run_id = ${id} and claim = ${number} and status = 'running'
      returning stop_asked_at is not null as stopping, not_before as at`.execute(trx);
    const [row] = rows;
    if (row === undefined) return;
    await linkRuns(trx, id, runs);
    await also(trx);
    await queue.complete(trx, job);
    if (row.stopping || pauseMs === undefined) return;
    const failures = (job.failures ?? 0) + (waits ? 0 : 1);
    await queue.offer(trx, { ...job, failures, failedClaim: waits ? undefined : number }, pauseMs);
    if (!waits) await append(trx, id, 'info', `this may pass: retry ${failures} at ${minute(row.at)} UTC`);
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

/** Marks requests as lost whose job no worker holds any more. */
export async function markLost(db: Db): Promise<readonly Lost[]> {
  const { rows } = await sql<Lost>`
    with lost as (
      select dag_run_id, case when stop_asked_at is not null then 'stopped'
          when losses + 1 >= ${mostLosses} then 'failed' else 'lost' end as status,
        'its worker (' || worker || ') died or lost its lease' || case
          when stop_asked_at is not null then ' while it was being stopped'
          when losses + 1 >= ${mostLosses} then '; parked after ' || (losses + 1) || ' times'
          else '; another one takes it' end as message
      from ops.dag_runs d where status = 'running' and not exists (
        select from ${sql.id(queueSchema, 'job')} j where j.name = d.pipeline
          and j.data->>'requestId' = d.dag_run_id and j.state = 'active') for update skip locked)
    update ops.dag_runs r set losses = r.losses + 1, claim = r.claim + 1, stuck_since = null, status = lost.status,
      finished_at = case when lost.status <> 'lost' then clock_timestamp() end,
      error_code = case when lost.status <> 'stopped' then 'worker_lost' end,
      error_message = case when lost.status <> 'stopped' then lost.message end
    from lost where r.dag_run_id = lost.dag_run_id
    returning r.dag_run_id as id, r.pipeline, r.status, lost.message`.execute(db);
  return rows;
}

/** Stops a request: one that waits is over at once, the worker of a running one is asked. Asking again changes nothing. */
export async function stopRequest(db: Trx, id: string, by: string): Promise<void> {
  const { rows } = await sql<{ status: string }>`
    update ops.dag_runs set stop_asked_at = clock_timestamp(), stop_asked_by = ${by},
      status = case when status = 'running' then status else 'stopped' end,
      finished_at = case when status = 'running' then null else clock_timestamp() end
    where dag_run_id = ${id} and stop_asked_at is null and status in ('queued', 'running', 'interrupted', 'lost')
    returning status`.execute(db);
  if (rows.length > 0) await append(db, id, 'info', `stop requested by ${by}`);
}
