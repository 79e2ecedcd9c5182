create or replace view ops.run_list as -- Runs, and each night as the sum of the runs of its parts.
select
  r.run_id::text as id, -- The number of the run; of a night, the id of its request.
  r.run_id, -- The run, see ops.runs; null for a night.
  d.part_of as night, -- The night that the run is a part of, see ops.dag_runs; null for every other run.
  r.pipeline, -- The pipeline; nightly for a night.
  r.kind,
  r.settles, -- As ops.runs.settles; null for a night.
  r.trigger, -- As ops.runs.trigger.
  r.status, -- Of a night as ops.dag_runs.status.
  r.params, -- As ops.runs.params.
  r.app_version, -- As ops.runs.app_version; null for a night.
  r.started_at, -- When it began; of a night, when it was queued (UTC).
  r.finished_at, -- When it ended (UTC); null before.
  r.requests, -- HTTP requests sent to the source.
  r.retries, -- Of these, repeated ones.
  r.throttled, -- Requests that the source answered with 429.
  r.throttled_ms, -- Milliseconds of waiting for the rate limit, summed over concurrent requests.
  r.received,
  r.inserted, -- Records whose row is new.
  r.updated, -- Records whose row changed.
  r.unchanged, -- Records whose row was equal already.
  r.deduplicated, -- Records that repeated a key within one batch.
  r.superseded, -- Records older than what the warehouse holds.
  r.rejected, -- As ops.run_streams.rejected, summed over streams; of a night, over its parts.
  r.deleted,
  r.error_code, -- As ops.runs.error_code; of a night, that of its first part that failed.
  r.error_message -- What went wrong, in one line.
from ops.runs r
left join ops.dag_run_runs l on l.run_id = r.run_id
left join ops.dag_runs d on d.dag_run_id = l.dag_run_id
union all
select n.dag_run_id, null, null, n.pipeline, n.does, null, n.trigger, n.status, '{}', null, n.queued_at, n.finished_at,
  s.requests, s.retries, s.throttled, s.throttled_ms, s.received, s.inserted, s.updated, s.unchanged, s.deduplicated,
  s.superseded, s.rejected, s.deleted, n.error_code, n.error_message
from ops.dag_runs n
cross join lateral (
  select coalesce(sum(r.requests), 0)::bigint as requests, coalesce(sum(r.retries), 0)::bigint as retries,
    coalesce(sum(r.throttled), 0)::bigint as throttled, coalesce(sum(r.throttled_ms), 0)::bigint as throttled_ms,
    coalesce(sum(r.received), 0)::bigint as received, coalesce(sum(r.inserted), 0)::bigint as inserted,
    coalesce(sum(r.updated), 0)::bigint as updated, coalesce(sum(r.unchanged), 0)::bigint as unchanged,
    coalesce(sum(r.deduplicated), 0)::bigint as deduplicated, coalesce(sum(r.superseded), 0)::bigint as superseded,
    coalesce(sum(r.rejected), 0)::bigint as rejected, coalesce(sum(r.deleted), 0)::bigint as deleted
  from ops.dag_runs p
  join ops.dag_run_runs l on l.dag_run_id = p.dag_run_id
  join ops.runs r on r.run_id = l.run_id
  where p.part_of = n.dag_run_id) s
where n.pipeline = 'nightly';
