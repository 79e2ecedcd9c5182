create or replace view bi.workflow_runs as
select
  s.name as source,
  r.dag_name,
  r.dag_run_id,
  d.group_name as dag_group,
  r.status,
  r.state,
  r.state in ('succeeded', 'failed', 'aborted') as is_over,
  case when r.state in ('succeeded', 'failed', 'aborted') then r.state = 'succeeded' end as is_success,
  r.gone_at is not null as is_gone,
  r.trigger_type,
  r.params,
  case jsonb_typeof(r.labels)
    when 'array'
      then (
        select string_agg(one, ', ' order by place)
        from jsonb_array_elements_text(r.labels) with ordinality l (one, place)
      )
    else r.labels #>> '{}'
  end as labels,
  r.worker_id,
  r.scheduled_at,
  r.queued_at,
  r.started_at,
  r.finished_at,
  (
    case when r.finished_at >= r.started_at then extract(epoch from r.finished_at - r.started_at) end
  )::numeric(18,3) as duration_seconds,
  (
    case when r.started_at >= r.queued_at then extract(epoch from r.started_at - r.queued_at) end
  )::numeric(18,3) as queue_seconds,
  r.auto_retry_count,
  coalesce(n.steps, 0) as steps,
  coalesce(n.failed, 0) as failed_steps,
  f.step_name as first_failed_step,
  coalesce(r.error, f.error) as error,
  r._synced_at as synced_at,
  role.dag_role,
  late.seconds::numeric(18,3) as lateness_seconds,
  late.seconds > 60 as is_late,
  began.run_at,
  (began.run_at at time zone ops.reporting_time_zone())::date as start_date,
  r.parent_dag_name,
  r.parent_dag_run_id,
  ops.shown_name(r.trigger_actor, r.trigger_actor) as trigger_actor,
  r.workspace,
  coalesce(jsonb_array_length(r.earlier_tries), 0) + 1 as attempts,
  case
    when r.state = 'failed' then least(first.failed_at, coalesce(r.finished_at, r.started_at, began.run_at))
    else first.failed_at
  end as first_failed_at
from workflow.dag_runs r
left join ops.sources s on s.source_id = r.source_id
left join workflow.dags d on d.source_id = r.source_id and d.name = r.dag_name
-- Each of these gives one row: a query that does not ask for its columns does not run it.
left join lateral (
  select coalesce((array_agg(p.role order by length(p.dag_pattern) desc, p.dag_pattern collate "C"))[1], 'other') as dag_role
  from ref.dag_roles p
  where r.dag_name like p.dag_pattern
) role on true
left join lateral (
  select
    count(*) filter (where t.kind = 'step') as steps,
    count(*) filter (where t.state = 'failed') as failed
  from workflow.dag_run_steps t
  where t.source_id = r.source_id
    and t.dag_name = r.dag_name
    and t.dag_run_id = r.dag_run_id
    and t._deleted_at is null
) n on true
left join lateral (
  select
    (array_agg(t.step_name order by t.position))[1] as step_name,
    (array_agg(t.error order by t.position))[1] as error
  from workflow.dag_run_steps t
  where n.failed > 0
    and t.source_id = r.source_id
    and t.dag_name = r.dag_name
    and t.dag_run_id = r.dag_run_id
    and t._deleted_at is null
    and t.state = 'failed'
) f on true
left join lateral (
  select
    min(coalesce(a ->> 'finished_at', a ->> 'started_at')::timestamptz) filter (where a ->> 'state' = 'failed')
      as failed_at,
    min(coalesce(a ->> 'started_at', a ->> 'finished_at')::timestamptz) as run_at
  from jsonb_array_elements(r.earlier_tries) a
) first on true
-- The start of a retried run is that of its last try, which says nothing of the schedule.
cross join lateral (
  select case
    when r.started_at is not null
      and r.scheduled_at is not null
      and r.earlier_tries is null
      and r.trigger_type is distinct from 'retry'
      and coalesce(r.auto_retry_count, 0) = 0
      then greatest(0, extract(epoch from r.started_at - r.scheduled_at))
  end as seconds
) late
cross join lateral (
  select coalesce(
    first.run_at,
    case
      when r.trigger_type = 'retry' or r.auto_retry_count > 0 then least(r.begun_at, r.scheduled_at, r.started_at)
    end,
    r.started_at,
    r.queued_at,
    r.scheduled_at,
    r.begun_at
  ) as run_at
) began
where r._deleted_at is null;

comment on view bi.workflow_runs is 'Runs of DAGs, one row each, as their last try went; bi.workflow_attempts has all that were seen.';
comment on column bi.workflow_runs.dag_group is 'Group of the DAG.';
comment on column bi.workflow_runs.is_over is 'True once the run has ended.';
comment on column bi.workflow_runs.is_success is 'Null until the run has ended.';
comment on column bi.workflow_runs.is_gone is 'True where the engine lost the run before its end was seen.';
comment on column bi.workflow_runs.params is 'Parameters it ran with, as delivered.';
comment on column bi.workflow_runs.labels is 'Labels, separated by commas.';
comment on column bi.workflow_runs.worker_id is 'The worker that ran it.';
comment on column bi.workflow_runs.scheduled_at is 'The tick of the schedule it belongs to (UTC).';
comment on column bi.workflow_runs.queue_seconds is 'From being queued to the start.';
comment on column bi.workflow_runs.auto_retry_count is 'How often the engine started it again by itself.';
comment on column bi.workflow_runs.steps is 'Steps, handlers not counted.';
comment on column bi.workflow_runs.failed_steps is 'Steps and handlers that failed.';
comment on column bi.workflow_runs.first_failed_step is 'The first of them.';
comment on column bi.workflow_runs.error is 'Why it failed: of the run, else of its first failed step.';
comment on column bi.workflow_runs.lateness_seconds is 'Seconds from scheduled_at to started_at; null where the engine does not say when it was due, the run did not start, or was retried. May be summed, as for a mean.';
comment on column bi.workflow_runs.run_at is 'When its first try started (UTC), else when it was queued, due or made: the first of these that is known. Of a retried run whose first try was not seen, when it was made or due.';
comment on column bi.workflow_runs.start_date is 'Day of run_at in the reporting time zone: that of the first try, however often the run was retried.';
comment on column bi.workflow_runs.parent_dag_name is 'DAG of the run that called it; null if none did.';
comment on column bi.workflow_runs.parent_dag_run_id is 'Run that called it, see dag_run_id; null if none did.';
comment on column bi.workflow_runs.workspace is 'Workspace of its DAG at the engine; null where it has none.';
comment on column bi.workflow_runs.attempts is 'Tries of the run that were seen, see bi.workflow_attempts: 1 and more. May be summed.';
comment on column bi.workflow_runs.first_failed_at is 'When a try of it first failed (UTC), also where a later one succeeded; null if none did.';
