create or replace view bi.issue_cycle_times with (security_barrier) as -- Lead and cycle time; one row per live issue. An issue that was reopened and is not done has no done_at.
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4) as story_points,
  i.created_at,
  f.first_started_at, -- When it was first in progress (UTC); null if never.
  f.first_done_at, -- When it was first done (UTC); null if never.
  case when f.is_done then f.last_done_at end as done_at,
  (case when f.is_done then f.last_done_at end at time zone ops.reporting_time_zone())::date as done_date,
  round(
    case when f.is_done then extract(epoch from f.last_done_at - f.began_at) end / 86400, 3
  )::numeric(18,3) as lead_time_days, -- Days of 24 hours from creation (or the oldest change, where that is older, as imported ones may be) to done_at.
  round(
    case
      when f.is_done and f.first_started_at is not null
        then greatest(0, extract(epoch from f.last_done_at - f.first_started_at))
    end / 86400,
    3
  )::numeric(18,3) as cycle_time_days, -- Days of 24 hours from first_started_at to done_at; null if it was never in progress.
  round(
    (
      f.todo_seconds + case
        when f.current_category = 'todo' then greatest(0, extract(epoch from now() - f.current_since))
        else 0
      end
    ) / 86400,
    3
  )::numeric(18,3) as todo_days, -- Days spent in statuses of the category todo, until now.
  round(
    (
      f.in_progress_seconds + case
        when f.current_category = 'in_progress' then greatest(0, extract(epoch from now() - f.current_since))
        else 0
      end
    ) / 86400,
    3
  )::numeric(18,3) as in_progress_days, -- Days spent in statuses of the category in_progress, until now.
  f.reopen_count::bigint as reopen_count, -- How often it left done.
  f.status_changes::bigint as status_changes, -- How often its status changed.
  f.is_done -- True when its last status by the changelog is done.
from tracker.issue_facts f
left join ops.sources s on s.source_id = f.source_id
join tracker.shown_issues i on i.source_id = f.source_id and i.id = f.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id;
