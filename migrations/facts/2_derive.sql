-- How facts follow from issues and their history. Each function looks its issues up by key (`offset 0` keeps the
-- planner to it), because a load runs with young statistics; sets in memory are joined by hash.

-- What a function gives or takes cannot be replaced.
drop function if exists tracker.derive_flow(smallint, bigint[]);
drop function if exists tracker.derive_sprints(smallint, bigint[]);

create or replace function tracker.reporting_day(moment timestamptz) returns date
immutable parallel safe return (moment at time zone ops.reporting_time_zone())::date;

-- Status intervals, facts, flow and the values of single fields of these issues of a source. True where some of them
-- had facts before.
create or replace function tracker.derive_flow(of_source smallint, touched bigint[]) returns boolean
language plpgsql set enable_hashjoin = on as $$
declare
  followed text[] := array(
    select field_id from tracker.followed_fields where source_id = of_source and not is_list and field_id is not null
  );
  have_facts boolean;
  changes tracker.issue_changelog[];
  stays tracker.issue_status_intervals[];
  flows tracker.flow_daily[];
begin
  -- Two writers of the same issues take turns.
  perform from tracker.issue_facts
  where source_id = of_source and issue_id = any (touched)
  order by issue_id
  for update;
  have_facts := found;

  changes := array(
    select c
    from unnest(touched) as t (id)
    cross join lateral (
      select *
      from tracker.issue_changelog
      where source_id = of_source and issue_id = t.id and (field_id = 'status' or field_id = any (followed))
      offset 0
    ) c
  );
  stays := array(
    with issue as (
      select i.*, st.category
      from unnest(touched) as t (id)
      cross join lateral (
        select id, project_id, status_id, created_at, creator_id, resolved_at
        from tracker.shown_issues
        where source_id = of_source and id = t.id
        offset 0
      ) i
      left join tracker.statuses st on st.source_id = of_source and st.id = i.status_id
    ),
    change as (
      select c.*, row_number() over history as nth, lead(c.changed_at) over history as next_at
      from unnest(changes) c
      where c.field_id = 'status'
      window history as (partition by c.issue_id order by c.changed_at, c.history_id, c.item)
    ),
    stay as (
      -- Until the first change.
      select
        i.id as issue_id, i.project_id, i.created_at, 0::bigint as sequence,
        f.from_id as status_ref, f.from_text as status_text,
        i.created_at as entered_at, f.changed_at as left_at, i.creator_id as entered_by
      from issue i
      join change f on f.issue_id = i.id and f.nth = 1
      union all
      -- Without any change: the status of today, of a done issue since it was resolved.
      select
        i.id, i.project_id, i.created_at, part.sequence,
        case when part.sequence = 1 or done.since is null then i.status_id::text end, null,
        case when part.sequence = 1 then done.since else i.created_at end,
        case when part.sequence = 0 then done.since end,
        case when part.sequence = 0 then i.creator_id end
      from issue i
      left join change f on f.issue_id = i.id and f.nth = 1
      cross join lateral (
        select case when i.category = 'done' and i.resolved_at > i.created_at then i.resolved_at end as since
      ) done
      cross join (values (0), (1)) as part (sequence)
      where f.issue_id is null and (part.sequence = 0 or done.since is not null)
      union all
      select c.issue_id, i.project_id, i.created_at, c.nth, c.to_id, c.to_text, c.changed_at, c.next_at, c.author_id
      from change c
      join issue i on i.id = c.issue_id
    ),
    meant as (
      select s.*, coalesce(st.category, 'unknown') as category
      from stay s
      left join tracker.statuses st
        on st.source_id = of_source
          and st.id = case when s.status_ref ~ '^[0-9]{1,18}$' then s.status_ref::bigint end
    )
    select row(
        of_source, m.issue_id, m.sequence, m.project_id, m.status_ref, m.status_text, m.category,
        lag(m.category) over (partition by m.issue_id order by m.sequence), m.entered_at, m.left_at, m.entered_by,
        tracker.reporting_day(greatest(m.entered_at, m.created_at)),
        tracker.reporting_day(case when m.left_at is not null then greatest(m.left_at, m.created_at) end)
      )::tracker.issue_status_intervals
    from meant m
  );

  with written as (
    insert into tracker.flow_daily as d (source_id, project_id, category, date_day, change)
    select of_source, e.project_id, e.category, e.date_day, sum(e.change)
    from (
      select o.project_id, o.category, part.date_day, part.change
      from unnest(case when have_facts then touched end) as t (id)
      cross join lateral (
        select project_id, category, entered_date, left_date
        from tracker.issue_status_intervals
        where source_id = of_source and issue_id = t.id
        offset 0
      ) o
      cross join lateral (values (o.entered_date, -1), (o.left_date, 1)) as part (date_day, change)
      union all
      select s.project_id, s.category, part.date_day, part.change
      from unnest(stays) s
      cross join lateral (values (s.entered_date, 1), (s.left_date, -1)) as part (date_day, change)
    ) e
    where e.date_day is not null
    group by e.project_id, e.category, e.date_day
    having sum(e.change) <> 0
    order by e.project_id, e.category, e.date_day
    on conflict (source_id, project_id, category, date_day) do update set change = d.change + excluded.change
    returning d.*
  )
  select array_agg(w::tracker.flow_daily) filter (where w.change = 0) into flows from written w;
  delete from tracker.flow_daily d
  using unnest(flows) f
  where d.source_id = of_source
    and d.project_id = f.project_id
    and d.category = f.category
    and d.date_day = f.date_day
    and d.change = 0;

  if have_facts then
    delete from tracker.issue_status_intervals where source_id = of_source and issue_id = any (touched);
    delete from tracker.issue_facts where source_id = of_source and issue_id = any (touched);
    delete from tracker.issue_value_intervals where source_id = of_source and issue_id = any (touched);
  end if;
  insert into tracker.issue_status_intervals select s.* from unnest(stays) s;

  insert into tracker.issue_facts
  select
    of_source, i.id,
    case
      -- The first change took it from an assignee, or there was no change: it was assigned when it was created.
      when h.taken_at <= h.given_at or (h.assignee_changes is null and i.assignee_id is not null) then i.created_at
      else h.assigned_at
    end,
    s.first_started_at, s.first_done_at, s.last_done_at, s.is_done, s.current_category, s.current_since,
    s.todo_seconds, s.in_progress_seconds, s.status_changes, s.reopen_count,
    coalesce(h.assignee_changes, 0), coalesce(h.priority_changes, 0), c.comments, c.last_at, c.first_response_at
  from (
    select
      issue_id,
      min(entered_at) filter (where category = 'in_progress') as first_started_at,
      min(entered_at) filter (where category = 'done') as first_done_at,
      max(entered_at) filter (where category = 'done' and previous_category is distinct from 'done') as last_done_at,
      bool_or(left_at is null and category = 'done') as is_done,
      max(category) filter (where left_at is null) as current_category,
      max(entered_at) filter (where left_at is null) as current_since,
      coalesce(
        sum(greatest(0, extract(epoch from left_at - entered_at))) filter (where category = 'todo'), 0
      ) as todo_seconds,
      coalesce(
        sum(greatest(0, extract(epoch from left_at - entered_at))) filter (where category = 'in_progress'), 0
      ) as in_progress_seconds,
      count(*) - 1 as status_changes,
      count(*) filter (where previous_category = 'done' and category <> 'done') as reopen_count
    from unnest(stays)
    group by issue_id
  ) s
  cross join lateral (
    select id, assignee_id, reporter_id, created_at from tracker.issues
    where source_id = of_source and id = s.issue_id
    offset 0
  ) i
  left join (
    select
      issue_id,
      nullif(count(*) filter (where field_id = 'assignee'), 0) as assignee_changes,
      count(*) filter (where field_id = 'priority') as priority_changes,
      min(changed_at) filter (where field_id = 'assignee' and to_id <> '') as assigned_at,
      min(changed_at) filter (where field_id = 'assignee' and from_id <> '') as taken_at,
      coalesce(
        min(changed_at) filter (where field_id = 'assignee' and coalesce(from_id, '') = ''), 'infinity'
      ) as given_at
    from unnest(changes)
    where field_id in ('assignee', 'priority')
    group by issue_id
  ) h on h.issue_id = s.issue_id
  cross join lateral (
    select
      count(*) as comments,
      max(created_at) as last_at,
      min(created_at) filter (
        where author_id is distinct from i.reporter_id and is_public is not false
      ) as first_response_at
    from tracker.comments
    where source_id = of_source and issue_id = s.issue_id and _deleted_at is null
  ) c;

  with value as (
    select
      c.issue_id, f.field_name, f.field_id, c.changed_at, c.from_id, c.from_text, c.to_id, c.to_text,
      i.created_at, i.assignee_id, i.priority_id, i.priority, i.story_points,
      row_number() over history as nth,
      lead(c.changed_at) over history as next_at
    from unnest(changes) c
    join tracker.followed_fields f on f.source_id = of_source and f.field_id = c.field_id and not f.is_list
    cross join lateral (
      select created_at, assignee_id, priority_id, priority, story_points
      from tracker.shown_issues
      where source_id = of_source and id = c.issue_id
      offset 0
    ) i
    window history as (partition by c.issue_id, f.field_name order by c.changed_at, c.history_id, c.item)
  )
  insert into tracker.issue_value_intervals
  select
    of_source, v.issue_id, v.field_name, v.field_id,
    nullif(v.from_id, ''), nullif(v.from_text, ''), v.created_at, v.changed_at
  from value v
  where v.nth = 1
  union all
  -- The last value is the one that the issue has.
  select
    of_source, v.issue_id, v.field_name, v.field_id,
    case
      when v.next_at is not null or v.field_name not in ('assignee', 'priority', 'story_points') then nullif(v.to_id, '')
      when v.field_name = 'assignee' then v.assignee_id
      when v.field_name = 'priority' then v.priority_id::text
    end,
    case
      when v.next_at is not null or v.field_name not in ('assignee', 'priority', 'story_points') then nullif(v.to_text, '')
      when v.field_name = 'priority' then v.priority
      when v.field_name = 'story_points' then v.story_points::text
    end,
    v.changed_at, v.next_at
  from value v;
  return have_facts;
