create or replace view bi.sync_runs as -- Runs of the pipelines; one row per run.
select
  r.run_id::text as run_id, -- Run id.
  s.name as source,
  r.pipeline,
  r.kind as run_kind,
  r.trigger as trigger_type,
  r.status, -- running, succeeded, partly_failed, failed, interrupted (asked to stop), lost (its process died) or needs_attention.
  r.started_at,
  r.finished_at, -- When it ended (UTC); null while running.
  (r.started_at at time zone ops.reporting_time_zone())::date as started_date, -- Day on which it began, in the reporting time zone.
  extract(epoch from r.finished_at - r.started_at)::double precision as duration_seconds,
  coalesce(x.streams, 0) as streams,
  coalesce(x.failed, 0) as failed_streams, -- Of these, failed ones and those whose receipt did not match.
  r.received as rows_received,
  r.inserted as rows_inserted,
  r.updated as rows_updated,
  r.unchanged as rows_unchanged,
  r.deduplicated as rows_deduplicated,
  r.superseded as rows_superseded,
  r.rejected as rows_rejected,
  r.deleted as rows_deleted,
  r.requests as http_requests, -- HTTP requests sent to the source.
  r.retries as http_retries, -- Of these, repeated ones.
  (r.throttled_ms / 1000.0)::double precision as throttled_seconds, -- Seconds spent waiting for the rate limit, summed over concurrent requests.
  r.error_code, -- Class of the failure, if it failed.
  ops.shown_message(s.kind, r.error_message) as error_message, -- What went wrong, in one line; of a tracker without keys and ids of issues.
  r.app_version, -- Version of tidemark.
  r.inserted + r.updated + r.deleted as rows_changed, -- Rows inserted, updated or deleted. May be summed.
  r.throttled as http_throttled_requests, -- Requests that the source answered with a wish for patience (429). May be summed.
  coalesce(r.settles = 'freshness', false) as is_whole_sync -- True of a sync or full run of all streams, the runs that bi.late_nights goes by.
from ops.runs r
join ops.sources s on s.source_id = r.source_id
left join (
  select
    run_id,
    count(*) as streams,
    count(*) filter (where status in ('failed', 'partial')) as failed
  from ops.run_streams
  group by run_id
) x on x.run_id = r.run_id;
