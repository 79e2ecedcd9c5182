-- Every write to the tables that facts follow from notes its issues, whichever program makes it. Their facts are derived
-- once, before the transaction ends.

-- The rows of a statement as SQL: those that it wrote, and those that were there before.
create or replace function tracker.rows_of(statement text) returns text immutable
return case statement
  when 'INSERT' then 'written'
  when 'DELETE' then 'former'
  else '(select * from written union all select * from former)'
end;

-- Notes the issues of the written rows; the argument is the column that holds the issue.
create or replace function tracker.note_issues() returns trigger
language plpgsql as $$
begin
  execute format(
    'insert into tracker.touched select source_id, ''all'', array_agg(distinct %I) from %s w group by source_id',
    tg_argv[0], tracker.rows_of(tg_op)
  );
  return null;
end
$$;

-- Notes the issues that depend on rows in which one of the columns has changed. Arguments: the part of the facts,
-- a query for the issues (of source $1, dependent on the rows with the ids $2), the columns.
create or replace function tracker.note_dependents() returns trigger
language plpgsql as $$
declare
  rows text := 'select w.source_id, array_agg(w.id) as ids from written w';
  changed record;
begin
  if tg_op = 'UPDATE' then
    rows := rows || ' join former f on f.source_id = w.source_id and f.id = w.id where ' || (
      select string_agg(format('w.%1$I is distinct from f.%1$I', name), ' or ') from unnest(tg_argv[2:]) name
    );
  end if;
  for changed in execute rows || ' group by w.source_id' loop
    perform tracker.lock_facts(changed.source_id, true);
    execute format(
      'insert into tracker.touched select $1, %L, array_agg(distinct issue_id) from (%s) i having count(*) > 0',
      tg_argv[0], tg_argv[1]
    ) using changed.source_id, changed.ids;
  end loop;
  return null;
end
$$;