end
$$;

-- Everything that follows from sprints and lists, of these issues of a source; after `derive_flow`.
create or replace function tracker.derive_sprints(of_source smallint, touched bigint[], have_facts boolean default true)
returns void
language plpgsql set enable_hashjoin = on as $$
declare
  sprint_fields text[] := coalesce((select f.sprint_fields from tracker.fact_fields f where source_id = of_source), '{}');
  points_fields text[] := coalesce((select f.points_fields from tracker.fact_fields f where source_id = of_source), '{}');
begin
  if have_facts then
    perform from tracker.issue_facts
    where source_id = of_source and issue_id = any (touched)
    order by issue_id
    for update;
    delete from tracker.sprint_issue_facts where source_id = of_source and issue_id = any (touched);
    delete from tracker.sprint_burndown_changes where source_id = of_source and issue_id = any (touched);
    delete from tracker.issue_value_intervals
    where source_id = of_source and issue_id = any (touched) and field_name in ('sprint', 'fix_versions');
  end if;

  with issue as (
    select i.*
    from unnest(touched) as t (id)
    cross join lateral (
      select
        id, created_at, updated_at,
        (case when abs(story_points) < 1e13 then story_points end)::numeric(18, 4) as points
      from tracker.shown_issues
      where source_id = of_source and id = t.id
      offset 0
    ) i
  ),
  -- What the issue has now.
  listed as (
    select i.id as issue_id, l.field_name, l.ref, max(l.name) as name
    from issue i
    cross join lateral (
      select 'sprint' as field_name, sprint_id as ref, name
      from tracker.issue_sprints
      where source_id = of_source and issue_id = i.id
      union all
      select 'sprint', sprint_id, null from tracker.sprint_issues where source_id = of_source and issue_id = i.id
      union all
      select 'fix_versions', version_id, name
      from tracker.issue_versions
      where source_id = of_source and issue_id = i.id and kind = 'fix'
      offset 0
    ) l
    group by i.id, l.field_name, l.ref
  ),
  change as (
    select i.id as issue_id, c.*
    from issue i
    cross join lateral (
      select
        history_id, item, changed_at, from_id, from_text, to_id, to_text,
        case
          when field_id = any (points_fields) then 'story_points'
          when field_id in ('fixVersions', 'Fix Version') then 'fix_versions'
          else 'sprint'
        end as field_name
      from tracker.issue_changelog
      where source_id = of_source and issue_id = i.id and (
        field_id = any (sprint_fields)
        or field_id = any (points_fields)
        or field_id in ('fixVersions', 'Fix Version')
        or (field_name = 'Sprint' and cardinality(sprint_fields) = 0)
      )
      offset 0
    ) c
  ),
  -- Every value that came into a list or went from it.
  move as (
    select
      c.issue_id, c.field_name, part.ref, part.name, part.is_in, c.changed_at, c.history_id, c.item,
      lag(part.is_in) over moves as was_in
    from change c
    cross join lateral (
      select
        string_to_array(replace(coalesce(c.from_id, ''), ' ', ''), ',') as former,
        string_to_array(replace(coalesce(c.to_id, ''), ' ', ''), ',') as present
    ) list
    cross join lateral (
      select ref, case when cardinality(list.present) = 1 then c.to_text end as name, true as is_in
      from unnest(list.present) ref
      where ref <> all (list.former)
      union all
      select ref, case when cardinality(list.former) = 1 then c.from_text end, false
      from unnest(list.former) ref
      where ref <> all (list.present)
    ) part
    where c.field_name <> 'story_points' and part.ref <> ''
    window moves as (
      partition by c.issue_id, c.field_name, part.ref order by c.changed_at, c.history_id, c.item
    )
  ),
  turn as (
    select
      issue_id, field_name, ref, name, is_in, changed_at,
      row_number() over turns = 1 as is_first,
      lead(changed_at) over turns as next_at
    from move
    where was_in is distinct from is_in
    window turns as (partition by issue_id, field_name, ref order by changed_at, history_id, item)
  ),
  -- Values of lists over time. What is there and came by no change was there from the start.
  stay as (
    select issue_id, field_name, ref, name, changed_at as since, next_at as until, next_at is null as is_last
    from turn
    where is_in
    union all
    select t.issue_id, t.field_name, t.ref, t.name, i.created_at, t.changed_at, false
    from turn t
    join issue i on i.id = t.issue_id
    where t.is_first and not t.is_in
    union all
    select l.issue_id, l.field_name, l.ref::text, l.name, i.created_at, null, true
    from listed l
    join issue i on i.id = l.issue_id
    left join turn t on t.issue_id = l.issue_id and t.field_name = l.field_name and t.ref = l.ref::text and t.is_first
    where t.issue_id is null
  ),
  lists as (
    insert into tracker.issue_value_intervals
    select
      of_source, s.issue_id, s.field_name, null, s.ref, coalesce(l.name, s.name), s.since,
      -- No change took it away, but the issue no longer has it: it went before the issue was last read.
      case when s.is_last and l.issue_id is null then i.updated_at else s.until end
    from stay s
    join issue i on i.id = s.issue_id
    left join listed l on l.issue_id = s.issue_id and l.field_name = s.field_name and l.ref::text = s.ref
    union all
    -- The issue has it, although a change took it away: it came before the issue was last read.
    select of_source, t.issue_id, t.field_name, null, t.ref, coalesce(l.name, t.name), i.updated_at, null
    from turn t
    join issue i on i.id = t.issue_id
    join listed l on l.issue_id = t.issue_id and l.field_name = t.field_name and l.ref::text = t.ref
    where not t.is_in and t.next_at is null
  ),
  membership as (
    select issue_id, ref::bigint as sprint_id, since as added_at, coalesce(until, 'infinity') as removed_at
    from stay
    where field_name = 'sprint' and ref ~ '^[0-9]{1,18}$'
  ),
  estimated as (
    select
      c.issue_id, c.changed_at, c.from_text, c.to_text,
      row_number() over estimates as nth,
      lead(c.changed_at) over estimates as next_at
    from change c
    where c.field_name = 'story_points'
    window estimates as (partition by c.issue_id order by c.changed_at, c.history_id, c.item)
  ),
  -- Story points over time; the last value is the one that the issue has.
  estimate as (
    select
      e.issue_id, e.changed_at as valid_from, coalesce(e.next_at, 'infinity') as valid_to,
      case when e.next_at is null then i.points else tracker.points_of(e.to_text) end as points
    from estimated e
    join issue i on i.id = e.issue_id
    union all
    select
      i.id, '-infinity', coalesce(e.changed_at, 'infinity'),
      case when e.issue_id is null then i.points else tracker.points_of(e.from_text) end
    from issue i
    left join estimated e on e.issue_id = i.id and e.nth = 1
  ),
  -- With the bounds of sprints that have started; an open one has no end yet.
  timed as (
    select m.*, sp.start_at, sp.ends_at
    from membership m
    left join lateral (
      select
        start_at,
        case
          when state = 'active' then 'infinity'
          else coalesce(completed_at, case state when 'closed' then end_at end, 'infinity')
        end as ends_at
      from tracker.sprints
      where source_id = of_source and id = m.sprint_id and state <> 'future' and _deleted_at is null
      offset 0
    ) sp on true
  ),
  member as (
    select
      issue_id, sprint_id, start_at, ends_at,
      min(added_at) as added_at,
      max(removed_at) as removed_at,
      coalesce(bool_or(added_at <= start_at and removed_at > start_at), false) as is_committed,
      min(added_at) filter (where added_at > start_at and added_at < ends_at) as came_at,
      coalesce(bool_or(added_at < ends_at and removed_at >= ends_at), false) as is_in_at_end,
      max(removed_at) filter (where removed_at < ends_at and removed_at > start_at) as went_at
    from timed
    group by issue_id, sprint_id, start_at, ends_at
  ),
  moment as (
    select
      *,
      case when is_committed then start_at else came_at end as in_at,
      case when is_in_at_end then ends_at when is_committed or came_at is not null then went_at end as out_at
    from member
  ),
  facts as (
    insert into tracker.sprint_issue_facts
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
    join estimate e on e.issue_id = m.issue_id
    group by
      m.issue_id, m.sprint_id, m.start_at, m.ends_at, m.added_at, m.removed_at, m.is_committed, m.came_at,
      m.is_in_at_end, m.in_at, m.out_at
  ),
  -- Time in the sprint with one estimate, and the part of it that was not done.
  segment as (
    select
      t.issue_id, t.sprint_id, t.start_at, t.ends_at, coalesce(e.points, 0) as points, false as is_remaining,
      greatest(t.added_at, e.valid_from) as since, least(t.removed_at, e.valid_to) as until,
      least(t.removed_at, e.valid_to) < t.ends_at as is_over
    from timed t
    join estimate e on e.issue_id = t.issue_id and e.valid_from < t.removed_at and e.valid_to > t.added_at
    where t.start_at is not null
    union all
    select
      t.issue_id, t.sprint_id, t.start_at, t.ends_at, coalesce(e.points, 0), true,
      greatest(t.added_at, e.valid_from, s.entered_at), least(t.removed_at, e.valid_to, s.left_at),
      least(t.removed_at, e.valid_to) < t.ends_at or coalesce(s.left_at <= t.ends_at, false)
    from timed t
    join estimate e on e.issue_id = t.issue_id and e.valid_from < t.removed_at and e.valid_to > t.added_at
    cross join lateral (
      select entered_at, left_at from tracker.issue_status_intervals
      where source_id = of_source and issue_id = t.issue_id and category <> 'done'
      offset 0
    ) s
    where t.start_at is not null
      and s.entered_at < least(t.removed_at, e.valid_to)
      and coalesce(s.left_at, 'infinity') > greatest(t.added_at, e.valid_from)
  )
  insert into tracker.sprint_burndown_changes
  select
    of_source, g.issue_id, g.sprint_id, part.date_day,
    coalesce(sum(part.change) filter (where not g.is_remaining), 0),
    coalesce(sum(part.change * g.points) filter (where not g.is_remaining), 0),
    coalesce(sum(part.change) filter (where g.is_remaining), 0),
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
end
$$;

