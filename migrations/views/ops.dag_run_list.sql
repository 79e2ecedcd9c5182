create or replace view ops.dag_run_list as -- Requests to serve, and runs of the command line in the same shape.
select
  d.run_id,
  d.pipeline,
  d.does,
  d.trigger, -- schedule, api or manual (the command line).
  d.status, -- As ops.dag_runs.status; stuck if it runs without progress.
  d.params, -- As it was asked, e.g. FROM=2024-01-01 TO=2024-02-01.
  d.queued_at,
  d.started_at, -- When a worker first took it up (UTC).
  d.finished_at, -- When it was over (UTC); null before.
  d.runs::text[] as runs, -- The runs that it became, see ops.runs.
  (select coalesce(sum(s.received), 0) from ops.run_streams s where s.run_id = any (d.runs))::float8 as received,
  (select coalesce(sum(s.inserted + s.updated + s.deleted), 0) from ops.run_streams s
    where s.run_id = any (d.runs))::float8 as changed, -- Rows inserted, updated or deleted so far.
  (select coalesce(sum(s.rejected), 0) from ops.run_streams s where s.run_id = any (d.runs))::float8 as rejected, -- Records that could not become rows.
  case when coalesce(d.error_code, d.error_message) is not null then
    jsonb_build_object('code', coalesce(d.error_code, 'internal'), 'message', coalesce(d.error_message, ''))
  end as error, -- Code and message of the failure; null if there is none.
  d.stopping, -- A stop was requested, and it has not ended yet.
  d.again_at, -- When a failed request is retried (UTC); null for every other.
  d.part_of, -- The night that it is a part of, see ops.dag_runs.
  d.parts, -- Of a night: how many of its parts have each status; null for every other.
  d.retry_of, -- The earlier request that it repeats; null for a run of the command line.
  (select r.dag_run_id from ops.dag_runs r where r.retry_of = d.run_id order by r.seq desc limit 1) as retried_by -- The newest request that repeats it.
from (
  select
    dag_run_id as run_id, pipeline, does, trigger,
    case when status = 'running' and stuck_since is not null then 'stuck' else status end as status,
    params, queued_at, started_at, finished_at,
    array(select l.run_id from ops.dag_run_runs l join ops.dag_runs p using (dag_run_id)
      where p.dag_run_id = q.dag_run_id or p.part_of = q.dag_run_id order by 1) as runs,
    error_code, error_message,
    stop_asked_at is not null and finished_at is null as stopping,
    (select min(p.not_before) from ops.dag_runs p
      where (p.dag_run_id = q.dag_run_id or p.part_of = q.dag_run_id) and q.finished_at is not null
        and p.status in ('failed', 'partly_failed') and p.not_before > p.finished_at) as again_at,
    part_of,
    (select jsonb_object_agg(p.status, p.n) from (
      select status, count(*) as n from ops.dag_runs where part_of = q.dag_run_id group by status) p) as parts,
    retry_of
  from ops.dag_runs q
  union all
  select
    'manual-' || run_id::text, pipeline, kind, trigger,
    case when status = 'running' and not exists (select from ops.live_runs v where v.run_id = r.run_id)
      then 'lost' else status end,
    concat_ws(' ',
      'FROM=' || replace(params->>'from', 'T00:00:00.000Z', ''),
      'TO=' || replace(params->>'to', 'T00:00:00.000Z', ''),
      'STREAMS=' || (select string_agg(s, ',') from jsonb_array_elements_text(
        case jsonb_typeof(params->'streams') when 'array' then params->'streams' end) s),
      case kind when 'full' then 'FULL=true' when 'reconcile' then 'DOES=reconcile' end),
    started_at, started_at, finished_at,
    array[run_id],
    error_code, error_message, false, null, null, null, null
  from ops.runs r
  where trigger = 'manual'
) d;
