-- The first step from history to facts: the changes of the fields that are followed, in order, each value with its id.
--
-- Each function of this file and the next ones looks its issues up by key (`offset 0` keeps the planner to it), because
-- a load runs with young statistics; sets in memory are joined by hash. Each can be selected from by hand, e.g.
-- `select * from tracker.changes(1::smallint, '{10001}')`.

-- Bodies name views that are made later.
set local check_function_bodies = off;

-- What a function gives or takes cannot be replaced.
drop type if exists tracker.field_change cascade;

-- A change of one field. `track`: what changes one after the other: the field, of versions each version. `nth`: its
-- place there, from 1. Ids are null where there is no value, or none is known; a list of sprints is a text of ids with
-- commas between. Keys are texts by which values are compared: '' for none. `…_named`: the change has a name and no id.
-- `is_joined`: false where the change before on the track ended with another value.
create type tracker.field_change as (
  issue_id bigint,
  field_name text,
  field_id text,
  kind text,
  track text,
  nth bigint,
  changed_at timestamptz,
  next_at timestamptz,
  author_id text,
  from_id text,
  from_text text,
  from_key text,
  from_named boolean,
  to_id text,
  to_text text,
  to_key text,
  to_named boolean,
  is_joined boolean
);

create or replace function tracker.reporting_day(moment timestamptz) returns date
immutable parallel safe return (moment at time zone ops.reporting_time_zone())::date;

-- Story points from the text of a change; null where it is no number.
create or replace function tracker.points_of(value text) returns numeric immutable parallel safe
return (case when value ~ '^-?[0-9]{1,13}(\.[0-9]+)?$' then value::numeric end)::numeric(18, 4);

-- The only value of a site that has or had a name; null: none, or several.
create or replace function tracker.id_of_name(of_source smallint, of_kind text, of_name text) returns text
language sql stable as $$
  select case when count(*) = 1 then min(value_id) end
  from tracker.value_names
  where source_id = of_source and kind = of_kind and name = btrim(of_name);
$$;

-- A list of sprints as a text of sorted ids. Of a sprint that has only a name, and none or several sprints with it, the
-- name after a tilde.
create or replace function tracker.sprint_list(of_source smallint, ids text, names text) returns text
language sql stable as $$
  select case
    when ids <> '' then (
      select string_agg(distinct ref collate "C", ',' order by ref collate "C")
      from unnest(string_to_array(replace(ids, ' ', ''), ',')) ref
      where ref <> ''
    )
    else coalesce(
      -- The name of one sprint may have commas in it.
      tracker.id_of_name(of_source, 'sprint', names),
      (
        select string_agg(distinct v.ref collate "C", ',' order by v.ref collate "C")
        from unnest(string_to_array(names, ',')) part
        cross join lateral (
          select coalesce(tracker.id_of_name(of_source, 'sprint', part), '~' || nullif(btrim(part), '')) as ref
        ) v
      )
    )
  end;
$$;

