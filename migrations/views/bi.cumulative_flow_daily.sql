create or replace view bi.cumulative_flow_daily as
select
  f.source,
  f.project_id::text as project_id,
  f.project_key,
  f.category as status_category,
  f.date_day,
  f.issues::bigint as issues
from (
  select
    e.source,
    e.source_id,
    e.project_id,
    e.project_key,
    e.category,
    e.date_day,
    sum(sum(e.delta)) over flow as issues,
    sum(sum(e.seen)) over flow as seen
  from (
    select
      h.source,
      h.source_id,
      h.project_id,
      h.project_key,
      h.category,
      part.date_day,
      part.delta,
      1 as seen
    from (
      select
        x.source,
        x.source_id,
        x.issue_id,
        x.issue_key,
        x.project_id,
        x.project_key,
        x.issue_type_id,
        x.story_points,
        x.created_at,
        y.sequence,
        y.entered_at,
        y.left_at,
        y.entered_by,
        coalesce(st.category, 'unknown') as category,
        coalesce(st.name, y.status_text, '(status ' || y.status_ref || ')', '(unknown)') as status,
        y.status_ref,
        case when y.sequence > 0 then coalesce(ps.category, 'unknown') end as previous_category
      from (
        select
          s.name as source,
          i.source_id,
          i.id as issue_id,
          i.key as issue_key,
          i.project_id,
          p.key as project_key,
          i.issue_type_id,
          i.status_id,
          i.story_points,
          i.created_at,
          i.creator_id,
          case
            when c.history_id is null and cs.category = 'done' and i.resolved_at > i.created_at then i.resolved_at
          end as done_since,
          c.history_id,
          c.changed_at,
          c.author_id,
          c.from_id,
          c.from_text,
          c.to_id,
          c.to_text,
          row_number() over changes as change_number,
          lead(c.changed_at) over changes as next_changed_at,
          lag(c.to_id) over changes as previous_to_id
        from tracker.issues i
        join ops.sources s on s.source_id = i.source_id
        left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
        left join tracker.issue_changelog c
          on c.source_id = i.source_id
            and c.issue_id = i.id
            and c.field_id = 'status'
        left join tracker.statuses cs on cs.source_id = i.source_id and cs.id = i.status_id
        where i._deleted_at is null window changes as (
          partition by i.source_id,
          i.id,
          i.key,
          i.project_id,
          p.key,
          s.name order by c.changed_at,
          c.history_id,
          c.item
        )
      ) x
      cross join (values (false), (true)) as part (is_after)
      cross join lateral (
        select
          case when part.is_after then x.change_number else 0 end as sequence,
          case
            when x.history_id is null
              then case when part.is_after or x.done_since is null then x.status_id::text end
            when part.is_after then x.to_id
            else x.from_id
          end as status_ref,
          case when part.is_after then x.to_text else x.from_text end as status_text,
          case when x.change_number > 1 then x.previous_to_id else x.from_id end as previous_ref,
          case when part.is_after then coalesce(x.changed_at, x.done_since) else x.created_at end as entered_at,
          case when part.is_after then x.next_changed_at else coalesce(x.changed_at, x.done_since) end as left_at,
          case when part.is_after then x.author_id else x.creator_id end as entered_by
      ) y
      left join tracker.statuses st on st.source_id = x.source_id and st.id::text = y.status_ref
      left join tracker.statuses ps on ps.source_id = x.source_id and ps.id::text = y.previous_ref
      where case
        when part.is_after then coalesce(x.changed_at, x.done_since) is not null
        else x.change_number = 1
      end
    ) h
    cross join lateral (
      values
        (
          (case when h.entered_at is not null then greatest(h.entered_at, h.created_at) end at time zone 'UTC')::date,
          1
        ),
        ((case when h.left_at is not null then greatest(h.left_at, h.created_at) end at time zone 'UTC')::date, -1)
    ) as part (date_day, delta)
    where part.date_day is not null
    union all
    select
      b.source,
      b.source_id,
      b.project_id,
      b.project_key,
      category.name,
      filler.at::date,
      0,
      0
    from (
      select
        s.name as source,
        i.source_id,
        i.project_id,
        p.key as project_key,
        min(i.created_at) as first_at
      from tracker.issues i
      join ops.sources s on s.source_id = i.source_id
      left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
      where i._deleted_at is null
      group by s.name, i.source_id, i.project_id, p.key
    ) b
    cross join (values ('todo'), ('in_progress'), ('done'), ('unknown')) as category (name)
    cross join lateral generate_series(
      greatest((b.first_at at time zone 'UTC')::date, '2000-01-01')::timestamp,
      (now() at time zone 'UTC')::date::timestamp,
      interval '1 day'
    ) as filler (at)
  ) e
  group by
    e.source,
    e.source_id,
    e.project_id,
    e.project_key,
    e.category,
    e.date_day window flow as (
      partition by e.source, e.source_id, e.project_id, e.project_key, e.category order by e.date_day
    )
) f
where f.seen > 0;

comment on view bi.cumulative_flow_daily is 'How many live issues stood in each status category at the end of each day (UTC); one row per source, project, category and day, from the first issue in the category until today; without gaps since 2000.';
comment on column bi.cumulative_flow_daily.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.cumulative_flow_daily.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.cumulative_flow_daily.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.cumulative_flow_daily.status_category is 'todo, in_progress, done or unknown.';
comment on column bi.cumulative_flow_daily.date_day is 'The day in UTC; see bi.calendar.';
comment on column bi.cumulative_flow_daily.issues is 'Issues in the category at the end of the day.';
