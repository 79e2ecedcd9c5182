create or replace view tracker.sprint_members as
select
  m.*,
  coalesce(st.category, 'unknown') as category_at_end,
  m.began_inside::int + coalesce(m.net_moves, 0) > 0 as is_member,
  coalesce(
    m.has_started
    and (m.began_inside and m.created_at <= m.start_at)::int + coalesce(m.net_until_start, 0) > 0,
    false
  ) as is_committed,
  coalesce(
    m.has_started
    and (m.came_meanwhile or (m.began_inside and m.created_at > m.start_at and m.created_at < m.ends_at)),
    false
  ) as came_late,
  m.has_started
  and (m.began_inside and m.created_at < m.ends_at)::int + coalesce(m.net_until_end, 0) > 0 as is_in_at_end
from (
  select
    s.name as source,
    sp.source_id,
    sp.id::text as sprint_id,
    sp.name as sprint_name,
    sp.state,
    sp.board_id,
    sp.start_at,
    sp.state <> 'future' as has_started,
    case
      when sp.state in ('active', 'future') then now()
      else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())
    end as ends_at,
    i.id as issue_id,
    i.key as issue_key,
    i.project_id,
    p.key as project_key,
    i.issue_type_id,
    i.status_id,
    i.created_at,
    i.story_points,
    coalesce(
      (array_agg(e.delta order by e.moved_at, e.history_id) filter (where e.delta <> 0))[1] = -1, true
    ) as began_inside,
    sum(e.delta) as net_moves,
    sum(e.delta) filter (where e.moved_at <= sp.start_at) as net_until_start,
    sum(e.delta) filter (
      where e.moved_at < case
        when sp.state in ('active', 'future') then now()
        else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())
      end
    ) as net_until_end,
    bool_or(
      e.delta = 1
      and e.moved_at > sp.start_at
      and e.moved_at < case
        when sp.state in ('active', 'future') then now()
        else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())
      end
    ) as came_meanwhile,
    min(e.moved_at) filter (where e.delta = 1) as first_came_at,
    max(e.moved_at) filter (where e.delta = -1) as last_left_at,
    coalesce(
      (
        select c.to_id
        from tracker.issue_changelog c
        where c.source_id = i.source_id
          and c.issue_id = i.id
          and c.field_id = 'status'
          and c.changed_at <= case
            when sp.state in ('active', 'future') then now()
            else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())
          end
        order by c.changed_at desc, c.history_id desc, c.item desc
        limit 1
      ),
      (
        select c.from_id
        from tracker.issue_changelog c
        where c.source_id = i.source_id and c.issue_id = i.id and c.field_id = 'status'
        order by c.changed_at asc, c.history_id asc, c.item asc
        limit 1
      ),
      case
        when not exists (
            select 
            from tracker.statuses d
            where d.source_id = i.source_id
              and d.id = i.status_id
              and d.category = 'done'
              and i.resolved_at > i.created_at
              and i.resolved_at > case
                when sp.state in ('active', 'future') then now()
                else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())
              end
          )
          then i.status_id::text
      end
    ) as status_at_end
  from tracker.issues i
  join ops.sources s on s.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  cross join lateral (
    select
      source_id,
      sprint_id,
      0 as delta,
      null::timestamptz as moved_at,
      null::bigint as history_id
    from tracker.issue_sprints
    where source_id = i.source_id and issue_id = i.id
    union all
    select source_id, sprint_id, 0, null, null
    from tracker.sprint_issues
    where source_id = i.source_id and issue_id = i.id
    union all
    select
      c.source_id,
      case when part.ref ~ '^[0-9]{1,18}$' then part.ref::bigint end,
      part.delta,
      c.changed_at,
      c.history_id
    from tracker.issue_changelog c
    cross join lateral (
      select came as ref, 1 as delta
      from unnest(string_to_array(replace(coalesce(c.to_id, ''), ' ', ''), ',')) came
      where came <> all (string_to_array(replace(coalesce(c.from_id, ''), ' ', ''), ','))
      union all
      select gone, -1
      from unnest(string_to_array(replace(coalesce(c.from_id, ''), ' ', ''), ',')) gone
      where gone <> all (string_to_array(replace(coalesce(c.to_id, ''), ' ', ''), ','))
    ) part
    where c.source_id = i.source_id
      and c.issue_id = i.id
      and (
        (c.source_id, c.field_id) in (
          select f.source_id, f.id
          from tracker.fields f
          where f.schema_custom = 'com.pyxis.greenhopper.jira:gh-sprint'
        )
        or (
          c.field_name = 'Sprint'
          and c.source_id not in (
            select f.source_id
            from tracker.fields f
            where f.schema_custom = 'com.pyxis.greenhopper.jira:gh-sprint'
          )
        )
      )
  ) e
  join tracker.sprints sp on sp.source_id = e.source_id and sp.id = e.sprint_id and sp._deleted_at is null
  where i._deleted_at is null
    and ((i.security_level is null and i.security_level_id is null) or ops.shows_restricted_issues())
  group by s.name, sp.source_id, sp.id, i.source_id, i.id, p.key
) m
left join tracker.statuses st on st.source_id = m.source_id and st.id::text = m.status_at_end;

