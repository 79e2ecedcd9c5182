create or replace view bi.workflow_steps as
select
  s.name as source,
  r.dag_name,
  r.dag_run_id,
  t.step_name,
  t.occurrence,
  t.position as step_position,
  t.kind,
  t.status,
  t.state,
  case when t.state in ('succeeded', 'failed', 'aborted') then t.state = 'succeeded' end as is_success,
  t.started_at,
  t.finished_at,
  (
    case when t.finished_at >= t.started_at then extract(epoch from t.finished_at - t.started_at) end
  )::numeric(18,3) as duration_seconds,
  t.retry_count as retries,
  t.error,
  r.status as run_status,
  r.started_at as run_started_at,
  t._synced_at as synced_at,
  role.dag_role,
  r.state as run_state,
  (t.started_at at time zone ops.reporting_time_zone())::date as start_date,
  array_to_string(t.depends, ', ') as depends_on,
  t.done_count as repetitions
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

comment on view bi.workflow_steps is 'Steps and handlers of the runs of DAGs, one row each.';
comment on column bi.workflow_steps.step_name is 'Name of the step or handler.';
comment on column bi.workflow_steps.occurrence is '0; counts on where a run has several steps of one name.';
comment on column bi.workflow_steps.step_position is 'Place among the steps of its run, from 0; handlers come last.';
comment on column bi.workflow_steps.kind is 'step, or which handler it is.';
comment on column bi.workflow_steps.is_success is 'Null until the step has ended.';
comment on column bi.workflow_steps.retries is 'How often it was tried again.';
comment on column bi.workflow_steps.error is 'Why it failed.';
comment on column bi.workflow_steps.run_status is 'Status of the run it belongs to.';
comment on column bi.workflow_steps.run_started_at is 'When that run started (UTC).';
comment on column bi.workflow_steps.run_state is 'Meaning of run_status: active, succeeded, failed, aborted, idle, unknown.';
comment on column bi.workflow_steps.start_date is 'Day in the reporting time zone on which the step started; null if it did not.';
comment on column bi.workflow_steps.depends_on is 'Names of the steps that it waits for, separated by a comma.';
comment on column bi.workflow_steps.repetitions is 'How often it ended; more than 1 for steps that repeat. May be summed.';
