create or replace view bi.dags as
select
  s.name as source,
  d.name as dag_name,
  d.group_name as dag_group,
  role.dag_role,
  d.description,
  (
    select string_agg(coalesce(one ->> 'expression', one ->> 'at', one #>> '{}'), ', ' order by place)
    from jsonb_array_elements(
      case jsonb_typeof(d.schedule) when 'array' then d.schedule else jsonb_build_array(d.schedule) end
    ) with ordinality as entries (one, place)
  ) as schedule,
  d.is_suspended,
  array_to_string(d.tags, ', ') as tags,
  d.queue as queue_name,
  d.max_active_runs,
  case jsonb_typeof(d.errors) when 'array' then jsonb_array_length(d.errors) else (d.errors is not null)::integer end
    as definition_errors,
  coalesce(r.runs, 0) as runs,
  coalesce(r.live_runs, 0) as live_runs,
  r.last_dag_run_id,
  r.last_status,
  r.last_state,
  r.last_run_at,
  r.last_success_at,
  r.last_failure_at,
  d._synced_at as synced_at,
  d.workspace,
  d.next_run_at
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

comment on view bi.dags is 'DAGs that the engine lists, with how their runs ended; one row per DAG. Runs of DAGs that are gone are in bi.workflow_runs alone.';
comment on column bi.dags.dag_group is 'Its group at the engine.';
comment on column bi.dags.description is 'What it is for, in its own words.';
comment on column bi.dags.schedule is 'When it runs by itself: cron expressions or instants, separated by a comma; null if it does not.';
comment on column bi.dags.is_suspended is 'True where its schedule is switched off; null where the engine does not say.';
comment on column bi.dags.tags is 'Tags, separated by a comma.';
comment on column bi.dags.queue_name is 'The queue that its runs wait in.';
comment on column bi.dags.max_active_runs is 'How many of its runs may be active at once.';
comment on column bi.dags.definition_errors is 'Errors in its definition. May be summed.';
comment on column bi.dags.runs is 'Runs that the warehouse knows. May be summed.';
comment on column bi.dags.live_runs is 'Of these, the ones that are not over. May be summed.';
comment on column bi.dags.last_dag_run_id is 'The newest run, see bi.workflow_runs.dag_run_id; null if it never ran.';
comment on column bi.dags.last_status is 'Its status, as the engine calls it.';
comment on column bi.dags.last_state is 'Meaning of that status: active, succeeded, failed, aborted, idle, unknown.';
comment on column bi.dags.last_run_at is 'When that run started (UTC), else when it was queued, due or made.';
comment on column bi.dags.last_success_at is 'When a run last succeeded (UTC): its end, else its start.';
comment on column bi.dags.last_failure_at is 'When a run last failed (UTC), also one that was retried since: its end, else its start.';
comment on column bi.dags.workspace is 'Its workspace at the engine; null where it has none.';
comment on column bi.dags.next_run_at is 'When its schedule starts it next (UTC), as of the last sync; null where the engine does not say.';
