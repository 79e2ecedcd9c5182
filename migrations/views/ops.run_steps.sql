create or replace view ops.run_steps as -- The streams of each run, and the slices that are being read now.
select
  s.run_id,
  s.stream,
  null as slice, -- What the slice covers, e.g. board_id 7 · 2024-01-01T00:00:00Z to now; null for the whole stream.
  case when s.status = 'running' then r.status else s.status end as status, -- As in ops.run_streams; running for a slice.
  s.started_at,
  s.received::float8 as received,
  s.expected::float8 as expected, -- The total, if it is known.
  0::bigint as slice_id, -- The slice, see ops.slices; 0 for a stream.
  r.pipeline -- The pipeline of the run.
from ops.run_streams s
join ops.runs r on r.run_id = s.run_id
union all
select
  l.run_id,
  w.stream,
  coalesce(nullif(concat_ws(' · ',
    (select string_agg(key || ' ' || value, ' · ') from jsonb_each_text(
      case jsonb_typeof(l.partition) when 'object' then l.partition end)),
    case when coalesce(l.window_from, l.window_to) is not null then
      coalesce(to_char(l.window_from at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'the beginning') || ' to ' ||
      coalesce(to_char(l.window_to at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'now') end), ''), 'all'),
  'running',
  l.started_at,
  coalesce(l.read, 0)::float8,
  l.expected::float8,
  l.slice_id,
  r.pipeline
from ops.slices l
join ops.walks w on w.walk_id = l.walk_id
join ops.runs r on r.run_id = l.run_id and r.status = 'running'
where l.status = 'pending' and l.started_at is not null;
