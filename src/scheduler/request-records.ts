/** Requests to run as the warehouse holds them, and runs of the command line beside them, as `DagRun`s. */

import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../queries/db.ts';
import type { DagRun } from './control.ts';
import { isLater } from './retry.ts';
import { type AskRow, paramsOf } from './run-request.ts';

interface Row {
  readonly dag_run_id: string;
  readonly pipeline: string;
  readonly does: DagRun['does'];
  readonly trigger: DagRun['trigger'];
  readonly status: DagRun['status'];
  readonly params: string | null;
  readonly asked: {
    readonly streams?: readonly string[] | null;
    readonly from?: string;
    readonly to?: string;
  } | null;
  readonly queued_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly stopping: boolean;
  readonly again_at: Date | null;
  readonly runs: readonly string[];
  readonly received: number;
  readonly changed: number;
  readonly rejected: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

/** What a run of the command line is called among requests. */
export const manualId = (runId: string): string => `manual-${runId}`;

/** Whether `run` (a row of `ops.runs` that says `running`) has a living process, by the lease that it writes under. */
export const isAlive = (run: string): RawBuilder<boolean> => {
  const [epoch, pipeline] = [sql.ref(`${run}.epoch`), sql.ref(`${run}.pipeline`)];
  return sql<boolean>`exists (select from ops.leases l join pg_stat_activity a on a.pid = l.backend_pid
    and (a.backend_start is null or a.backend_start = l.backend_start)
    where l.pipeline = ${pipeline} and l.epoch = ${epoch} and l.holder is not null and l.expires_at > clock_timestamp())`;
};

/** Both kinds in one shape. `where` is asked of `d`, which has these columns. */
const selected = (where: RawBuilder<unknown>): RawBuilder<Row> => sql<Row>`
  with d as (
    select d.dag_run_id, d.pipeline, d.does, d.trigger,
      case when d.status = 'running' and d.stuck_since is not null then 'stuck' else d.status end as status,
      d.params, null::jsonb as asked, d.queued_at, d.started_at, d.finished_at,
      d.stop_asked_at is not null and d.finished_at is null as stopping, d.error_code, d.error_message,
      (select l.not_before from ops.dag_runs l where l.retry_of = d.dag_run_id and ${isLater('l')}) as again_at,
      null::bigint as run_id
    from ops.dag_runs d where not ${isLater('d')}
    union all
    select 'manual-' || r.run_id, r.pipeline, r.kind, 'manual',
      case when r.status = 'running' and not ${isAlive('r')} then 'lost' else r.status end,
      null, r.params, r.started_at, r.started_at, r.finished_at, false, r.error_code, r.error_message, null, r.run_id
    from ops.runs r where r.trigger = 'manual')
  select d.dag_run_id, d.pipeline, d.does, d.trigger, d.status, d.params, d.asked, d.queued_at, d.started_at,
    d.finished_at, d.stopping, d.error_code, d.error_message, d.again_at, coalesce(n.runs, '{}') as runs,
    coalesce(n.received, 0)::float8 as received, coalesce(n.changed, 0)::float8 as changed,
    coalesce(n.rejected, 0)::float8 as rejected
  from (select * from d where ${where}) d
  left join lateral (
    select array_agg(distinct i.run_id::text order by i.run_id::text) as runs, sum(s.received) as received,
      sum(s.inserted + s.updated + s.deleted) as changed, sum(s.rejected) as rejected
    from (select d.run_id where d.run_id is not null
      union all select l.run_id from ops.dag_run_runs l where l.dag_run_id = d.dag_run_id) i
    left join ops.run_streams s using (run_id)) n on true
  order by d.queued_at desc, d.dag_run_id desc`;

/** What concerns a pipeline: its own requests and runs, and those of `nightly` that came to it. */
const concerns = (pipeline: string): RawBuilder<unknown> => sql`(d.pipeline = ${pipeline} or exists (
  select from ops.dag_run_runs l join ops.runs r using (run_id)
  where l.dag_run_id = d.dag_run_id and r.pipeline = ${pipeline}))`;

/** One of them by its id; undefined if there is none that concerns the pipeline. */
export async function dagRun(db: Db, pipeline: string, id: string): Promise<DagRun | undefined> {
  const { rows } = await selected(sql`d.dag_run_id = ${id} and ${concerns(pipeline)}`).execute(db);
  return rows[0] && dagRunOf(rows[0]);
}

/** One of them by its id alone. */
export async function anyDagRun(db: Db, id: string): Promise<DagRun | undefined> {
  const { rows } = await selected(sql`d.dag_run_id = ${id}`).execute(db);
  return rows[0] && dagRunOf(rows[0]);
}

/** The newest first; `before`: only those behind this one. */
export async function dagRuns(
  db: Db,
  pipeline: string,
  page: { readonly limit: number; readonly before?: string },
): Promise<readonly DagRun[]> {
  const { before, limit } = page;
  // Asked of the row itself: its instant has microseconds, a Date has not.
  const behind =
    before === undefined
      ? sql``
      : sql`and (d.queued_at, d.dag_run_id) < (select b.queued_at, b.dag_run_id from d b where b.dag_run_id = ${before})`;
  const { rows } = await selected(
    sql`${concerns(pipeline)} ${behind} order by d.queued_at desc, d.dag_run_id desc limit ${limit}`,
  ).execute(db);
  return rows.map(dagRunOf);
}

/**
 * The one that counts as active: what runs, before what waits; a run of `nightly` or of the command line that holds the pipeline now counts,
 * too. Undefined: a start finds nothing in its way.
 */
export async function activeRun(db: Db, pipeline: string): Promise<DagRun | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select dag_run_id as id, case status when 'running' then 0 else 2 end as rank, seq from ops.dag_runs d
      where pipeline = ${pipeline} and status in ('queued', 'running', 'interrupted', 'lost') and not ${isLater('d')}
      union all
      select coalesce(n.dag_run_id, 'manual-' || r.run_id), 1, r.run_id
      from ops.runs r left join ops.dag_run_runs n using (run_id)
      where r.pipeline = ${pipeline} and r.status = 'running' and (n.dag_run_id is not null or r.trigger = 'manual')
        and ${isAlive('r')}) active
    order by rank, seq limit 1`.execute(db);
  const id = rows[0]?.id;
  return id === undefined ? undefined : anyDagRun(db, id);
}

const dagRunOf = (row: Row): DagRun => ({
  runId: row.dag_run_id,
  pipeline: row.pipeline,
  does: row.does,
  trigger: row.trigger,
  status: row.status,
  params: row.params ?? paramsOf(askOfManual(row)),
  queuedAt: row.queued_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  runs: [...row.runs].sort((a, b) => Number(a) - Number(b)),
  received: row.received,
  changed: row.changed,
  rejected: row.rejected,
  error:
    row.error_code === null && row.error_message === null
      ? null
      : { code: row.error_code ?? 'internal', message: row.error_message ?? '' },
  stopping: row.stopping,
  againAt: row.again_at,
});

/** What a run of the command line was asked, from `ops.runs.params`. */
function askOfManual({ pipeline, does, asked }: Row) {
  const { streams, from, to } = asked ?? {};
  return {
    pipeline,
    does,
    ...(streams ? { streams } : {}),
    ...(from !== undefined && to !== undefined ? { window: { from: new Date(from), to: new Date(to) } } : {}),
  };
}

/** The ask of a request or of a run of the command line, to be queued again; undefined if there is none of that id. */
export async function askRow(db: Db, id: string): Promise<AskRow | undefined> {
  const { rows } = await sql<AskRow>`
    select pipeline, does, streams, window_from, window_to from ops.dag_runs where dag_run_id = ${id}
    union all
    select pipeline, kind, case when jsonb_typeof(params->'streams') = 'array'
        then array(select jsonb_array_elements_text(params->'streams')) end,
      (params->>'from')::timestamptz, (params->>'to')::timestamptz
    from ops.runs where 'manual-' || run_id = ${id} and trigger = 'manual'`.execute(db);
  return rows[0];
}
