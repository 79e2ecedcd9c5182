create or replace view bi.incidents with (security_barrier) as -- What had to be restored: issues that ref.incident_rules call incidents, and deployments that failed, until the next success of the same DAG, also of the same run; one row per incident.
select
  i.source,
  i.kind as incident_kind, -- issue or failed_deployment.
  i.id as incident_id, -- The issue, see bi.issues.issue_id; else the first failed run, see bi.workflow_runs.dag_run_id; one that failed, was mended and failed again has two.
  i.name as incident_name, -- Key of the issue, else name of the DAG.
  i.opened_at, -- When the issue was created, or the first failed run ended (UTC).
  i.resolved_at,
  (i.opened_at at time zone ops.reporting_time_zone())::date as opened_date, -- Day of opened_at in the reporting time zone.
  (i.resolved_at at time zone ops.reporting_time_zone())::date as resolved_date,
  i.resolved_at is null as is_open, -- True while it is not resolved.
  round(
    case when i.resolved_at is not null then greatest(0, extract(epoch from i.resolved_at - i.opened_at)) end / 3600, 3
  )::numeric(18,3) as restore_hours -- Hours from opened_at to resolved_at; null while it is open. May be summed, as for a mean.
from (
  select
    s.name as source,
    'issue' as kind,
    i.id::text as id,
    i.key as name,
    i.created_at as opened_at,
    case when f.is_done then f.last_done_at end as resolved_at
  from tracker.shown_issues i
  join tracker.issue_facts f on f.source_id = i.source_id and f.issue_id = i.id
  left join ops.sources s on s.source_id = i.source_id
  where (i.source_id, i.issue_type_id) in (
      select t.source_id, t.id
      from ref.incident_rules r
      join tracker.issue_types t on t.name ilike r.pattern collate ops.any_case or t.untranslated_name ilike r.pattern collate ops.any_case
      where r.field = 'issue_type'
    )
    or (i.source_id, i.id) in (
      select l.source_id, l.issue_id
      from ref.incident_rules r
      join tracker.issue_labels l on l.label ilike r.pattern collate ops.any_case
      where r.field = 'label'
    )
  union all
  select d.source, 'failed_deployment', d.dag_run_id, d.dag_name, d.ended_at, d.restored_at
  from (
    select
      r.source,
      r.dag_name,
      r.dag_run_id,
      r.state,
      r.ended_at,
      lag(r.state) over (
        partition by r.source, r.dag_name
        order by r.ended_at, r.dag_run_id collate "C", r.attempt_number
      ) as previous_state,
      min(r.ended_at) filter (where r.state = 'succeeded') over (
        partition by r.source, r.dag_name
        order by r.ended_at desc, r.dag_run_id collate "C" desc, r.attempt_number desc
        rows between unbounded preceding and 1 preceding
      ) as restored_at
    from bi.workflow_attempts r
    where r.dag_role = 'deployment' and r.state in ('succeeded', 'failed') and r.ended_at is not null
  ) d
  where d.state = 'failed' and d.previous_state is distinct from 'failed'
) i;