-- An order in which each change begins with the value that the one before ended with, as places in the arrays; null
-- where there is none. Of several such orders the first by place. `before`, `after`: the values around these changes,
-- null where they are not known; they decide where changes go round in a circle.
-- Changes are edges between values, so this is an Euler path (Hierholzer's algorithm).
create or replace function tracker.joined_order(froms text[], tos text[], before text, after text) returns integer[]
language plpgsql immutable as $$
declare
  starts text[];
  ends text[];
  is_uneven boolean;
  first_value text;
  is_used boolean[] := array_fill(false, array[cardinality(froms)]);
  stack integer[] := '{0}';
  path integer[] := '{}';
  here text;
  next integer;
begin
  select
    array_agg(b.value) filter (where b.surplus = 1),
    array_agg(b.value) filter (where b.surplus = -1),
    bool_or(abs(b.surplus) > 1)
  into starts, ends, is_uneven
  from (
    select e.value, sum(e.surplus) as surplus
    from (select unnest(froms) as value, 1 as surplus union all select unnest(tos), -1) e
    group by e.value
  ) b;
  if is_uneven or cardinality(starts) > 1 or cardinality(ends) > 1 then
    return null;
  end if;
  first_value := coalesce(
    starts[1],
    case when before = any (froms) then before when after = any (tos) then after else froms[1] end
  );
  while cardinality(stack) > 0 loop
    here := case when stack[cardinality(stack)] = 0 then first_value else tos[stack[cardinality(stack)]] end;
    next := (
      select min(place) from generate_subscripts(froms, 1) place where froms[place] = here and not is_used[place]
    );
    if next is not null then
      is_used[next] := true;
      stack := stack || next;
    else
      path := stack[cardinality(stack)] || path;
      stack := stack[: cardinality(stack) - 1];
    end if;
  end loop;
  -- The first is the start itself.
  return case when cardinality(path) = cardinality(froms) + 1 then path[2 :] end;
end
$$;

-- The order of all changes of a track, as places in the arrays, which are in the source's order. Changes of one instant
-- are joined; where that cannot be, they keep the source's order. `own`: the value that the issue has, null: not known.
create or replace function tracker.chain_order(instants timestamptz[], froms text[], tos text[], own text)
returns integer[]
language plpgsql immutable as $$
declare
  places integer[] := '{}';
  first integer := 1;
  last integer;
  joined integer[];
begin
  while first <= cardinality(instants) loop
    last := first;
    while instants[last + 1] = instants[first] loop
      last := last + 1;
    end loop;
    joined := case
      when last > first then tracker.joined_order(
        froms[first : last], tos[first : last],
        case when first > 1 then tos[places[first - 1]] end, coalesce(froms[last + 1], own)
      )
    end;
    places := places || array(
      select first - 1 + place
      from unnest(coalesce(joined, array(select generate_series(1, last - first + 1)))) with ordinality o (place, nth)
      order by nth
    );
    first := last + 1;
  end loop;
  return places;
end
$$;

-- Changes of the story points of issues, from those of all fields that hold them: at each moment the first filled field
-- counts, in the order of `points_fields`. A field without changes always held what it holds now.
create or replace function tracker.first_filled(of_source smallint, changes tracker.field_change[])
returns setof tracker.field_change
language sql stable as $$
  with candidate as (
    select c.field_id, c.place
    from tracker.fact_fields f
    cross join unnest(f.points_fields) with ordinality c (field_id, place)
    where f.source_id = of_source
  ),
  change as (
    select c.*, f.place from unnest(changes) c join candidate f on f.field_id = c.field_id
  ),
  changed as (
    select issue_id, array_agg(distinct field_id) as field_ids from change group by issue_id
  ),
  -- What a field holds without having changed.
  constant as (
    select c.issue_id, f.place, tracker.points_of(i.custom_fields ->> f.field_id) as points
    from changed c
    cross join lateral (
      select custom_fields from tracker.issues
      where source_id = of_source and id = c.issue_id and (select count(*) from candidate) > 1
      offset 0
    ) i
    cross join candidate f
    where f.field_id <> all (c.field_ids) and i.custom_fields ? f.field_id
  ),
  -- Issues of which several fields say something. There are few.
  several as (
    select issue_id from changed where cardinality(field_ids) > 1
    union
    select issue_id from constant
  ),
  -- What each field held, since when.
  held as (
    select issue_id, place, '-infinity'::timestamptz as since, 0 as nth, tracker.points_of(from_text) as points
    from change
    where nth = 1
    union all
    select issue_id, place, changed_at, nth, tracker.points_of(to_text) from change
    union all
    select issue_id, place, '-infinity', 0, points from constant
  ),
  moment as (
    select h.issue_id, h.since from held h join several using (issue_id) group by h.issue_id, h.since
  ),
  -- The last that each field held by then.
  state as (
    select distinct on (m.issue_id, m.since, h.place) m.issue_id, m.since, h.place, h.points
    from moment m
    join held h on h.issue_id = m.issue_id and h.since <= m.since
    order by m.issue_id, m.since, h.place, h.since desc, h.nth desc
  ),
  counted as (
    select
      s.issue_id, s.since, s.points, lag(s.points) over history as before, row_number() over history as nth
    from (
      select issue_id, since, (array_agg(points order by place) filter (where points is not null))[1] as points
      from state
      group by issue_id, since
    ) s
    window history as (partition by s.issue_id order by s.since)
  ),
  made as (
    select distinct on (n.issue_id, n.since)
      n.issue_id, c.field_name, c.field_id, c.kind, n.since, c.author_id,
      trim_scale(n.before)::text as from_text, trim_scale(n.points)::text as to_text, c.is_joined
    from counted n
    join change c on c.issue_id = n.issue_id and c.changed_at = n.since
    where n.nth > 1 and n.points is distinct from n.before
    order by n.issue_id, n.since, c.place, c.nth desc
  )
  select
    c.issue_id, c.field_name, c.field_id, c.kind, '', c.nth, c.changed_at, c.next_at, c.author_id,
    c.from_id, c.from_text, c.from_key, c.from_named, c.to_id, c.to_text, c.to_key, c.to_named, c.is_joined
  from change c
  where not exists (select from several s where s.issue_id = c.issue_id)
  union all
  select
    m.issue_id, m.field_name, m.field_id, m.kind, '', row_number() over history, m.since, lead(m.since) over history,
    m.author_id, null, m.from_text, coalesce(m.from_text, ''), false, null, m.to_text, coalesce(m.to_text, ''), false,
    m.is_joined
  from made m
  window history as (partition by m.issue_id order by m.since);
$$;

-- Changes of all followed fields, by issue, field and track, as the source orders them. `rows`: all changes of some issues.
-- It has one plan for all batches.
create or replace function tracker.source_changes(of_source smallint, rows tracker.issue_changelog[])
returns setof tracker.field_change
language sql stable set plan_cache_mode = force_generic_plan as $$
  with site as (
    select coalesce(max(f.sprint_fields), '{}') as sprint_fields from tracker.fact_fields f where source_id = of_source
  ),
  followed as (
    select 'status' as field_id, 'status' as field_name, 'status' as kind
    union all
    select
      w.field_id, w.field_name,
      case
        when w.field_name = 'priority' then 'priority'
        when w.field_name = 'story_points' then 'points'
        when w.field_name = 'sprint' then 'sprint'
        when w.field_name = 'fix_versions' then 'version'
        when w.field_name = 'assignee' or f.schema_type = 'user' then 'person'
      end
    from tracker.followed_fields w
    left join tracker.fields f on f.source_id = w.source_id and f.id = w.field_id
    where w.source_id = of_source and w.field_id <> 'Sprint'
    union all
    -- A site that lists no sprint field has one that is called so.
    select 'Sprint', 'sprint', 'sprint' from site where cardinality(site.sprint_fields) = 0
  ),
  read as (
    select
      c.*,
      case
        when field_name = 'Sprint' and (select cardinality(sprint_fields) from site) = 0 then 'Sprint' else field_id
      end as followed_id
    from unnest(rows) c
  ),
  known as (
    select
      r.issue_id, f.field_name, r.field_id, f.kind, r.history_id, r.item, r.changed_at, r.author_id,
      case
        when f.kind = 'sprint' and (r.from_id like '%,%' or (coalesce(r.from_id, '') = '' and r.from_text <> ''))
          then tracker.sprint_list(of_source, r.from_id, r.from_text)
        when r.from_id <> '' then r.from_id
        when r.from_text <> '' and f.kind in ('status', 'person', 'priority', 'version')
          then tracker.id_of_name(of_source, f.kind, r.from_text)
      end as from_id,
      nullif(r.from_text, '') as from_text,
      f.kind <> 'points' and coalesce(r.from_id, '') = '' and r.from_text <> '' as from_named,
      case
        when f.kind = 'sprint' and (r.to_id like '%,%' or (coalesce(r.to_id, '') = '' and r.to_text <> ''))
          then tracker.sprint_list(of_source, r.to_id, r.to_text)
        when r.to_id <> '' then r.to_id
        when r.to_text <> '' and f.kind in ('status', 'person', 'priority', 'version')
          then tracker.id_of_name(of_source, f.kind, r.to_text)
      end as to_id,
      nullif(r.to_text, '') as to_text,
      f.kind <> 'points' and coalesce(r.to_id, '') = '' and r.to_text <> '' as to_named
    from read r
    join followed f on f.field_id = r.followed_id
  ),
  -- A version comes or goes; each by itself.
  move as (
    select
      k.issue_id, k.field_name, k.field_id, k.kind, v.ref as track, k.history_id, k.item, k.changed_at, k.author_id,
      case when not v.is_in then v.ref end as from_id, case when not v.is_in then v.name end as from_text,
      not v.is_in and k.from_named as from_named,
      case when v.is_in then v.ref end as to_id, case when v.is_in then v.name end as to_text,
      v.is_in and k.to_named as to_named
    from known k
    cross join lateral (
      select
        string_to_array(replace(coalesce(k.from_id, ''), ' ', ''), ',') || case
          when k.from_named and k.from_id is null then array['~' || k.from_text] else '{}'
        end as former,
        string_to_array(replace(coalesce(k.to_id, ''), ' ', ''), ',') || case
          when k.to_named and k.to_id is null then array['~' || k.to_text] else '{}'
        end as present
    ) list
    cross join lateral (
      select ref, case when cardinality(list.present) = 1 then k.to_text end as name, true as is_in
      from unnest(list.present) ref
      where ref <> all (list.former)
      union all
      select ref, case when cardinality(list.former) = 1 then k.from_text end, false
      from unnest(list.former) ref
      where ref <> all (list.present)
    ) v
    where k.kind = 'version' and v.ref <> ''
  ),
  change as (
    select
      m.*,
      case
        when m.kind = 'points' then coalesce(trim_scale(tracker.points_of(m.from_text))::text, m.from_text, '')
        else coalesce(m.from_id, '~' || m.from_text, '')
      end as from_key,
      case
        when m.kind = 'points' then coalesce(trim_scale(tracker.points_of(m.to_text))::text, m.to_text, '')
        else coalesce(m.to_id, '~' || m.to_text, '')
      end as to_key
    from (
      select
        k.issue_id, k.field_name, k.field_id, k.kind,
        case when k.kind in ('sprint', 'points') then k.field_id else '' end as track,
        k.history_id, k.item, k.changed_at, k.author_id, k.from_id, k.from_text, k.from_named, k.to_id, k.to_text,
        k.to_named
      from known k
      where k.kind is distinct from 'version'
      union all
      select * from move
    ) m
  )
  select
    c.issue_id, c.field_name, c.field_id, c.kind, c.track, row_number() over track, c.changed_at,
    lead(c.changed_at) over track, c.author_id, c.from_id, c.from_text, c.from_key, coalesce(c.from_named, false),
    c.to_id, c.to_text, c.to_key, coalesce(c.to_named, false), coalesce(lag(c.to_key) over track = c.from_key, true)
  from change c
  window track as (
    partition by c.issue_id, c.field_name collate "C", c.track collate "C" order by c.changed_at, c.history_id, c.item
  );
$$;

-- The same changes, of tracks with several changes in one instant in an order that joins them.
create or replace function tracker.joined_changes(of_source smallint, changes tracker.field_change[])
returns setof tracker.field_change
language sql stable as $$
  with change as (
    select c.* from unnest(changes) c
  ),
  -- There are few.
  tied as (
    select distinct issue_id, field_name, track from change where next_at = changed_at
  ),
  place as (
    select t.issue_id, t.field_name, t.track, o.source_nth, o.nth
    from (
      select
        c.issue_id, c.field_name, c.track,
        array_agg(c.changed_at order by c.nth) as instants,
        array_agg(c.from_key order by c.nth) as froms,
        array_agg(c.to_key order by c.nth) as tos
      from change c
      join tied using (issue_id, field_name, track)
      group by c.issue_id, c.field_name, c.track
    ) t
    cross join lateral (
      select case t.field_name
          when 'status' then i.status_id::text
          when 'assignee' then coalesce(i.assignee_id, '')
          when 'priority' then coalesce(i.priority_id::text, '')
          when 'story_points' then coalesce(trim_scale(tracker.points_of(i.custom_fields ->> t.track))::text, '')
          when 'sprint' then coalesce(
            (
              select string_agg(l.sprint_id::text, ',' order by l.sprint_id::text collate "C")
              from tracker.issue_sprints l
              where l.source_id = of_source and l.issue_id = t.issue_id
            ),
            ''
          )
          when 'fix_versions' then coalesce(
            (
              select l.version_id::text
              from tracker.issue_versions l
              where l.source_id = of_source and l.issue_id = t.issue_id and l.kind = 'fix' and l.version_id::text = t.track
            ),
            ''
          )
        end as value
      from tracker.issues i
      where i.source_id = of_source and i.id = t.issue_id
      offset 0
    ) own
    cross join lateral unnest(
      tracker.chain_order(t.instants, t.froms, t.tos, own.value)
    ) with ordinality o (source_nth, nth)
  )
  select c.* from change c
  where not exists (
    select from tied t where t.issue_id = c.issue_id and t.field_name = c.field_name and t.track = c.track
  )
  union all
  select
    c.issue_id, c.field_name, c.field_id, c.kind, c.track, p.nth, c.changed_at, lead(c.changed_at) over track,
    c.author_id, c.from_id, c.from_text, c.from_key, c.from_named, c.to_id, c.to_text, c.to_key, c.to_named,
    coalesce(lag(c.to_key) over track = c.from_key, true)
  from change c
  join place p on p.issue_id = c.issue_id and p.field_name = c.field_name and p.track = c.track and p.source_nth = c.nth
  window track as (partition by c.issue_id, c.field_name, c.track order by p.nth);
$$;

-- The same changes, settled: those of one instant are joined, and of several fields for story points the first that is
-- filled counts at each moment.
create or replace function tracker.settled_changes(of_source smallint, changes tracker.field_change[])
returns tracker.field_change[]
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
begin
  changes := array(select c from tracker.joined_changes(of_source, changes) c);
  return array(
    select c from unnest(changes) c where c.kind is distinct from 'points'
    union all
    select f
    from tracker.first_filled(of_source, array(select c from unnest(changes) c where c.kind = 'points')) f
  );
end
$$;

-- Changes of all followed fields of these issues, by issue, field and track, in order.
create or replace function tracker.ordered_changes(of_source smallint, ids bigint[]) returns tracker.field_change[]
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
declare
  changes tracker.field_change[];
begin
  changes := array(
    select c
    from tracker.source_changes(
      of_source,
      array(
        select c
        from unnest(ids) as t (id)
        cross join lateral (
          select w from tracker.issue_changelog w where source_id = of_source and issue_id = t.id offset 0
        ) r (c)
      )
    ) c
  );
  if exists (select from unnest(changes) where next_at = changed_at or kind = 'points') then
    return tracker.settled_changes(of_source, changes);
  end if;
  return changes;
end
$$;

-- The same as rows.
create or replace function tracker.changes(of_source smallint, ids bigint[]) returns setof tracker.field_change
language sql stable as $$
  select * from unnest(tracker.ordered_changes(of_source, ids));
$$;