-- Notes the names of written rows. Arguments: what has them, the columns of the name and of the id.
create or replace function tracker.note_names() returns trigger
language plpgsql as $$
begin
  execute format(
    'insert into tracker.value_names (source_id, kind, name, value_id)
      select w.source_id, %1$L, w.name, w.id
      from (
        select source_id, btrim(%2$I) as name, %3$I::text as id
        from written
        -- Few of a batch differ. Numbers are compared first, texts byte by byte.
        group by source_id, %3$I, %2$I collate "C", %2$I
      ) w
      where w.name <> '''' and not exists (
        select from tracker.value_names n
        where n.source_id = w.source_id and n.kind = %1$L and n.name = w.name and n.value_id = w.id
      )
      order by 1, 2, 3, 4 on conflict do nothing',
    tg_argv[0], tg_argv[1], tg_argv[2]
  );
  return null;
end
$$;

-- Notes the names of changes that go or become others. Those that stay are read where names are needed
-- (`tracker.changes_with_names`).
create or replace function tracker.note_names_of_changes() returns trigger
language plpgsql as $$
begin
  execute tracker.names_in_changes('former');
  return null;
end
$$;

-- A new name may be that of changes without an id, or make it ambiguous.
create or replace function tracker.note_named() returns trigger
language plpgsql as $$
declare
  of_source smallint;
begin
  for of_source in select distinct source_id from written order by source_id loop
    perform tracker.lock_names(of_source, false);
    insert into tracker.touched
    select of_source, 'all', array_agg(distinct h.issue_id)
    from written w
    join tracker.history_names h on h.source_id = w.source_id and h.kind = w.kind and h.name = w.name
    where w.source_id = of_source
    having count(*) > 0;
  end loop;
  return null;
end
$$;

-- The list of a sprint counts for issues that are not known to be in it.
create or replace function tracker.note_sprint_lists() returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into tracker.touched
    select w.source_id, 'sprints', array_agg(w.issue_id)
    from written w
    where not exists (
      select from tracker.issue_value_intervals v
      where v.source_id = w.source_id and v.issue_id = w.issue_id
        and v.field_name = 'sprint' and v.value_id = w.sprint_id::text and v.valid_to is null
    )
    group by w.source_id;
  else
    insert into tracker.touched
    select f.source_id, 'sprints', array_agg(distinct f.issue_id) from former f group by f.source_id;
  end if;
  return null;
end
$$;

-- An issue that names a sprint as closed closes it where no board lists it (tracker.shown_sprints). What is written is
-- that, or which boards list sprints.
create or replace function tracker.note_unlisted_sprints() returns trigger
language plpgsql as $$
declare
  changed record;
begin
  for changed in execute format(
    'select w.source_id, array_agg(distinct w.sprint_id) as ids
    from %s w
    join tracker.sprints s on s.source_id = w.source_id and s.id = w.sprint_id and s.state <> ''closed''
    where %s
    group by w.source_id
    order by w.source_id',
    tracker.rows_of(tg_op),
    case tg_table_name
      when 'issue_sprints' then 'w.state = ''closed'' and not exists (
        select from tracker.board_sprints l where l.source_id = w.source_id and l.sprint_id = w.sprint_id
      )'
      else 'exists (
        select from tracker.issue_sprints i
        where i.source_id = w.source_id and i.sprint_id = w.sprint_id and i.state = ''closed''
      )'
    end
  ) loop
    perform tracker.lock_facts(changed.source_id, true);
    insert into tracker.touched
    select changed.source_id, 'sprints', array_agg(distinct issue_id)
    from tracker.sprint_issue_facts
    where source_id = changed.source_id and sprint_id = any (changed.ids)
    having count(*) > 0;
  end loop;
  return null;
end
$$;

-- Which fields hold sprints and story points, and which are followed, decides how all history is read.
create or replace function tracker.note_fields() returns trigger
language plpgsql as $$
declare
  changed smallint;
begin
  for changed in select source_id from ops.sources order by source_id loop
    continue when not tracker.find_fields(changed);
    perform tracker.lock_facts(changed, true);
    perform tracker.find_names(changed);
    insert into tracker.touched
    select changed, 'all', array_agg(issue_id)
    from tracker.issue_facts
    where source_id = changed
    having count(*) > 0;
  end loop;
  return null;
end
$$;

-- Derives the facts of all issues that the transaction noted. Fires for every note; the first call does it all.
create or replace function tracker.derive_touched() returns trigger
language plpgsql as $$
declare
  noted record;
begin
  for noted in
    with mine as (delete from tracker.touched returning *)
    select source_id, part, array_agg(distinct id) as ids
    from mine
    cross join unnest(issue_ids) id
    group by source_id, part
    order by source_id, part
  loop
    perform tracker.lock_facts(noted.source_id, false);
    perform tracker.derive(noted.source_id, noted.ids, noted.part);
  end loop;
  return null;
end
$$;

do $$
declare
  kept record;
  change record;
begin
  for kept in
    select *
    from (values
      ('facts', 'issues', 'note_issues(''id'')'),
      ('facts', 'issue_changelog', 'note_issues(''issue_id'')'),
      ('facts', 'issue_sprints', 'note_issues(''issue_id'')'),
      ('facts', 'issue_versions', 'note_issues(''issue_id'')'),
      ('facts', 'comments', 'note_issues(''issue_id'')'),
      ('facts', 'sprint_issues', 'note_sprint_lists()'),
      ('facts', 'fields', 'note_fields()'),
      (
        'facts', 'statuses',
        format(
          'note_dependents(%L, %L, %L)', 'all',
          'select issue_id from tracker.issue_status_intervals where source_id = $1 and status_ref = any ($2::text[])',
          'category'
        )
      ),
      (
        'facts', 'sprints',
        format(
          'note_dependents(%L, %L, %L, %L, %L, %L, %L)', 'sprints',
          'select issue_id from tracker.sprint_issue_facts where source_id = $1 and sprint_id = any ($2)',
          'state', 'start_at', 'end_at', 'completed_at', '_deleted_at'
        )
      ),
      ('sprints', 'issue_sprints', 'note_unlisted_sprints()'),
      ('sprints', 'board_sprints', 'note_unlisted_sprints()'),
      ('names', 'statuses', 'note_names(''status'', ''name'', ''id'')'),
      ('names', 'users', 'note_names(''person'', ''display_name'', ''id'')'),
      ('names', 'priorities', 'note_names(''priority'', ''name'', ''id'')'),
      ('names', 'sprints', 'note_names(''sprint'', ''name'', ''id'')'),
      ('names', 'issue_versions', 'note_names(''version'', ''name'', ''version_id'')'),
      ('names', 'issue_changelog', 'note_names_of_changes()')
    ) as t (keeps, name, call)
  loop
    for change in
      select *
      from (values
        ('insert', 'new table as written'),
        ('update', 'new table as written old table as former'),
        ('delete', 'old table as former')
      ) as t (name, rows)
      where case kept.name
        -- Lists of sprints are never changed in place.
        when 'sprint_issues' then name <> 'update'
        -- Names of new changes are read when they are needed.
        when 'issue_changelog' then kept.keeps <> 'names' or name <> 'insert'
        -- Words are never removed.
        when 'fields' then name <> 'delete'
        when 'statuses' then name <> 'delete'
        when 'sprints' then name <> 'delete'
        else kept.keeps <> 'names' or name <> 'delete'
      end
    loop
      execute format(
        'create or replace trigger keep_%s_after_%s after %s on tracker.%I referencing %s
          for each statement execute function tracker.%s',
        kept.keeps, change.name, change.name, kept.name, change.rows, kept.call
      );
    end loop;
  end loop;
end
$$;

drop trigger if exists keep_names_after_insert on tracker.issue_changelog;

create or replace trigger keep_facts_after_insert after insert on tracker.value_names referencing new table as written
for each statement execute function tracker.note_named();

drop trigger if exists derive_touched on tracker.touched;
create constraint trigger derive_touched after insert on tracker.touched
deferrable initially deferred
for each row execute function tracker.derive_touched();

create or replace trigger keep_facts after insert or update or delete on ref.history_fields
for each statement execute function tracker.note_fields();

-- They run in the sessions of all programs that write: no setting of those may change what they do.
do $$
declare
  called regprocedure;
begin
  for called in
    select oid
    from pg_proc
    where pronamespace in ('tracker'::regnamespace, 'ops'::regnamespace)
      and (prorettype = 'trigger'::regtype or proname in ('derive', 'derive_all', 'find_mentions'))
  loop
    execute format(
      'alter function %s set search_path = '''' set standard_conforming_strings = on set quote_all_identifiers = off
        set array_nulls = on set transform_null_equals = off set timezone = ''UTC'' set datestyle = ''ISO, YMD''
        set intervalstyle = iso_8601 set bytea_output = hex set extra_float_digits = 1',
      called
    );
  end loop;
end
$$;
