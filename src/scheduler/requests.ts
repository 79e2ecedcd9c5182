/**
 * The store of run requests. Writes go to `ops.dag_runs`, the public record; reads are plain selects of views (`migrations/views/ops.*`), which show
 * runs of the command line in the same shape. Times are of the database clock.
 *
 * A request waits (queued, interrupted, lost), runs, or is over; the queue holds one open job for each that is not over. One that failed of a passing
 * cause is over, and has a job for its retry: `not_before` is later than `finished_at` then.
 */

import { type RawBuilder, sql } from 'kysely';
import { minute } from '../core/format.ts';
import { type Db, query } from '../queries/db.ts';
import type { Ask, EndedRequest } from '../runs/ask.ts';
import { lastSuccess } from '../runs/waiting.ts';
import { mostAttempts, type Queue, type QueueJob, queueName, queueSchema, type Trx } from './queue.ts';
import { append } from './request-log.ts';
import { Conflict, type DagRun, NotFound, paramsOf, runIds, type Step } from './run-request.ts';

/**
 * Until the transaction ends, no other process decides what is queued. The row of the queue is locked: an advisory lock could be taken by every
 * reader of the database.
 */
export async function lockQueue(trx: Db): Promise<void> {
  await sql`select from ${sql.id(queueSchema, 'queue')} where name = ${queueName} for no key update`.execute(
    trx,
  );
}

/**
 * What waited longest goes first: the larger, the older is the last run of the pipeline that succeeded. What a person asked for comes before
 * all that.
 */
const priorityOf = async (trx: Trx, { ask, trigger, partOf }: Prioritized): Promise<number> =>
  trigger === 'api' && !partOf ? 1 : -(await lastSuccess(trx, ask.pipeline));

type Prioritized = Pick<NewRequest, 'ask' | 'trigger' | 'partOf'>;

/** A request to be queued; `params` is the ask in the words of its asker. */
export interface NewRequest extends Pick<Claimed, 'id' | 'ask' | 'trigger'> {
  readonly params: string;
  readonly by: string;
  readonly retryOf?: string;
  /** The night that it is a part of. */
  readonly partOf?: string | null;
}

/**
 * Queues a request: record and job. One of every stream replaces the retries that it covers. False if the same request was queued before. Throws
 * `Conflict` if another one has its id, also where that takes it in this moment.
 */
export async function enqueue(trx: Trx, queue: Queue, request: NewRequest): Promise<boolean> {
  const { id, ask, params, trigger, by, retryOf = null, partOf = null } = request;
  const { pipeline, does, streams, window } = ask;
  const { rows } = await sql<{ is_new: boolean }>`insert into ops.dag_runs as d
      (dag_run_id, pipeline, does, streams, window_from, window_to, params, trigger, asked_by, retry_of, part_of)
    values (${id}, ${pipeline}, ${does}, ${streams ? [...streams] : null}::text[], ${window?.from ?? null},
      ${window?.to ?? null}, ${params}, ${trigger}, ${by}, ${retryOf}, ${partOf})
    on conflict (dag_run_id) do update set dag_run_id = d.dag_run_id
      where (d.pipeline, d.does, d.streams, d.window_from, d.window_to) is not distinct from
        (excluded.pipeline, excluded.does, excluded.streams, excluded.window_from, excluded.window_to)
    returning xmax = 0 as is_new`.execute(trx);
  if (rows[0] === undefined) throw new Conflict(`run id ${id} was used for something else before`);
  if (!rows[0].is_new) return false;
  if (streams === undefined) await cancelRetries(trx, ask, `${id} does it`);
  const priority = await priorityOf(trx, request);
  await queue.offer(trx, pipeline, { requestId: id, failures: 0 }, { priority });
  return true;
}

/** Of a row of `ops.dag_runs`: it failed of a passing cause and waits for its retry. */
const waitsForRetry = sql`(status in ('failed', 'partly_failed') and not_before > finished_at)`;

