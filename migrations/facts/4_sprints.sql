-- What follows from sprints: how issues fared in them, and their burndown. All of it is read from the stored intervals
-- (3_intervals.sql).

set local check_function_bodies = off;

drop type if exists tracker.membership, tracker.estimate cascade;

-- The time that an issue was in a sprint. `start_at`, `ends_at`: bounds of a sprint that has started; null of others.
-- `infinity`: it still is, or the sprint has no end yet.
create type tracker.membership as (
  issue_id bigint, sprint_id bigint, added_at timestamptz, removed_at timestamptz, start_at timestamptz, ends_at timestamptz
);

-- Story points of an issue for a time; `infinity`: still.
create type tracker.estimate as (issue_id bigint, points numeric, valid_from timestamptz, valid_to timestamptz);

-- When issues were in which sprint, from the intervals of lists (`tracker.list_values`).
create or replace function tracker.memberships_of(of_source smallint, lists tracker.issue_value_intervals[])
returns setof tracker.membership
language sql stable as $$
  select
    m.issue_id, m.value_id::bigint, m.valid_from, coalesce(m.valid_to, 'infinity'), sp.start_at, sp.ends_at
  from unnest(lists) m
  left join lateral (
    select
      start_at,
      case
        when state = 'active' then 'infinity'
        else coalesce(completed_at, case state when 'closed' then end_at end, 'infinity')
      end as ends_at
    from tracker.shown_sprints
    where source_id = of_source and id = m.value_id::bigint and state <> 'future' and _deleted_at is null
    offset 0
  ) sp on true
  where m.field_name = 'sprint' and m.value_id ~ '^[0-9]{1,18}$';
$$;

-- Story points of issues over time, from the intervals of single fields (`tracker.single_values`). An issue without
-- changes has those of today from the start.
create or replace function tracker.estimates(
  issues tracker.issue_now[], singles tracker.issue_value_intervals[]
) returns setof tracker.estimate
language sql stable set plan_cache_mode = force_generic_plan
set enable_hashjoin = on set enable_nestloop = off set enable_mergejoin = off as $$
  with changed as (
    select v.issue_id, v.value_text, v.valid_from, v.valid_to
    from unnest(singles) v
    join unnest(issues) i on i.id = v.issue_id
    where v.field_name = 'story_points'
  )
  select issue_id, tracker.points_of(value_text), valid_from, coalesce(valid_to, 'infinity') from changed
  union all
  select i.id, (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18, 4), '-infinity', 'infinity'
  from unnest(issues) i
  left join changed c on c.issue_id = i.id
  where c.issue_id is null;
$$;

-- The stored intervals of these issues in one field.
create or replace function tracker.stored_values(of_source smallint, ids bigint[], field text)
returns setof tracker.issue_value_intervals
language sql stable as $$
  select v.*
  from unnest(ids) as t (id)
  cross join lateral (
    select * from tracker.issue_value_intervals
    where source_id = of_source and issue_id = t.id and field_name = field
    offset 0
  ) v;
$$;

-- How issues fared in their sprints, from what `tracker.memberships_of` and `tracker.estimates` give of them.
create or replace function tracker.sprint_figures(
  of_source smallint, memberships tracker.membership[], estimates tracker.estimate[]
) returns setof tracker.sprint_issue_facts
language sql stable as $$
  with member as (
    select
      issue_id, sprint_id, start_at, ends_at,
      min(added_at) as added_at,
      max(removed_at) as removed_at,
      coalesce(bool_or(added_at <= start_at and removed_at > start_at), false) as is_committed,
      min(added_at) filter (where added_at > start_at and added_at < ends_at) as came_at,
      coalesce(bool_or(added_at < ends_at and removed_at >= ends_at), false) as is_in_at_end,
      max(removed_at) filter (where removed_at < ends_at and removed_at > start_at) as went_at
    from unnest(memberships)
    group by issue_id, sprint_id, start_at, ends_at
  ),
  moment as (
    select
      *,
      case when is_committed then start_at else came_at end as in_at,
      case when is_in_at_end then ends_at when is_committed or came_at is not null then went_at end as out_at
    from member
  )
  select
    of_source, m.issue_id, m.sprint_id, m.added_at, nullif(m.removed_at, 'infinity'),
    m.is_committed, not m.is_committed and m.came_at is not null, m.is_in_at_end,
    coalesce(
      (
        select s.category
        from tracker.issue_status_intervals s
        where s.source_id = of_source and s.issue_id = m.issue_id
          and s.entered_at <= coalesce(m.ends_at, 'infinity')
          and coalesce(s.left_at > m.ends_at, s.left_at is null)
        order by s.sequence desc
        limit 1
      ),
      'unknown'
    ),
    max(e.points) filter (where m.in_at >= e.valid_from and m.in_at < e.valid_to),
    max(e.points) filter (where m.out_at >= e.valid_from and (m.out_at < e.valid_to or e.valid_to = 'infinity'))
  from moment m
  join unnest(estimates) e on e.issue_id = m.issue_id
  group by
    m.issue_id, m.sprint_id, m.start_at, m.ends_at, m.added_at, m.removed_at, m.is_committed, m.came_at,
    m.is_in_at_end, m.in_at, m.out_at;
