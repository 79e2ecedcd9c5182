create or replace view ops.open_rejects as -- Records that could not become rows and wait, the last seen first; one row each.
select
  a.reject,
  a.pipeline,
  a.stream,
  a.record,
  a.field,
  a.why,
  a.code,
  a.seen
from ops.all_rejects a
where a.state = 'open';
