create or replace view bi.throughput_weekly as
select
  e.source,
  e.project_id::text as project_id,
  e.project_key,
  e.issue_type,
  e.week_start,
  e.created as created_issues,
  e.done as done_issues,
  e.reopened as reopened_issues,
  e.created - e.done + e.reopened as net_open_change,
  e.done_points::numeric(28,4) as done_points
from (
  select
    e.source,
    e.source_id,
    e.project_id,
    e.project_key,
    t.name as issue_type,
    e.week_start,
    count(*) filter (where e.kind = 'created') as created,
    count(*) filter (where e.kind = 'done') as done,
    count(*) filter (where e.kind = 'reopened') as reopened,
    coalesce(sum(e.story_points) filter (where e.kind = 'done'), 0) as done_points
  from (
    select
      s.name as source,
      i.source_id,
      i.project_id,
      p.key as project_key,
      i.issue_type_id,
      date_trunc('week', i.created_at at time zone ops.reporting_time_zone())::date as week_start,
      'created' as kind,
      null::numeric as story_points
    from tracker.shown_issues i
    join ops.sources s on s.source_id = i.source_id
    left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
    union all
    select
      h.source,
      h.source_id,
      h.project_id,
      h.project_key,
      h.issue_type_id,
      date_trunc('week', h.entered_at at time zone ops.reporting_time_zone())::date,
      case when h.category = 'done' then 'done' else 'reopened' end,
      (case when abs(h.story_points) < 1e13 then h.story_points end)::numeric(18,4)
    from tracker.status_stays h
    where (h.category = 'done' and h.previous_category is distinct from 'done')
      or (h.previous_category = 'done' and h.category <> 'done')
  ) e
  left join tracker.issue_types t on t.source_id = e.source_id and t.id = e.issue_type_id
  group by e.source, e.source_id, e.project_id, e.project_key, t.name, e.week_start
) e;

comment on view bi.throughput_weekly is 'Created, done and reopened issues; one row per source, project, issue type and week (from Monday, reporting time zone) in which anything happened.';
comment on column bi.throughput_weekly.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.throughput_weekly.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.throughput_weekly.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.throughput_weekly.issue_type is 'Issue type of today, e.g. Bug.';
comment on column bi.throughput_weekly.week_start is 'Monday of the week, in the reporting time zone; see bi.calendar.week_start.';
comment on column bi.throughput_weekly.created_issues is 'Issues created in the week that still live.';
comment on column bi.throughput_weekly.done_issues is 'Arrivals in done; an issue that is done twice counts twice.';
comment on column bi.throughput_weekly.reopened_issues is 'Departures from done.';
comment on column bi.throughput_weekly.net_open_change is 'By how much the number of open issues grew; summed over all weeks it is the number of open issues.';
comment on column bi.throughput_weekly.done_points is 'Story points (of today) of the arrivals in done.';
