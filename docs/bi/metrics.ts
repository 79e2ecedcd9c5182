/** Figures that people mean by one name, each with one definition. */
import { yamlFile } from './yaml.ts';

export interface Metric {
  readonly name: string;
  /** What it says, for somebody who reads a report. */
  readonly about: string;
  readonly view: string;
  /** An aggregate over rows of the view. */
  readonly value: string;
  readonly where?: string;
  /** What it is usually shown by. Amounts are always by currency. */
  readonly by: readonly string[];
  /** The unit, as in bi.schema.json. */
  readonly unit: string;
}

const middle = (share: string, column: string): string =>
  `percentile_cont(${share}) within group (order by ${column})`;

const ads = { view: 'ad_performance_daily', by: ['date_day', 'currency'] } as const;
const campaigns = { view: 'campaign_performance_daily', by: ['date_day', 'currency'] } as const;
const sprints = {
  view: 'sprints',
  where: `sprint_state = 'closed'`,
  by: ['source', 'board_id', 'board_name'],
} as const;
const doneIssues = { view: 'issue_cycle_times', where: 'is_done', by: ['source', 'project_key'] } as const;
const weeks = { view: 'throughput_weekly', by: ['week_start', 'project_key'] } as const;
const runs = { view: 'workflow_runs', by: ['source', 'dag_name'] } as const;

export const metrics: readonly Metric[] = [
  // The issue tracker
  {
    name: 'velocity',
    unit: 'story points',
    ...sprints,
    about: 'Story points done in a closed sprint, on average.',
    value: 'avg(done_points)',
  },
  {
    name: 'predictability',
    unit: 'ratio',
    ...sprints,
    about: 'Points done for each point committed; above 1 where more was done than planned.',
    value: 'sum(done_points) / nullif(sum(committed_points), 0)',
  },
  {
    name: 'carry_over',
    unit: 'ratio',
    ...sprints,
    about: 'Share of the issues of a sprint that were not done at its end.',
    value: 'sum(carried_over_issues) / nullif(sum(carried_over_issues + done_issues), 0)',
  },
  {
    name: 'cycle_time',
    unit: 'days',
    ...doneIssues,
    about: 'Days from first in progress to done, the median; issues that were never in progress have none.',
    value: middle('0.5', 'cycle_time_days'),
  },
  {
    name: 'cycle_time_85',
    unit: 'days',
    ...doneIssues,
    about: 'Days from first in progress to done that 85 of 100 issues did not exceed: what can be promised.',
    value: middle('0.85', 'cycle_time_days'),
  },
  {
    name: 'lead_time',
    unit: 'days',
    ...doneIssues,
    about: 'Days from creation to done, the median.',
    value: middle('0.5', 'lead_time_days'),
  },
  {
    name: 'reopen_rate',
    unit: 'ratio',
    ...doneIssues,
    about: 'Share of the done issues that had been done before and left done again.',
    value: '(count(*) filter (where reopen_count > 0))::numeric / nullif(count(*), 0)',
  },
  {
    name: 'throughput',
    unit: 'count',
    ...weeks,
    about: 'Issues that became done; one that is done twice counts twice.',
    value: 'sum(done_issues)',
  },
  {
    name: 'backlog_growth',
    unit: 'count',
    ...weeks,
    about: 'By how many the open issues grew: created less done plus reopened.',
    value: 'sum(net_open_change)',
  },
  {
    name: 'work_in_progress',
    unit: 'count',
    view: 'cumulative_flow_daily',
    by: ['date_day', 'project_key'],
    about: 'Issues in progress at the end of a day. Never sum it over days.',
    value: 'sum(issues)',
    where: `status_category = 'in_progress'`,
  },
  {
    name: 'open_issues',
    unit: 'count',
    view: 'issues',
    by: ['source', 'project_key'],
    about: 'Issues that are not done, now.',
    value: 'count(*)',
    where: 'is_open',
  },
  {
    name: 'overdue_issues',
    unit: 'count',
    view: 'issues',
    by: ['source', 'project_key'],
    about: 'Open issues whose due day is over, now.',
    value: 'count(*)',
    where: 'is_overdue',
  },
  {
    name: 'time_in_status',
    unit: 'days',
    view: 'issue_status_history',
    by: ['source', 'status'],
    about: 'Days that an issue stays in a status, the median of the stays that ended.',
    value: middle('0.5', 'days_in_status'),
    where: 'not is_current',
  },
  {
    name: 'first_response',
    unit: 'hours',
    view: 'issue_response_times',
    by: ['source', 'project_key'],
    about: 'Hours from creation until somebody other than the reporter commented, the median.',
    value: middle('0.5', 'first_response_hours'),
  },
  {
    name: 'time_logged',
    unit: 'hours',
    view: 'worklogs',
    by: ['work_date', 'project_key'],
    about: 'Hours of work that were logged.',
    value: 'sum(time_spent_hours)',
  },

  // The advertising platform
  { ...ads, name: 'spend', unit: 'currency', about: 'What was spent.', value: 'sum(spend)' },
  { ...ads, name: 'impressions', unit: 'count', about: 'Times shown or played.', value: 'sum(impressions)' },
  {
    name: 'ctr',
    unit: 'ratio',
    ...ads,
    about: 'Click-through rate: clicks for each impression.',
    value: 'sum(clicks) / nullif(sum(impressions), 0)',
  },
  {
    name: 'cpc',
    unit: 'currency',
    ...ads,
    about: 'Cost per click.',
    value: 'sum(spend) / nullif(sum(clicks), 0)',
  },
  {
    name: 'cpm',
    unit: 'currency',
    ...ads,
    about: 'Cost of a thousand impressions.',
    value: '1000 * sum(spend) / nullif(sum(impressions), 0)',
  },
  {
    name: 'completion_rate',
    unit: 'ratio',
    ...ads,
    about: 'Share of the plays that were heard to the end.',
    value: 'sum(completes) / nullif(sum(starts), 0)',
  },
  {
    name: 'cost_per_purchase',
    unit: 'currency',
    ...campaigns,
    about: 'Spend for each purchase, over the rows that show purchases. By campaign: ads hide more of them.',
    value: 'sum(spend) / nullif(sum(purchases), 0)',
    where: 'purchases is not null',
  },
  {
    name: 'return_on_ad_spend',
    unit: 'ratio',
    ...campaigns,
    about: 'Revenue for each unit spent, over the rows that show revenue. By campaign: ads hide more of it.',
    value: 'sum(revenue) / nullif(sum(spend), 0)',
    where: 'revenue is not null',
  },

  // The workflow engine
  {
    name: 'success_rate',
    unit: 'ratio',
    ...runs,
    about: 'Share of the ended runs that succeeded.',
    value: '(count(*) filter (where is_success))::numeric / nullif(count(*), 0)',
    where: 'is_over',
  },
  {
    name: 'run_duration',
    unit: 'seconds',
    ...runs,
    about: 'Seconds from the start to the end of a run, the median.',
    value: middle('0.5', 'duration_seconds'),
  },
  {
    name: 'failed_runs',
    unit: 'count',
    ...runs,
    about: 'Runs that failed.',
    value: 'count(*)',
    where: `state = 'failed'`,
  },
  {
    name: 'late_starts',
    unit: 'ratio',
    view: 'workflow_daily',
    by: ['source', 'dag_name'],
    about: 'Share of the scheduled runs that started more than a minute after they were due.',
    value: 'sum(late_runs) / nullif(sum(scheduled_runs), 0)',
  },

  // Across the sources
  {
    name: 'deployment_frequency',
    unit: 'count',
    view: 'dora_weekly',
    by: ['week_start'],
    about: 'Deployments that succeeded.',
    value: 'sum(deployments)',
  },
  {
    name: 'change_failure_rate',
    unit: 'ratio',
    view: 'dora_weekly',
    by: ['week_start'],
    about: 'Share of the deployments that failed.',
    value: 'sum(failed_deployments) / nullif(sum(deployments) + sum(failed_deployments), 0)',
  },
  {
    name: 'time_to_restore',
    unit: 'hours',
    view: 'incidents',
    by: ['source', 'incident_kind'],
    about: 'Hours from the beginning of an incident to its end, the median of those that ended.',
    value: middle('0.5', 'restore_hours'),
    where: 'not is_open',
  },

  // Tidemark itself
  {
    name: 'late_nights',
    unit: 'count',
    view: 'late_nights',
    by: ['source'],
    about: 'Nights whose sync was not complete when it was promised.',
    value: 'count(*)',
    where: 'is_late',
  },
  {
    name: 'stale_streams',
    unit: 'count',
    view: 'data_freshness',
    by: ['source'],
    about: 'Streams that are older than promised; a report that reads them is not of today.',
    value: 'count(*)',
    where: 'is_stale',
  },
];

