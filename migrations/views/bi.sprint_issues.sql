create or replace view bi.sprint_issues with (security_barrier) as -- Which issues are or ever were in which sprint, and how they fared; one row per live sprint and live issue.
select
  s.name as source,
  f.sprint_id::text as sprint_id, -- Sprint id, see bi.sprints.sprint_id.
  sp.name as sprint_name,
  sp.state as sprint_state,
  sp.board_id::text as board_id, -- Id of the board the sprint was created on.
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4) as story_points,
  f.added_at, -- When it first came into the sprint (UTC); if no change is recorded, when the issue was created.
  f.removed_at, -- When it last left the sprint (UTC); null while it is in it.
  f.removed_at is null as is_member, -- True when it is in the sprint now; a closed sprint keeps its issues.
  f.is_committed, -- True when it was in the sprint at its start.
  f.is_added, -- True when it came after the start and before the end.
  (f.is_committed or f.is_added) and not f.is_in_at_end as is_removed, -- True when it was committed or added and not in the sprint at its end.
  f.is_in_at_end and f.category_at_end = 'done' as is_done, -- True when it was in the sprint and done at its end; of an active sprint, now.
  f.is_in_at_end and f.category_at_end <> 'done' as is_carried_over, -- True when it was in the sprint and not done at its end; of an active sprint, now.
  f.category_at_end as status_category_at_end, -- Status category when the sprint ended (completed_at, else its planned end); of an open sprint, now.
  case when f.is_committed then coalesce(f.points_in, 0) end::numeric(18,4) as committed_points, -- Story points that it had when the sprint started, 0 if not estimated; null unless committed.
  case when f.is_added then coalesce(f.points_in, 0) end::numeric(18,4) as added_points, -- Story points that it had when it came, 0 if not estimated; null unless added.
  case
    when (f.is_committed or f.is_added) and not f.is_in_at_end then coalesce(f.points_out, 0)
  end::numeric(18,4) as removed_points, -- Story points that it had when it left, 0 if not estimated; null unless removed.
  case
    when f.is_in_at_end and f.category_at_end = 'done' then coalesce(f.points_out, 0)
  end::numeric(18,4) as done_points, -- Story points at the end of the sprint, 0 if not estimated; null unless done.
  case
    when f.is_in_at_end and f.category_at_end <> 'done' then coalesce(f.points_out, 0)
  end::numeric(18,4) as carried_over_points, -- Story points at the end of the sprint, 0 if not estimated; null unless carried over.
  case
    when f.is_committed or f.is_added then coalesce(f.points_out, 0) - coalesce(f.points_in, 0)
  end::numeric(18,4) as reestimated_points -- By how much its story points changed between coming in and the end or leaving. Of a sprint: committed + added + reestimated - removed = done + carried over.
from tracker.sprint_issue_facts f
left join ops.sources s on s.source_id = f.source_id
join tracker.shown_sprints sp on sp.source_id = f.source_id and sp.id = f.sprint_id and sp._deleted_at is null
join tracker.shown_issues i on i.source_id = f.source_id and i.id = f.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id;
