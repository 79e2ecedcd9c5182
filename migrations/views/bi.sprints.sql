create or replace view bi.sprints with (security_barrier) as -- Velocity and predictability; one row per live sprint. Issues count by where they were when the sprint started and ended; points are those of that moment.
select
  s.name as source,
  sp.id::text as sprint_id, -- Sprint id.
  sp.name as sprint_name,
  sp.state as sprint_state,
  sp.board_id::text as board_id,
  b.name as board_name,
  sp.goal, -- Sprint goal.
  sp.start_at,
  sp.end_at,
  case when not sp.state in ('active', 'future') then sp.completed_at end as completed_at, -- When it was closed (UTC); null while it is open.
  a.member_issues, -- Issues in it now; a closed sprint keeps its issues.
  a.committed_issues, -- Issues in it when it started; 0 before that.
  a.added_issues, -- Issues that came after the start and before the end.
  a.removed_issues, -- Of the committed and added ones, those not in it at its end.
  a.done_issues, -- Issues in it and done at its end; of an active sprint, now.
  a.carried_over_issues, -- Issues in it and not done at its end; of an active sprint, now.
  a.member_points::numeric(28,4) as member_points, -- Story points of member_issues, as of now.
  a.committed_points::numeric(28,4) as committed_points, -- Story points of committed_issues when the sprint started.
  a.added_points::numeric(28,4) as added_points, -- Story points of added_issues when they came.
  a.removed_points::numeric(28,4) as removed_points, -- Story points of removed_issues when they left.
  a.done_points::numeric(28,4) as done_points, -- Story points of done_issues at the end of the sprint.
  a.carried_over_points::numeric(28,4) as carried_over_points, -- Story points of carried_over_issues at the end of the sprint.
  round(a.done_points::numeric(28,4) / nullif(a.committed_points, 0), 4)::numeric(28,4) as done_to_committed_ratio, -- done_points by committed_points; may exceed 1; null without committed points.
  sp._synced_at as synced_at,
  a.reestimated_points::numeric(28,4) as reestimated_points, -- By how much committed and added issues were estimated anew: committed + added + reestimated - removed = done + carried over.
  (sp.start_at at time zone ops.reporting_time_zone())::date as start_date, -- Day of start_at in the reporting time zone.
  (
    case when not sp.state in ('active', 'future') then sp.completed_at end at time zone ops.reporting_time_zone()
  )::date as completed_date -- Day of completed_at in the reporting time zone.
from tracker.shown_sprints sp
join ops.sources s on s.source_id = sp.source_id
left join tracker.boards b on b.source_id = sp.source_id and b.id = sp.board_id
cross join lateral (
  select
    count(*) filter (where f.removed_at is null) as member_issues,
    count(*) filter (where f.is_committed) as committed_issues,
    count(*) filter (where f.is_added) as added_issues,
    count(*) filter (where (f.is_committed or f.is_added) and not f.is_in_at_end) as removed_issues,
    count(*) filter (where f.is_in_at_end and f.category_at_end = 'done') as done_issues,
    count(*) filter (where f.is_in_at_end and f.category_at_end <> 'done') as carried_over_issues,
    coalesce(
      sum(
        (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4)
      ) filter (where f.removed_at is null),
      0
    ) as member_points,
    coalesce(sum(f.points_in) filter (where f.is_committed), 0) as committed_points,
    coalesce(sum(f.points_in) filter (where f.is_added), 0) as added_points,
    coalesce(
      sum(f.points_out) filter (where (f.is_committed or f.is_added) and not f.is_in_at_end), 0
    ) as removed_points,
    coalesce(sum(f.points_out) filter (where f.is_in_at_end and f.category_at_end = 'done'), 0) as done_points,
    coalesce(
      sum(f.points_out) filter (where f.is_in_at_end and f.category_at_end <> 'done'), 0
    ) as carried_over_points,
    coalesce(
      sum(coalesce(f.points_out, 0) - coalesce(f.points_in, 0)) filter (where f.is_committed or f.is_added), 0
    ) as reestimated_points
  from tracker.sprint_issue_facts f
  join tracker.shown_issues i on i.source_id = f.source_id and i.id = f.issue_id
  where f.source_id = sp.source_id and f.sprint_id = sp.id
) a
where sp._deleted_at is null;