comment on view tracker.sprint_members is 'Which live issues are or ever were in which live sprint, with their category at its end; one row per sprint and issue. What bi.sprints and bi.sprint_issues are made of.';
comment on column tracker.sprint_members.source is 'Name of the source, see ops.sources.name.';
comment on column tracker.sprint_members.source_id is 'The source, see ops.sources.';
comment on column tracker.sprint_members.sprint_id is 'Sprint id, as text.';
comment on column tracker.sprint_members.sprint_name is 'Name of the sprint.';
comment on column tracker.sprint_members.state is 'future, active or closed.';
comment on column tracker.sprint_members.board_id is 'The board it was created on.';
comment on column tracker.sprint_members.start_at is 'When the sprint starts or started (UTC).';
comment on column tracker.sprint_members.has_started is 'False for a future sprint.';
comment on column tracker.sprint_members.ends_at is 'When it ended (UTC); of an open sprint now.';
comment on column tracker.sprint_members.issue_id is 'Issue id.';
comment on column tracker.sprint_members.issue_key is 'Issue key of today.';
comment on column tracker.sprint_members.project_id is 'Project of today.';
comment on column tracker.sprint_members.project_key is 'Its key; null if the project is not known.';
comment on column tracker.sprint_members.issue_type_id is 'Issue type of today.';
comment on column tracker.sprint_members.status_id is 'Status of today.';
comment on column tracker.sprint_members.created_at is 'When the issue was created (UTC).';
comment on column tracker.sprint_members.story_points is 'Story points of today.';
comment on column tracker.sprint_members.began_inside is 'True if it was in the sprint before its first recorded move.';
comment on column tracker.sprint_members.net_moves is 'Moves in less moves out.';
comment on column tracker.sprint_members.net_until_start is 'The same, up to the start.';
comment on column tracker.sprint_members.net_until_end is 'The same, up to the end.';
comment on column tracker.sprint_members.came_meanwhile is 'True if it moved in between start and end.';
comment on column tracker.sprint_members.first_came_at is 'When it first moved in (UTC).';
comment on column tracker.sprint_members.last_left_at is 'When it last moved out (UTC).';
comment on column tracker.sprint_members.status_at_end is 'Id of its status at the end, as text.';
comment on column tracker.sprint_members.category_at_end is 'todo, in_progress, done or unknown at the end.';
comment on column tracker.sprint_members.is_member is 'True if it is in the sprint now.';
comment on column tracker.sprint_members.is_committed is 'True if it was in it at the start.';
comment on column tracker.sprint_members.came_late is 'True if it came after the start and before the end.';
comment on column tracker.sprint_members.is_in_at_end is 'True if it was in it at the end.';
