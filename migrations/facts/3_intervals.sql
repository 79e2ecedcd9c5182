-- What follows from the changes of single fields and lists: the intervals in which a value held. The last value is the
-- one that the issue has. Where the changes end with another one, an interval is added.

set local check_function_bodies = off;

drop type if exists tracker.issue_now, tracker.comment_summary, tracker.listed_value cascade;

-- What an issue is now, as far as facts follow from it.
create type tracker.issue_now as (
  id bigint,
  project_id bigint,
  status_id bigint,
  is_done boolean,
  priority_id bigint,
  priority text,
  assignee_id text,
  reporter_id text,
  creator_id text,
  story_points numeric,
  created_at timestamptz,
  updated_at timestamptz,
  resolved_at timestamptz
);

-- These issues, those that bi shows.
create or replace function tracker.issues_now(of_source smallint, ids bigint[]) returns setof tracker.issue_now
language sql stable as $$
  select
    i.id, i.project_id, i.status_id, st.category = 'done', i.priority_id, i.priority, i.assignee_id, i.reporter_id,
    i.creator_id, i.story_points, i.created_at, i.updated_at, i.resolved_at
  from unnest(ids) as t (id)
  cross join lateral (
    select
      id, project_id, status_id, priority_id, priority, assignee_id, reporter_id, creator_id, story_points, created_at,
      updated_at, resolved_at
    from tracker.shown_issues
    where source_id = of_source and id = t.id
    offset 0
  ) i
  left join tracker.statuses st on st.source_id = of_source and st.id = i.status_id;
$$;

-- Since when an issue has a value that no change gave it: a done issue since it was resolved, unless it changed after
-- that; any other since the source last changed it.
create or replace function tracker.inferred_at(
  is_done boolean, resolved_at timestamptz, updated_at timestamptz, last_change_at timestamptz
) returns timestamptz immutable parallel safe
return case
  when is_done and resolved_at >= last_change_at then resolved_at
  else greatest(updated_at, last_change_at)
end;

-- Whether a value has or had a name. For the last change of an issue: of several values with a name it means the
-- issue's own.
create or replace function tracker.has_name(of_source smallint, of_kind text, of_id text, of_name text) returns boolean
language sql stable as $$
  select exists (
    select from tracker.value_names
    where source_id = of_source and kind = of_kind and name = btrim(of_name) and value_id = of_id
  );
$$;

-- Functions that join only arrays have one plan for all batches: with the arrays in it, planning would take a fifth of
-- the time. Without them Postgres does not know how many rows there are, so settings make it join by hash.