$$;

-- By how much issues changed the scope and the remaining work of their sprints, day by day.
create or replace function tracker.burndown_changes(
  of_source smallint, memberships tracker.membership[], estimates tracker.estimate[]
) returns setof tracker.sprint_burndown_changes
language sql stable as $$
  -- Time in the sprint with one estimate, and the part of it that was not done.
  with planned as (
    select
      t.issue_id, t.sprint_id, t.start_at, t.ends_at, coalesce(e.points, 0) as points,
      greatest(t.added_at, e.valid_from) as since, least(t.removed_at, e.valid_to) as until
    from unnest(memberships) t
    join unnest(estimates) e
      on e.issue_id = t.issue_id and e.valid_from < t.removed_at and e.valid_to > t.added_at
    where t.start_at is not null
  ),
  segment as (
    select p.*, false as is_remaining, p.until < p.ends_at as is_over from planned p
    union all
    select
      p.issue_id, p.sprint_id, p.start_at, p.ends_at, p.points,
      greatest(p.since, s.entered_at), least(p.until, s.left_at), true,
      p.until < p.ends_at or coalesce(s.left_at <= p.ends_at, false)
    from planned p
    cross join lateral (
      select entered_at, left_at from tracker.issue_status_intervals
      where source_id = of_source and issue_id = p.issue_id and category <> 'done'
      offset 0
    ) s
    where s.entered_at < p.until and coalesce(s.left_at, 'infinity') > p.since
  )
  select
    of_source, g.issue_id, g.sprint_id, part.date_day,
    coalesce(sum(part.change) filter (where not g.is_remaining), 0)::integer,
    coalesce(sum(part.change * g.points) filter (where not g.is_remaining), 0),
    coalesce(sum(part.change) filter (where g.is_remaining), 0)::integer,
    coalesce(sum(part.change * g.points) filter (where g.is_remaining), 0)
  from segment g
  cross join lateral (
    values
      (tracker.reporting_day(greatest(g.since, g.start_at)), 1),
      (case when g.is_over then tracker.reporting_day(greatest(g.until, g.start_at)) end, -1)
  ) as part (date_day, change)
  where g.since < g.ends_at and g.since < g.until and part.date_day is not null
  group by g.issue_id, g.sprint_id, part.date_day
  having sum(part.change) filter (where not g.is_remaining) <> 0
    or sum(part.change) filter (where g.is_remaining) <> 0
    or sum(part.change * g.points) filter (where not g.is_remaining) <> 0
    or sum(part.change * g.points) filter (where g.is_remaining) <> 0;
$$;

-- The same by hand, from what is stored: `select * from tracker.memberships(1::smallint, '{10001}')`.
create or replace function tracker.memberships(of_source smallint, ids bigint[]) returns setof tracker.membership
language sql stable as $$
  select * from tracker.memberships_of(of_source, array(select v from tracker.stored_values(of_source, ids, 'sprint') v));
$$;

create or replace function tracker.estimates(of_source smallint, ids bigint[]) returns setof tracker.estimate
language sql stable as $$
  select * from tracker.estimates(
    array(select i from tracker.issues_now(of_source, ids) i),
    array(select v from tracker.stored_values(of_source, ids, 'story_points') v)
  );
$$;

create or replace function tracker.sprint_figures(of_source smallint, ids bigint[])
returns setof tracker.sprint_issue_facts
language sql stable as $$
  select * from tracker.sprint_figures(
    of_source, array(select m from tracker.memberships(of_source, ids) m),
    array(select e from tracker.estimates(of_source, ids) e)
  );
$$;

create or replace function tracker.burndown_changes(of_source smallint, ids bigint[])
returns setof tracker.sprint_burndown_changes
language sql stable as $$
  select * from tracker.burndown_changes(
    of_source, array(select m from tracker.memberships(of_source, ids) m),
    array(select e from tracker.estimates(of_source, ids) e)
  );
$$;
