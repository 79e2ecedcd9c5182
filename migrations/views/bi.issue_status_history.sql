create or replace view bi.issue_status_history with (security_barrier) as -- Time in status; one row per live issue and stay in a status, computed from the changelog. The last stay is in the status that the issue has: where the changes end with another one, a stay more is added, from the resolution of a done issue, else from the last change of the issue.
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  h.sequence::bigint as status_sequence, -- Place of the stay in the life of the issue, from 0.
  coalesce(st.name, h.status_text, '(status ' || h.status_ref || ')', '(unknown)') as status, -- Status of the stay, by its name of today; if it no longer exists, by its name at the time.
  h.status_ref as status_id, -- Id of the status.
  h.category as status_category, -- todo, in_progress, done, or unknown: the status is no longer known to the source, or it does not say.
  h.previous_category as previous_status_category, -- Category of the stay before; null for the first.
  case
    when h.previous_category is null then 'new'
    when h.previous_category = 'done' and h.category <> 'done' then 'reopened'
    when h.previous_category = h.category then 'lateral'
    when h.category = 'done' then 'forward'
    when h.previous_category = 'unknown' or h.category = 'unknown' then 'unknown'
    when h.category = 'todo' then 'backward'
    else 'forward'
  end as transition, -- How it came there: new, forward, backward, lateral (same category), reopened (left done), or unknown.
  h.entered_at, -- When the stay began (UTC); of the first stay when the issue was created, or its oldest change where that is older, as imported ones may be.
  h.left_at, -- When the stay ended (UTC); null for the status of today.
  (h.entered_at at time zone ops.reporting_time_zone())::date as entered_date, -- Day of entered_at in the reporting time zone.
  h.entered_by as entered_by_id, -- Who moved it there; for the first stay the creator, see bi.users.user_id.
  ops.shown_name(u.display_name, h.entered_by) as entered_by_name, -- Who moved it there, as shown.
  h.left_at is null as is_current, -- True for the stay that lasts.
  greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at))::bigint as seconds_in_status, -- Length of the stay in seconds, until now if it lasts.
  round(
    greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at)) / 86400, 3
  )::numeric(18,3) as days_in_status, -- Length of the stay in days of 24 hours, until now if it lasts.
  h.is_inferred -- True where no change says so: the stay was added because the changes end with another status than that of the issue, or a change names its status without an id, and not exactly one status has or had the name.
from tracker.issue_status_intervals h
left join ops.sources s on s.source_id = h.source_id
join tracker.shown_issues i on i.source_id = h.source_id and i.id = h.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
left join tracker.statuses st on st.source_id = h.source_id and st.id::text = h.status_ref
left join tracker.users u on u.source_id = h.source_id and u.id = h.entered_by;
