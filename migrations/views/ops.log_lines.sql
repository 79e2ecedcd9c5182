create or replace view ops.log_lines as -- The log of each request, of a night with the logs of its parts; of a run from a terminal when it and its streams began and ended. One row a line.
select
  l.dag_run_id as request_id, -- The request, see ops.dag_run_list.run_id.
  l.seq, -- Within a request it grows in the order in which lines become visible.
  l.at, -- As ops.run_log.at.
  l.level, -- As ops.run_log.level.
  l.message -- What happened; control characters are written out.
from ops.run_log l
union all
select d.part_of, l.seq, l.at, l.level,
  case when l.message ~ ('^' || d.pipeline || '[.:]') then l.message else d.pipeline || ': ' || l.message end
from ops.dag_runs d
join ops.run_log l on l.dag_run_id = d.dag_run_id
where d.part_of is not null
union all
select 'manual-' || r.run_id::text, e.seq, e.at,
  case
    when e.status in ('started', 'ok', 'skipped', 'unavailable', 'succeeded') then 'info'
    when e.status in ('failed', 'lost') then 'error'
    else 'warn'
  end,
  concat_ws(': ', e.what || ' ' || replace(e.status, '_', ' '), e.details)
from ops.runs r
cross join lateral (
  select row_number() over (order by m.at, m.place) as seq, m.*
  from (
    select r.started_at as at, 1 as place, r.pipeline || ': run ' || r.run_id || ' (' || r.kind || ')' as what, 'started' as status, null as details
    union all
    select s.started_at, 2, r.pipeline || '.' || s.stream, 'started', null
    from ops.run_streams s
    where s.run_id = r.run_id
    union all
    select s.finished_at, 3, r.pipeline || '.' || s.stream, s.status, concat_ws('; ', s.received || ' records received', s.reason)
    from ops.run_streams s
    where s.run_id = r.run_id and s.finished_at is not null
    union all
    select r.finished_at, 4, r.pipeline || ': run ' || r.run_id, r.status, r.error_message
    where r.finished_at is not null
  ) m
) e
where r.trigger = 'manual';
