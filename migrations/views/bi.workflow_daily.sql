create or replace view bi.workflow_daily as -- How reliable each DAG was, day by day; one row per DAG and day with runs. Days are those of the reporting time zone.
select
  g.source,
  g.dag_name,
  g.date_day,
  g.runs, -- Runs that started on the day; a run that is retried under its id counts again on the day of each try that was seen.
  g.succeeded, -- Runs that succeeded.
  g.failed, -- Runs that failed.
  g.aborted, -- Runs that were stopped.
  g.runs - g.succeeded - g.failed - g.aborted as unfinished, -- Runs that have not ended, or whose end is unknown.
  round(
    g.succeeded::numeric / nullif(g.succeeded + g.failed + g.aborted, 0), 4
  )::numeric(5,4) as success_ratio, -- Succeeded by all that ended, 0 to 1; null if none did.
  g.p50::numeric(18,3) as p50_duration_seconds, -- Median duration of those with a start and an end.
  g.p95::numeric(18,3) as p95_duration_seconds, -- 95 of 100 took no longer.
  g.total::numeric(18,3) as total_duration_seconds, -- All durations together.
  g.dag_role,
  g.scheduled_runs, -- Runs whose lateness is known, see bi.workflow_attempts.lateness_seconds. May be summed.
  g.late_runs, -- Of these, the ones that started more than a minute after they were due. May be summed.
  g.p95_lateness::numeric(18,3) as p95_lateness_seconds, -- Of the scheduled runs 95 of 100 were no later; null if there are none. Not to be summed.
  g.retries -- Of the runs those that are later tries: without them each run counts once. May be summed.
from (
  select
    r.source,
    r.dag_name,
    r.dag_role,
    r.start_date as date_day,
    count(*) as runs,
    count(*) filter (where r.state = 'succeeded') as succeeded,
    count(*) filter (where r.state = 'failed') as failed,
    count(*) filter (where r.state = 'aborted') as aborted,
    percentile_cont(0.5) within group (order by r.duration_seconds) as p50,
    percentile_cont(0.95) within group (order by r.duration_seconds) as p95,
    sum(r.duration_seconds) as total,
    count(r.lateness_seconds) as scheduled_runs,
    count(*) filter (where r.is_late) as late_runs,
    percentile_cont(0.95) within group (order by r.lateness_seconds) as p95_lateness,
    count(*) filter (where r.attempt_number > 1) as retries
  from bi.workflow_attempts r
  where r.start_date is not null
  group by r.source, r.dag_name, r.dag_role, r.start_date
) g;
