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
    from tracker.status_stays h
    cross join lateral (
      values
        (
          (case when h.entered_at is not null then greatest(h.entered_at, h.created_at) end at time zone ops.reporting_time_zone())::date,
          1
        ),
        ((case when h.left_at is not null then greatest(h.left_at, h.created_at) end at time zone ops.reporting_time_zone())::date, -1)
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
      from tracker.shown_issues i
      join ops.sources s on s.source_id = i.source_id
      left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
      group by s.name, i.source_id, i.project_id, p.key
    ) b
    cross join (values ('todo'), ('in_progress'), ('done'), ('unknown')) as category (name)
    cross join lateral generate_series(
      greatest((b.first_at at time zone ops.reporting_time_zone())::date, '2000-01-01')::timestamp,
      (now() at time zone ops.reporting_time_zone())::date::timestamp,
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

comment on view bi.cumulative_flow_daily is 'How many live issues stood in each status category at the end of each day (reporting time zone); one row per source, project, category and day, from the first issue in the category until today; without gaps since 2000.';
comment on column bi.cumulative_flow_daily.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.cumulative_flow_daily.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.cumulative_flow_daily.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.cumulative_flow_daily.status_category is 'todo, in_progress, done or unknown.';
comment on column bi.cumulative_flow_daily.date_day is 'The day in the reporting time zone; see bi.calendar.';
comment on column bi.cumulative_flow_daily.issues is 'Issues in the category at the end of the day.';
