create or replace view bi.issue_status_history with (security_barrier) as
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  h.sequence::bigint as status_sequence,
  coalesce(st.name, h.status_text, '(status ' || h.status_ref || ')', '(unknown)') as status,
  h.status_ref as status_id,
  h.category as status_category,
  h.previous_category as previous_status_category,
  case
    when h.previous_category is null then 'new'
    when h.previous_category = 'done' and h.category <> 'done' then 'reopened'
    when h.previous_category = h.category then 'lateral'
    when h.category = 'done' then 'forward'
    when h.previous_category = 'unknown' or h.category = 'unknown' then 'unknown'
    when h.category = 'todo' then 'backward'
    else 'forward'
  end as transition,
  h.entered_at,
  h.left_at,
  (h.entered_at at time zone ops.reporting_time_zone())::date as entered_date,
  h.entered_by as entered_by_id,
  ops.shown_name(u.display_name, h.entered_by) as entered_by_name,
  h.left_at is null as is_current,
  greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at))::bigint as seconds_in_status,
  round(
    greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at)) / 86400, 3
  )::numeric(18,3) as days_in_status,
  h.is_inferred
from tracker.issue_status_intervals h
left join ops.sources s on s.source_id = h.source_id
join tracker.shown_issues i on i.source_id = h.source_id and i.id = h.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
left join tracker.statuses st on st.source_id = h.source_id and st.id::text = h.status_ref
left join tracker.users u on u.source_id = h.source_id and u.id = h.entered_by;

comment on view bi.issue_status_history is 'Time in status; one row per live issue and stay in a status, computed from the changelog. The last stay is in the status that the issue has: where the changes end with another one, a stay more is added, from the resolution of a done issue, else from the last change of the issue.';
comment on column bi.issue_status_history.status_sequence is 'Place of the stay in the life of the issue, from 0.';
comment on column bi.issue_status_history.status_id is 'Id of the status.';
comment on column bi.issue_status_history.status_category is 'todo, in_progress, done, or unknown: the status is no longer known to the source, or it does not say.';
comment on column bi.issue_status_history.previous_status_category is 'Category of the stay before; null for the first.';
comment on column bi.issue_status_history.transition is 'How it came there: new, forward, backward, lateral (same category), reopened (left done), or unknown.';
comment on column bi.issue_status_history.entered_at is 'When the stay began (UTC); of the first stay when the issue was created, or its oldest change where that is older, as imported ones may be.';
comment on column bi.issue_status_history.left_at is 'When the stay ended (UTC); null for the status of today.';
comment on column bi.issue_status_history.entered_date is 'Day of entered_at in the reporting time zone.';
comment on column bi.issue_status_history.entered_by_id is 'Who moved it there; for the first stay the creator, see bi.users.user_id.';
comment on column bi.issue_status_history.entered_by_name is 'Who moved it there, as shown.';
comment on column bi.issue_status_history.is_current is 'True for the stay that lasts.';
comment on column bi.issue_status_history.seconds_in_status is 'Length of the stay in seconds, until now if it lasts.';
comment on column bi.issue_status_history.days_in_status is 'Length of the stay in days of 24 hours, until now if it lasts.';
comment on column bi.issue_status_history.is_inferred is 'True where no change says so: the stay was added because the changes end with another status than that of the issue, or a change names its status without an id, and not exactly one status has or had the name.';
