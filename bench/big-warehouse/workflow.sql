-- Forty DAGs with five steps each: most run by a schedule, some deploy, some repair.

create table fill.dags as
select n, case
    when n < 6 then 'deploy-' || (array['web', 'app', 'api', 'shop', 'pay', 'search'])[n + 1]
    when n < 8 then 'incident-' || (array['rollback', 'restart'])[n - 5]
    else 'nightly-' || n
  end as name
from generate_series(0, 39) n;

insert into ref.dag_roles (dag_pattern, role) values ('deploy-%', 'deployment'), ('incident-%', 'incident');

insert into workflow.dags (source_id, name, file_name, group_name, description, schedule, tags,
  is_suspended, status, state)
select 3, name, name || '.yaml', (array['core', 'ads', 'reports'])[1 + n % 3], 'Does ' || name,
  case when n >= 8 then '[{"expression": "0 2 * * *"}]'::jsonb end, array['team-' || n % 4], false,
    'succeeded', 'succeeded'
from fill.dags;

create unlogged table fill.runs as
select *, coalesce(trouble, 'succeeded') as state
from (
  select d.name, 'run-' || r as run_id, r, d.n, t.scheduled_at, s.started_at,
    (array['failed', 'failed', 'failed', 'failed', 'aborted'])[1 + fill.pick(r, 300, 100)] as trouble,
    s.started_at + interval '40 seconds'
      + fill.part(r, 301) * fill.part(d.n, 302) * interval '3 hours' as finished_at
  from generate_series(1, fill.size('runs')) r
  join fill.dags d on d.n = r % 40
  cross join lateral (
    select fill.today() - interval '1 day' + d.n * interval '2 minutes'
      - (r / 40) * (interval '1095 days' / (fill.size('runs') / 40)) as scheduled_at
  ) t
  -- One in thirty waits for up to two hours.
  cross join lateral (
    select t.scheduled_at + fill.part(r, 303) * case when r % 30 = 7 then interval '2 hours'
      else interval '1 minute' end as started_at
  ) s
) t;

insert into workflow.dag_runs (
  source_id, dag_name, dag_run_id, told_run_id, status, status_code, state, begun_at, scheduled_at,
  queued_at, started_at, finished_at,
  trigger_type, params, labels, worker_id, auto_retry_count, error)
select 3, name, run_id, run_id, state, case state when 'succeeded' then 4 when 'failed' then 2 else 3 end,
  state, started_at,
  case when n >= 8 then scheduled_at end, scheduled_at, started_at, finished_at,
    case when n >= 8 then 'scheduler' else 'manual' end,
  case
    when r % 50 = 8 then 'CAMPAIGN_ID=' || fill.uuid('campaign', fill.pick(r, 304, fill.size('campaigns')))
    when n < 8 then 'ISSUE=' || i.key
    else 'DAY=' || scheduled_at::date
  end, '["team"]', 'worker-' || r % 3, 0, case when state = 'failed' then 'step ended with 1' end
from fill.runs
left join tracker.issues i on i.id = 1 + fill.pick(r, 305, fill.size('issues')) and n < 8;

insert into workflow.dag_run_steps (
  source_id, dag_name, dag_run_id, step_name, occurrence, position, kind, status, status_code, state,
  started_at, finished_at,
  retry_count, done_count, error)
select 3, name, run_id, (array['extract', 'check', 'transform', 'load', 'publish'])[k + 1], 0, k, 'step',
  o.state, 0, o.state,
  started_at + (finished_at - started_at) * k / 5, started_at + (finished_at - started_at) * (k + 1) / 5,
  (fill.pick(r, 310 + k, 20) = 0)::integer, 1, case when o.state = 'failed' then 'exit status 1' end
from fill.runs
cross join generate_series(0, 4) k
cross join lateral (
  select case
    when runs.state = 'succeeded' or k < fill.pick(r, 306, 5) then 'succeeded'
    when k = fill.pick(r, 306, 5) then runs.state
    else 'idle'
  end as state
) o;
