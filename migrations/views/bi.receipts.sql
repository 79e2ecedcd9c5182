create or replace view bi.receipts as
select
  s.name as source,
  w.stream,
  l.slice_id::text as slice_id,
  l.run_id::text as run_id,
  w.kind as walk_kind,
  l.partition::text as owner,
  l.window_from as window_start_at,
  l.window_to as window_end_at,
  l.status,
  l.expected as records_expected,
  l.fetched as records_read,
  l.landed as records_stored,
  case
    when l.status = 'done' then l.fetched >= coalesce(l.expected, 0) and l.landed >= l.fetched
    when l.status = 'partial' then false
  end as is_matching,
  l.passes,
  l.started_at,
  l.finished_at,
  (l.finished_at at time zone ops.reporting_time_zone())::date as finished_date,
  l.error_code,
  ops.shown_message(s.kind, l.error_message) as error_message
from ops.slices l
join ops.walks w on w.walk_id = l.walk_id
join ops.sources s on s.source_id = w.source_id
where l.status <> 'split';

comment on view bi.receipts is 'Receipts of the parts that streams are read in: what the source said it has, what came, what was stored; one row per slice. Those of the last 30 days, and of the last walk of each kind; sums per run and stream are kept in bi.stream_runs.';
comment on column bi.receipts.slice_id is 'Slice id.';
comment on column bi.receipts.walk_kind is 'full (everything), incremental (changes since the watermark) or backfill (one given window).';
comment on column bi.receipts.owner is 'Whose list it is, e.g. {"board_id": "7"}; null where the stream is read whole.';
comment on column bi.receipts.window_start_at is 'Lower bound of its window, inclusive (UTC); null: open.';
comment on column bi.receipts.window_end_at is 'Upper bound of its window, exclusive (UTC); null: open.';
comment on column bi.receipts.records_expected is 'Records that the source said it has; null where it does not say. May be summed within one run.';
comment on column bi.receipts.records_read is 'Distinct records that came; null before. May be summed within one run.';
comment on column bi.receipts.records_stored is 'Records accounted for in the warehouse: written, already equal, or in ops.rejects. May be summed within one run.';
comment on column bi.receipts.is_matching is 'True when no record is missing between expected, read and stored; null where it was not read to its end.';
comment on column bi.receipts.passes is 'How often the list was read until nothing had moved.';
comment on column bi.receipts.finished_date is 'Day of finished_at in the reporting time zone.';
comment on column bi.receipts.error_code is 'Class of the last failure.';
comment on column bi.receipts.error_message is 'The last failure, in one line; of a tracker without keys and ids of issues.';
