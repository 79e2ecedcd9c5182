/** What an analyst asks a view: one question for each view of `bi`. They are timed by `npm run bench -- i`. */
export interface Example {
  /** Name in `bi`. */
  readonly view: string;
  readonly asks: string;
  readonly sql: string;
}

/** Alphabetically by view. */
export const examples: readonly Example[] = [
  {
    view: 'account_performance_daily',
    asks: 'What does each account spend a month?',
    sql: `select date_trunc('month', date_day)::date as month_start, ad_account_name, currency, sum(spend) as spend
from bi.account_performance_daily group by 1, ad_account_id, 2, 3 order by 1, 2`,
  },
  {
    view: 'ad_accounts',
    asks: 'Which accounts report in which currency?',
    sql: 'select currency, count(*) from bi.ad_accounts group by 1',
  },
  {
    view: 'ad_change_history',
    asks: 'Who changed the most last month?',
    sql: `select changed_by, count(distinct change_id) from bi.ad_change_history
where changed_at >= now() - interval '30 days' group by 1 order by 2 desc`,
  },
  {
    view: 'ad_extra_metrics',
    asks: 'Which numbers does the platform report that have no column yet?',
    sql: 'select metric, count(*), max(date_day) from bi.ad_extra_metrics group by 1 order by 2 desc',
  },
  {
    view: 'ad_level_checks',
    asks: 'Where do the levels of the last month disagree?',
    sql: `select measure, upper_level, currency, count(*), sum(difference) from bi.ad_level_checks
where date_day >= current_date - 30 group by 1, 2, 3`,
  },
  {
    view: 'ad_performance_daily',
    asks: 'What did each ad set cost per click this quarter?',
    sql: `select ad_set_name, currency, sum(spend) / nullif(sum(clicks), 0) as cpc from bi.ad_performance_daily
where date_day >= current_date - 90 group by ad_set_id, 1, 2 order by 3`,
  },
  {
    view: 'ad_performance_hourly',
    asks: 'At what hour of the day are ads heard?',
    sql: `select extract(hour from hour_start_at at time zone 'UTC') as hour_of_day, sum(impressions) as impressions
from bi.ad_performance_hourly group by 1 order by 1`,
  },
  {
    view: 'ad_set_history',
    asks: 'How often did budgets change?',
    sql: 'select ad_set_name, count(distinct budget) from bi.ad_set_history group by ad_set_id, 1 order by 2 desc',
  },
  {
    view: 'ad_set_pacing',
    asks: 'Which running ad sets are behind their budget?',
    sql: `select ad_set_name, budget_used_ratio from bi.ad_set_pacing
where end_at > now() and budget_used_ratio < 0.8 order by 2`,
  },
  {
    view: 'ad_set_performance_daily',
    asks: 'How many purchases did each ad set bring this quarter?',
    sql: `select ad_set_name, sum(purchases) as purchases, count(*) filter (where is_purchases_suppressed) as days_hidden
from bi.ad_set_performance_daily where date_day >= current_date - 90 group by ad_set_id, 1 order by 2 desc`,
  },
  {
    view: 'ad_set_targets',
    asks: 'How many ad sets are aimed at each value?',
    sql: 'select dimension, target_value, count(*) from bi.ad_set_targets group by 1, 2 order by 3 desc',
  },
  {
    view: 'ads',
    asks: 'How many ads does each campaign have?',
    sql: 'select campaign_name, count(*) from bi.ads group by campaign_id, 1 order by 2 desc',
  },
  {
    view: 'assets',
    asks: 'Which creatives are used by no ad?',
    sql: 'select asset_name, asset_type from bi.assets where ads_as_creative = 0',
  },
  {
    view: 'audience_insights',
    asks: 'How old are the listeners of each campaign?',
    sql: `select entity_name, dimension_value, impressions, impression_share_ratio from bi.audience_insights
where entity_type = 'CAMPAIGN' and dimension = 'AGE' and is_latest`,
  },
  {
    view: 'audiences',
    asks: 'Which large audiences does no ad set use?',
    sql: 'select audience_name, size_max from bi.audiences where targeting_ad_sets = 0 order by 2 desc',
  },
  {
    view: 'boards',
    asks: 'How many boards of each type are there?',
    sql: 'select board_type, count(*) from bi.boards group by 1',
  },
  {
    view: 'calendar',
    asks: 'How many working days has each month of this year?',
    sql: `select month_start, count(*) filter (where is_working_day) from bi.calendar
where year_start = date_trunc('year', current_date)::date group by 1 order by 1`,
  },
  {
    view: 'campaign_performance_daily',
    asks: 'What was spent on each campaign, week by week?',
    sql: `select date_trunc('week', date_day)::date as week_start, campaign_name, currency, sum(spend) as spend
from bi.campaign_performance_daily group by 1, campaign_id, 2, 3 order by 1, 2`,
  },
  {
    view: 'campaigns',
    asks: 'How many campaigns have which objective?',
    sql: 'select objective, count(*) from bi.campaigns group by 1',
  },
  {
    view: 'comments',
    asks: 'How many comments were written each month?',
    sql: `select date_trunc('month', created_at)::date as month_start, count(*) from bi.comments
where created_at >= now() - interval '1 year' group by 1 order by 1`,
  },
  {
    view: 'components',
    asks: 'Which components have the most open work?',
    sql: 'select project_key, component_name, open_issues from bi.components order by 3 desc limit 20',
  },
  {
    view: 'contract',
    asks: 'Which version of the contract is this?',
    sql: 'select bi_version from bi.contract',
  },
  {
    view: 'cross_links',
    asks: 'Which issues belong to which campaigns?',
    sql: `select from_name, to_name from bi.cross_links
where from_kind = 'campaign' and to_kind = 'issue' order by 1, 2`,
  },
  {
    view: 'cumulative_flow_daily',
    asks: 'How did work in progress develop in the last quarter?',
    sql: `select date_day, status_category, sum(issues) from bi.cumulative_flow_daily
where date_day >= current_date - 90 group by 1, 2 order by 1, 2`,
  },
  {
    view: 'dags',
    asks: 'Which scheduled DAGs have not succeeded since yesterday?',
    sql: `select dag_name, schedule, last_success_at from bi.dags
where schedule is not null and not is_suspended and last_success_at < now() - interval '1 day'`,
  },
  {
    view: 'data_freshness',
    asks: 'Which streams are stale?',
    sql: 'select source, stream, fresh_at from bi.data_freshness where is_stale',
  },
  {
    view: 'deletions',
    asks: 'What vanished last month?',
    sql: `select table_name, count(*) from bi.deletions
where deleted_date >= current_date - 30 group by 1 order by 2 desc`,
  },
  {
    view: 'dora_weekly',
    asks: 'How did the company deliver this quarter?',
    sql: `select week_start, deployments, change_failure_ratio, median_cycle_time_hours, median_restore_hours
from bi.dora_weekly where week_start >= current_date - 91 order by 1`,
  },
  {
    view: 'incidents',
    asks: 'How long did restoring take this quarter?',
    sql: `select incident_kind, count(*), percentile_cont(0.5) within group (order by restore_hours) as median_hours
from bi.incidents where opened_at >= now() - interval '91 days' group by 1`,
  },
  {
    view: 'issue_changes',
    asks: 'Who changed priorities last month?',
    sql: `select changed_by_name, count(*) from bi.issue_changes
where field_id = 'priority' and changed_at >= now() - interval '30 days' group by changed_by_id, 1 order by 2 desc`,
  },
  {
    view: 'issue_custom_fields',
    asks: 'Which values does one field have in one project?',
    sql: `select value_text, count(*) from bi.issue_custom_fields
where project_key = 'WEB' and field_id = 'customfield_10114' group by 1 order by 2 desc`,
  },
  {
    view: 'issue_cycle_times',
    asks: 'How long does work take, month by month?',
    sql: `select date_trunc('month', done_at)::date as month_start, project_key,
  percentile_cont(0.5) within group (order by cycle_time_days) as median_days
from bi.issue_cycle_times where is_done group by 1, 2`,
  },
  {
    view: 'issue_field_history',
    asks: 'Who had how many issues a year ago?',
    sql: `select value_text, count(*) from bi.issue_field_history
      where field_name = 'assignee' and valid_from <= now() - interval '1 year' and (valid_to > now() - interval '1 year' or valid_to is null)
      group by 1 order by 2 desc`,
  },
  {
    view: 'issue_labels',
    asks: 'Which labels are used most?',
    sql: 'select issue_label, count(*) from bi.issue_labels group by 1 order by 2 desc limit 20',
  },
  {
    view: 'issue_links',
    asks: 'What is blocked by open work?',
    sql: `select issue_key, other_issue_key from bi.issue_links where project_key = 'WEB' and is_blocked`,
  },
  {
    view: 'issue_response_times',
    asks: 'How fast was the first answer, month by month?',
    sql: `select date_trunc('month', created_date)::date as month_start,
  percentile_cont(0.5) within group (order by first_response_working_hours) as median_hours
from bi.issue_response_times where created_at >= now() - interval '1 year' group by 1 order by 1`,
  },
  {
    view: 'issue_status_history',
    asks: 'How long do issues of a project stay in each status?',
    sql: `select status, percentile_cont(0.5) within group (order by days_in_status) as median_days
from bi.issue_status_history where project_key = 'WEB' and not is_current group by 1`,
  },
  {
    view: 'issues',
    asks: 'How old is the open work of each project?',
    sql: `select project_key, status_category, count(*), avg(age_days) from bi.issues
where is_open group by 1, 2 order by 1, 2`,
  },
  {
    view: 'landing_pages',
    asks: 'Which pages do ads lead to?',
    sql: 'select host, utm_campaign, count(*) from bi.landing_pages group by 1, 2 order by 3 desc',
  },
  {
    view: 'late_nights',
    asks: 'Which nights were late last month?',
    sql: `select source, night_date, status from bi.late_nights
where is_late and night_date >= current_date - 30 order by 2 desc, 1`,
  },
  {
    view: 'linked_campaign_spend_daily',
    asks: 'What did the campaigns of each issue spend?',
    sql: `select linked_issue_key, currency, sum(allocated_spend) from bi.linked_campaign_spend_daily
group by issue_source, linked_issue_id, 1, 2 order by 3 desc`,
  },
  {
    view: 'project_summary',
    asks: 'Which projects have the most overdue issues?',
    sql: 'select project_key, open_issues, overdue_issues from bi.project_summary order by 3 desc',
  },
  {
    view: 'projects',
    asks: 'Which projects are there?',
    sql: 'select project_key, project_name from bi.projects order by 1',
  },
  {
    view: 'quality_checks',
    asks: 'What is wrong with the data?',
    sql: `select source, check_name, description, offending_rows from bi.quality_checks
where not is_ok order by severity, offending_rows desc`,
  },
  {
    view: 'reach_periods',
    asks: 'How many people did each campaign reach so far?',
    sql: `select entity_name, reach_period, frequency_period from bi.reach_periods
where entity_type = 'CAMPAIGN' and period = 'LIFETIME' and is_latest order by 2 desc`,
  },
  {
    view: 'receipts',
    asks: 'Which parts of streams did not come whole?',
    sql: 'select stream, owner, records_expected, records_read from bi.receipts where not is_matching',
  },
  {
    view: 'report_revisions',
    asks: 'By how much was spend restated?',
    sql: `select date_day, currency, sum(difference) from bi.report_revisions
where entity_type = 'CAMPAIGN' and metric = 'spend' group by 1, 2 order by 1`,
  },
  {
    view: 'sprint_burndown_daily',
    asks: 'How did one sprint burn down?',
    sql: `select date_day, scope_points, remaining_points, ideal_points from bi.sprint_burndown_daily
where sprint_name = 'WEB Sprint 3' order by date_day`,
  },
  {
    view: 'sprint_issues',
    asks: 'What became of the issues of one sprint?',
    sql: `select issue_key, is_committed, is_added, is_removed, is_done from bi.sprint_issues where sprint_id = '50'`,
  },
  {
    view: 'sprints',
    asks: 'What is the velocity of one board?',
    sql: `select sprint_name, committed_points, done_points from bi.sprints
where board_id = '1' and sprint_state = 'closed' order by end_at desc limit 12`,
  },
  {
    view: 'stream_runs',
    asks: 'What did the last nights read?',
    sql: `select started_date, sum(rows_received) from bi.stream_runs
where started_at >= now() - interval '30 days' group by 1 order by 1`,
  },
  {
    view: 'sync_runs',
    asks: 'How many nights went wrong?',
    sql: 'select pipeline, status, count(*) from bi.sync_runs group by 1, 2',
  },
  {
    view: 'target_performance_daily',
    asks: 'What was spent on each country?',
    sql: `select target_value, currency, sum(allocated_spend) from bi.target_performance_daily
where dimension = 'geo_targets.country_code' and date_day >= current_date - 90 group by 1, 2 order by 3 desc`,
  },
  {
    view: 'throughput_weekly',
    asks: 'Does the backlog of a project grow?',
    sql: `select week_start, sum(created_issues), sum(done_issues), sum(net_open_change) from bi.throughput_weekly
where project_key = 'WEB' group by 1 order by 1`,
  },
  {
    view: 'user_workload',
    asks: 'Who has the most to do?',
    sql: 'select assignee_name, open_issues, open_story_points from bi.user_workload order by 2 desc limit 20',
  },
  {
    view: 'users',
    asks: 'How many accounts are active?',
    sql: 'select is_active, count(*) from bi.users group by 1',
  },
  {
    view: 'versions',
    asks: 'How far are the next releases?',
    sql: `select project_key, version_name, release_date, done_issues_ratio from bi.versions
where not is_released order by release_date`,
  },
  {
    view: 'workflow_attempts',
    asks: 'On which days did a DAG fail, also where it was retried and went well on another day?',
    sql: `select start_date, dag_name, count(*) as tries, count(*) filter (where state = 'failed') as failed
from bi.workflow_attempts where start_date >= current_date - 90 group by 1, 2 order by 1, 2`,
  },
  {
    view: 'workflow_daily',
    asks: 'How reliable is each DAG?',
    sql: `select dag_name, sum(succeeded)::numeric / nullif(sum(runs), 0) as success_ratio from bi.workflow_daily
where date_day >= current_date - 90 group by 1 order by 2`,
  },
  {
    view: 'workflow_runs',
    asks: 'Which runs failed last month, and where?',
    sql: `select dag_name, first_failed_step, count(*) from bi.workflow_runs
where started_at >= now() - interval '30 days' and state = 'failed' group by 1, 2`,
  },
  {
    view: 'workflow_steps',
    asks: 'Which steps of a DAG are slow?',
    sql: `select step_name, percentile_cont(0.95) within group (order by duration_seconds) as p95_seconds
from bi.workflow_steps where dag_name = 'nightly-20' group by 1 order by 2 desc`,
  },
  {
    view: 'worklogs',
    asks: 'How many hours were logged each month?',
    sql: `select date_trunc('month', work_date)::date as month_start, sum(time_spent_hours) from bi.worklogs
where project_key = 'WEB' group by 1 order by 1`,
  },
];
