create or replace view ops.dag_run_asks as -- What each request to serve, and each run of the command line, was asked to do.
select
  dag_run_id as run_id,
  pipeline,
  does,
  streams,
  window_from, -- A backfill: lower bound, inclusive (UTC).
  window_to -- A backfill: upper bound, exclusive (UTC).
from ops.dag_runs
union all
select
  'manual-' || run_id::text,
  pipeline,
  kind,
  case when jsonb_typeof(params->'streams') = 'array' then array(select jsonb_array_elements_text(params->'streams')) end,
  (params->>'from')::timestamptz,
  (params->>'to')::timestamptz
from ops.runs
where trigger = 'manual';
