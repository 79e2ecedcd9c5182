create or replace view ops.found_deletions as -- How many rows a run removed or marked as deleted; one row per run and stream.
select
  s.finished_at as found, -- When the run was done with the stream (UTC).
  r.pipeline,
  s.stream,
  s.deleted::text as deleted,
  s.run_id::text as run,
  r.kind as by -- As ops.runs.kind.
from ops.run_streams s
join ops.runs r on r.run_id = s.run_id
where s.deleted > 0 and s.finished_at is not null
order by s.finished_at desc;
