create or replace view bi.sprint_burndown_daily with (security_barrier) as -- Burndown and burnup; one row per started sprint and day, from its start until it was closed, or today; without gaps since 2000. What a day says is as of its end; the last day of a closed sprint as of its closing.
select
  s.name as source,
  sp.id::text as sprint_id, -- The sprint, see bi.sprints.sprint_id.
  sp.name as sprint_name,
  sp.state as sprint_state,
  sp.board_id::text as board_id,
  b.name as board_name,
  d.date_day,
  (d.date_day - bound.first_day)::integer as day_number, -- Days since the day of its start.
  d.scope_issues, -- Issues in the sprint. A level: do not sum it over days.
  d.remaining_issues, -- Issues in the sprint that are not done. A level: do not sum it over days.
  d.scope_issues - d.remaining_issues as done_issues, -- Issues in the sprint that are done. A level: do not sum it over days.
  d.scope_points::numeric(28,4) as scope_points, -- Story points of the issues in the sprint, as estimated then. A level: do not sum it over days.
  d.remaining_points::numeric(28,4) as remaining_points, -- Story points of the issues that are not done, as estimated then. A level: do not sum it over days.
  (d.scope_points - d.remaining_points)::numeric(28,4) as done_points, -- Story points of the issues that are done, as estimated then. A level: do not sum it over days.
  round(
    (
      first_value(d.scope_points) over (partition by sp.source_id, sp.id order by d.date_day)
      * greatest(0, bound.planned_day - d.date_day)
    ) / nullif(bound.planned_day - bound.first_day, 0),
    4
  )::numeric(28,4) as ideal_points, -- Where a straight line from the scope of the first day to 0 at the planned end would be. A level: do not sum it over days.
  bound.first_day as start_date, -- Day on which the sprint started, in the reporting time zone.
  bound.planned_day as planned_end_date -- Day on which it is planned to end, in the reporting time zone: where the ideal line meets 0, also while there are no rows yet.
from tracker.shown_sprints sp
join ops.sources s on s.source_id = sp.source_id
left join tracker.boards b on b.source_id = sp.source_id and b.id = sp.board_id
cross join lateral (
  select
    tracker.reporting_day(sp.start_at) as first_day,
    tracker.reporting_day(coalesce(sp.end_at, sp.completed_at)) as planned_day,
    least(
      tracker.reporting_day(
        case
          when sp.state = 'active' then now()
          else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())
        end
      ),
      tracker.reporting_day(now())
    ) as last_day
) bound
cross join lateral (
  select
    e.date_day,
    sum(sum(e.scope_issues)) over (order by e.date_day)::bigint as scope_issues,
    sum(sum(e.remaining_issues)) over (order by e.date_day)::bigint as remaining_issues,
    sum(sum(e.scope_points)) over (order by e.date_day) as scope_points,
    sum(sum(e.remaining_points)) over (order by e.date_day) as remaining_points
  from (
    select date_day, scope_issues, remaining_issues, scope_points, remaining_points
    from tracker.sprint_burndown_changes
    where source_id = sp.source_id and sprint_id = sp.id
    union all
    -- A row for every day, also where nothing changed; of a sprint that starts in the year 1, since 2000.
    select filler.at::date, 0, 0, 0, 0
    from generate_series(
      greatest(bound.first_day, date '2000-01-01')::timestamp, bound.last_day::timestamp, interval '1 day'
    ) as filler (at)
  ) e
  where e.date_day <= bound.last_day
  group by e.date_day
) d
where sp._deleted_at is null and sp.state <> 'future';
