create or replace view ops.active_dag_runs as -- What is in the way of a start of a pipeline: its requests, and the run of nightly or of the command line that holds it now.
select
  pipeline,
  dag_run_id as run_id, -- See ops.dag_run_list.
  case status when 'running' then 0 else 2 end as rank, -- The smallest counts as the active one: what runs, before what waits.
  seq -- Order within the same rank.
from ops.dag_runs
where status in ('queued', 'running', 'interrupted', 'lost')
union all
select r.pipeline, coalesce(n.dag_run_id, 'manual-' || r.run_id), 1, r.run_id
from ops.live_runs v
join ops.runs r on r.run_id = v.run_id
left join ops.dag_run_runs n on n.run_id = r.run_id
where n.dag_run_id is not null or r.trigger = 'manual';
