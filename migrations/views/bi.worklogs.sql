create or replace view bi.worklogs with (security_barrier) as -- Time sheets; one row per live entry of a live issue. Their text is in bi_pii.worklogs.
select
  s.name as source,
  w.id::text as worklog_id, -- Worklog id.
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  w.author_id, -- Who did the work, see bi.users.user_id.
  ops.shown_name(u.display_name, u.id) as author_name, -- Who did the work, as shown.
  w.started_at, -- When the work began (UTC).
  (
    w.started_at at time zone case
      when u.time_zone in (select z.name from pg_timezone_names z) then u.time_zone
      else ops.reporting_time_zone()
    end
  )::date as work_date, -- Day on which the work began in the author's own time zone; in the reporting time zone if the author shows none that Postgres knows.
  w.time_spent_seconds, -- Duration of the work in seconds.
  round(w.time_spent_seconds / 3600.0, 2)::numeric(18,2) as time_spent_hours, -- Duration of the work in hours.
  w.visibility is not null as is_restricted, -- True when not everybody who sees the issue may see the entry.
  w.created_at,
  w.updated_at,
  w._synced_at as synced_at
from tracker.worklogs w
left join ops.sources s on s.source_id = w.source_id
join tracker.shown_issues i on i.source_id = w.source_id and i.id = w.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
left join tracker.users u on u.source_id = w.source_id and u.id = w.author_id
where w._deleted_at is null;
