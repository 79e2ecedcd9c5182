create or replace view bi.dags as -- DAGs that the engine lists, with how their runs ended; one row per DAG. Runs of DAGs that are gone are in bi.workflow_runs alone.
select
  s.name as source,
  d.name as dag_name,
  d.group_name as dag_group, -- Its group at the engine.
  role.dag_role,
  d.description, -- What it is for, in its own words.
  (
    select string_agg(coalesce(one ->> 'expression', one ->> 'at', one #>> '{}'), ', ' order by place)
    from jsonb_array_elements(
      case jsonb_typeof(d.schedule) when 'array' then d.schedule else jsonb_build_array(d.schedule) end
    ) with ordinality as entries (one, place)
  ) as schedule, -- When it runs by itself: cron expressions or instants, separated by a comma; null if it does not.
  d.is_suspended, -- True where its schedule is switched off; null where the engine does not say.
  array_to_string(d.tags, ', ') as tags, -- Tags, separated by a comma.
  d.queue as queue_name, -- The queue that its runs wait in.
  d.max_active_runs, -- How many of its runs may be active at once.
  case jsonb_typeof(d.errors) when 'array' then jsonb_array_length(d.errors) else (d.errors is not null)::integer end
    as definition_errors, -- Errors in its definition. May be summed.
  coalesce(r.runs, 0) as runs, -- Runs that the warehouse knows. May be summed.
  coalesce(r.live_runs, 0) as live_runs, -- Of these, the ones that are not over. May be summed.
  r.last_dag_run_id, -- The newest run, see bi.workflow_runs.dag_run_id; null if it never ran.
  r.last_status, -- Its status, as the engine calls it.
  r.last_state, -- Meaning of that status: active, succeeded, failed, aborted, idle, unknown.
  r.last_run_at, -- When that run started (UTC), else when it was queued, due or made.
  r.last_success_at, -- When a run last succeeded (UTC): its end, else its start.
  r.last_failure_at, -- When a run last failed (UTC), also one that was retried since: its end, else its start.
  d._synced_at as synced_at,
  d.workspace, -- Its workspace at the engine; null where it has none.
  d.next_run_at -- When its schedule starts it next (UTC), as of the last sync; null where the engine does not say.
from workflow.dags d
join ops.sources s on s.source_id = d.source_id
left join lateral (
  select coalesce((array_agg(p.role order by length(p.dag_pattern) desc, p.dag_pattern collate "C"))[1], 'other') as dag_role
  from ref.dag_roles p
  where d.name like p.dag_pattern
) role on true
left join (
  select
    x.source,
    x.dag_name,
    count(*) filter (where x.is_last) as runs,
    count(*) filter (where x.is_last and x.state = 'active' and not x.is_gone) as live_runs,
    (array_agg(x.dag_run_id order by x.run_at desc nulls last, x.dag_run_id collate "C" desc))[1] as last_dag_run_id,
    (array_agg(x.status order by x.run_at desc nulls last, x.dag_run_id collate "C" desc))[1] as last_status,
    (array_agg(x.state order by x.run_at desc nulls last, x.dag_run_id collate "C" desc))[1] as last_state,
    max(x.run_at) as last_run_at,
    max(x.ended_at) filter (where x.state = 'succeeded') as last_success_at,
    max(x.ended_at) filter (where x.state = 'failed') as last_failure_at
  from bi.workflow_attempts x
  group by x.source, x.dag_name
) r on r.source = s.name and r.dag_name = d.name
where d._deleted_at is null;
