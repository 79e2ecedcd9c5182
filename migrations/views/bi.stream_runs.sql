create or replace view bi.stream_runs as
select
  x.run_id::text as run_id,
  s.name as source,
  r.pipeline,
  r.kind as run_kind,
  x.stream,
  x.status,
  ops.shown_message(s.kind, x.reason) as reason,
  x.started_at,
  x.finished_at,
  (x.started_at at time zone ops.reporting_time_zone())::date as started_date,
  extract(epoch from x.finished_at - x.started_at)::double precision as duration_seconds,
  x.slices,
  x.expected as records_expected,
  x.fetched as records_fetched,
  x.landed as records_landed,
  x.received as rows_received,
  x.inserted as rows_inserted,
  x.updated as rows_updated,
  x.unchanged as rows_unchanged,
  x.deduplicated as rows_deduplicated,
  x.superseded as rows_superseded,
  x.rejected as rows_rejected,
  x.deleted as rows_deleted,
  case
    when x.status = 'ok' then x.fetched >= coalesce(x.expected, 0) and x.landed >= x.fetched
    when x.status = 'partial' then false
  end as is_matching,
  x.rows as live_rows
from ops.run_streams x
join ops.sources s on s.source_id = x.source_id
left join ops.runs r on r.run_id = x.run_id;

comment on view bi.stream_runs is 'What each run did for each stream, with its receipt; one row per run and stream.';
comment on column bi.stream_runs.reason is 'Why it is not ok; of a tracker without keys and ids of issues.';
comment on column bi.stream_runs.started_date is 'Day of started_at in the reporting time zone.';
comment on column bi.stream_runs.slices is 'Slices read to their end.';
comment on column bi.stream_runs.records_expected is 'Records the source said it has; null where it does not say.';
comment on column bi.stream_runs.records_fetched is 'Distinct records that came.';
comment on column bi.stream_runs.records_landed is 'Records accounted for in the warehouse.';
comment on column bi.stream_runs.is_matching is 'True when no record is missing between expected, fetched and landed; null where the stream was not read to its end.';
comment on column bi.stream_runs.live_rows is 'Live rows of the stream''s table when the run was done with it; beyond a million an estimate; null where it was not counted. Not to be summed.';
