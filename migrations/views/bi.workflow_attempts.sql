create or replace view bi.workflow_attempts as -- Tries of runs of DAGs, one row each: a run that is retried under its id has one for each try that a sync saw.
select
  s.name as source,
  t.dag_name,
  t.dag_run_id,
  t.attempt::integer as attempt_number, -- Which try of the run it is, from 1, of those that were seen: an engine shows the last one alone.
  t.is_last, -- True for the last try, which bi.workflow_runs shows.
  t.gone_at is not null as is_gone, -- True where the engine lost the run before the end of this try was seen.
  role.dag_role,
  t.status,
  t.state,
  t.state in ('succeeded', 'failed', 'aborted') as is_over, -- True once the try has ended.
  case when t.state in ('succeeded', 'failed', 'aborted') then t.state = 'succeeded' end as is_success, -- Null until the try has ended.
  t.trigger_type,
  ops.shown_name(t.trigger_actor, t.trigger_actor) as trigger_actor,
  t.started_at,
  t.finished_at,
  (
    case when t.finished_at >= t.started_at then extract(epoch from t.finished_at - t.started_at) end
  )::numeric(18,3) as duration_seconds,
  late.seconds::numeric(18,3) as lateness_seconds, -- Seconds from when the run was due to its start; null for later tries, and where the engine does not say when it was due. May be summed, as for a mean.
  late.seconds > 60 as is_late,
  began.run_at, -- When it started (UTC), else when it was queued, due, made or ended: the first of these that is known.
  (began.run_at at time zone ops.reporting_time_zone())::date as start_date, -- Day of run_at in the reporting time zone.
  coalesce(t.finished_at, began.run_at) as ended_at, -- When it ended (UTC), else run_at.
  t.error -- Why it failed, where the engine gives a reason for the whole run.
from (
  select
    r.source_id,
    r.dag_name,
    r.dag_run_id,
    coalesce(jsonb_array_length(r.earlier_tries), 0) + 1 as attempt,
    true as is_last,
    r.gone_at,
    r.status,
    r.state,
    r.trigger_type,
    r.trigger_actor,
    r.auto_retry_count,
    r.scheduled_at,
    r.queued_at,
    r.begun_at,
    r.started_at,
    r.finished_at,
    r.error
  from workflow.dag_runs r
  where r._deleted_at is null
  union all
  select
    r.source_id,
    r.dag_name,
    r.dag_run_id,
    a.attempt,
    false,
    null,
    a.tried ->> 'status',
    a.tried ->> 'state',
    a.tried ->> 'trigger_type',
    a.tried ->> 'trigger_actor',
    (a.tried ->> 'auto_retry_count')::bigint,
    r.scheduled_at,
    null,
    r.begun_at,
    (a.tried ->> 'started_at')::timestamptz,
    (a.tried ->> 'finished_at')::timestamptz,
    a.tried ->> 'error'
  from workflow.dag_runs r
  cross join lateral jsonb_array_elements(r.earlier_tries) with ordinality a (tried, attempt)
  where r.earlier_tries is not null and r._deleted_at is null
) t
join ops.sources s on s.source_id = t.source_id
left join lateral (
  select coalesce((array_agg(p.role order by length(p.dag_pattern) desc, p.dag_pattern collate "C"))[1], 'other') as dag_role
  from ref.dag_roles p
  where t.dag_name like p.dag_pattern
) role on true
-- The start of a later try says nothing of the schedule.
cross join lateral (
  select case
    when t.started_at is not null
      and t.scheduled_at is not null
      and t.attempt = 1
      and t.trigger_type is distinct from 'retry'
      and coalesce(t.auto_retry_count, 0) = 0
      then greatest(0, extract(epoch from t.started_at - t.scheduled_at))
  end as seconds
) late
cross join lateral (
  select coalesce(t.started_at, t.queued_at, t.scheduled_at, t.begun_at, t.finished_at) as run_at
) began;
