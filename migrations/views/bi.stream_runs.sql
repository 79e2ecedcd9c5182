create or replace view bi.stream_runs as -- What each run did for each stream, with its receipt; one row per run and stream.
select
  x.run_id::text as run_id, -- The run, see bi.sync_runs.run_id.
  s.name as source,
  r.pipeline,
  r.kind as run_kind,
  x.stream,
  x.status, -- ok, unavailable, forbidden, partial (a receipt does not match), failed, interrupted, skipped, attention or running.
  ops.shown_message(s.kind, x.reason) as reason, -- Why it is not ok; of a tracker without keys and ids of issues.
  x.started_at, -- When the run began with the stream (UTC).
  x.finished_at, -- When it was done with it (UTC); null while running.
  (x.started_at at time zone ops.reporting_time_zone())::date as started_date, -- Day of started_at in the reporting time zone.
  extract(epoch from x.finished_at - x.started_at)::double precision as duration_seconds,
  x.slices, -- Slices read to their end.
  x.expected as records_expected, -- Records the source said it has; null where it does not say.
  x.read as records_fetched, -- Distinct records that were read.
  x.stored as records_landed, -- Records stored: accounted for in the warehouse.
  x.received as rows_received,
  x.inserted as rows_inserted,
  x.updated as rows_updated,
  x.unchanged as rows_unchanged,
  x.deduplicated as rows_deduplicated,
  x.superseded as rows_superseded,
  x.rejected as rows_rejected,
  x.deleted as rows_deleted,
  case
    when x.status = 'ok' then x.read >= coalesce(x.expected, 0) and x.stored >= x.read
    when x.status = 'partial' then false
  end as is_matching, -- True when no record is missing between expected, read and stored; null where the stream was not read to its end.
  x.rows as live_rows -- Live rows of the stream's table when the run was done with it; beyond a million an estimate; null where it was not counted. Not to be summed.
from ops.run_streams x
join ops.sources s on s.source_id = x.source_id
left join ops.runs r on r.run_id = x.run_id;