/** The end of a statement that changed the requests `d`: a line in the log of each. */
const logged = (message: string) => sql`insert into ops.run_log (dag_run_id, at, level, message)
  select dag_run_id, clock_timestamp(), 'info', ${message} from d`;

/** Cancels the retries that do the same (full covers sync; without `does`: all), of parts too. Their jobs find the request over. */
export async function cancelRetries(
  db: Db,
  { pipeline, does = null }: { readonly pipeline: string; readonly does?: Ask['does'] | null },
  why: string,
): Promise<void> {
  await sql`with d as (update ops.dag_runs r set not_before = finished_at
      where ${waitsForRetry} and (pipeline = ${pipeline} or exists (
          select from ops.dag_runs n where n.dag_run_id = r.part_of and n.pipeline = ${pipeline}))
        and (${does}::text is null or does = ${does} or (does = 'sync' and ${does} = 'full'))
      returning dag_run_id)
    ${logged(`no retry: ${why}`)}`.execute(db);
}

/** Stops a request and its parts: what waits is over at once, the worker of what runs is asked. Asking again changes nothing. */
export const stopRequest = (db: Trx, id: string, by: string): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const night = await lockNight(trx, id);
    await sql`with d as (update ops.dag_runs set stop_asked_at = clock_timestamp(), stop_asked_by = ${by},
        status = case when finished_at is null and status <> 'running' then 'stopped' else status end,
        finished_at = case when status <> 'running' then coalesce(finished_at, clock_timestamp()) end,
        not_before = least(not_before, finished_at)
      where (dag_run_id = ${id} or part_of = ${id}) and stop_asked_at is null
        and (finished_at is null or ${waitsForRetry})
      returning dag_run_id)
    ${logged(`stop requested by ${by}`)}`.execute(trx);
    await endNight(trx, night);
  });

/** An ask as `ops.dag_runs` holds it. */
interface AskRow extends Pick<Ask, 'pipeline' | 'does'> {
  readonly streams: readonly string[] | null;
  readonly windowFrom: Date | null;
  readonly windowTo: Date | null;
}

const askOf = ({ pipeline, does, streams, windowFrom: from, windowTo: to }: AskRow): Ask => ({
  pipeline,
  does,
  ...(streams && { streams }),
  ...(from && to && { window: { from, to } }),
});

/** A request in a worker's hands. */
export interface Claimed {
  readonly job: QueueJob;
  readonly id: string;
  readonly ask: Ask;
  readonly trigger: 'schedule' | 'api';
  /** The night that it is a part of. */
  readonly partOf: string | null;
}

/** Marks the request of a job as running. Undefined if it is over, was stopped, its retry was cancelled, or another worker has the job. */
export async function claim(db: Db, job: QueueJob, worker: string): Promise<Claimed | undefined> {
  const [row] = await query(db)<AskRow & Omit<Claimed, 'job' | 'ask'>>`
    update ops.dag_runs d set status = 'running', worker = ${worker}, finished_at = null, stuck_since = null,
      started_at = coalesce(started_at, clock_timestamp()), progress_at = clock_timestamp(),
      error_code = null, error_message = null
    where dag_run_id = ${job.data.requestId} and (finished_at is null or ${waitsForRetry}) and exists (
      select from ${sql.id(queueSchema, 'job')} j where j.name = ${queueName} and j.id = ${job.id}
        and j.retry_count = ${job.retryCount} and j.state = 'active')
    returning dag_run_id as id, trigger, part_of, pipeline, does, streams, window_from, window_to`;
  if (row === undefined) return undefined;
  await sql`update ops.dag_runs set status = 'running', finished_at = null, error_code = null, error_message = null,
      started_at = coalesce(started_at, clock_timestamp())
    where dag_run_id = ${row.partOf} and stop_asked_at is null and status <> 'running'`.execute(db);
  return { ...row, job, ask: askOf(row) };
}