/** The metric as one SELECT. */
export const metricQuery = ({ name, view, value, where, by }: Metric): string =>
  [
    `select ${by.join(', ')}, ${value} as ${name}`,
    `from bi.${view}`,
    ...(where === undefined ? [] : [`where ${where}`]),
    `group by ${by.join(', ')}`,
  ].join('\n');

/** docs/bi/metrics.md */
export const metricsPage = (): string =>
  [
    '# Metrics',
    '',
    'Written by `npm run docs` from `docs/bi/metrics.ts`; the same definitions are the measures of the [Cube model](cube.yml). Shown with the',
    'columns that they are usually grouped by: group by others as you like, by `currency` always where amounts are involved. A ratio is computed',
    'from sums, a median from rows: neither can be averaged again.',
    '',
    ...metrics.flatMap((metric) => [
      `## ${metric.name}`,
      '',
      `${metric.about} Unit: ${metric.unit}.`,
      '',
      '```sql',
      `${metricQuery(metric)};`,
      '```',
      '',
    ]),
  ].join('\n');

/** docs/bi/metrics.yml */
export const metricsFile = (): string =>
  yamlFile('Written by npm run docs from docs/bi/metrics.ts; do not edit it by hand.', {
    metrics: metrics.map((metric) => ({ ...metric, sql: metricQuery(metric) })),
  });
