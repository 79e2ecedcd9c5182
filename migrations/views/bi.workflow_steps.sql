create or replace view bi.workflow_steps as -- Steps and handlers of the runs of DAGs, one row each.
select
  s.name as source,
  r.dag_name,
  r.dag_run_id,
  t.step_name, -- Name of the step or handler.
  t.occurrence, -- 0; counts on where a run has several steps of one name.
  t.position as step_position, -- Place among the steps of its run, from 0; handlers come last.
  t.kind, -- step, or which handler it is.
  t.status, -- Status in the words of the engine.
  t.state,
  case when t.state in ('succeeded', 'failed', 'aborted') then t.state = 'succeeded' end as is_success, -- Null until the step has ended.
  t.started_at,
  t.finished_at,
  (
    case when t.finished_at >= t.started_at then extract(epoch from t.finished_at - t.started_at) end
  )::numeric(18,3) as duration_seconds, -- From start to end.
  t.retry_count as retries, -- How often it was tried again.
  t.error, -- Why it failed.
  r.status as run_status, -- Status of the run it belongs to.
  r.started_at as run_started_at, -- When that run started (UTC).
  t._synced_at as synced_at,
  role.dag_role,
  r.state as run_state, -- Meaning of run_status: active, succeeded, failed, aborted, idle, unknown.
  (t.started_at at time zone ops.reporting_time_zone())::date as start_date, -- Day in the reporting time zone on which the step started; null if it did not.
  array_to_string(t.depends, ', ') as depends_on, -- Names of the steps that it waits for, separated by a comma.
  t.done_count as repetitions -- How often it ended; more than 1 for steps that repeat. May be summed.
from workflow.dag_run_steps t
join workflow.dag_runs r
  on r.source_id = t.source_id
    and r.dag_name = t.dag_name
    and r.dag_run_id = t.dag_run_id
left join ops.sources s on s.source_id = t.source_id
left join lateral (
  select coalesce((array_agg(p.role order by length(p.dag_pattern) desc, p.dag_pattern collate "C"))[1], 'other') as dag_role
  from ref.dag_roles p
  where r.dag_name like p.dag_pattern
) role on true
where t._deleted_at is null and r._deleted_at is null;