/** Notes how long a request of this worker has made no progress, ms. True where a stop was requested. */
export async function reportProgress(db: Db, id: string, worker: string, idleMs: number, stuckMs: number) {
  const { rows } = await sql<{ stop: boolean }>`
    update ops.dag_runs set progress_at = clock_timestamp() - ${idleMs} * interval '1 millisecond',
      stuck_since = case when ${idleMs >= stuckMs} then coalesce(stuck_since, clock_timestamp()) end
    where dag_run_id = ${id} and worker = ${worker} and status = 'running'
    returning stop_asked_at is not null as stop`.execute(db);
  return rows[0]?.stop === true;
}

/** How a run of a request ended. queued (nothing was done) and interrupted (it goes on where it was) wait for another worker. */
export interface Ended {
  readonly status: DagRun['status'];
  readonly error: DagRun['error'];
  /** Before it may be taken again, ms: where it waits, or failed of a passing cause and is retried. */
  readonly pauseMs?: number | undefined;
}

/** Whether a request of that status waits for a worker. */
export const waits = (status: Ended['status']): boolean => ['queued', 'interrupted', 'lost'].includes(status);

/** Writes how an attempt ended. What would wait for another worker although a stop was requested is stopped. Gives when it is taken again. */
async function record(trx: Trx, id: string, { status, error, pauseMs = 0 }: Ended) {
  const { rows } = await sql<{ stopping: boolean; at: Date }>`
    update ops.dag_runs set
      status = case when ${waits(status)} and stop_asked_at is not null then 'stopped' else ${status} end,
      finished_at = case when not ${waits(status)} or stop_asked_at is not null then now() end,
      not_before = now() + case when stop_asked_at is null then ${pauseMs} else 0 end * interval '1 millisecond',
      stuck_since = null, error_code = ${error?.code ?? null}, error_message = ${error?.message ?? null}
    where dag_run_id = ${id} returning stop_asked_at is not null as stopping, not_before as at`.execute(trx);
  return rows[0];
}

/** Locks the night that a request is, or is a part of, before any of its parts is written. Gives its id. */
async function lockNight(trx: Trx, id: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`select dag_run_id as id from ops.dag_runs where dag_run_id = (
    select coalesce(part_of, dag_run_id) from ops.dag_runs where dag_run_id = ${id}) for no key update`.execute(
    trx,
  );
  return rows[0]?.id ?? id;
}

/**
 * Ends a night whose parts are all over: failed only if every one failed, with the reasons of each that did not succeed. Gives how it ended;
 * undefined where a part is not over, or it has none.
 */
async function endNight(trx: Trx, id: string) {
  const [row] = await query(trx)<AskRow & Pick<Ended, 'status'>>`
    update ops.dag_runs d set finished_at = now(), error_code = p.code, error_message = p.reasons, status = p.status
    from (select coalesce((array_agg(error_code order by seq) filter (where status <> 'succeeded'))[1],
          min(status) filter (where status <> 'succeeded')) as code,
        string_agg(pipeline || ' ' || does || ' ' || replace(status, '_', ' ') || coalesce(': ' || error_message, ''), '; '
          order by seq) filter (where status <> 'succeeded') as reasons,
        case when bool_and(status = 'succeeded') then 'succeeded' when bool_and(status = 'failed') then 'failed'
          when bool_or(status = 'stopped') then 'stopped'
          when bool_and(status in ('succeeded', 'needs_attention')) then 'needs_attention' else 'partly_failed' end as status
      from ops.dag_runs where part_of = ${id} having bool_and(finished_at is not null)) p
    where d.dag_run_id = ${id}
    returning d.status, d.pipeline, d.does, d.streams, d.window_from, d.window_to`;
  return row && { id, ask: askOf(row), status: row.status };
}

/** Adds a part to a night. */
const addPart = (trx: Trx, queue: Queue, { id: partOf, trigger }: Night, ask: Ask) => {
  const id = `${partOf}.${ask.pipeline}.${ask.does}`;
  return enqueue(trx, queue, { id, ask, params: paramsOf(ask), trigger, by: 'nightly', partOf });
};

type Night = Pick<Claimed, 'id' | 'trigger'>;

