create or replace view bi.user_workload with (security_barrier) as -- Who has what to do; one row per assignee of open issues, and one per source for those without an assignee.
select
  s.name as source,
  n.assignee_id, -- The assignee, see bi.users.user_id; null: nobody is assigned.
  ops.shown_name(u.display_name, u.id) as assignee_name,
  u.active as is_active,
  n.open_issues, -- Live issues that are not in the status category done; may be summed.
  n.in_progress_issues, -- Those of them in the status category in_progress; may be summed.
  n.overdue_issues, -- Those of them whose due day is before today in the reporting time zone; may be summed.
  n.unestimated_issues, -- Those of them without story points; may be summed.
  (case when abs(n.open_story_points) < 1e13 then n.open_story_points end)::numeric(18,4) as open_story_points,
  (
    case when abs(n.in_progress_story_points) < 1e13 then n.in_progress_story_points end
  )::numeric(18,4) as in_progress_story_points, -- Story points of the issues in progress; null if none is estimated. May be summed.
  round(n.remaining_estimate_seconds / 3600, 2)::numeric(28,2) as remaining_estimate_hours, -- Remaining estimates of the open issues in hours of work; null if none has one. May be summed.
  n.oldest_open_at, -- When the oldest of them was created (UTC).
  n.last_updated_at -- When one of them was last changed at the source (UTC).
from (
  select
    i.source_id,
    i.assignee_id,
    count(*) as open_issues,
    count(*) filter (where st.category = 'in_progress') as in_progress_issues,
    count(*) filter (where i.due_date < (now() at time zone ops.reporting_time_zone())::date) as overdue_issues,
    count(*) filter (where i.story_points is null) as unestimated_issues,
    sum(i.story_points) filter (where abs(i.story_points) < 1e13) as open_story_points,
    sum(i.story_points) filter (
      where st.category = 'in_progress' and abs(i.story_points) < 1e13
    ) as in_progress_story_points,
    sum(i.remaining_estimate_seconds) as remaining_estimate_seconds,
    min(i.created_at) as oldest_open_at,
    max(i.updated_at) as last_updated_at
  from tracker.shown_issues i
  left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
  where st.category is distinct from 'done'
  group by i.source_id, i.assignee_id
) n
join ops.sources s on s.source_id = n.source_id
left join tracker.users u on u.source_id = n.source_id and u.id = n.assignee_id;
