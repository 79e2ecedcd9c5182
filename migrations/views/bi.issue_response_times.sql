create or replace view bi.issue_response_times with (security_barrier) as -- First response and resolution, in hours of the clock and of working days; one row per live issue. Working hours are those of working days (see bi.calendar), which count from 00:00 to 24:00 in the reporting time zone.
select
  s.name as source,
  r.issue_id::text as issue_id,
  r.issue_key,
  r.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  r.reporter_id, -- The reporter of today, see bi.users.user_id.
  ops.shown_name(ur.display_name, ur.id) as reporter_name,
  r.created_at,
  r.first_response_at, -- When somebody other than the reporter first commented (UTC), apps included; in service desks only comments that customers see count. Null if nobody did.
  r.resolved_at,
  (r.created_at at time zone ops.reporting_time_zone())::date as created_date,
  (r.first_response_at at time zone ops.reporting_time_zone())::date as first_response_date, -- Day of the first response in the reporting time zone.
  (r.resolved_at at time zone ops.reporting_time_zone())::date as resolved_date,
  (date_part('epoch', r.responded_at - r.created_at) / 3600)::numeric(18,4) as first_response_hours, -- Hours from creation to the first response; take averages or percentiles, a sum means little.
  (
    (
      wf.working_seconds_before + wf.is_working_day::integer * date_part('epoch', r.responded_at - wf.starts_at)
      - wc.working_seconds_before - wc.is_working_day::integer * date_part('epoch', r.created_at - wc.starts_at)
    ) / 3600
  )::numeric(18,4) as first_response_working_hours, -- Hours of working days from creation to the first response; null also where one of them is not between 2010 and 2039.
  (date_part('epoch', r.done_at - r.created_at) / 3600)::numeric(18,4) as resolution_hours, -- Hours from creation to resolution; take averages or percentiles, a sum means little.
  (
    (
      wr.working_seconds_before + wr.is_working_day::integer * date_part('epoch', r.done_at - wr.starts_at)
      - wc.working_seconds_before - wc.is_working_day::integer * date_part('epoch', r.created_at - wc.starts_at)
    ) / 3600
  )::numeric(18,4) as resolution_working_hours -- Hours of working days from creation to resolution; null also where one of them is not between 2010 and 2039.
from (
  select
    i.source_id,
    i.id as issue_id,
    i.key as issue_key,
    i.project_id,
    i.issue_type_id,
    i.reporter_id,
    i.created_at,
    i.resolved_at,
    f.first_response_at,
    -- An import may date them before the issue: then they took no time.
    case when f.first_response_at is not null then greatest(f.first_response_at, i.created_at) end as responded_at,
    case when i.resolved_at is not null then greatest(i.resolved_at, i.created_at) end as done_at
  from tracker.issue_facts f
  join tracker.shown_issues i on i.source_id = f.source_id and i.id = f.issue_id
) r
-- Every row has its source. An inner join lets the planner begin with the sources, and walk an index over all issues.
left join ops.sources s on s.source_id = r.source_id
left join tracker.projects p on p.source_id = r.source_id and p.id = r.project_id
left join tracker.issue_types t on t.source_id = r.source_id and t.id = r.issue_type_id
left join tracker.users ur on ur.source_id = r.source_id and ur.id = r.reporter_id
left join ops.working_days wc
  on wc.date_day = (r.created_at at time zone ops.reporting_time_zone())::date
left join ops.working_days wf
  on wf.date_day = (r.responded_at at time zone ops.reporting_time_zone())::date
left join ops.working_days wr
  on wr.date_day = (r.done_at at time zone ops.reporting_time_zone())::date;
