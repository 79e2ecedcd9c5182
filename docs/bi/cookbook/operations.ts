import type { Chapter } from './recipe.ts';

export const operations: Chapter = {
  title: 'Jobs and the warehouse',
  recipes: [
    {
      title: 'Which steps are slow?',
      about:
        'Steps by the time that they took in the last thirty days altogether: what is worth being made faster.',
      sql: `select dag_name, step_name, count(*) as times, round(sum(duration_seconds) / 60, 1) as total_minutes,
  round(percentile_cont(0.95) within group (order by duration_seconds)::numeric, 1) as p95_seconds
from bi.workflow_steps
where kind = 'step' and started_at >= now() - interval '30 days'
group by dag_name, step_name
order by total_minutes desc, dag_name, step_name
limit 10;`,
    },
    {
      title: 'Which jobs cannot be relied on?',
      about: 'Success ratio of what ended. A job that succeeds only after retries is in the next question.',
      sql: `select dag_name, sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed,
  round(sum(succeeded) / nullif(sum(succeeded + failed + aborted), 0), 3) as success_ratio
from bi.workflow_daily
where date_day >= current_date - 28
group by dag_name
order by success_ratio, dag_name;`,
    },
    {
      title: 'Which steps succeed only when they are tried again?',
      about: 'Flaky steps: the share of successful runs of the step that needed a retry.',
      sql: `select dag_name, step_name, count(*) as succeeded, count(*) filter (where retries > 0) as after_retries
from bi.workflow_steps
where is_success
group by dag_name, step_name
having count(*) filter (where retries > 0) > 0
order by after_retries desc, dag_name, step_name;`,
    },
    {
      title: 'Is the data fresh?',
      about: 'One row a stream. Put the rows with `is_stale` on every dashboard.',
      sql: `select source, count(*) as streams, count(*) filter (where is_stale) as stale,
  count(*) filter (where freshness = 'unavailable') as unavailable, min(fresh_at) as oldest
from bi.data_freshness
group by source
order by source;`,
    },
    {
      title: 'What did the last runs do?',
      about: 'Rows that were read are new, changed, equal, or accounted for otherwise.',
      sql: `select run_id, pipeline, run_kind, status, rows_received, rows_inserted, rows_updated, rows_unchanged, rows_deleted
from bi.sync_runs
order by started_at desc
limit 10;`,
    },
    {
      title: 'Did a run read everything that the source has?',
      about: 'The receipts of the newest sync: what the source announced, what was read, what is stored.',
      sql: `select stream, records_expected, records_fetched, records_landed, rows_rejected
from bi.stream_runs
where run_id = (
  select run_id from bi.sync_runs
  where pipeline = 'tracker' and run_kind = 'sync' and status = 'succeeded'
  order by started_at desc
  limit 1
)
order by stream;`,
    },
    {
      title: 'Which nights were late?',
      about:
        'Nights without a complete sync by the time that the freshness promise sets. A night may be late and succeed: then it came after that.',
      sql: `select source, night_date, status, promised_at, finished_at, failed_runs
from bi.late_nights
where is_late and night_date between current_date - 30 and current_date - 1
order by night_date, source;`,
    },
    {
      title: 'How does the company deliver?',
      about:
        'The four DORA measures by week. `ref.dag_roles` says which DAGs deploy, `ref.incident_rules` what an incident is; cycle time stands for lead time.',
      sql: `select week_start, deployments, change_failure_ratio,
  round(median_cycle_time_hours, 1) as median_cycle_time_hours, round(median_restore_hours, 1) as median_restore_hours
from bi.dora_weekly
where week_start >= current_date - 84
order by week_start;`,
    },
    {
      title: 'What vanished at the sources?',
      about: 'Rows that the sources no longer have, and when that was found. They are in no other view.',
      sql: `select source, table_name, record_name, deleted_date
from bi.deletions
where deleted_date >= current_date - 7
order by source, table_name, record_name;`,
    },
    {
      title: 'Which issue belongs to which campaign?',
      about:
        'A campaign whose name carries an issue key belongs to the issue, with what it spent; the spend of one with several issues is allocated evenly. Other patterns are rows of `ref.link_patterns`.',
      sql: `select l.linked_issue_key as issue_key, i.status, l.campaign_name, l.currency, sum(l.allocated_spend) as spend
from bi.linked_campaign_spend_daily l
join bi.issues i on i.source = l.issue_source and i.issue_id = l.linked_issue_id
group by l.source, l.campaign_id, l.linked_issue_id, 1, 2, 3, 4
order by 1, 3;`,
    },
  ],
};
