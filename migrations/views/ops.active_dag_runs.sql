create or replace view ops.active_dag_runs as -- What is in the way of a start of a pipeline: its requests, and the run of the command line that holds it now.
select
  pipeline,
  dag_run_id as run_id, -- See ops.dag_run_list.
  case status when 'running' then 0 else 2 end as rank, -- The smallest counts as the active one: what runs, before what waits.
  seq -- Order within the same rank.
from ops.dag_runs
where status in ('queued', 'running', 'interrupted', 'lost')
union all
select r.pipeline, 'manual-' || r.run_id, 1, r.run_id
from ops.live_runs v
join ops.runs r on r.run_id = v.run_id
where r.trigger = 'manual';