-- Stays in a status of issues, with the days that the flow counts. `issues` and `changes`: what `tracker.issues_now` and
-- `tracker.changes` give.
create or replace function tracker.status_stays(
  of_source smallint, issues tracker.issue_now[], changes tracker.field_change[]
) returns setof tracker.issue_status_intervals
language sql stable set plan_cache_mode = force_generic_plan
set enable_hashjoin = on set enable_nestloop = off set enable_mergejoin = off as $$
  with issue as (
    select i.*, i.status_id::text as status_ref, least(i.created_at, b.oldest_at) as began_at
    from unnest(issues) i
    left join (select issue_id, min(changed_at) as oldest_at from unnest(changes) group by issue_id) b on b.issue_id = i.id
  ),
  change as (
    select c.* from unnest(changes) c where c.field_name = 'status'
  ),
  turn as (
    select
      c.*, case
        when c.next_at is null and not c.is_own
          then tracker.inferred_at(c.is_done, c.resolved_at, c.updated_at, c.changed_at)
      end as inferred_at
    from (
      select
        c.issue_id, c.nth, c.to_id, c.to_text, c.to_named, c.changed_at, c.next_at, c.author_id, i.project_id,
        i.created_at, i.updated_at, i.resolved_at, i.is_done, i.status_ref as own_ref,
        case
          when c.next_at is not null then false
          -- Several statuses have the name of the last change, and the issue is in one of them.
          when c.to_named and c.to_id is null then tracker.has_name(of_source, 'status', i.status_ref, c.to_text)
          else c.to_id is not distinct from i.status_ref
        end as is_own
      from change c
      join issue i on i.id = c.issue_id
      offset 0
    ) c
  ),
  stay as (
    -- Until the first change.
    select
      i.id as issue_id, i.project_id, i.created_at, 0::bigint as sequence,
      f.from_id as status_ref, f.from_text as status_text,
      i.began_at as entered_at, f.changed_at as left_at, i.creator_id as entered_by,
      f.from_named and f.from_id is null as is_inferred
    from issue i
    join change f on f.issue_id = i.id and f.nth = 1
    union all
    -- Without any change: the status of today, of a done issue since it was resolved.
    select
      i.id, i.project_id, i.created_at, part.sequence,
      case when part.sequence = 1 or done.since is null then i.status_ref end, null,
      case when part.sequence = 1 then done.since else i.began_at end,
      case when part.sequence = 0 then done.since end,
      case when part.sequence = 0 then i.creator_id end,
      part.sequence = 1
    from issue i
    left join change f on f.issue_id = i.id and f.nth = 1
    cross join lateral (select case when i.is_done and i.resolved_at > i.created_at then i.resolved_at end as since) done
    cross join (values (0), (1)) as part (sequence)
    where f.issue_id is null and (part.sequence = 0 or done.since is not null)
    union all
    -- From each change to the next one.
    select
      t.issue_id, t.project_id, t.created_at, t.nth, case when t.is_own then t.own_ref else t.to_id end, t.to_text,
      t.changed_at, coalesce(t.next_at, t.inferred_at), t.author_id, t.to_named and t.to_id is null and not t.is_own
    from turn t
    union all
    -- The status of today, where the last change says another one.
    select t.issue_id, t.project_id, t.created_at, t.nth + 1, t.own_ref, null, t.inferred_at, null, null, true
    from turn t
    where t.inferred_at is not null
  ),
  meant as (
    select s.*, coalesce(st.category, 'unknown') as category
    from stay s
    left join tracker.statuses st
      on st.source_id = of_source
        and st.id = case when s.status_ref ~ '^[0-9]{1,18}$' then s.status_ref::bigint end
  )
  select
    of_source, m.issue_id, m.sequence::integer, m.project_id, m.status_ref, m.status_text, m.category,
    lag(m.category) over (partition by m.issue_id order by m.sequence), m.entered_at, m.left_at, m.entered_by,
    tracker.reporting_day(greatest(m.entered_at, m.created_at)),
    tracker.reporting_day(case when m.left_at is not null then greatest(m.left_at, m.created_at) end),
    m.is_inferred
  from meant m;
$$;

-- Comments of an issue that has any. The first response is the first that somebody else than the reporter made in public.
create type tracker.comment_summary as (issue_id bigint, comments integer, last_at timestamptz, first_response_at timestamptz);

create or replace function tracker.comment_summaries(of_source smallint, issues tracker.issue_now[]) returns setof tracker.comment_summary
language sql stable as $$
  select
    c.issue_id, count(*)::integer, max(c.created_at),
    min(c.created_at) filter (where c.author_id is distinct from c.reporter_id and c.is_public is not false)
  from unnest(issues) i
  cross join lateral (
    select i.reporter_id, issue_id, created_at, author_id, is_public
    from tracker.comments
    where source_id = of_source and issue_id = i.id and _deleted_at is null
    offset 0
  ) c
  group by c.issue_id;
$$;

