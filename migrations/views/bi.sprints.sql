create or replace view bi.sprints as
select
  s.name as source,
  sp.id::text as sprint_id,
  sp.name as sprint_name,
  sp.state as sprint_state,
  sp.board_id::text as board_id,
  b.name as board_name,
  sp.goal,
  sp.start_at,
  sp.end_at,
  case when not sp.state in ('active', 'future') then sp.completed_at end as completed_at,
  coalesce(a.member_issues, 0) as member_issues,
  coalesce(a.committed_issues, 0) as committed_issues,
  coalesce(a.added_issues, 0) as added_issues,
  coalesce(a.removed_issues, 0) as removed_issues,
  coalesce(a.done_issues, 0) as done_issues,
  coalesce(a.carried_over_issues, 0) as carried_over_issues,
  coalesce(a.member_points, 0)::numeric(28,4) as member_points,
  coalesce(a.committed_points, 0)::numeric(28,4) as committed_points,
  coalesce(a.added_points, 0)::numeric(28,4) as added_points,
  coalesce(a.removed_points, 0)::numeric(28,4) as removed_points,
  coalesce(a.done_points, 0)::numeric(28,4) as done_points,
  coalesce(a.carried_over_points, 0)::numeric(28,4) as carried_over_points,
  round(
    coalesce(a.done_points, 0)::numeric(28,4) / nullif(a.committed_points, 0), 4
  )::numeric(28,4) as done_to_committed_ratio,
  sp._synced_at as synced_at
from tracker.sprints sp
join ops.sources s on s.source_id = sp.source_id
left join tracker.boards b on b.source_id = sp.source_id and b.id = sp.board_id
left join (
  select
    m.source_id,
    m.sprint_id,
    count(*) filter (where m.is_member) as member_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_member) as member_points,
    count(*) filter (where m.is_committed) as committed_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_committed) as committed_points,
    count(*) filter (where m.came_late and not m.is_committed) as added_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.came_late and not m.is_committed) as added_points,
    count(*) filter (where (m.is_committed or m.came_late) and not m.is_in_at_end) as removed_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where (m.is_committed or m.came_late) and not m.is_in_at_end) as removed_points,
    count(*) filter (where m.is_in_at_end and m.category_at_end = 'done') as done_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_in_at_end and m.category_at_end = 'done') as done_points,
    count(*) filter (where m.is_in_at_end and m.category_at_end <> 'done') as carried_over_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_in_at_end and m.category_at_end <> 'done') as carried_over_points
  from tracker.sprint_members m
  group by m.source_id, m.sprint_id
) a on a.source_id = sp.source_id and a.sprint_id = sp.id::text
where sp._deleted_at is null;

comment on view bi.sprints is 'Velocity and predictability; one row per live sprint. Issues count by where they were when the sprint started and ended; points are those of today.';
comment on column bi.sprints.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.sprints.sprint_id is 'Sprint id.';
comment on column bi.sprints.sprint_name is 'Name.';
comment on column bi.sprints.sprint_state is 'future, active or closed.';
comment on column bi.sprints.board_id is 'Id of the board it was created on.';
comment on column bi.sprints.board_name is 'Name of that board.';
comment on column bi.sprints.goal is 'Sprint goal.';
comment on column bi.sprints.start_at is 'When it starts or started (UTC); null if not planned yet.';
comment on column bi.sprints.end_at is 'When it is planned to end (UTC).';
comment on column bi.sprints.completed_at is 'When it was closed (UTC); null while it is open.';
comment on column bi.sprints.member_issues is 'Issues in it now; a closed sprint keeps its issues.';
comment on column bi.sprints.committed_issues is 'Issues in it when it started; 0 before that.';
comment on column bi.sprints.added_issues is 'Issues that came after the start and before the end.';
comment on column bi.sprints.removed_issues is 'Of the committed and added ones, those not in it at its end.';
comment on column bi.sprints.done_issues is 'Issues in it and done at its end; of an active sprint, now.';
comment on column bi.sprints.carried_over_issues is 'Issues in it and not done at its end; of an active sprint, now.';
comment on column bi.sprints.member_points is 'Story points of member_issues.';
comment on column bi.sprints.committed_points is 'Story points of committed_issues.';
comment on column bi.sprints.added_points is 'Story points of added_issues.';
comment on column bi.sprints.removed_points is 'Story points of removed_issues.';
comment on column bi.sprints.done_points is 'Story points of done_issues.';
comment on column bi.sprints.carried_over_points is 'Story points of carried_over_issues.';
comment on column bi.sprints.done_to_committed_ratio is 'done_points by committed_points; may exceed 1; null without committed points.';
comment on column bi.sprints.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
