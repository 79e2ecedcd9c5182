create or replace view bi.receipts as -- Receipts of the parts that streams are read in: what the source said it has, what came, what was stored; one row per slice. Those of the last 30 days, and of the last walk of each kind; sums per run and stream are kept in bi.stream_runs.
select
  s.name as source,
  w.stream,
  l.slice_id::text as slice_id, -- Slice id.
  l.run_id::text as run_id, -- The run that last worked on it, see bi.sync_runs.run_id; null while none has.
  w.kind as walk_kind, -- full (everything), incremental (changes since the watermark) or backfill (one given window).
  l.partition::text as owner, -- Whose list it is, e.g. {"board_id": "7"}; null where the stream is read whole.
  l.window_from as window_start_at, -- Lower bound of its window, inclusive (UTC); null: open.
  l.window_to as window_end_at, -- Upper bound of its window, exclusive (UTC); null: open.
  l.status, -- done, partial (its receipt does not match; the next run reads it again), failed, pending (not read yet) or absent (its owner is gone).
  l.expected as records_expected, -- Records that the source said it has; null where it does not say. May be summed within one run.
  l.read as records_read, -- Distinct records that came; null before. May be summed within one run.
  l.stored as records_stored, -- Records accounted for in the warehouse: written, already equal, or in ops.rejects. May be summed within one run.
  case
    when l.status = 'done' then l.read >= coalesce(l.expected, 0) and l.stored >= l.read
    when l.status = 'partial' then false
  end as is_matching, -- True when no record is missing between expected, read and stored; null where it was not read to its end.
  l.passes, -- How often the list was read until nothing had moved.
  l.started_at, -- When work on it last began (UTC).
  l.finished_at, -- When it was finished (UTC); null before.
  (l.finished_at at time zone ops.reporting_time_zone())::date as finished_date, -- Day of finished_at in the reporting time zone.
  l.error_code, -- Class of the last failure.
  ops.shown_message(s.kind, l.error_message) as error_message -- The last failure, in one line; of a tracker without keys and ids of issues.
from ops.slices l
join ops.walks w on w.walk_id = l.walk_id
join ops.sources s on s.source_id = w.source_id
where l.status <> 'split';
