/** The queue of requests, in Postgres: what is in it survives every process. Moments are by the database clock. */

import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Db } from '../queries/db.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { DagRunStatus } from './control.ts';
import type { AskRow } from './run-request.ts';
import { mostLosses, type Times } from './schedule-times.ts';

/** A request to be queued. */
export interface Request {
  readonly id: string;
  readonly ask: AskRow;
  readonly params: string;
  readonly trigger: 'schedule' | 'api';
  readonly by: string;
  readonly retryOf?: string;
  /** It is not taken up before that. Default 0. */
  readonly pauseMs?: number;
}

/** Until the transaction ends, nobody else decides what is queued for this pipeline. */
export async function turnFor(trx: Db, pipeline: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('tidemark queue ' || ${pipeline}::text, 0))`.execute(
    trx,
  );
}

/** False if the id is taken. */
export async function insert(trx: Db, request: Request): Promise<boolean> {
  const { ask } = request;
  const { numAffectedRows } = await sql`insert into ops.dag_runs
      (dag_run_id, pipeline, does, streams, window_from, window_to, params, trigger, asked_by, retry_of, not_before)
    values (${request.id}, ${ask.pipeline}, ${ask.does}, ${ask.streams && [...ask.streams]}::text[], ${ask.window_from},
      ${ask.window_to}, ${request.params}, ${request.trigger}, ${request.by}, ${request.retryOf ?? null},
      clock_timestamp() + ${request.pauseMs ?? 0} * interval '1 millisecond')
    on conflict (dag_run_id) do nothing`.execute(trx);
  return Number(numAffectedRows ?? 0) === 1;
}

/** A request in a worker's hand. `claim` fences: whoever holds an older one may write nothing of the request. */
export interface Claimed {
  readonly id: string;
  readonly claim: number;
  readonly ask: AskRow;
  readonly trigger: 'schedule' | 'api';
  /** How often a worker of it has died. */
  readonly losses: number;
}

/** What the heartbeat's session is, so that others see when it is gone. */
export interface Presence {
  readonly worker: string;
  readonly leaseMs: number;
}

/**
 * Takes up the oldest request whose pipeline is configured here and not running, if there is one. Until the first heartbeat nobody can see
 * whether the worker lives; the lease says so by time alone.
 */
export async function claim(
  db: Db,
  pipelines: readonly string[],
  presence: Presence,
): Promise<Claimed | undefined> {
  const { rows } = await sql<
    AskRow & { id: string; claim: number; trigger: 'schedule' | 'api'; losses: number }
  >`
    update ops.dag_runs set status = 'running', claim = claim + 1, worker = ${presence.worker},
      backend_pid = null, backend_start = null, heartbeat_at = clock_timestamp(),
      expires_at = clock_timestamp() + ${presence.leaseMs} * interval '1 millisecond',
      started_at = coalesce(started_at, clock_timestamp()), progress_at = clock_timestamp(), stuck_since = null,
      error_code = null, error_message = null
    where dag_run_id = (
      select dag_run_id from ops.dag_runs d
      where status in ('queued', 'interrupted', 'lost') and not_before <= clock_timestamp()
        and pipeline = any (${[...pipelines]}::text[])
        and not exists (select from ops.dag_runs o where o.pipeline = d.pipeline and o.status = 'running')
      order by seq limit 1 for update skip locked)
    returning dag_run_id as id, claim, trigger, losses, pipeline, does, streams, window_from, window_to`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { id, claim: number, trigger, losses, ...ask } = row;
  return { id, claim: number, trigger, losses, ask };
}

/** A sign of life for one request. */
export interface Beat {
  readonly id: string;
  readonly claim: number;
  /** How long ago it last got ahead. */
  readonly idleMs: number;
}

/** What became of a sign of life: the request is still ours. */
export interface Beaten {
  readonly id: string;
  readonly claim: number;
  /** Somebody asked to stop it. */
  readonly stop: boolean;
}

/** One statement for all requests in hand. Gives those that are still ours. */
export async function beat(
  query: (text: string, values: readonly unknown[]) => Promise<{ rows: Beaten[] }>,
  beats: readonly Beat[],
  { leaseMs, stuckMs }: Pick<Times, 'leaseMs' | 'stuckMs'>,
): Promise<readonly Beaten[]> {
  const { rows } = await query(
    `update ops.dag_runs d set heartbeat_at = clock_timestamp(), backend_pid = pg_backend_pid(),
       backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid()),
       expires_at = clock_timestamp() + $4 * interval '1 millisecond',
       progress_at = clock_timestamp() - b.idle * interval '1 millisecond',
       stuck_since = case when b.idle >= $5 then coalesce(d.stuck_since, clock_timestamp()) end
     from unnest($1::text[], $2::int[], $3::float8[]) b (id, claim, idle)
     where d.dag_run_id = b.id and d.claim = b.claim and d.status = 'running'
     returning d.dag_run_id as id, d.claim, d.stop_asked_at is not null as stop`,
    [
      beats.map(({ id }) => id),
      beats.map(({ claim: number }) => number),
      beats.map(({ idleMs }) => idleMs),
      leaseMs,
      stuckMs,
    ],
  );
  return rows;
}

/** How a request ends. */
export interface Ended {
  readonly status: Exclude<DagRunStatus, 'queued' | 'running' | 'interrupted' | 'lost' | 'stuck'>;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Closes a request, with the runs it became; `also` is done in the same transaction. False if it is no longer ours: then nothing is written
 * of it.
 */
export function close(
  db: Kysely<AnyDatabase>,
  { id, claim: number }: Pick<Claimed, 'id' | 'claim'>,
  runs: readonly string[],
  ended: Ended,
  also: (trx: Kysely<AnyDatabase>) => Promise<void>,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { numAffectedRows } =
      await sql`update ops.dag_runs set status = ${ended.status}, finished_at = clock_timestamp(), stuck_since = null,
        expires_at = null, error_code = ${ended.error?.code ?? null}, error_message = ${ended.error?.message ?? null}
      where dag_run_id = ${id} and claim = ${number} and status = 'running'`.execute(trx);
    if (Number(numAffectedRows ?? 0) === 0) return false;
    await join(trx, id, runs);
    await also(trx);
    return true;
  });
}

/** Puts a request back. `queued`: nothing was done yet; `interrupted`: it goes on from where it was. Neither counts as a loss. */
export function putBack(
  db: Kysely<AnyDatabase>,
  { id, claim: number }: Pick<Claimed, 'id' | 'claim'>,
  runs: readonly string[],
  how: { readonly as: 'queued' | 'interrupted'; readonly pauseMs: number },
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`update ops.dag_runs set
        status = case when stop_asked_at is not null then 'stopped' else ${how.as} end,
        finished_at = case when stop_asked_at is not null then clock_timestamp() end,
        not_before = clock_timestamp() + ${how.pauseMs} * interval '1 millisecond', stuck_since = null, expires_at = null
      where dag_run_id = ${id} and claim = ${number} and status = 'running'`.execute(trx);
    if (Number(numAffectedRows ?? 0) === 0) return false;
    await join(trx, id, runs);
    return true;
  });
}

/** Notes which runs a request became. Doing it again changes nothing. */
export async function join(db: Db, id: string, runs: readonly string[]): Promise<void> {
  if (runs.length === 0) return;
  await sql`insert into ops.dag_run_runs (dag_run_id, run_id)
    select ${id}, unnest(${[...runs]}::bigint[]) on conflict (run_id) do nothing`.execute(db);
}

/** A request whose worker died. */
export interface Lost {
  readonly id: string;
  readonly pipeline: string;
  readonly losses: number;
  /** lost (is taken up again), stopped (somebody had asked for that) or failed (it is parked: its workers die of it). */
  readonly status: 'lost' | 'stopped' | 'failed';
  readonly worker: string;
  readonly message: string | null;
}

/**
 * Whether this session lasts for so long. A server that restarts takes the sessions of all along, and who is back first would call the living dead:
 * that somebody's session is gone means something to those alone who have been here for as long as the others need to come back.
 */
export const isHereFor = (ms: number): RawBuilder<boolean> =>
  sql`exists (select from pg_stat_activity where pid = pg_backend_pid()
    and backend_start < clock_timestamp() - ${ms} * interval '1 millisecond')`;

/** The given moment, or that of the question, by the warehouse's clock. */
export const instantOf = (at: Date | undefined): RawBuilder<Date> =>
  at === undefined ? sql<Date>`clock_timestamp()` : sql<Date>`${at}::timestamptz`;

/**
 * Finds requests whose worker died: its lease ran out, or its heartbeat's session is gone for several beats. `only`: this one alone, whose
 * worker says itself that it lost it. `at`: the moment by which is judged, by the warehouse's clock; default: that of the question.
 */
export async function reap(
  db: Db,
  times: Times,
  { only, at }: { readonly only?: Pick<Claimed, 'id' | 'claim'>; readonly at?: Date } = {},
): Promise<readonly Lost[]> {
  const now = instantOf(at);
  const dead =
    only === undefined
      ? sql`(expires_at <= ${now} or (backend_pid is not null
          and heartbeat_at < ${now} - ${3 * times.heartbeatMs} * interval '1 millisecond'
          and ${isHereFor(3 * times.heartbeatMs)}
          and not exists (select from pg_stat_activity a where a.pid = backend_pid
            and (a.backend_start is null or a.backend_start = d.backend_start))))`
      : sql`dag_run_id = ${only.id} and claim = ${only.claim}`;
  const fate = only === undefined ? 'died' : 'lost it';
  const { rows } = await sql<Lost>`
    update ops.dag_runs r set losses = r.losses + 1, claim = r.claim + 1, stuck_since = null, expires_at = null,
      status = case when r.stop_asked_at is not null then 'stopped' when r.losses + 1 >= ${mostLosses} then 'failed' else 'lost' end,
      finished_at = case when r.stop_asked_at is not null or r.losses + 1 >= ${mostLosses} then clock_timestamp() end,
      not_before = clock_timestamp() + ${times.backoffMs} * r.losses * interval '1 millisecond',
      error_code = case when r.stop_asked_at is null then 'worker_lost' end,
      error_message = case when r.stop_asked_at is not null then null
        when r.losses + 1 >= ${mostLosses} then 'parked: its worker ' || ${fate}::text || ' ' || (r.losses + 1) || ' times, the last was ' || r.worker
        else 'its worker (' || r.worker || ') ' || ${fate}::text || '; it is taken up again' end
    from (select dag_run_id from ops.dag_runs d where status = 'running' and ${dead} for update skip locked) gone
    where r.dag_run_id = gone.dag_run_id
    returning r.dag_run_id as id, r.pipeline, r.losses, r.status, r.worker, r.error_message as message`.execute(
    db,
  );
  return rows;
}
