-- A night is a request of its own, with one more request for each pipeline.
alter table ops.dag_runs add part_of text;
comment on column ops.dag_runs.part_of is 'The night (a request of nightly) that this request is a part of; null for every other.';
comment on table ops.dag_run_runs is 'Which runs a request became: several after a worker was lost, and after a retry.';
create index on ops.dag_runs (part_of) where part_of is not null;
-- Each new request cancels the retries that it covers: without this it would read every request that ever was.
create index on ops.dag_runs (pipeline) where status in ('failed', 'partly_failed') and not_before > finished_at;

-- Nights of earlier versions get their parts, too: one for each pipeline and kind, which ended as its last run did.
with part as materialized (
  select d.dag_run_id || '.' || r.pipeline || '.' || r.kind as part_id, d.dag_run_id, r.run_id, r.pipeline, r.kind,
    min(r.started_at) over (partition by d.dag_run_id, r.pipeline, r.kind) as started_at,
    coalesce(r.finished_at, d.finished_at) as finished_at, r.error_code, r.error_message,
    case r.status when 'interrupted' then 'stopped' when 'lost' then 'failed' when 'running' then 'failed' else r.status end as status
  from ops.dag_runs d
  join ops.dag_run_runs l using (dag_run_id)
  join ops.runs r using (run_id)
  where d.pipeline = 'nightly' and d.finished_at is not null and r.kind <> 'replay'
), made as (
  insert into ops.dag_runs (dag_run_id, part_of, pipeline, does, window_from, window_to, params, trigger, asked_by,
    status, queued_at, not_before, started_at, finished_at, worker, error_code, error_message)
  select distinct on (p.part_id) p.part_id, p.dag_run_id, p.pipeline, p.kind,
    case p.kind when 'backfill' then d.window_from end, case p.kind when 'backfill' then d.window_to end,
    case p.kind when d.does then d.params when 'reconcile' then 'DOES=reconcile' else '' end, d.trigger, 'nightly',
    p.status, d.queued_at, d.queued_at, p.started_at, p.finished_at, d.worker, p.error_code, p.error_message
  from part p
  join ops.dag_runs d using (dag_run_id)
  order by p.part_id, p.run_id desc
)
update ops.dag_run_runs l set dag_run_id = p.part_id from part p where p.run_id = l.run_id;
