create or replace view ops.run_heads as -- Of each run and each night what lists are filtered by and ordered by; the rest is in ops.run_list.
select
  r.run_id::text as id, -- As ops.run_list.id.
  r.run_id, -- The run, see ops.runs; 0 for a night.
  (
    select d.part_of from ops.dag_run_runs l join ops.dag_runs d on d.dag_run_id = l.dag_run_id where l.run_id = r.run_id
  ) as night, -- As ops.run_list.night.
  r.pipeline, -- As ops.run_list.pipeline.
  r.kind, -- As ops.run_list.kind.
  r.status, -- As ops.run_list.status.
  r.started_at -- As ops.run_list.started_at.
from ops.runs r
union all
select n.dag_run_id, 0::bigint, null::text, n.pipeline, n.does, n.status, n.queued_at
from ops.dag_runs n
where n.pipeline = 'nightly';