/**
 * Turns the request of a night into its parts, each with a job of its own. A night that repeats another one has only the parts that did not
 * succeed there.
 */
export const splitNight = (db: Trx, queue: Queue, night: Claimed, asks: readonly Ask[]): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const { id, job } = night;
    await lockNight(trx, id);
    if (!(await queue.complete(trx, job))) return;
    const row = await record(trx, id, { status: asks.length > 0 ? 'queued' : 'succeeded', error: null });
    if (row?.stopping) return;
    const failed = await query(trx)<AskRow>`
      select p.pipeline, p.does, p.streams, p.window_from, p.window_to from ops.dag_runs d
      join ops.dag_runs p on p.part_of = d.retry_of and p.status not in ('succeeded', 'needs_attention')
      where d.dag_run_id = ${id} order by p.seq`;
    for (const ask of failed.length > 0 ? failed.map(askOf) : asks) await addPart(trx, queue, night, ask);
  });

/** What else is written when a request, or a night, ends, in the transaction that closes it. */
export type AlsoWritten = (ended: EndedRequest, trx: Trx) => Promise<void>;

/**
 * Closes a request with the runs it became, or puts it back with a job of its own. A failure with a pause is retried, unless a stop was requested.
 * `next` follows it in its night. `also` is done in the same transaction, for it and for the night that ends with it. Nothing is written if
 * another worker has taken the job over.
 */
export function close(
  db: Trx,
  queue: Queue,
  { job, id, ask, trigger, partOf }: Claimed,
  runs: readonly string[],
  ended: Ended,
  also: AlsoWritten,
  next?: Ask,
): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const night = await lockNight(trx, id);
    if (!(await queue.complete(trx, job))) return;
    const row = await record(trx, id, ended);
    await linkRuns(trx, id, runs);
    await also({ id, ask, status: ended.status }, trx);
    if (next !== undefined && row?.stopping === false)
      await addPart(trx, queue, { id: night, trigger }, next);
    const whole = await endNight(trx, night);
    if (whole !== undefined) await also(whole, trx);
    if (row === undefined || row.stopping || ended.pauseMs === undefined) return;
    const isRetry = !waits(ended.status);
    const failures = job.data.failures + (isRetry ? 1 : 0);
    const { pauseMs } = ended;
    const priority = await priorityOf(trx, { ask, trigger, partOf });
    await queue.offer(trx, ask.pipeline, { requestId: id, failures }, { pauseMs, priority });
    if (isRetry) await append(trx, id, 'info', `this may pass: retry ${failures} at ${minute(row.at)} UTC`);
  });
}

/** Notes which runs a request became. Doing it again changes nothing. */
export async function linkRuns(db: Db, id: string, runs: readonly string[]): Promise<void> {
  await sql`insert into ops.dag_run_runs (dag_run_id, run_id)
    select ${id}, unnest(${[...runs]}::bigint[]) on conflict (run_id) do nothing`.execute(db);
}

/** A request whose worker died. `failed`: parked, because its workers die of it; else `lost`, and another worker takes it. */
type Lost = Pick<DagRun, 'pipeline'> &
  Record<'id' | 'message', string> & { readonly status: 'lost' | 'failed' };

/** Marks requests as lost whose job no worker holds any more, and says so in their logs. Where pg-boss gave the job up they are over. */
export const markLost = (db: Trx): Promise<readonly Lost[]> =>
  db.transaction().execute(async (trx) => {
    const { rows } = await sql<Lost & { night: string }>`
      select d.dag_run_id as id, d.pipeline, n.dag_run_id as night, case when j.id is null then 'failed' else 'lost' end as status,
        'its worker (' || coalesce(d.worker, 'none') || ') died or lost its lease; ' || case
          when j.id is null then ${`parked after ${mostAttempts} times`} else 'another one takes it' end as message
      from ops.dag_runs d join ops.dag_runs n on n.dag_run_id = coalesce(d.part_of, d.dag_run_id)
      left join ${sql.id(queueSchema, 'job')} j on j.name = ${queueName}
        and j.data->>'requestId' = d.dag_run_id and j.state in ('created', 'retry', 'active')
      where d.finished_at is null and (j.id is null or d.status = 'running' and j.state = 'retry')
        and not exists (select from ops.dag_runs p where p.part_of = d.dag_run_id)
      for no key update of n, d skip locked`.execute(trx);
    for (const { id, night, status, message } of rows) {
      await record(trx, id, { status, error: { code: 'worker_lost', message } });
      await append(trx, id, 'warn', message);
      await endNight(trx, night);
    }
    return rows;
  });

