create or replace view ops.stream_states as -- How fresh each stream is, with its part in the newest run that read it; one row per source and stream, in their order.
select
  src.name as pipeline, -- The pipeline, as ops.sources.name.
  t.stream,
  t.target, -- As ops.streams.target.
  t.child_tables, -- As ops.streams.child_tables.
  t.about, -- As ops.streams.about.
  t.endpoint, -- As ops.streams.endpoint.
  case
    when t.excluded then 'excluded'
    when t.state in ('unavailable', 'forbidden') then t.state
    when fresh.at is null then 'never'
    when now() - fresh.at <= fresh.promise_seconds * interval '1 second' then 'fresh'
    else 'stale'
  end as freshness, -- As bi.data_freshness.freshness.
  case when t.excluded then 'left out by configuration' else coalesce(t.reason, l.reason) end as reason, -- Why it is not available, or what the run said.
  fresh.at as fresh_at, -- As ops.stream_freshness.at.
  src.token_ends_at,
  fresh.promise_seconds::float8 as promise_seconds, -- As ops.stream_freshness.promise_seconds.
  c.watermark, -- As ops.checkpoints.watermark.
  c.full_at, -- As ops.checkpoints.full_at.
  (
    select count(*) from ops.rejects r where r.source_id = t.source_id and r.stream = t.stream and r.status = 'open'
  )::float8 as open_rejects,
  l.run_id::text as run_id, -- The newest run that read it; a replay of rejects reads nothing.
  l.kind,
  l.status, -- As ops.run_streams.status.
  l.finished_at, -- When that run was done with the stream (UTC).
  jsonb_build_object('expected', l.expected, 'read', l.read, 'stored', l.stored) as receipt -- The numbers of that run.
from ops.streams t
join ops.sources src on src.source_id = t.source_id
join ops.stream_freshness fresh on fresh.source_id = t.source_id and fresh.stream = t.stream
left join ops.checkpoints c on c.source_id = t.source_id and c.stream = t.stream
left join lateral (
  select rs.*, r.kind
  from ops.run_streams rs
  -- One run after the other: a merge with all runs reads those of other pipelines, too.
  cross join lateral (select o.kind from ops.runs o where o.run_id = rs.run_id limit 1) r
  where rs.source_id = t.source_id and rs.stream = t.stream and r.kind <> 'replay'
  order by rs.run_id desc
  limit 1
) l on true
order by src.source_id, t.stream;