-- Story points as a change tells them; null where that is no number.
create or replace function tracker.points_of(value text) returns numeric immutable parallel safe
return (case when value ~ '^-?[0-9]{1,12}(\.[0-9]+)?$' then value::numeric end)::numeric(18, 4);

-- The facts of these issues of a source; part `sprints`: only what follows from sprints.
create or replace function tracker.derive(of_source smallint, touched bigint[], part text default 'all') returns void
language plpgsql as $$
declare
  part_ids bigint[];
  have_facts boolean := true;
begin
  for at in 1 .. coalesce(cardinality(touched), 0) by 5000 loop
    part_ids := touched[at : at + 4999];
    if part = 'all' then
      have_facts := tracker.derive_flow(of_source, part_ids);
    end if;
    perform tracker.derive_sprints(of_source, part_ids, have_facts);
  end loop;
end
$$;

-- Notes which fields of a source hold sprints and story points, and which are followed. True where that has changed.
create or replace function tracker.find_fields(of_source smallint) returns boolean
language plpgsql as $$
begin
  insert into tracker.fact_fields as t (source_id, sprint_fields, points_fields, followed_fields)
  select
    of_source,
    -- Servers that give no field ids name the field in their place.
    coalesce(array_agg(field_id order by field_id) filter (where field_name = 'sprint' and field_id <> 'Sprint'), '{}'),
    coalesce(array_agg(field_id order by field_id) filter (where field_name = 'story_points' and field_id <> ''), '{}'),
    coalesce(string_agg(concat_ws(' ', field_name, field_id), ', ' order by field_name, field_id), '')
  from tracker.followed_fields
  where source_id = of_source
  on conflict (source_id) do update set
    sprint_fields = excluded.sprint_fields,
    points_fields = excluded.points_fields,
    followed_fields = excluded.followed_fields
  where (t.sprint_fields, t.points_fields, t.followed_fields)
    is distinct from (excluded.sprint_fields, excluded.points_fields, excluded.followed_fields);
  return found;
