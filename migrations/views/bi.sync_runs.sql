create or replace view bi.sync_runs as
select
  r.run_id::text as run_id,
  s.name as source,
  r.pipeline,
  r.kind as run_kind,
  r.trigger as trigger_type,
  r.status,
  r.started_at,
  r.finished_at,
  (r.started_at at time zone ops.reporting_time_zone())::date as started_date,
  extract(epoch from r.finished_at - r.started_at)::double precision as duration_seconds,
  coalesce(x.streams, 0) as streams,
  coalesce(x.failed, 0) as failed_streams,
  r.received as rows_received,
  r.inserted as rows_inserted,
  r.updated as rows_updated,
  r.unchanged as rows_unchanged,
  r.deduplicated as rows_deduplicated,
  r.superseded as rows_superseded,
  r.rejected as rows_rejected,
  r.deleted as rows_deleted,
  r.requests as http_requests,
  r.retries as http_retries,
  (r.throttled_ms / 1000.0)::double precision as throttled_seconds,
  r.error_code,
  ops.shown_message(s.kind, r.error_message) as error_message,
  r.app_version,
  r.inserted + r.updated + r.deleted as rows_changed,
  r.throttled as http_throttled_requests,
  coalesce(r.settles = 'freshness', false) as is_whole_sync
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

comment on view bi.sync_runs is 'Runs of the pipelines; one row per run.';
comment on column bi.sync_runs.started_date is 'Day on which it began, in the reporting time zone.';
comment on column bi.sync_runs.failed_streams is 'Of these, failed ones and those whose receipt did not match.';
comment on column bi.sync_runs.http_requests is 'HTTP requests sent to the source.';
comment on column bi.sync_runs.http_retries is 'Of these, repeated ones.';
comment on column bi.sync_runs.throttled_seconds is 'Seconds spent waiting for the rate limit, summed over concurrent requests.';
comment on column bi.sync_runs.error_code is 'Class of the failure, if it failed.';
comment on column bi.sync_runs.error_message is 'What went wrong, in one line; of a tracker without keys and ids of issues.';
comment on column bi.sync_runs.app_version is 'Version of tidemark.';
comment on column bi.sync_runs.rows_changed is 'Rows inserted, updated or deleted. May be summed.';
comment on column bi.sync_runs.http_throttled_requests is 'Requests that the source answered with a wish for patience (429). May be summed.';
comment on column bi.sync_runs.is_whole_sync is 'True of a sync or full run of all streams, the runs that bi.late_nights goes by.';
