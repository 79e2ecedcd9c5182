create or replace view bi.cumulative_flow_daily as -- How many live issues stood in each status category at the end of each day (reporting time zone); one row per source, project, category and day, from the first issue in the category until today; without gaps since 2000.
select
  s.name as source,
  b.project_id::text as project_id,
  p.key as project_key,
  b.category as status_category, -- todo, in_progress, done or unknown.
  d.date_day,
  d.issues -- Issues in the category at the end of the day.
from (
  select source_id, project_id, category, min(date_day) as first_day
  from tracker.flow_daily
  group by source_id, project_id, category
) b
join ops.sources s on s.source_id = b.source_id
left join tracker.projects p on p.source_id = b.source_id and p.id = b.project_id
cross join lateral (
  select e.date_day, sum(sum(e.change)) over (order by e.date_day)::bigint as issues
  from (
    select date_day, change
    from tracker.flow_daily
    where source_id = b.source_id and project_id = b.project_id and category = b.category
    union all
    -- A row for every day, also where nothing changed.
    select filler.at::date, 0
    from generate_series(
      greatest(b.first_day, '2000-01-01')::timestamp,
      (now() at time zone ops.reporting_time_zone())::date::timestamp,
      interval '1 day'
    ) as filler (at)
  ) e
  group by e.date_day
) d;
