create or replace view bi.workflow_runs as -- Runs of DAGs, one row each, as their last try went; bi.workflow_attempts has all that were seen.
select
  s.name as source,
  r.dag_name,
  r.dag_run_id,
  d.group_name as dag_group, -- Group of the DAG.
  r.status,
  r.state,
  r.state in ('succeeded', 'failed', 'aborted') as is_over, -- True once the run has ended.
  case when r.state in ('succeeded', 'failed', 'aborted') then r.state = 'succeeded' end as is_success, -- Null until the run has ended.
  r.gone_at is not null as is_gone, -- True where the engine lost the run before its end was seen.
  r.trigger_type,
  r.params, -- Parameters it ran with, as delivered.
  case jsonb_typeof(r.labels)
    when 'array'
      then (
        select string_agg(one, ', ' order by place)
        from jsonb_array_elements_text(r.labels) with ordinality l (one, place)
      )
    else r.labels #>> '{}'
  end as labels, -- Labels, separated by commas.
  r.worker_id, -- The worker that ran it.
  r.scheduled_at, -- The tick of the schedule it belongs to (UTC).
  r.queued_at,
  r.started_at, -- When it (last) started (UTC).
  r.finished_at,
  (
    case when r.finished_at >= r.started_at then extract(epoch from r.finished_at - r.started_at) end
  )::numeric(18,3) as duration_seconds,
  (
    case when r.started_at >= r.queued_at then extract(epoch from r.started_at - r.queued_at) end
  )::numeric(18,3) as queue_seconds, -- From being queued to the start.
  r.auto_retry_count, -- How often the engine started it again by itself.
  coalesce(n.steps, 0) as steps, -- Steps, handlers not counted.
  coalesce(n.failed, 0) as failed_steps, -- Steps and handlers that failed.
  f.step_name as first_failed_step, -- The first of them.
  coalesce(r.error, f.error) as error, -- Why it failed: of the run, else of its first failed step.
  r._synced_at as synced_at,
  role.dag_role,
  late.seconds::numeric(18,3) as lateness_seconds, -- Seconds from scheduled_at to started_at; null where the engine does not say when it was due, the run did not start, or was retried. May be summed, as for a mean.
  late.seconds > 60 as is_late,
  began.run_at, -- When its first try started (UTC), else when it was queued, due or made: the first of these that is known. Of a retried run whose first try was not seen, when it was made or due.
  (began.run_at at time zone ops.reporting_time_zone())::date as start_date, -- Day of run_at in the reporting time zone: that of the first try, however often the run was retried.
  r.parent_dag_name, -- DAG of the run that called it; null if none did.
  r.parent_dag_run_id, -- Run that called it, see dag_run_id; null if none did.
  ops.shown_name(r.trigger_actor, r.trigger_actor) as trigger_actor,
  r.workspace, -- Workspace of its DAG at the engine; null where it has none.
  coalesce(jsonb_array_length(r.earlier_tries), 0) + 1 as attempts, -- Tries of the run that were seen, see bi.workflow_attempts: 1 and more. May be summed.
  case
    when r.state = 'failed' then least(first.failed_at, coalesce(r.finished_at, r.started_at, began.run_at))
    else first.failed_at
  end as first_failed_at -- When a try of it first failed (UTC), also where a later one succeeded; null if none did.
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
