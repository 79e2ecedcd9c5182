create or replace view bi.dora_weekly with (security_barrier) as -- How the company delivers, over all sources; one row per week from the first deployment or incident until today, weeks without any included.
select
  w.week_start, -- Monday of the week, in the reporting time zone.
  w.deployments, -- Runs of DAGs with the role deployment (ref.dag_roles) that started in the week and succeeded; each try of a retried run counts by itself. May be summed.
  w.failed_deployments, -- Such runs that failed; runs that were stopped count nowhere. May be summed.
  round(
    w.failed_deployments::numeric / nullif(w.deployments + w.failed_deployments, 0), 4
  )::numeric(5,4) as change_failure_ratio, -- failed_deployments by all of both, 0 to 1; null without any. Of several weeks compute it anew from the sums.
  w.done_issues, -- Issues that were last done in the week. May be summed.
  w.median_cycle_time_hours::numeric(18,3) as median_cycle_time_hours, -- Median hours from first in progress to done, of the issues done in the week that were in progress. It stands for lead time: when a change was committed is not known. Not to be summed.
  w.opened_incidents, -- Incidents that began in the week, see bi.incidents. May be summed.
  w.resolved_incidents, -- Incidents that were resolved in the week. May be summed.
  w.median_restore_hours::numeric(18,3) as median_restore_hours -- Median hours from opened to resolved, of the incidents resolved in the week. Not to be summed.
from (
  select
    e.week_start,
    count(*) filter (where e.event = 'deployment') as deployments,
    count(*) filter (where e.event = 'failed_deployment') as failed_deployments,
    count(*) filter (where e.event = 'done_issue') as done_issues,
    percentile_cont(0.5) within group (order by e.hours) filter (where e.event = 'done_issue')
      as median_cycle_time_hours,
    count(*) filter (where e.event = 'opened_incident') as opened_incidents,
    count(*) filter (where e.event = 'resolved_incident') as resolved_incidents,
    percentile_cont(0.5) within group (order by e.hours) filter (where e.event = 'resolved_incident')
      as median_restore_hours,
    min(
      case when bool_or(e.event in ('deployment', 'failed_deployment', 'opened_incident')) then e.week_start end
    ) over () as first_week
  from (
    select
      date_trunc('week', r.start_date::timestamp)::date as week_start,
      case r.state when 'failed' then 'failed_deployment' else 'deployment' end as event,
      null::double precision as hours
    from bi.workflow_attempts r
    where r.dag_role = 'deployment' and r.state in ('succeeded', 'failed')
    union all
    select
      date_trunc('week', f.last_done_at at time zone ops.reporting_time_zone())::date,
      'done_issue',
      case
        when f.first_started_at is not null
          then greatest(0, extract(epoch from f.last_done_at - f.first_started_at)::double precision / 3600)
      end
    from tracker.issue_facts f
    where f.is_done
    union all
    select date_trunc('week', v.on_date::timestamp)::date, v.event, v.hours
    from bi.incidents i
    cross join lateral (values
      ('opened_incident', i.opened_date, null),
      ('resolved_incident', i.resolved_date, i.restore_hours::double precision)
    ) v (event, on_date, hours)
    where v.on_date is not null
    union all
    select c.week_start, 'week', null
    from bi.calendar c
    where c.day_of_week = 1
  ) e
  group by e.week_start
) w
where w.week_start between w.first_week and (now() at time zone ops.reporting_time_zone())::date;
