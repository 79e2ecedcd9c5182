import type { Chapter } from './recipe.ts';

export const operations: Chapter = {
  title: 'Jobs and the warehouse itself',
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
      about: 'The receipts of one run: what the source announced, what was read, what is stored.',
      sql: `select stream, records_expected, records_fetched, records_landed, rows_rejected
from bi.stream_runs
where run_id = (select run_id from bi.sync_runs where pipeline = 'tracker' order by started_at limit 1)
order by stream;`,
    },
  ],
};
