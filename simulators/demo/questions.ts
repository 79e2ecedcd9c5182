/** Example questions to the warehouse, ready to be pasted into psql. They read only the schema `bi`. */

export interface Question {
  readonly title: string;
  /** Shown without `--verbose`, too. */
  readonly always?: true;
  readonly sql: string;
}

export const questions: readonly Question[] = [
  {
    title: 'Where is the work?',
    sql: `select project_name as project,
  count(*) filter (where status_category = 'todo') as to_do,
  count(*) filter (where status_category = 'in_progress') as in_progress,
  count(*) filter (where status_category = 'done') as done,
  count(*) filter (where is_overdue) as overdue
from bi.issues group by 1 order by in_progress desc, project;`,
  },
  {
    title: 'How long does it take?',
    always: true,
    sql: `select issue_type, count(*) as done,
  round(percentile_cont(0.5) within group (order by cycle_time_days)::numeric, 1) as median_cycle_days,
  round(percentile_cont(0.5) within group (order by lead_time_days)::numeric, 1) as median_lead_days,
  round(percentile_cont(0.9) within group (order by lead_time_days)::numeric, 1) as p90_lead_days
from bi.issue_cycle_times where is_done group by 1 order by done desc;`,
  },
  {
    title: 'What became of the last sprints?',
    sql: `select sprint_name as sprint, completed_date as ended, committed_issues as committed, added_issues as added,
  removed_issues as removed, done_issues as done, carried_over_issues as carried_over
from bi.sprints where sprint_state = 'closed' order by end_at desc, sprint_name limit 6;`,
  },
  {
    title: 'What did the last week of advertising cost?',
    always: true,
    sql: `select ad_account_name as account, currency, sum(spend)::numeric(18,2) as spend, sum(impressions)::bigint as impressions,
  sum(clicks)::bigint as clicks, round(1000 * sum(spend) / nullif(sum(impressions), 0), 2) as cpm
from bi.campaign_performance_daily where date_day >= (select max(date_day) - 6 from bi.campaign_performance_daily)
group by ad_account_id, 1, 2 order by 1;`,
  },
  {
    title: 'Which nightly jobs can be relied on?',
    sql: `select dag_name as job, count(*) as runs, count(*) filter (where not is_success) as failed,
  round(100 * avg(is_success::int), 1) as success_percent,
  round(percentile_cont(0.5) within group (order by duration_seconds)::numeric / 60, 1) as median_minutes,
  round(percentile_cont(0.95) within group (order by duration_seconds)::numeric / 60, 1) as p95_minutes,
  mode() within group (order by first_failed_step) as fails_mostly_at
from bi.workflow_runs where is_over group by 1 order by success_percent, job;`,
  },
];
