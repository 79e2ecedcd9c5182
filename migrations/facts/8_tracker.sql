-- Rows of schema tracker that no list of the source gives: as other records tell them. Streams call these functions
-- after they were read, or in place of a list that the source does not have. Each may be called again and again.

set local check_function_bodies = off;

-- The sprints that no board lists any more: all boards that show them, or the one on which they were created, are
-- deleted or Kanban boards. Those are not asked for sprints: the vendor answers that they do not support any.
create or replace function tracker.unlisted_sprints(of_source smallint) returns setof bigint
language sql stable as $$
  select l.id
  from tracker.sprints l
  left join tracker.board_sprints s on s.source_id = l.source_id and s.sprint_id = l.id
  join tracker.boards b on b.source_id = l.source_id and b.id = coalesce(s.board_id, l.board_id)
  where l.source_id = of_source
  group by l.id
  having bool_and(b._deleted_at is not null or b.type is not distinct from 'kanban');
$$;

-- Sprints by the issues' own sprint field: each as the live issue has it that was read last. An issue was read last when
-- its row was written, because any change of an issue writes its row. A reconciliation that lifts a tombstone also writes
-- the row, and has read nothing: then the time of the sprint's own row counts. `name` and `state` are never null in
-- tracker.sprints: missing ones are the id and 'unknown'.
--
-- `is_list`: no board lists its sprints at all. Otherwise these are sprints of boards that were deleted, or that the
-- account may not see although it sees issues in them. A row that a board listed stays until an issue that was read later
-- says otherwise. It then gets a hash that no record has, so that a board that lists the sprint again overwrites it. A
-- row from issues has no hash. Each sprint is looked up by the index.
create or replace function tracker.sprints_of_issues(of_source smallint, in_run bigint, is_list boolean)
returns table (inserted bigint, updated bigint)
language sql as $$
  with recursive named (id) as (
    select min(sprint_id) from tracker.issue_sprints where source_id = of_source
    union all
    select (select min(s.sprint_id) from tracker.issue_sprints s where s.source_id = of_source and s.sprint_id > n.id)
    from named n
    where n.id is not null
  ), unlisted as materialized (
    select tracker.unlisted_sprints(of_source) as id
  ), wanted as materialized (
    select n.id
    from named n
    where n.id is not null and (is_list or not exists (
      select from tracker.sprints l
      where l.source_id = of_source and l.id = n.id and l._row_hash is not null and l.id not in (select id from unlisted)
    ))
  ), found as (
    select
      w.id, coalesce(last.name, w.id::text) as name, coalesce(last.state, 'unknown') as state,
      last.board_id, last.goal, last.start_at, last.end_at, last.completed_at, last.read_at
    from wanted w
    cross join lateral (
      select
        s.*, case when r.kind = 'reconcile' then s._synced_at else coalesce(i._synced_at, s._synced_at) end as read_at
      from tracker.issue_sprints s
      left join tracker.issues i on i.source_id = s.source_id and i.id = s.issue_id
      left join ops.runs r on r.run_id = i._run_id
      where s.source_id = of_source and s.sprint_id = w.id and i._deleted_at is null
      order by read_at desc, i.updated_at desc nulls last, s.issue_id desc
      limit 1
    ) last
  ), written as (
    insert into tracker.sprints as t
      (source_id, id, name, state, board_id, goal, start_at, end_at, completed_at, _synced_at, _run_id)
    select of_source, id, name, state, board_id, goal, start_at, end_at, completed_at, now(), in_run from found
    on conflict (source_id, id) do update set
      name = excluded.name, state = excluded.state, board_id = excluded.board_id, goal = excluded.goal,
      start_at = excluded.start_at, end_at = excluded.end_at, completed_at = excluded.completed_at, _deleted_at = null,
      _row_hash = case when t._row_hash is not null then 0 end,
      _synced_at = excluded._synced_at, _run_id = excluded._run_id
    where (
        t._deleted_at is not null
        or row(t.name, t.state, t.board_id, t.goal, t.start_at, t.end_at, t.completed_at)
          is distinct from row(excluded.name, excluded.state, excluded.board_id, excluded.goal,
            excluded.start_at, excluded.end_at, excluded.completed_at)
      )
      and (
        t._row_hash is null or t._deleted_at is not null
        or (is_list or t.id in (select id from unlisted))
          and t._synced_at < (select read_at from found where found.id = t.id)
      )
    returning xmax = 0 as is_new
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) from written;
$$;

