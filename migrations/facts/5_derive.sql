-- Writes the stored facts of issues: the steps of 2_changes.sql to 4_sprints.sql, one after the other.

-- Adds up by how much the stays of issues change the flow, and writes it. `stays`: those of now; what was stored of
-- `former` issues goes.
create or replace function tracker.change_flow(
  of_source smallint, former bigint[], stays tracker.issue_status_intervals[]
) returns void
language plpgsql as $$
declare
  flows tracker.flow_daily[];
begin
  with written as (
    insert into tracker.flow_daily as d (source_id, project_id, category, date_day, change)
    select of_source, e.project_id, e.category, e.date_day, sum(e.change)
    from (
      select o.project_id, o.category, part.date_day, part.change
      from unnest(former) as t (id)
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
end
$$;

-- Changes in order, as `tracker.changes` gives them. Names in changes matter only where other changes have names without
-- ids. As long as no shown issue of the source has such changes, names in changes are not noted. The first such change
-- has all of them noted, and from then on each write notes its own. The lock keeps a write in between from being missed.
create or replace function tracker.changes_with_names(of_source smallint, touched bigint[])
returns tracker.field_change[]
language plpgsql as $$
declare
  changes tracker.field_change[];
  have_names boolean;
  are_noted boolean;
begin
  changes := tracker.ordered_changes(of_source, touched);
  have_names := exists (
    select from unnest(changes) c
    where (c.from_named or c.to_named) and c.kind is not null
      and exists (select from tracker.shown_issues where source_id = of_source and id = c.issue_id offset 0)
  );
  perform tracker.lock_names(of_source, have_names);
  are_noted := exists (select from tracker.history_names where source_id = of_source);
  if are_noted then
    delete from tracker.history_names where source_id = of_source and issue_id = any (touched);
    execute tracker.names_in_changes(
      '(
        select c.* from unnest($2) as t (id)
        cross join lateral (
          select * from tracker.issue_changelog where source_id = $1 and issue_id = t.id offset 0
        ) c
      )'
    ) using of_source, touched;
  elsif have_names then
    execute tracker.names_in_changes('(select * from tracker.issue_changelog where source_id = $1)') using of_source;
  end if;
  if not have_names then
    return changes;
  end if;
  changes := tracker.ordered_changes(of_source, touched);
  insert into tracker.history_names
  select of_source, n.issue_id, n.field_name, n.kind, n.name, bool_and(n.is_known)
  from (
    select c.issue_id, c.field_name, c.kind, btrim(v.name) as name, v.id is not null as is_known
    from unnest(changes) c
    cross join lateral (
      values (c.from_named, c.from_text, c.from_id), (c.to_named, c.to_text, c.to_id)
    ) v (is_named, name, id)
    where c.kind <> 'sprint' and v.is_named
    union all
    -- A list of sprints depends on each name in it, and on one sprint with all of it as its name.
    select c.issue_id, c.field_name, c.kind, btrim(p.name), p.is_whole or tracker.id_of_name(of_source, 'sprint', p.name) is not null
    from unnest(changes) c
    cross join lateral (values (c.from_named, c.from_text), (c.to_named, c.to_text)) v (is_named, names)
    cross join lateral (
      select name, false as is_whole from unnest(string_to_array(v.names, ',')) name
      union all
      select v.names, true where v.names like '%,%'
    ) p
    where c.kind = 'sprint' and v.is_named
  ) n
  cross join lateral (select from tracker.shown_issues where source_id = of_source and id = n.issue_id offset 0) shown
  where n.name <> ''
  group by n.issue_id, n.field_name, n.kind, n.name;
  return changes;
end
$$;

-- Keeps the facts of these issues from other writers: two of the same issues take turns. True where there are any.
create or replace function tracker.hold_facts(of_source smallint, ids bigint[]) returns boolean
language plpgsql as $$
begin
  perform from tracker.issue_facts where source_id = of_source and issue_id = any (ids) order by issue_id for update;
  return found;
end
$$;

-- The facts of these issues of a source; part `sprints`: only what follows from sprints and lists.
create or replace function tracker.derive_part(of_source smallint, touched bigint[], part text) returns void
-- Rows are looked up by key: planned anew as their tables grow.
language plpgsql set plan_cache_mode = force_custom_plan set enable_hashjoin = on set work_mem = '32MB' as $$
declare
  have_facts boolean;
  issues tracker.issue_now[];
  changes tracker.field_change[];
  stays tracker.issue_status_intervals[];
  comments tracker.comment_summary[];
  facts tracker.issue_facts[];
  listed tracker.listed_value[];
  singles tracker.issue_value_intervals[];
  lists tracker.issue_value_intervals[];
  memberships tracker.membership[];
  estimates tracker.estimate[];
begin
  have_facts := tracker.hold_facts(of_source, touched);
  issues := array(select i from tracker.issues_now(of_source, touched) i);
  changes := tracker.changes_with_names(of_source, touched);
  if part = 'all' then
    stays := array(select s from tracker.status_stays(of_source, issues, changes) s);
    perform tracker.change_flow(of_source, case when have_facts then touched end, stays);
  end if;

  if have_facts then
    if part = 'all' then
      delete from tracker.issue_status_intervals where source_id = of_source and issue_id = any (touched);
      delete from tracker.issue_facts where source_id = of_source and issue_id = any (touched);
    end if;
    delete from tracker.issue_value_intervals
    where source_id = of_source and issue_id = any (touched)
      and (part = 'all' or field_name in ('sprint', 'fix_versions'));
    delete from tracker.sprint_issue_facts where source_id = of_source and issue_id = any (touched);
    delete from tracker.sprint_burndown_changes where source_id = of_source and issue_id = any (touched);
  end if;

  if part = 'all' then
    insert into tracker.issue_status_intervals select s.* from unnest(stays) s;
    comments := array(select c from tracker.comment_summaries(of_source, issues) c);
    facts := array(select f from tracker.facts_of_issues(of_source, issues, stays, changes, comments) f);
    insert into tracker.issue_facts select f.* from unnest(facts) f;
    singles := array(select v from tracker.single_values(of_source, issues, facts, changes) v);
    insert into tracker.issue_value_intervals select v.* from unnest(singles) v;
  else
    facts := array(select f from tracker.stored_facts(of_source, touched) f);
    singles := array(select v from tracker.stored_values(of_source, touched, 'story_points') v);
  end if;
  listed := array(select l from tracker.lists_now(of_source, touched) l);
  lists := array(select v from tracker.list_values(of_source, issues, facts, changes, listed) v);
  insert into tracker.issue_value_intervals select v.* from unnest(lists) v;

  memberships := array(select m from tracker.memberships_of(of_source, lists) m);
  issues := array(select i from unnest(issues) i where i.id in (select issue_id from unnest(memberships)));
  estimates := array(select e from tracker.estimates(issues, singles) e);
  insert into tracker.sprint_issue_facts
  select f.* from tracker.sprint_figures(of_source, memberships, estimates) f;
  insert into tracker.sprint_burndown_changes
  select b.* from tracker.burndown_changes(of_source, memberships, estimates) b;
end
$$;

-- The same for any number of issues.
create or replace function tracker.derive(of_source smallint, touched bigint[], part text default 'all') returns void
language plpgsql as $$
begin
  for at in 1 .. coalesce(cardinality(touched), 0) by 5000 loop
    perform tracker.derive_part(of_source, touched[at : at + 4999], part);
  end loop;
end
$$;

-- A statement that notes the names in changes with ids. `rows`: where the changes are, as SQL.
create or replace function tracker.names_in_changes(rows text) returns text immutable
return format($query$
  insert into tracker.value_names (source_id, kind, name, value_id)
  select w.source_id, w.kind, w.name, w.id
  from (
    select distinct c.source_id, f.kind, btrim(v.name) as name, v.id
    from (
      -- Few changes differ in all of this.
      select distinct source_id, field_id, field_name, from_id, from_text, to_id, to_text
      from %s c
      where field_id in ('status', 'assignee', 'reporter', 'creator', 'priority', 'fixVersions', 'Fix Version')
        or field_name = 'Sprint' or field_id = any (array(select unnest(sprint_fields) from tracker.fact_fields))
    ) c
    cross join lateral (
      select case
          when c.field_id = 'status' then 'status'
          when c.field_id in ('assignee', 'reporter', 'creator') then 'person'
          when c.field_id = 'priority' then 'priority'
          when c.field_id in ('fixVersions', 'Fix Version') then 'version'
          when c.field_name = 'Sprint' or exists (
            select from tracker.fact_fields s where s.source_id = c.source_id and c.field_id = any (s.sprint_fields)
          ) then 'sprint'
        end as kind
    ) f
    cross join lateral (values (c.from_id, c.from_text), (c.to_id, c.to_text)) v (id, name)
    -- A list of several has no name.
    where f.kind is not null and v.id <> '' and v.id not like '%%,%%' and btrim(v.name) <> ''
  ) w
  where not exists (
    select from tracker.value_names n
    where n.source_id = w.source_id and n.kind = w.kind and n.name = w.name and n.value_id = w.id
  )
  order by 1, 2, 3, 4
  on conflict do nothing
$query$, rows);

-- Notes which fields of a source hold sprints and story points, and which are followed. True where that has changed.
create or replace function tracker.find_fields(of_source smallint) returns boolean
language plpgsql as $$
begin
  insert into tracker.fact_fields as t (source_id, sprint_fields, points_fields, followed_fields)
  select
    of_source,
    -- Servers that give no field ids name the field in their place.
    coalesce(array_agg(field_id order by field_id collate "C") filter (where field_name = 'sprint' and field_id <> 'Sprint'), '{}'),
    coalesce(
      array_agg(field_id order by coalesce(place, 0), field_id collate "C")
        filter (where field_name = 'story_points' and field_id <> ''),
      '{}'
    ),
    coalesce(string_agg(concat_ws(' ', field_name, field_id), ', ' order by field_name collate "C", field_id collate "C"), '')
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

-- Notes all names of a source, as the triggers of its tables do for what is written; those in changes where they are noted.
create or replace function tracker.find_names(of_source smallint) returns void
language plpgsql as $$
begin
  insert into tracker.value_names (source_id, kind, name, value_id)
  select of_source, n.kind, btrim(n.name), n.id
  from (
    select 'status', name, id::text from tracker.statuses where source_id = of_source
    union
    select 'person', display_name, id from tracker.users where source_id = of_source
    union
    select 'priority', name, id::text from tracker.priorities where source_id = of_source
    union
    select 'sprint', name, id::text from tracker.sprints where source_id = of_source
    union
    select 'version', name, version_id::text from tracker.issue_versions where source_id = of_source
  ) n (kind, name, id)
  where btrim(n.name) <> ''
  order by 1, 2, 3, 4
  on conflict do nothing;
  -- Which of the changes have names of sprints may have become another question.
  if exists (select from tracker.history_names where source_id = of_source) then
    execute tracker.names_in_changes('(select * from tracker.issue_changelog where source_id = $1)') using of_source;
  end if;
end
$$;

-- Makes the facts of all issues anew, and what texts name. Gives how many issues have facts.
create or replace function tracker.derive_all() returns bigint
language plpgsql as $$
declare
  source record;
begin
  -- First, because writers lock mentions before facts.
  perform ops.find_mentions();
  for source in select source_id from ops.sources order by source_id loop
    perform tracker.lock_facts(source.source_id, true);
    perform tracker.find_fields(source.source_id);
    delete from tracker.history_names where source_id = source.source_id;
    perform tracker.find_names(source.source_id);
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
-- sprints, fields) takes it alone. Few sites share a table; those that do wait for each other.
create or replace function tracker.lock_facts(of_source smallint, alone boolean) returns void
language plpgsql as $$
begin
  execute format(
    'lock table tracker.facts_lock_%s in %s mode', of_source % 8, case when alone then 'exclusive' else 'row exclusive' end
  );
end
$$;

-- Until the end of the transaction. A transaction that reads names for changes without ids takes the lock alone. One that
-- adds names or derives other changes shares it; if its names are new, it also touches the issues that lacked them.
create or replace function tracker.lock_names(of_source smallint, alone boolean) returns void
language plpgsql as $$
begin
  execute format(
    'lock table tracker.names_lock_%s in %s mode', of_source % 8, case when alone then 'exclusive' else 'row exclusive' end
  );
end
$$;
