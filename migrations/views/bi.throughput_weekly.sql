create or replace view bi.throughput_weekly with (security_barrier) as -- Created, done and reopened issues; one row per source, project, issue type and week (from Monday, reporting time zone) in which anything happened.
select
  s.name as source,
  e.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  e.week_start, -- Monday of the week, in the reporting time zone; see bi.calendar.week_start.
  sum(e.created)::bigint as created_issues, -- Issues created in the week that still live.
  sum(e.done)::bigint as done_issues, -- Arrivals in done; an issue that is done twice counts twice.
  sum(e.reopened)::bigint as reopened_issues, -- Departures from done.
  sum(e.created - e.done + e.reopened)::bigint as net_open_change, -- By how much the number of open issues grew; summed over all weeks it is the number of open issues.
  coalesce(sum(e.story_points), 0)::numeric(28,4) as done_points -- Story points (of today) of the arrivals in done.
from (
  select
    i.source_id,
    i.project_id,
    i.issue_type_id,
    date_trunc('week', i.created_at at time zone ops.reporting_time_zone())::date as week_start,
    1 as created,
    0 as done,
    0 as reopened,
    null::numeric as story_points
  from tracker.shown_issues i
  union all
  select
    i.source_id,
    i.project_id,
    i.issue_type_id,
    date_trunc('week', h.entered_at at time zone ops.reporting_time_zone())::date,
    0,
    (h.category = 'done')::int,
    (h.category <> 'done')::int,
    (case when h.category = 'done' and abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4)
  from tracker.issue_status_intervals h
  join tracker.shown_issues i on i.source_id = h.source_id and i.id = h.issue_id
  where (h.category = 'done' and h.previous_category is distinct from 'done')
    or (h.previous_category = 'done' and h.category <> 'done')
) e
join ops.sources s on s.source_id = e.source_id
left join tracker.projects p on p.source_id = e.source_id and p.id = e.project_id
left join tracker.issue_types t on t.source_id = e.source_id and t.id = e.issue_type_id
group by s.name, e.source_id, e.project_id, p.key, t.name, e.week_start;