-- One row of facts an issue, from its stays in a status, its changes and its comments.
create or replace function tracker.facts_of_issues(
  of_source smallint, issues tracker.issue_now[], stays tracker.issue_status_intervals[], changes tracker.field_change[],
  comments tracker.comment_summary[]
) returns setof tracker.issue_facts
language sql stable set plan_cache_mode = force_generic_plan
set enable_hashjoin = on set enable_nestloop = off set enable_mergejoin = off as $$
  select
    of_source, s.issue_id,
    case
      -- The first change took it from an assignee, or there was no change: it was assigned from the start.
      when coalesce(h.was_assigned, i.assignee_id is not null) then s.began_at
      else h.assigned_at
    end,
    s.first_started_at, s.first_done_at, s.last_done_at, s.is_done, s.current_category, s.current_since,
    s.todo_seconds, s.in_progress_seconds, s.status_changes::integer, s.reopen_count::integer,
    coalesce(h.assignee_changes, 0)::integer, coalesce(h.priority_changes, 0)::integer,
    coalesce(c.comments, 0), c.last_at, c.first_response_at, s.began_at, coalesce(h.unjoined_changes, 0)::integer
  from (
    select
      issue_id,
      min(entered_at) as began_at,
      min(entered_at) filter (where category = 'in_progress') as first_started_at,
      min(entered_at) filter (where category = 'done') as first_done_at,
      max(entered_at) filter (where category = 'done' and previous_category is distinct from 'done') as last_done_at,
      bool_or(left_at is null and category = 'done') as is_done,
      max(category) filter (where left_at is null) as current_category,
      max(entered_at) filter (where left_at is null) as current_since,
      coalesce(sum(extract(epoch from left_at - entered_at)) filter (where category = 'todo'), 0) as todo_seconds,
      coalesce(
        sum(extract(epoch from left_at - entered_at)) filter (where category = 'in_progress'), 0
      ) as in_progress_seconds,
      count(*) - 1 as status_changes,
      count(*) filter (where previous_category = 'done' and category <> 'done') as reopen_count
    from unnest(stays)
    group by issue_id
  ) s
  join unnest(issues) i on i.id = s.issue_id
  left join (
    select
      issue_id,
      count(*) filter (where field_name = 'assignee') as assignee_changes,
      count(*) filter (where field_name = 'priority') as priority_changes,
      min(changed_at) filter (where field_name = 'assignee' and to_key <> '') as assigned_at,
      bool_or(from_key <> '') filter (where field_name = 'assignee' and nth = 1) as was_assigned,
      count(*) filter (where not is_joined) as unjoined_changes
    from unnest(changes)
    group by issue_id
  ) h on h.issue_id = s.issue_id
  left join unnest(comments) c on c.issue_id = s.issue_id;
$$;

-- A value of a field that no column holds, as the issue has it, against the last that a change gave: true, false, or
-- null where the two are written too differently to tell.
create or replace function tracker.is_same_value(schema_type text, own text, to_id text, to_text text) returns boolean
language sql immutable as $$
  select case
    when coalesce(own, '') in ('', '[]') or coalesce(to_id, to_text) is null
      then coalesce(own, '') in ('', '[]') and coalesce(to_id, to_text) is null
    when own in (to_id, to_text) then true
    when schema_type = 'number' then tracker.points_of(own) = tracker.points_of(to_text)
    when schema_type in ('option', 'user', 'date', 'priority', 'project', 'issuetype', 'resolution', 'version') then false
  end;
$$;

-- What an issue has in a field by its id, as text; people by their id. `told`: what to give for fields that are not kept.
create or replace function tracker.own_value(of_source smallint, of_issue bigint, of_field text, told text)
returns text
language sql stable as $$
  select case
      when of_field like 'customfield%' then custom_fields ->> of_field
      when of_field = 'reporter' then reporter_id
      when of_field = 'creator' then creator_id
      when of_field = 'duedate' then due_date::text
      when of_field = 'resolution' then resolution
      when of_field = 'issuetype' then issue_type
      when of_field = 'summary' then summary
      when of_field = 'security' then security_level
      else told
    end
  from tracker.issues
  where source_id = of_source and id = of_issue;
$$;