const select = (db: Db, which: RawBuilder<unknown>) =>
  query(db)<DagRun>`select * from ops.dag_run_list d where ${which}`;

/** The only row, of the run of that id. Throws NotFound; an id is repeated only where it has the form of one. */
function found<T>([row]: readonly T[], id: string): T {
  if (row !== undefined) return row;
  throw new NotFound(`there is no run ${runIds.test(id) ? id : 'of that id'} here`);
}

/** The one of that id; with `pipeline` only if it is of that. Throws NotFound. */
export const dagRun = async (db: Db, id: string, pipeline: string | null = null): Promise<DagRun> =>
  found(await select(db, sql`d.run_id = ${id} and d.pipeline = coalesce(${pipeline}, d.pipeline)`), id);

/** `before`: only those older than this run. */
export interface RunsPage {
  readonly limit: number;
  readonly before?: string | undefined;
}

/** The newest of the pipeline. */
export async function dagRuns(db: Db, pipeline: string, { limit, before }: RunsPage) {
  // Compared with the row itself: its instant has microseconds, a Date has not.
  const older = sql`(d.queued_at, d.run_id) < (select b.queued_at, b.run_id from ops.dag_run_list b where b.run_id = ${before})`;
  const which = sql`d.pipeline = ${pipeline} and ${before === undefined ? sql`true` : older}`;
  return select(db, sql`${which} order by d.queued_at desc, d.run_id desc limit ${limit}`);
}

/** The newest of each of these pipelines. */
export const newestOf = (db: Db, pipelines: readonly string[]) =>
  select(
    db,
    sql`d.run_id = any (array(select n.id from unnest(${[...pipelines]}::text[]) p (name) cross join lateral (
        (select dag_run_id, queued_at from ops.dag_runs where pipeline = p.name order by 2 desc, 1 desc limit 1)
        union all (select 'manual-' || run_id::text, started_at from ops.runs
          where pipeline = p.name and trigger = 'manual' order by 2 desc limit 1)
        order by 2 desc limit 1) n (id, at)))`,
  );

/**
 * The one that counts as active: what runs, before what waits. A run of the command line that holds the pipeline now counts, too.
 * Undefined: a start has nothing in its way. `except`: a request that does not count.
 */
export async function activeRun(db: Db, pipeline: string, except = ''): Promise<DagRun | undefined> {
  const first = sql`select run_id from ops.active_dag_runs
    where pipeline = ${pipeline} and run_id <> ${except} order by rank, seq limit 1`;
  return (await select(db, sql`d.run_id = (${first})`))[0];
}

/** What a request or a run of the command line was asked to do. Throws NotFound. */
export async function askOfRun(db: Db, id: string): Promise<Ask> {
  const rows = await query(db)<AskRow>`
    select pipeline, does, streams, window_from, window_to from ops.dag_run_asks where run_id = ${id}`;
  return askOf(found(rows, id));
}

/** The streams of these runs with their status, and the slices that are being read now. */
export const stepsOf = (db: Db, runs: readonly string[]) =>
  query(db)<Step>`select pipeline, stream, slice, status, started_at, received, expected from ops.run_steps
    where run_id = any (${[...runs]}::bigint[]) order by run_id, stream, slice_id limit 500`;

/** The database clock. */
export async function databaseNow(db: Db): Promise<Date> {
  const [now] = await query(db)<{ at: Date }>`select clock_timestamp() as at`;
  return now?.at ?? new Date(Number.NaN);
}
