create or replace view bi.sprints as
select
  s.name as source,
  sp.id::text as sprint_id,
  sp.name as sprint_name,
  sp.state as sprint_state,
  sp.board_id::text as board_id,
  b.name as board_name,
  sp.goal,
  sp.start_at,
  sp.end_at,
  case when not sp.state in ('active', 'future') then sp.completed_at end as completed_at,
  coalesce(a.member_issues, 0) as member_issues,
  coalesce(a.committed_issues, 0) as committed_issues,
  coalesce(a.added_issues, 0) as added_issues,
  coalesce(a.removed_issues, 0) as removed_issues,
  coalesce(a.done_issues, 0) as done_issues,
  coalesce(a.carried_over_issues, 0) as carried_over_issues,
  coalesce(a.member_points, 0)::numeric(28,4) as member_points,
  coalesce(a.committed_points, 0)::numeric(28,4) as committed_points,
  coalesce(a.added_points, 0)::numeric(28,4) as added_points,
  coalesce(a.removed_points, 0)::numeric(28,4) as removed_points,
  coalesce(a.done_points, 0)::numeric(28,4) as done_points,
  coalesce(a.carried_over_points, 0)::numeric(28,4) as carried_over_points,
  round(
    coalesce(a.done_points, 0)::numeric(28,4) / nullif(a.committed_points, 0), 4
  )::numeric(28,4) as done_to_committed_ratio,
  sp._synced_at as synced_at
from tracker.sprints sp
join ops.sources s on s.source_id = sp.source_id
left join tracker.boards b on b.source_id = sp.source_id and b.id = sp.board_id
left join (
  select
    m.source_id,
    m.sprint_id,
    count(*) filter (where m.is_member) as member_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_member) as member_points,
    count(*) filter (where m.is_committed) as committed_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_committed) as committed_points,
    count(*) filter (where m.came_late and not m.is_committed) as added_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.came_late and not m.is_committed) as added_points,
    count(*) filter (where (m.is_committed or m.came_late) and not m.is_in_at_end) as removed_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where (m.is_committed or m.came_late) and not m.is_in_at_end) as removed_points,
    count(*) filter (where m.is_in_at_end and m.category_at_end = 'done') as done_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_in_at_end and m.category_at_end = 'done') as done_points,
    count(*) filter (where m.is_in_at_end and m.category_at_end <> 'done') as carried_over_issues,
    sum(
      (case when abs(m.story_points) < 1e13 then m.story_points end)::numeric(18,4)
    ) filter (where m.is_in_at_end and m.category_at_end <> 'done') as carried_over_points
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
  group by m.source_id, m.sprint_id
) a on a.source_id = sp.source_id and a.sprint_id = sp.id::text
where sp._deleted_at is null;

comment on view bi.sprints is 'Velocity and predictability; one row per live sprint. Issues count by where they were when the sprint started and ended; points are those of today.';
comment on column bi.sprints.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.sprints.sprint_id is 'Sprint id.';
comment on column bi.sprints.sprint_name is 'Name.';
comment on column bi.sprints.sprint_state is 'future, active or closed.';
comment on column bi.sprints.board_id is 'Id of the board it was created on.';
comment on column bi.sprints.board_name is 'Name of that board.';
comment on column bi.sprints.goal is 'Sprint goal.';
comment on column bi.sprints.start_at is 'When it starts or started (UTC); null if not planned yet.';
comment on column bi.sprints.end_at is 'When it is planned to end (UTC).';
comment on column bi.sprints.completed_at is 'When it was closed (UTC); null while it is open.';
comment on column bi.sprints.member_issues is 'Issues in it now; a closed sprint keeps its issues.';
comment on column bi.sprints.committed_issues is 'Issues in it when it started; 0 before that.';
comment on column bi.sprints.added_issues is 'Issues that came after the start and before the end.';
comment on column bi.sprints.removed_issues is 'Of the committed and added ones, those not in it at its end.';
comment on column bi.sprints.done_issues is 'Issues in it and done at its end; of an active sprint, now.';
comment on column bi.sprints.carried_over_issues is 'Issues in it and not done at its end; of an active sprint, now.';
comment on column bi.sprints.member_points is 'Story points of member_issues.';
comment on column bi.sprints.committed_points is 'Story points of committed_issues.';
comment on column bi.sprints.added_points is 'Story points of added_issues.';
comment on column bi.sprints.removed_points is 'Story points of removed_issues.';
comment on column bi.sprints.done_points is 'Story points of done_issues.';
comment on column bi.sprints.carried_over_points is 'Story points of carried_over_issues.';
comment on column bi.sprints.done_to_committed_ratio is 'done_points by committed_points; may exceed 1; null without committed points.';
comment on column bi.sprints.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