-- The values over time of single fields other than the status, of issues and fields with changes. `facts`:
-- those of the issues, which say when an issue began.
create or replace function tracker.single_values(
  of_source smallint, issues tracker.issue_now[], facts tracker.issue_facts[], changes tracker.field_change[]
) returns setof tracker.issue_value_intervals
language sql stable set plan_cache_mode = force_generic_plan
set enable_hashjoin = on set enable_nestloop = off set enable_mergejoin = off as $$
  with value as (
    select
      c.*,
      case
        when not c.is_same and not c.is_named
          then tracker.inferred_at(c.is_done, c.resolved_at, c.updated_at, c.changed_at)
      end as since
    from (
      select
        o.*,
        -- Several values have the name of the last change, and the issue has one of them.
        case
          when o.is_last and o.to_named and o.to_id is null then tracker.has_name(of_source, o.kind, o.own_id, o.to_text)
          else false
        end as is_named,
        case
          when not o.is_last then true
          when o.kind = 'points' then tracker.points_of(o.own_text) is not distinct from tracker.points_of(o.to_text)
          when o.is_column then o.own_id is not distinct from o.to_id
            and (o.own_id is not null or o.own_text is not distinct from o.to_text)
          else coalesce(
            tracker.is_same_value(o.schema_type, coalesce(o.own_id, o.own_text), o.to_id, o.to_text), true
          )
        end as is_same
      from (
        select
          c.*, f.began_at, i.is_done, i.resolved_at, i.updated_at, w.schema_type, c.next_at is null as is_last,
          c.field_name in ('assignee', 'priority') as is_column,
          -- What the issue has, of the last change.
          case
            when c.next_at is not null or c.kind = 'points' then null
            when c.field_name = 'assignee' then i.assignee_id
            when c.field_name = 'priority' then i.priority_id::text
            when c.kind = 'person' then tracker.own_value(of_source, c.issue_id, c.field_id, c.to_id)
          end as own_id,
          case
            when c.next_at is not null or c.kind = 'person' then null
            when c.kind = 'points' then i.story_points::text
            when c.field_name = 'priority' then i.priority
            else tracker.own_value(of_source, c.issue_id, c.field_id, coalesce(c.to_text, c.to_id))
          end as own_text
        from unnest(changes) c
        join unnest(issues) i on i.id = c.issue_id
        join unnest(facts) f on f.issue_id = c.issue_id
        left join tracker.fields w on w.source_id = of_source and w.id = c.field_id
        where c.field_name <> 'status' and c.track = '' and c.kind is distinct from 'sprint'
        offset 0
      ) o
      offset 0
    ) c
  )
  select
    of_source, v.issue_id, v.field_name, v.field_id, v.from_id, v.from_text, v.began_at, v.changed_at,
    v.from_named and v.from_id is null and v.kind is not null
  from value v
  where v.nth = 1
  union all
  select
    of_source, v.issue_id, v.field_name, v.field_id,
    case when v.is_named then v.own_id else v.to_id end,
    case
      when v.is_last and v.is_same and v.kind = 'points' then v.own_text
      when v.is_last and v.is_same and v.kind = 'priority' then coalesce(v.own_text, v.to_text)
      else v.to_text
    end,
    v.changed_at, coalesce(v.next_at, v.since),
    v.to_named and v.to_id is null and v.kind is not null and not v.is_named
  from value v
  union all
  -- What the last change does not say.
  select of_source, v.issue_id, v.field_name, v.field_id, v.own_id, v.own_text, v.since, null, true
  from value v
  where v.since is not null;
$$;

-- A sprint or a version that an issue has.
create type tracker.listed_value as (issue_id bigint, field_name text, ref text, name text);

create or replace function tracker.lists_now(of_source smallint, ids bigint[]) returns setof tracker.listed_value
language sql stable as $$
  select t.id, l.field_name, l.ref, max(l.name)
  from unnest(ids) as t (id)
  cross join lateral (
    select 'sprint' as field_name, sprint_id::text as ref, name
    from tracker.issue_sprints
    where source_id = of_source and issue_id = t.id
    union all
    select 'sprint', sprint_id::text, null from tracker.sprint_issues
    where source_id = of_source and issue_id = t.id
    union all
    select 'fix_versions', version_id::text, name
    from tracker.issue_versions
    where source_id = of_source and issue_id = t.id and kind = 'fix'
    offset 0
  ) l
  group by t.id, l.field_name, l.ref;
$$;

