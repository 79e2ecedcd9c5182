create or replace view bi.sprints with (security_barrier) as
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
  a.member_issues,
  a.committed_issues,
  a.added_issues,
  a.removed_issues,
  a.done_issues,
  a.carried_over_issues,
  a.member_points::numeric(28,4) as member_points,
  a.committed_points::numeric(28,4) as committed_points,
  a.added_points::numeric(28,4) as added_points,
  a.removed_points::numeric(28,4) as removed_points,
  a.done_points::numeric(28,4) as done_points,
  a.carried_over_points::numeric(28,4) as carried_over_points,
  round(a.done_points::numeric(28,4) / nullif(a.committed_points, 0), 4)::numeric(28,4) as done_to_committed_ratio,
  sp._synced_at as synced_at,
  a.reestimated_points::numeric(28,4) as reestimated_points,
  (sp.start_at at time zone ops.reporting_time_zone())::date as start_date,
  (
    case when not sp.state in ('active', 'future') then sp.completed_at end at time zone ops.reporting_time_zone()
  )::date as completed_date
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

comment on view bi.sprints is 'Velocity and predictability; one row per live sprint. Issues count by where they were when the sprint started and ended; points are those of that moment.';
comment on column bi.sprints.sprint_id is 'Sprint id.';
comment on column bi.sprints.goal is 'Sprint goal.';
comment on column bi.sprints.completed_at is 'When it was closed (UTC); null while it is open.';
comment on column bi.sprints.member_issues is 'Issues in it now; a closed sprint keeps its issues.';
comment on column bi.sprints.committed_issues is 'Issues in it when it started; 0 before that.';
comment on column bi.sprints.added_issues is 'Issues that came after the start and before the end.';
comment on column bi.sprints.removed_issues is 'Of the committed and added ones, those not in it at its end.';
comment on column bi.sprints.done_issues is 'Issues in it and done at its end; of an active sprint, now.';
comment on column bi.sprints.carried_over_issues is 'Issues in it and not done at its end; of an active sprint, now.';
comment on column bi.sprints.member_points is 'Story points of member_issues, as of now.';
comment on column bi.sprints.committed_points is 'Story points of committed_issues when the sprint started.';
comment on column bi.sprints.added_points is 'Story points of added_issues when they came.';
comment on column bi.sprints.removed_points is 'Story points of removed_issues when they left.';
comment on column bi.sprints.done_points is 'Story points of done_issues at the end of the sprint.';
comment on column bi.sprints.carried_over_points is 'Story points of carried_over_issues at the end of the sprint.';
comment on column bi.sprints.done_to_committed_ratio is 'done_points by committed_points; may exceed 1; null without committed points.';
comment on column bi.sprints.reestimated_points is 'By how much committed and added issues were estimated anew: committed + added + reestimated - removed = done + carried over.';
comment on column bi.sprints.start_date is 'Day of start_at in the reporting time zone.';
comment on column bi.sprints.completed_date is 'Day of completed_at in the reporting time zone.';
