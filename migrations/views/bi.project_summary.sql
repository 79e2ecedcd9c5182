create or replace view bi.project_summary with (security_barrier) as -- Projects with the state of their issues now; one row per live project.
select
  s.name as source,
  p.id::text as project_id,
  p.key as project_key,
  p.name as project_name,
  p.lead_user_id as lead_id,
  ops.shown_name(u.display_name, u.id) as lead_name,
  p.archived as is_archived,
  coalesce(n.issues, 0) as issues, -- Live issues; may be summed.
  coalesce(n.issues - n.done_issues, 0) as open_issues, -- Issues that are not in the status category done; may be summed.
  coalesce(n.in_progress_issues, 0) as in_progress_issues, -- Issues in the status category in_progress; may be summed.
  coalesce(n.done_issues, 0) as done_issues, -- Issues in the status category done; may be summed.
  coalesce(n.created_30_days_issues, 0) as created_30_days_issues, -- Issues created in the last 30 days of 24 hours; may be summed.
  coalesce(n.done_30_days_issues, 0) as done_30_days_issues, -- Done issues that came into the status category done in the last 30 days of 24 hours (where the source does not say when: that were resolved then); may be summed.
  coalesce(n.overdue_issues, 0) as overdue_issues, -- Open issues whose due day is before today in the reporting time zone; may be summed.
  coalesce(n.unassigned_issues, 0) as unassigned_issues, -- Open issues without an assignee; may be summed.
  (case when abs(n.open_story_points) < 1e13 then n.open_story_points end)::numeric(18,4) as open_story_points,
  n.oldest_open_at, -- When the oldest open issue was created (UTC); null if none is open.
  n.last_updated_at -- When an issue was last changed at the source (UTC); null without issues.
from tracker.projects p
join ops.sources s on s.source_id = p.source_id
left join tracker.users u on u.source_id = p.source_id and u.id = p.lead_user_id
left join (
  select
    i.source_id,
    i.project_id,
    count(*) as issues,
    count(*) filter (where st.category = 'in_progress') as in_progress_issues,
    count(*) filter (where st.category = 'done') as done_issues,
    count(*) filter (where i.created_at >= now() - interval '720 hours') as created_30_days_issues,
    count(*) filter (
      where st.category = 'done'
        and coalesce(i.status_category_changed_at, i.resolved_at) >= now() - interval '720 hours'
    ) as done_30_days_issues,
    count(*) filter (
      where st.category is distinct from 'done'
        and i.due_date < (now() at time zone ops.reporting_time_zone())::date
    ) as overdue_issues,
    count(*) filter (where st.category is distinct from 'done' and i.assignee_id is null) as unassigned_issues,
    sum(i.story_points) filter (
      where st.category is distinct from 'done' and abs(i.story_points) < 1e13
    ) as open_story_points,
    min(i.created_at) filter (where st.category is distinct from 'done') as oldest_open_at,
    max(i.updated_at) as last_updated_at
  from tracker.shown_issues i
  left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
  group by i.source_id, i.project_id
) n on n.source_id = p.source_id and n.project_id = p.id
where p._deleted_at is null;
