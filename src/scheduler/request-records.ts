/** Reads of run requests, and of runs of the command line in the same shape. */

import { type RawBuilder, sql } from 'kysely';
import { type Db, errorOf } from '../queries/db.ts';
import { retryAt } from './requests.ts';
import { type Ask, type AskRow, askOf, type DagRun, type Step } from './run-request.ts';

/** Whether `r` (a running row of `ops.runs`) has a living process, by the lease that it writes under. */
const isAlive = sql<boolean>`exists (select from ops.leases l join pg_stat_activity a on a.pid = l.backend_pid
  and (a.backend_start is null or a.backend_start = l.backend_start)
  where l.pipeline = r.pipeline and l.epoch = r.epoch and l.holder is not null
    and l.expires_at > clock_timestamp())`;

/** Params of a run of the command line, in the words of `paramsOf`. */
const manualParams = sql`concat_ws(' ', 'FROM=' || replace(params->>'from', 'T00:00:00.000Z', ''),
  'TO=' || replace(params->>'to', 'T00:00:00.000Z', ''),
  'STREAMS=' || (select string_agg(s, ',') from jsonb_array_elements_text(
    case jsonb_typeof(params->'streams') when 'array' then params->'streams' end) s),
  case kind when 'full' then 'FULL=true' when 'reconcile' then 'DOES=reconcile' end)`;

/** Requests and runs of the command line as `DagRun`s, newest first. `which` selects from `d`. */
const selectDagRuns = (which: RawBuilder<unknown>): RawBuilder<DagRun> => sql<DagRun>`
  with d as (
    select dag_run_id, pipeline, does, trigger,
      case when status = 'running' and stuck_since is not null then 'stuck' else status end as status,
      params, queued_at, started_at, finished_at, ${errorOf},
      stop_asked_at is not null and finished_at is null as stopping, ${retryAt} as again_at, null::bigint as run_id
    from ops.dag_runs
    union all
    select 'manual-' || run_id, pipeline, kind, 'manual',
      case when status = 'running' and not ${isAlive} then 'lost' else status end,
      ${manualParams}, started_at, started_at, finished_at, ${errorOf}, false, null, run_id
    from ops.runs r where trigger = 'manual')
  select dag_run_id as "runId", pipeline, does, trigger, status, params, queued_at as "queuedAt",
    started_at as "startedAt", finished_at as "finishedAt", coalesce(n.runs::text[], '{}') as runs,
    s.*, error, stopping,
    again_at as "againAt"
  from (select * from d where ${which}) d
  cross join lateral (select array_agg(run_id order by run_id) as runs from (
    select d.run_id where d.run_id is not null
    union all select l.run_id from ops.dag_run_runs l where l.dag_run_id = d.dag_run_id) i) n
  cross join lateral (select coalesce(sum(received), 0)::float8 as received,
    coalesce(sum(inserted + updated + deleted), 0)::float8 as changed,
    coalesce(sum(rejected), 0)::float8 as rejected
    from ops.run_streams where run_id = any (n.runs)) s
  order by d.queued_at desc, d.dag_run_id desc`;

/** What concerns a pipeline: its own requests and runs, and those of `nightly` that came to it. */
const concerns = (pipeline: string): RawBuilder<unknown> => sql`(d.pipeline = ${pipeline} or exists (
  select from ops.dag_run_runs l join ops.runs r using (run_id)
  where l.dag_run_id = d.dag_run_id and r.pipeline = ${pipeline}))`;

/** The one of that id; with `pipeline` only if it concerns that. */
export async function dagRun(db: Db, id: string, pipeline?: string): Promise<DagRun | undefined> {
  const which = pipeline === undefined ? sql`true` : concerns(pipeline);
  return (await selectDagRuns(sql`d.dag_run_id = ${id} and ${which}`).execute(db)).rows[0];
}

