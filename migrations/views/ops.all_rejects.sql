create or replace view ops.all_rejects as -- Records that could not become rows, also those that are settled, the last seen first; one row each.
select
  r.reject_id::text as reject,
  s.name as pipeline,
  r.stream,
  concat_ws(' ', nullif(r.record_key, ''), '(' || nullif(r.part, '') || ')') as record,
  r.field,
  r.message as why,
  r.code,
  r.last_seen_at as seen,
  r.status as state
from ops.rejects r
join ops.sources s on s.source_id = r.source_id
order by r.last_seen_at desc, r.reject_id desc;
