/** The dashboards for Grafana: docs/bi/grafana, to be provisioned as they are. */

interface Dashboard {
  /** Name of its file and its uid. */
  readonly file: string;
  readonly title: string;
  readonly about: string;
  /** Range that is shown first. */
  readonly from: string;
  /** Name of a variable and the query for its values. */
  readonly variables: Readonly<Record<string, string>>;
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly type: 'timeseries' | 'barchart' | 'stat' | 'table';
  /** Of 24 columns. */
  readonly width: number;
  readonly unit?: string;
  readonly isStacked?: true;
  readonly sql: string;
}

const freshness: Panel = {
  title: 'Stale streams',
  type: 'table',
  width: 24,
  about: 'What is older than promised. Empty: everything on this page is fresh.',
  sql: `select source, stream, freshness, fresh_at, reason
from bi.data_freshness
where is_stale
order by source, stream`,
};

/** Grafana quotes the values of a variable by itself only where it takes several. */
const chosen = (variable: string): string => `\${${variable}:sqlstring}`;

const inProjects = `project_key in (${chosen('project')})`;

const delivery: Dashboard = {
  file: 'delivery',
  title: 'Delivery',
  from: 'now-6M',
  about: 'How much work comes in and gets done, how long it takes, and where it waits.',
  variables: { project: 'select project_key from bi.projects order by project_key' },
  panels: [
    {
      title: 'Open issues',
      type: 'stat',
      width: 6,
      unit: 'none',
      about: 'Issues that are not done, now.',
      sql: `select count(*) as open_issues from bi.issues where is_open and ${inProjects}`,
    },
    {
      title: 'Overdue',
      type: 'stat',
      width: 6,
      unit: 'none',
      about: 'Open issues whose due day is over.',
      sql: `select count(*) as overdue from bi.issues where is_overdue and ${inProjects}`,
    },
    {
      title: 'Cycle time, median',
      type: 'stat',
      width: 6,
      unit: 'd',
      about: 'From first in progress to done, of the issues done in the range.',
      sql: `select percentile_cont(0.5) within group (order by cycle_time_days) as days
from bi.issue_cycle_times
where $__timeFilter(done_at) and ${inProjects}`,
    },
    {
      title: 'Cycle time, 85th percentile',
      type: 'stat',
      width: 6,
      unit: 'd',
      about: 'What can be promised: 85 of 100 issues took no longer.',
      sql: `select percentile_cont(0.85) within group (order by cycle_time_days) as days
from bi.issue_cycle_times
where $__timeFilter(done_at) and ${inProjects}`,
    },
    {
      title: 'Created and done',
      type: 'timeseries',
      width: 12,
      unit: 'none',
      about: 'Issues by week. Where created stays above done, the backlog grows.',
      sql: `select week_start::timestamp as time, sum(created_issues)::bigint as created, sum(done_issues)::bigint as done
from bi.throughput_weekly
where $__timeFilter(week_start::timestamp) and ${inProjects}
group by week_start
order by week_start`,
    },
    {
      title: 'Cumulative flow',
      type: 'timeseries',
      width: 12,
      unit: 'none',
      isStacked: true,
      about: 'Issues by status category at the end of each day. A band that widens is where work piles up.',
      sql: `select date_day::timestamp as time, status_category as metric, sum(issues)::bigint as issues
from bi.cumulative_flow_daily
where $__timeFilter(date_day::timestamp) and ${inProjects}
group by date_day, status_category
order by date_day, status_category`,
    },
    {
      title: 'Velocity',
      type: 'barchart',
      width: 12,
      unit: 'none',
      about: 'Story points committed and done, of the sprints closed in the range.',
      sql: `select sprint_name, committed_points, done_points
from bi.sprints
where sprint_state = 'closed' and $__timeFilter(completed_at)
order by completed_at desc
limit 20`,
    },
    {
      title: 'Where work waits',
      type: 'table',
      width: 12,
      about: 'Days in each status, of the stays that ended in the range.',
      sql: `select status, status_category, count(*) as stays,
  round((percentile_cont(0.5) within group (order by days_in_status))::numeric, 1) as median_days,
  count(*) filter (where transition in ('backward', 'reopened')) as sent_back
from bi.issue_status_history
where $__timeFilter(left_at) and status_category <> 'done' and ${inProjects}
group by status, status_category
order by median_days desc`,
    },
    freshness,
  ],
};

const inCurrency = `currency = ${chosen('currency')}`;

