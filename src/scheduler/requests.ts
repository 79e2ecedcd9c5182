/**
 * Writes of `ops.dag_runs`, the public record of run requests. Each goes in one transaction with the queue's job. Moments are by the database
 * clock.
 */

import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Db } from '../queries/db.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { DagRunStatus } from './control.ts';
import { type Job, type Queue, queueSchema } from './queue.ts';
import type { AskRow } from './run-request.ts';

/** A request to be queued. */
export interface NewRequest {
  readonly id: string;
  readonly ask: AskRow;
  readonly params: string;
  readonly trigger: 'schedule' | 'api';
  readonly by: string;
  readonly retryOf?: string;
  /** No worker takes it before that. Default 0. */
  readonly pauseMs?: number;
}

/** The third death of its worker parks a request as failed. */
export const mostLosses = 3;

/** Until the transaction ends, no other process decides what is queued for this pipeline. */
export async function lockPipeline(trx: Db, pipeline: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('tidemark queue ' || ${pipeline}::text, 0))`.execute(
    trx,
  );
}

/** Queues a request: record and job. False if the id is taken. */
export async function enqueue(
  trx: Kysely<AnyDatabase>,
  queue: Pick<Queue, 'offer'>,
  request: NewRequest,
): Promise<boolean> {
  const { id, ask, pauseMs = 0 } = request;
  const { numAffectedRows } = await sql`insert into ops.dag_runs
      (dag_run_id, pipeline, does, streams, window_from, window_to, params, trigger, asked_by, retry_of, not_before)
    values (${id}, ${ask.pipeline}, ${ask.does}, ${ask.streams && [...ask.streams]}::text[], ${ask.window_from},
      ${ask.window_to}, ${request.params}, ${request.trigger}, ${request.by}, ${request.retryOf ?? null},
      ${inMs(pauseMs)})
    on conflict (dag_run_id) do nothing`.execute(trx);
  if (!changed(numAffectedRows)) return false;
  await queue.offer(trx, { pipeline: ask.pipeline, requestId: id }, pauseMs);
  return true;
}

/** A request in a worker's hands. `claim` fences: a holder of an older one may write nothing of the request. */
export interface Claimed {
  readonly job: Job;
  readonly id: string;
  readonly claim: number;
  readonly ask: AskRow;
  readonly trigger: 'schedule' | 'api';
}

/**
 * Marks the request of a job as running. Undefined where it is over, or was stopped. A request that still says running had a worker that died:
 * the queue gives a job to one worker at a time.
 */
export async function claim(db: Db, job: Job, worker: string): Promise<Claimed | undefined> {
  const { rows } = await sql<AskRow & { id: string; claim: number; trigger: 'schedule' | 'api' }>`
    update ops.dag_runs set status = 'running', claim = claim + 1, worker = ${worker},
      losses = losses + (status = 'running')::int, started_at = coalesce(started_at, clock_timestamp()),
      progress_at = clock_timestamp(), stuck_since = null, error_code = null, error_message = null
    where dag_run_id = ${job.requestId} and finished_at is null
    returning dag_run_id as id, claim, trigger, pipeline, does, streams, window_from, window_to`.execute(db);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { id, claim: number, trigger, ...ask } = row;
  return { job, id, claim: number, trigger, ask };
}

/** What a worker says of a request in its hands. */
export interface Progress {
  readonly id: string;
  readonly claim: number;
  /** Milliseconds since it last made progress. */
  readonly idleMs: number;
}

/** What a worker hears of a request that is still its own. */
export interface Heard {
  readonly id: string;
  readonly claim: number;
  /** A person asked to stop it. */
  readonly stop: boolean;
}

/** Notes the progress of all requests in hand. Gives those that still belong to this worker. */
export async function report(db: Db, all: readonly Progress[], stuckMs: number): Promise<readonly Heard[]> {
  const { rows } = await sql<Heard>`
    update ops.dag_runs d set progress_at = clock_timestamp() - b.idle * interval '1 millisecond',
      stuck_since = case when b.idle >= ${stuckMs} then coalesce(d.stuck_since, clock_timestamp()) end
    from unnest(${all.map(({ id }) => id)}::text[], ${all.map((each) => each.claim)}::int[],
      ${all.map(({ idleMs }) => idleMs)}::float8[]) b (id, claim, idle)
    where d.dag_run_id = b.id and d.claim = b.claim and d.status = 'running'
    returning d.dag_run_id as id, d.claim, d.stop_asked_at is not null as stop`.execute(db);
  return rows;
}

/** How a request ends. */
export interface Ended {
  readonly status: Exclude<DagRunStatus, 'queued' | 'running' | 'interrupted' | 'lost' | 'stuck'>;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Closes a request with the runs it became. `also` is done in the same transaction. False, and nothing written, if another worker has it. */
export function finish(
  db: Kysely<AnyDatabase>,
  queue: Queue,
  { job, id, claim: number }: Claimed,
  runs: readonly string[],
  ended: Ended,
  also: (trx: Kysely<AnyDatabase>) => Promise<void>,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`update ops.dag_runs set status = ${ended.status},
        finished_at = clock_timestamp(), stuck_since = null,
        error_code = ${ended.error?.code ?? null}, error_message = ${ended.error?.message ?? null}
      where ${isMine(id, number)}`.execute(trx);
    if (!changed(numAffectedRows)) return false;
    await linkRuns(trx, id, runs);
    await also(trx);
    await queue.complete(trx, job);
    return true;
  });
}

/** Puts a request back with a job of its own. `queued`: nothing was done yet; `interrupted`: it goes on where it was. Neither is a loss. */
export function putBack(
  db: Kysely<AnyDatabase>,
  queue: Queue,
  { job, id, claim: number }: Claimed,
  runs: readonly string[],
  how: { readonly as: 'queued' | 'interrupted'; readonly pauseMs: number },
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ status: string }>`update ops.dag_runs set
        status = case when stop_asked_at is not null then 'stopped' else ${how.as} end,
        finished_at = case when stop_asked_at is not null then clock_timestamp() end,
        not_before = ${inMs(how.pauseMs)}, stuck_since = null
      where ${isMine(id, number)} returning status`.execute(trx);
    const [row] = rows;
    if (row === undefined) return false;
    await linkRuns(trx, id, runs);
    await queue.complete(trx, job);
    if (row.status !== 'stopped') await queue.offer(trx, job, how.pauseMs);
    return true;
  });
}

/** Notes which runs a request became. Doing it again changes nothing. */
export async function linkRuns(db: Db, id: string, runs: readonly string[]): Promise<void> {
  if (runs.length === 0) return;
  await sql`insert into ops.dag_run_runs (dag_run_id, run_id)
    select ${id}, unnest(${[...runs]}::bigint[]) on conflict (run_id) do nothing`.execute(db);
}

/** A request whose worker died. */
export interface Lost {
  readonly id: string;
  readonly pipeline: string;
  /** lost (another worker takes it), stopped (a person had asked for that) or failed (parked: its workers die of it). */
  readonly status: 'lost' | 'stopped' | 'failed';
  readonly worker: string;
  readonly message: string | null;
}

/** Marks requests as lost whose job no worker holds any more. */
export const markLost = (db: Db): Promise<readonly Lost[]> =>
  lose(
    db,
    sql`not exists (select from ${sql.id(queueSchema, 'job')} j where j.name = d.pipeline
      and j.data->>'requestId' = d.dag_run_id and j.state = 'active')`,
    'died',
  );

/** Gives a request up whose run lost its lease in this worker: another worker takes it. Gives nothing if one already has. */
export const giveUp = (
  db: Kysely<AnyDatabase>,
  queue: Queue,
  { job, id, claim: number }: Claimed,
): Promise<readonly Lost[]> =>
  db.transaction().execute(async (trx) => {
    const lost = await lose(trx, sql`dag_run_id = ${id} and claim = ${number}`, 'lost it');
    if (lost.length > 0) await queue.fail(trx, job);
    return lost;
  });

async function lose(db: Db, which: RawBuilder<unknown>, fate: string): Promise<readonly Lost[]> {
  const isParked = sql`r.losses + 1 >= ${mostLosses}`;
  const { rows } = await sql<Lost>`
    update ops.dag_runs r set losses = r.losses + 1, claim = r.claim + 1, stuck_since = null,
      status = case when r.stop_asked_at is not null then 'stopped' when ${isParked} then 'failed' else 'lost' end,
      finished_at = case when r.stop_asked_at is not null or ${isParked} then clock_timestamp() end,
      error_code = case when r.stop_asked_at is null then 'worker_lost' end,
      error_message = case when r.stop_asked_at is not null then null
        when ${isParked} then 'parked: its worker ' || ${fate}::text || ' ' || (r.losses + 1) || ' times, the last was ' || r.worker
        else 'its worker (' || r.worker || ') ' || ${fate}::text || '; another one takes it' end
    from (select dag_run_id from ops.dag_runs d where status = 'running' and ${which} for update skip locked) gone
    where r.dag_run_id = gone.dag_run_id
    returning r.dag_run_id as id, r.pipeline, r.status, r.worker, r.error_message as message`.execute(db);
  return rows;
}

const isMine = (id: string, claim: number) =>
  sql`dag_run_id = ${id} and claim = ${claim} and status = 'running'`;

const inMs = (ms: number) => sql`clock_timestamp() + ${ms} * interval '1 millisecond'`;

const changed = (rows: bigint | undefined): boolean => Number(rows ?? 0) > 0;
