create or replace view bi.sprint_issues as
select
  m.source,
  m.sprint_id,
  m.sprint_name,
  m.state as sprint_state,
  m.board_id::text as board_id,
  m.issue_id::text as issue_id,
  m.issue_key,
  m.project_id::text as project_id,
  m.project_key,
  t.name as issue_type,
  (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4) as story_points,
  case when m.began_inside then m.created_at else m.first_came_at end as added_at,
  case when not m.is_member then m.last_left_at end as removed_at,
  m.is_member,
  m.is_committed,
  m.came_late and not m.is_committed as is_added,
  (m.is_committed or m.came_late) and not m.is_in_at_end as is_removed,
  m.is_in_at_end and m.category_at_end = 'done' as is_done,
  m.is_in_at_end and m.category_at_end <> 'done' as is_carried_over,
  m.category_at_end as status_category_at_end
from (
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
    group by s.name, sp.source_id, sp.id, i.source_id, i.id, p.key
  ) m
  left join tracker.statuses st on st.source_id = m.source_id and st.id::text = m.status_at_end
) m
left join tracker.issue_types t on t.source_id = m.source_id and t.id = m.issue_type_id;

comment on view bi.sprint_issues is 'Which issues are or ever were in which sprint, and how they fared; one row per live sprint and live issue.';
comment on column bi.sprint_issues.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.sprint_issues.sprint_id is 'Sprint id, see bi.sprints.sprint_id.';
comment on column bi.sprint_issues.sprint_name is 'Name of the sprint.';
comment on column bi.sprint_issues.sprint_state is 'future, active or closed.';
comment on column bi.sprint_issues.board_id is 'Id of the board the sprint was created on.';
comment on column bi.sprint_issues.issue_id is 'Issue id; stable.';
comment on column bi.sprint_issues.issue_key is 'Issue key of today, e.g. PROJ-7; changes when the issue moves.';
comment on column bi.sprint_issues.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.sprint_issues.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.sprint_issues.issue_type is 'Issue type of today, e.g. Bug.';
comment on column bi.sprint_issues.story_points is 'Story points of today, to four decimals; null if not estimated.';
comment on column bi.sprint_issues.added_at is 'When it first came into the sprint (UTC); if no change tells, when the issue was created.';
comment on column bi.sprint_issues.removed_at is 'When it last left the sprint (UTC); null while it is in it.';
comment on column bi.sprint_issues.is_member is 'True when it is in the sprint now; a closed sprint keeps its issues.';
comment on column bi.sprint_issues.is_committed is 'True when it was in the sprint at its start.';
comment on column bi.sprint_issues.is_added is 'True when it came after the start and before the end.';
comment on column bi.sprint_issues.is_removed is 'True when it was committed or added and not in the sprint at its end.';
comment on column bi.sprint_issues.is_done is 'True when it was in the sprint and done at its end; of an active sprint, now.';
comment on column bi.sprint_issues.is_carried_over is 'True when it was in the sprint and not done at its end; of an active sprint, now.';
comment on column bi.sprint_issues.status_category_at_end is 'Status category when the sprint ended (completed_at, else its planned end); of an open sprint, now.';