const advertising: Dashboard = {
  file: 'advertising',
  title: 'Advertising',
  from: 'now-90d',
  about: 'What campaigns cost and bring, day by day; one currency at a time.',
  variables: {
    currency: 'select distinct currency from bi.ad_accounts where currency is not null order by currency',
  },
  panels: [
    {
      title: 'Spend',
      type: 'timeseries',
      width: 12,
      unit: 'none',
      about: 'Spend by day and account, in the chosen currency. Days are those of the platform.',
      sql: `select date_day::timestamp as time, ad_account_name as metric, sum(spend) as spend
from bi.ad_performance_daily
where $__timeFilter(date_day::timestamp) and ${inCurrency}
group by date_day, ad_account_id, ad_account_name
order by date_day, ad_account_name`,
    },
    {
      title: 'Impressions and clicks',
      type: 'timeseries',
      width: 12,
      unit: 'short',
      about: 'By day, over all accounts of the currency.',
      sql: `select date_day::timestamp as time, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from bi.ad_performance_daily
where $__timeFilter(date_day::timestamp) and ${inCurrency}
group by date_day
order by date_day`,
    },
    {
      title: 'Campaigns',
      type: 'table',
      width: 24,
      about:
        'Over the range. Conversions are those told for campaigns; ads hide more of them. Reach is not shown: it cannot be summed over days.',
      sql: `select campaign_name, sum(spend) as spend, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks,
  round(sum(clicks) / nullif(sum(impressions), 0), 5) as ctr, round(sum(spend) / nullif(sum(clicks), 0), 2) as cpc,
  sum(purchases)::bigint as purchases, bool_or(purchases_suppressed) as some_purchases_hidden
from bi.campaign_performance_daily
where $__timeFilter(date_day::timestamp) and ${inCurrency}
group by campaign_id, campaign_name
order by spend desc`,
    },
    {
      title: 'Pacing',
      type: 'table',
      width: 24,
      about: 'Ad sets in flight: used budget beside elapsed time.',
      sql: `select campaign_name, ad_set_name, budget_type, budget_to_date, spend_to_date, budget_used_ratio, flight_elapsed_ratio
from bi.ad_set_pacing
where status = 'ACTIVE' and ${inCurrency}
order by budget_used_ratio desc nulls last`,
    },
    freshness,
  ],
};

export const dashboards: readonly Dashboard[] = [delivery, advertising];

export const queriesOf = ({ variables, panels }: Dashboard): readonly string[] => [
  ...Object.values(variables),
  ...panels.map(({ sql }) => sql),
];

const datasource = { type: 'grafana-postgresql-datasource', uid: 'tidemark' };

/** A dashboard as Grafana reads it. */
export function dashboardFile(dashboard: Dashboard): string {
  const { file, title, about, from, variables, panels } = dashboard;
  const model = {
    uid: `tidemark-${file}`,
    title: `Tidemark: ${title}`,
    description: about,
    tags: ['tidemark'],
    timezone: 'utc',
    time: { from, to: 'now' },
    schemaVersion: 39,
    templating: { list: Object.entries(variables).map(([name, query]) => variable(name, query)) },
    panels: placed(panels),
  };
  return `${JSON.stringify(model, null, 2)}\n`;
}

/** `project` takes several values, `currency` exactly one: amounts are never added across currencies. */
const variable = (name: string, query: string) => ({
  name,
  label: name,
  type: 'query',
  datasource,
  query,
  refresh: 1,
  ...(name === 'currency'
    ? { multi: false }
    : { multi: true, includeAll: true, current: { text: ['All'], value: ['$__all'] } }),
});

/** Panels from left to right; a full row begins the next. */
function placed(panels: readonly Panel[]): readonly object[] {
  let x = 0;
  let y = 0;
  return panels.map((panel, index) => {
    const h = panel.type === 'stat' ? 4 : 8;
    if (x + panel.width > 24) x = 0;
    const gridPos = { x, y, w: panel.width, h };
    x += panel.width;
    if (x >= 24) y += h;
    return panelModel(panel, index + 1, gridPos);
  });
}

function panelModel(
  { title, about, type, unit, isStacked, sql }: Panel,
  id: number,
  gridPos: object,
): object {
  const format = type === 'timeseries' ? 'time_series' : 'table';
  const custom = isStacked && { custom: { stacking: { mode: 'normal' }, fillOpacity: 60 } };
  return {
    id,
    title,
    description: about,
    type,
    gridPos,
    datasource,
    fieldConfig: { defaults: { ...(unit && { unit }), ...custom }, overrides: [] },
    targets: [{ refId: 'A', datasource, format, rawQuery: true, rawSql: sql }],
  };
}