-- The vendor may list a sprint without the board on which it was created, and several boards may list it: then that of
-- its issues counts, else the first board that shows it. Leaves the hash: for the merge the row stays as it was listed.
create or replace function tracker.boards_of_sprints(of_source smallint, in_run bigint)
returns table (inserted bigint, updated bigint)
language sql as $$
  with found as (
    select
      s.id,
      coalesce(
        (select min(i.board_id) from tracker.issue_sprints i where i.source_id = of_source and i.sprint_id = s.id),
        (select min(b.board_id) from tracker.board_sprints b where b.source_id = of_source and b.sprint_id = s.id)
      ) as board_id
    from tracker.sprints s
    where s.source_id = of_source and s.board_id is null and s._row_hash is not null
  ), written as (
    update tracker.sprints s set board_id = found.board_id, _synced_at = now(), _run_id = in_run
    from found
    where s.source_id = of_source and s.id = found.id and found.board_id is not null
    returning 1
  )
  select 0::bigint, count(*) from written;
$$;

-- A board that has become a Kanban board shows no sprints any more.
create or replace function tracker.empty_kanban_boards(of_source smallint, in_run bigint) returns table (deleted bigint)
language sql as $$
  with removed as (
    delete from tracker.board_sprints s using tracker.boards b
    where s.source_id = of_source and b.source_id = s.source_id and b.id = s.board_id and b._deleted_at is null
      and b.type is not distinct from 'kanban'
    returning 1
  )
  select count(*) from removed;
$$;

-- Where no board lists its sprints, a sprint shows on the board on which it was created, unless that is a Kanban board.
create or replace function tracker.board_sprints_of_sprints(of_source smallint, in_run bigint)
returns table (inserted bigint, updated bigint, deleted bigint)
language sql as $$
  with written as (
    insert into tracker.board_sprints (source_id, board_id, sprint_id, _synced_at, _run_id)
    select of_source, s.board_id, s.id, now(), in_run
    from tracker.sprints s
    left join tracker.boards b on b.source_id = s.source_id and b.id = s.board_id
    where s.source_id = of_source and s.board_id is not null and s._deleted_at is null and b.type is distinct from 'kanban'
    on conflict (source_id, board_id, sprint_id) do nothing
    returning 1
  )
  select count(*), 0::bigint, (select k.deleted from tracker.empty_kanban_boards(of_source, in_run) k) from written;
$$;

-- The lists of statuses, types and priorities from the issues: for each id the values of the live issue that the source
-- changed last, which are those of today where something was renamed. A row that a list gave has a hash and stays as it
-- was listed.
--
-- Of statuses the last issue that says what its status means counts: one that does not must not make done undone.
-- Priorities are without their order, which issues do not state.
do $do$
declare
  list record;
