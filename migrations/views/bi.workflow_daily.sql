create or replace view bi.workflow_daily as
select
  s.name as source,
  g.dag_name,
  g.date_day,
  g.runs,
  g.succeeded,
  g.failed,
  g.aborted,
  g.runs - g.succeeded - g.failed - g.aborted as unfinished,
  round(
    g.succeeded::numeric / nullif(g.succeeded + g.failed + g.aborted, 0), 4
  )::numeric(5,4) as success_ratio,
  g.p50::numeric(18,3) as p50_duration_seconds,
  g.p95::numeric(18,3) as p95_duration_seconds,
  g.total::numeric(18,3) as total_duration_seconds
from (
  select
    r.source_id,
    r.dag_name,
    (coalesce(r.started_at, r.queued_at, r.scheduled_at, r.begun_at) at time zone ops.reporting_time_zone())::date as date_day,
    count(*) as runs,
    count(*) filter (where r.state = 'succeeded') as succeeded,
    count(*) filter (where r.state = 'failed') as failed,
    count(*) filter (where r.state = 'aborted') as aborted,
    percentile_cont(0.5) within group (
      order by (
        case when r.finished_at >= r.started_at then extract(epoch from r.finished_at - r.started_at) end
      )::numeric(18,3)
    ) as p50,
    percentile_cont(0.95) within group (
      order by (
        case when r.finished_at >= r.started_at then extract(epoch from r.finished_at - r.started_at) end
      )::numeric(18,3)
    ) as p95,
    sum(
      (
        case when r.finished_at >= r.started_at then extract(epoch from r.finished_at - r.started_at) end
      )::numeric(18,3)
    ) as total
  from workflow.dag_runs r
  where r._deleted_at is null
    and coalesce(r.started_at, r.queued_at, r.scheduled_at, r.begun_at) is not null
  group by 1, 2, 3
) g
join ops.sources s on s.source_id = g.source_id;

comment on view bi.workflow_daily is 'How reliable each DAG was, day by day; one row per DAG and day with runs. Days are those of the reporting time zone.';
comment on column bi.workflow_daily.source is 'The source, see ops.sources.name; names and ids are unique within one source.';
comment on column bi.workflow_daily.dag_name is 'Name of the DAG.';
comment on column bi.workflow_daily.date_day is 'Day in the reporting time zone on which the runs started (or were queued, if they did not start).';
comment on column bi.workflow_daily.runs is 'Runs.';
comment on column bi.workflow_daily.succeeded is 'Runs that succeeded.';
comment on column bi.workflow_daily.failed is 'Runs that failed.';
comment on column bi.workflow_daily.aborted is 'Runs that were stopped.';
comment on column bi.workflow_daily.unfinished is 'Runs that have not ended, or whose end is unknown.';
comment on column bi.workflow_daily.success_ratio is 'Succeeded by all that ended, 0 to 1; null if none did.';
comment on column bi.workflow_daily.p50_duration_seconds is 'Median duration of those with a start and an end.';
comment on column bi.workflow_daily.p95_duration_seconds is '95 of 100 took no longer.';
comment on column bi.workflow_daily.total_duration_seconds is 'All durations together.';
