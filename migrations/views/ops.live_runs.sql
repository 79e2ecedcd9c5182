create or replace view ops.live_runs as -- Running runs whose process lives: it holds the lease that they write under, and its session is there.
select r.run_id, r.pipeline
from ops.runs r
join ops.leases l on l.pipeline = r.pipeline and l.epoch = r.epoch
where r.status = 'running' and l.holder is not null and l.expires_at > clock_timestamp()
  and exists (
    select from pg_stat_activity a
    where a.pid = l.backend_pid and (a.backend_start is null or a.backend_start = l.backend_start)
  );