/** The newest that concern the pipeline; `before`: only those older than this one. */
export async function dagRuns(
  db: Db,
  pipeline: string,
  { limit, before }: { readonly limit: number; readonly before?: string },
): Promise<readonly DagRun[]> {
  // Compared with the row itself: its instant has microseconds, a Date has not.
  const older =
    before === undefined
      ? sql`true`
      : sql`(d.queued_at, d.dag_run_id) < (
          select b.queued_at, b.dag_run_id from d b where b.dag_run_id = ${before})`;
  const which = sql`${concerns(pipeline)} and ${older} order by d.queued_at desc, d.dag_run_id desc limit ${limit}`;
  return (await selectDagRuns(which).execute(db)).rows;
}

/**
 * The one that counts as active: what runs, before what waits. A run of `nightly` or of the command line that holds the pipeline now counts, too.
 * Undefined: a start has nothing in its way.
 */
export async function activeRun(db: Db, pipeline: string): Promise<DagRun | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select dag_run_id as id, case status when 'running' then 0 else 2 end as rank, seq from ops.dag_runs
      where pipeline = ${pipeline} and status in ('queued', 'running', 'interrupted', 'lost')
      union all
      select coalesce(n.dag_run_id, 'manual-' || r.run_id), 1, r.run_id
      from ops.runs r left join ops.dag_run_runs n using (run_id)
      where r.pipeline = ${pipeline} and r.status = 'running' and (n.dag_run_id is not null or r.trigger = 'manual')
        and ${isAlive}) active
    order by rank, seq limit 1`.execute(db);
  const id = rows[0]?.id;
  return id === undefined ? undefined : dagRun(db, id);
}

/** What a request or a run of the command line was asked to do; undefined if there is none of that id. */
export async function askOfRun(db: Db, id: string): Promise<Ask | undefined> {
  const { rows } = await sql<AskRow>`
    select pipeline, does, streams, window_from, window_to from ops.dag_runs where dag_run_id = ${id}
    union all
    select pipeline, kind, case when jsonb_typeof(params->'streams') = 'array'
        then array(select jsonb_array_elements_text(params->'streams')) end,
      (params->>'from')::timestamptz, (params->>'to')::timestamptz
    from ops.runs where 'manual-' || run_id = ${id} and trigger = 'manual'`.execute(db);
  return rows[0] && askOf(rows[0]);
}

/** What a slice covers, e.g. `board_id 7 · 2024-01-01T00:00:00Z to now`; `all` if it is the whole stream. */
const sliceText = sql`coalesce(nullif(concat_ws(' · ',
  (select string_agg(key || ' ' || value, ' · ') from jsonb_each_text(
    case jsonb_typeof(l.partition) when 'object' then l.partition end)),
  case when coalesce(l.window_from, l.window_to) is not null then
    coalesce(to_char(l.window_from at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'the beginning') || ' to ' ||
    coalesce(to_char(l.window_to at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'now') end), ''), 'all')`;

/** The streams of these runs with their status, and the slices that are being read now. */
export async function stepsOf(db: Db, runs: readonly string[]): Promise<readonly Step[]> {
  const { rows } = await sql<Step>`
    select stream, slice, status, started_at as "startedAt", received::float8, expected::float8 from (
      select s.stream, null as slice, case when s.status = 'running' then r.status else s.status end as status,
        s.started_at, s.received, s.expected, s.run_id, 0 as slice_id
      from ops.run_streams s join ops.runs r using (run_id) where s.run_id = any (${[...runs]}::bigint[])
      union all
      select w.stream, ${sliceText}, 'running', l.started_at, coalesce(l.fetched, 0), l.expected,
        l.run_id, l.slice_id
      from ops.slices l join ops.walks w using (walk_id)
      join ops.runs r on r.run_id = l.run_id and r.status = 'running'
      where l.run_id = any (${[...runs]}::bigint[]) and l.status = 'pending' and l.started_at is not null) steps
    order by run_id, stream, slice_id limit 500`.execute(db);
  return rows;
}

/** The database clock, epoch milliseconds. */
export async function databaseNow(db: Db): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  return rows[0]?.ms ?? Number.NaN;
}