-- The values over time of fields that hold several at once, sprints and fix versions: an interval for each time that
-- the issue had a value. What an issue has and no change of a version names was there from the start; a change of
-- sprints names all of them. `facts` and `changes` as before.
create or replace function tracker.list_values(
  of_source smallint, issues tracker.issue_now[], facts tracker.issue_facts[], changes tracker.field_change[],
  listed tracker.listed_value[]
) returns setof tracker.issue_value_intervals
language sql stable set plan_cache_mode = force_generic_plan
set enable_hashjoin = on set enable_nestloop = off set enable_mergejoin = off as $$
  with change as (
    select c.*
    from unnest(changes) c
    where c.kind in ('sprint', 'version')
  ),
  issue as (
    select i.id, i.resolved_at, i.updated_at, f.began_at, i.is_done
    from unnest(facts) f
    join unnest(issues) i on i.id = f.issue_id
  ),
  listed as (
    select l.* from unnest(listed) l join issue i on i.id = l.issue_id
  ),
  -- What a list held before its first change, and after each one.
  state as (
    select c.issue_id, c.field_name, i.began_at as since, c.changed_at as until, c.from_key as list, c.from_text as text
    from change c
    join issue i on i.id = c.issue_id
    where c.nth = 1
    union all
    select c.issue_id, c.field_name, c.changed_at, c.next_at, c.to_key, c.to_text from change c
  ),
  held as (
    select
      s.issue_id, s.field_name, v.ref, max(s.text) filter (where s.list = v.ref) as name,
      range_agg(tstzrange(s.since, s.until)) as times
    from state s
    cross join lateral unnest(string_to_array(s.list, ',')) v (ref)
    group by s.issue_id, s.field_name, v.ref
  ),
  ended as (
    select
      c.issue_id, c.field_name,
      tracker.inferred_at(i.is_done, i.resolved_at, i.updated_at, max(c.changed_at)) as inferred_at,
      -- A change that is younger than what was read of the issue is not contradicted by it.
      max(c.changed_at) <= i.updated_at as is_read
    from change c
    join issue i on i.id = c.issue_id
    group by c.issue_id, c.field_name, i.is_done, i.resolved_at, i.updated_at
  )
  select
    of_source, h.issue_id, h.field_name, null, case when h.ref not like '~%' then h.ref end,
    coalesce(l.name, h.name, ltrim(case when h.ref like '~%' then h.ref end, '~')), lower(held_in),
    -- No change took it away, but the issue no longer has it. It may have been done with it, so it went at the last.
    case when upper_inf(held_in) and l.issue_id is null and e.is_read then i.updated_at else upper(held_in) end,
    h.ref like '~%' or (upper_inf(held_in) and l.issue_id is null and e.is_read)
  from held h
  join issue i on i.id = h.issue_id
  join ended e on e.issue_id = h.issue_id and e.field_name = h.field_name
  left join listed l on l.issue_id = h.issue_id and l.field_name = h.field_name and l.ref = h.ref
  cross join lateral unnest(h.times) held_in
  union all
  -- The issue has it, although the changes say otherwise.
  select
    of_source, l.issue_id, l.field_name, null, l.ref, coalesce(l.name, h.name), coalesce(e.inferred_at, i.began_at), null,
    e.issue_id is not null
  from listed l
  join issue i on i.id = l.issue_id
  left join held h on h.issue_id = l.issue_id and h.field_name = l.field_name and h.ref = l.ref
  left join ended e on e.issue_id = l.issue_id and e.field_name = l.field_name
    and (l.field_name = 'sprint' or h.issue_id is not null)
  where h.issue_id is null or not upper_inf(h.times);
$$;

-- The same by hand: `select * from tracker.status_stays(1::smallint, '{10001}')`.
create or replace function tracker.status_stays(of_source smallint, ids bigint[])
returns setof tracker.issue_status_intervals
language sql stable as $$
  select * from tracker.status_stays(
    of_source, array(select i from tracker.issues_now(of_source, ids) i), tracker.ordered_changes(of_source, ids)
  );
$$;

create or replace function tracker.stored_facts(of_source smallint, ids bigint[]) returns setof tracker.issue_facts
language sql stable as $$
  select f.*
  from unnest(ids) as t (id)
  cross join lateral (
    select * from tracker.issue_facts where source_id = of_source and issue_id = t.id offset 0
  ) f;
$$;

create or replace function tracker.single_values(of_source smallint, ids bigint[])
returns setof tracker.issue_value_intervals
language sql stable as $$
  select * from tracker.single_values(
    of_source, array(select i from tracker.issues_now(of_source, ids) i),
    array(select f from tracker.stored_facts(of_source, ids) f), tracker.ordered_changes(of_source, ids)
  );
$$;

create or replace function tracker.list_values(of_source smallint, ids bigint[])
returns setof tracker.issue_value_intervals
language sql stable as $$
  select * from tracker.list_values(
    of_source, array(select i from tracker.issues_now(of_source, ids) i),
    array(select f from tracker.stored_facts(of_source, ids) f), tracker.ordered_changes(of_source, ids),
    array(select l from tracker.lists_now(of_source, ids) l)
  );
$$;
