create or replace view ops.pipeline_events as -- What happened to each pipeline: its newest 25 runs, deletions, and changes of its source's fields, its schedules and its settings, newest first; one row per event.
select
  p.name as pipeline, -- The pipeline; nightly for nights.
  e.at as happened, -- When it happened; of a run, when it began (UTC).
  e.what, -- What a run did, night, deletion, guard held, fields changed, schedule changed or setting changed.
  e.subject as stream_or_setting, -- The stream or the setting; null for a run.
  e.state,
  e.rows, -- Rows changed by a run, or deleted; null for a change.
  e.run, -- The run, see ops.runs; null where none is known.
  e.details -- Why a run failed or what was held back, the note of a change, or the value before and after.
from (select name, source_id from ops.sources union all select 'nightly', null) p
cross join lateral (
  (select r.started_at, r.kind, null, r.status, (r.inserted + r.updated + r.deleted)::float8, r.run_id::text, r.error_message
    from ops.runs r
    where r.pipeline = p.name
    order by r.started_at desc, r.run_id desc
    limit 25)
  union all
  (select d.queued_at, 'night', null, d.status, null, null, d.error_message
    from ops.dag_runs d
    where d.pipeline = p.name and p.source_id is null
    order by d.queued_at desc, d.dag_run_id desc
    limit 25)
  union all
  (select coalesce(s.finished_at, s.started_at), case s.status when 'attention' then 'guard held' else 'deletion' end, s.stream, s.status, s.deleted::float8, s.run_id::text, s.reason
    from ops.run_streams s
    where s.source_id = p.source_id and (s.deleted > 0 or s.status = 'attention')
    order by s.run_id desc
    limit 25)
  union all
  (select c.detected_at, 'fields changed', c.stream, null, null, c.run_id::text, c.note
    from ops.schema_changes c
    where c.source_id = p.source_id
    order by c.change_id desc
    limit 25)
  union all
  (select c.changed_at, 'schedule changed', c.does, null, null, null, c.cron || ' (' || c.time_zone || ')'
    from ops.schedules c
    where c.pipeline = p.name)
  union all
  (select n.seen_at, 'setting changed', k.name, null, null, null,
      coalesce(nullif(n.earlier ->> k.name, ''), 'not set') || ' → ' || coalesce(nullif(n.settings ->> k.name, ''), 'not set')
    from (
      select c.seen_at, c.settings, lead(c.settings) over (order by c.seen_at desc) as earlier
      from ops.settings_seen c
      where c.pipeline = p.name
    ) n
    cross join lateral jsonb_object_keys(n.settings || n.earlier) as k (name)
    where n.settings -> k.name is distinct from n.earlier -> k.name
    order by n.seen_at desc
    limit 25)
) e (at, what, subject, state, rows, run, details)
order by e.at desc;
