create or replace view bi.sprint_issues as
select
  m.source,
  m.sprint_id,
  m.sprint_name,
  m.state as sprint_state,
  m.board_id::text as board_id,
  m.issue_id::text as issue_id,
  m.issue_key,
  m.project_id::text as project_id,
  m.project_key,
  t.name as issue_type,
  (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4) as story_points,
  case when m.began_inside then m.created_at else m.first_came_at end as added_at,
  case when not m.is_member then m.last_left_at end as removed_at,
  m.is_member,
  m.is_committed,
  m.came_late and not m.is_committed as is_added,
  (m.is_committed or m.came_late) and not m.is_in_at_end as is_removed,
  m.is_in_at_end and m.category_at_end = 'done' as is_done,
  m.is_in_at_end and m.category_at_end <> 'done' as is_carried_over,
  m.category_at_end as status_category_at_end
from tracker.sprint_members m
left join tracker.issue_types t on t.source_id = m.source_id and t.id = m.issue_type_id;

comment on view bi.sprint_issues is 'Which issues are or ever were in which sprint, and how they fared; one row per live sprint and live issue.';
comment on column bi.sprint_issues.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.sprint_issues.sprint_id is 'Sprint id, see bi.sprints.sprint_id.';
comment on column bi.sprint_issues.sprint_name is 'Name of the sprint.';
comment on column bi.sprint_issues.sprint_state is 'future, active or closed.';
comment on column bi.sprint_issues.board_id is 'Id of the board the sprint was created on.';
comment on column bi.sprint_issues.issue_id is 'Issue id; stable.';
comment on column bi.sprint_issues.issue_key is 'Issue key of today, e.g. PROJ-7; changes when the issue moves.';
comment on column bi.sprint_issues.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.sprint_issues.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.sprint_issues.issue_type is 'Issue type of today, e.g. Bug.';
comment on column bi.sprint_issues.story_points is 'Story points of today, to four decimals; null if not estimated.';
comment on column bi.sprint_issues.added_at is 'When it first came into the sprint (UTC); if no change is recorded, when the issue was created.';
comment on column bi.sprint_issues.removed_at is 'When it last left the sprint (UTC); null while it is in it.';
comment on column bi.sprint_issues.is_member is 'True when it is in the sprint now; a closed sprint keeps its issues.';
comment on column bi.sprint_issues.is_committed is 'True when it was in the sprint at its start.';
comment on column bi.sprint_issues.is_added is 'True when it came after the start and before the end.';
comment on column bi.sprint_issues.is_removed is 'True when it was committed or added and not in the sprint at its end.';
comment on column bi.sprint_issues.is_done is 'True when it was in the sprint and done at its end; of an active sprint, now.';
comment on column bi.sprint_issues.is_carried_over is 'True when it was in the sprint and not done at its end; of an active sprint, now.';
comment on column bi.sprint_issues.status_category_at_end is 'Status category when the sprint ended (completed_at, else its planned end); of an open sprint, now.';