end
$$;

-- Makes the facts of all issues anew. Gives how many issues have facts.
create or replace function tracker.derive_all() returns bigint
language plpgsql as $$
declare
  source record;
begin
  for source in select source_id from ops.sources order by source_id loop
    perform tracker.lock_facts(source.source_id, true);
    perform tracker.find_fields(source.source_id);
    delete from tracker.flow_daily where source_id = source.source_id;
    delete from tracker.issue_status_intervals where source_id = source.source_id;
    delete from tracker.issue_facts where source_id = source.source_id;
    delete from tracker.issue_value_intervals where source_id = source.source_id;
    delete from tracker.sprint_issue_facts where source_id = source.source_id;
    delete from tracker.sprint_burndown_changes where source_id = source.source_id;
    perform tracker.derive(
      source.source_id, array(select id from tracker.shown_issues where source_id = source.source_id order by id)
    );
  end loop;
  return (select count(*) from tracker.issue_facts);
end
$$;

-- Until the end of the transaction. Writers of issues share the lock; what changes facts of any issue (statuses,
-- sprints, fields) takes it alone.
create or replace function tracker.lock_facts(of_source smallint, alone boolean) returns void
language plpgsql as $$
begin
  -- Any number, as long as every version of this program uses the same.
  if alone then
    perform pg_advisory_xact_lock(723651109, of_source);
  else
    perform pg_advisory_xact_lock_shared(723651109, of_source);
  end if;
end
$$;