begin
  for list in
    select *
    from (values
      ('statuses', 'status', 'category', 'nullif(status_category, ''unknown'')', '''unknown'''),
      ('issue_types', 'issue_type', 'subtask', 'is_subtask', 'false'),
      ('priorities', 'priority', 'rank', 'null::integer', 'null')
    ) t (name, item, meaning, said, otherwise)
  loop
    execute format(
      $format$
        create or replace function tracker.%1$s_of_issues(of_source smallint, in_run bigint)
        returns table (inserted bigint, updated bigint)
        language sql as $$
          with found as (
            select
              %2$s_id as id,
              (array_agg(%2$s order by updated_at desc, _synced_at desc, id desc) filter (where %2$s is not null))[1] as name,
              (array_agg(%4$s order by updated_at desc, _synced_at desc, id desc) filter (where %4$s is not null))[1] as said
            from tracker.issues
            where source_id = of_source and _deleted_at is null and %2$s_id is not null
            group by %2$s_id
          ), written as (
            insert into tracker.%1$s as t (source_id, id, name, %3$s, _synced_at, _run_id)
            select of_source, id, name, coalesce(said, %5$s), now(), in_run from found where name is not null
            on conflict (source_id, id) do update set
              name = excluded.name, %3$s = excluded.%3$s, _deleted_at = null,
              _synced_at = excluded._synced_at, _run_id = excluded._run_id
            where t._row_hash is null and (
              t._deleted_at is not null or row(t.name, t.%3$s) is distinct from row(excluded.name, excluded.%3$s)
            )
            returning xmax = 0 as is_new
          )
          select count(*) filter (where is_new), count(*) filter (where not is_new) from written;
        $$
      $format$,
      list.name, list.item, list.meaning, list.said, list.otherwise
    );
  end loop;
end
$do$;

-- People whom the list of users does not show (deleted and app accounts), or of whom it is closed to us: they are as
-- other records name them. A row that a list gave has a hash and stays as it was listed. Not counted, because no record
-- of the stream became these rows.
create or replace function tracker.add_unlisted_users(of_source smallint, in_run bigint) returns void
language sql as $$
  insert into tracker.users as t (source_id, id, display_name, active, time_zone, account_type, _synced_at, _run_id)
  select m.source_id, m.id, m.display_name, m.active, m.time_zone, m.account_type, now(), in_run
  from tracker.mentioned_users m
  where m.source_id = of_source and not exists (
    select from tracker.users u
    where u.source_id = m.source_id and u.id = m.id and (
      u._row_hash is not null or u._deleted_at is not null
      or row(u.display_name, u.active, u.time_zone, u.account_type)
        is not distinct from row(m.display_name, m.active, m.time_zone, m.account_type)
    )
  )
  on conflict (source_id, id) do update set
    display_name = excluded.display_name, active = excluded.active, time_zone = excluded.time_zone,
    account_type = excluded.account_type, _synced_at = now(), _run_id = in_run
  where t._row_hash is null;
$$;

-- A group of TRACKER_GROUPS goes by its name until the account may list groups, which then show it again with its id. The
-- row with the id stays, and only its members are kept.
create or replace function tracker.remove_doubled_groups(of_source smallint, in_run bigint)
returns table (inserted bigint, updated bigint)
language sql as $$
  with doubled as (
    update tracker.groups t set _deleted_at = now(), _synced_at = now(), _run_id = in_run
    where t.source_id = of_source and t.id = t.name and t._deleted_at is null and exists (
      select from tracker.groups o
      where o.source_id = t.source_id and o.name = t.name and o.id <> t.id and o._deleted_at is null
    )
    returning t.id
  ), left_over as (
    delete from tracker.group_members m using doubled d where m.source_id = of_source and m.group_id = d.id
  )
  select 0::bigint, count(*) from doubled;
$$;

-- A project that gets another key renames its issues, and the tracker does not count that as a change of them: reading by
-- changes does not show it. These issues are noted, and the next reconciliation reads them again. Looks only at projects
-- that were written since the last good sync.
create or replace function tracker.note_rekeyed_issues(of_source smallint, in_run bigint) returns void
language sql as $$
  with last as (
    select coalesce(max(s.run_id), 0) as run_id
    from ops.run_streams s
    join ops.runs r on r.run_id = s.run_id
    where s.source_id = of_source and s.stream = 'projects' and s.status = 'ok' and r.kind = 'sync' and s.run_id < in_run
  )
  insert into ops.unseen (source_id, stream, key)
  select i.source_id, 'issues', i.id::text
  from tracker.projects p
  join tracker.issues i on i.source_id = p.source_id and i.project_id = p.id
  where p.source_id = of_source and p._run_id > (select run_id from last) and p._deleted_at is null
    and i._deleted_at is null and not starts_with(i.key, p.key || '-')
  on conflict do nothing;
$$;
