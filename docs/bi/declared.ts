/**
 * What the database cannot say about the views of `bi`: which columns identify a row, where ids lead, and which numbers may be summed.
 * Types, comments and the order of columns are read from a migrated warehouse (`contract.ts`). To add a view, add its line to `views`; what is
 * missing, `npm run docs` says.
 */

/** Major: a column was removed or changed. Minor: views or columns were added, since the last release. Shown by `bi.contract`. */
export const version = '1.0';

/** Whether numbers of several rows may be added up. */
export type Additivity =
  /** Always, within one currency. */
  | 'additive'
  /** Only over rows that agree in the columns of `within`: states of a day, what belongs to several entities at once. */
  | 'semi_additive'
  /** The source hides small numbers, which are null then: a sum is the least that it can be. Beyond that as additive, or semi-additive. */
  | 'lower_bound'
  /** Never: ratios, medians, spans of time that overlap, counts of different people. Compute them anew from what may be summed. */
  | 'non_additive';

/** A number by what may be done with it; `label`: it numbers, orders or names something and measures nothing. */
export type Kind = Additivity | 'label';

export interface Declared {
  /** Columns that are unique together, and not null but for `nullable`. */
  readonly key: readonly string[];
  /** Columns of the key that may be null: the row without one is a row of its own. */
  readonly nullable?: readonly string[];
  /** The date that reports are drawn over, a day or the first day of a week. */
  readonly day?: string;
  /** For views with a day in the key. Flow: what happened on it, sums over days are true. State: how things stood at its end. */
  readonly days?: 'flow' | 'state';
  /** Sums are true within one value of each of these columns. Every number that could be summed is then `semi_additive`. */
  readonly within?: readonly string[];
  /** Numbers for which the rules by name do not hold here. */
  readonly numbers?: Readonly<Record<string, Kind>>;
  /** True: rows of other views lead here by the columns of the key, as far as they are named alike. */
  readonly entity?: true;
}

const of = (...columns: readonly string[]): readonly string[] => ['source', ...columns];

export const views: Readonly<Record<string, Declared>> = {
  contract: { key: ['bi_version'] },
  calendar: { key: ['date_day'] },

  // The issue tracker
  boards: { key: of('board_id'), entity: true },
  comments: { key: of('comment_id'), day: 'created_date' },
  components: { key: of('component_id'), within: ['component_id'], entity: true },
  cumulative_flow_daily: {
    key: of('project_id', 'status_category', 'date_day'),
    nullable: ['project_id'],
    day: 'date_day',
    days: 'state',
  },
  issue_changes: { key: of('history_id', 'item_number'), day: 'changed_date' },
  issue_custom_fields: {
    key: of('issue_id', 'field_id', 'value_number_in_field'),
    numbers: { value_number_in_field: 'label', value_number: 'non_additive' },
  },
  issue_cycle_times: { key: of('issue_id'), day: 'done_date' },
  issue_field_history: {
    key: of('issue_id', 'field_name', 'value_id', 'valid_from'),
    nullable: ['value_id'],
    numbers: { value_number: 'non_additive' },
  },
  issue_labels: { key: of('issue_id', 'issue_label') },
  issue_links: { key: of('issue_id', 'link_id', 'direction') },
  issue_response_times: { key: of('issue_id'), day: 'created_date' },
  issue_status_history: { key: of('issue_id', 'status_sequence'), day: 'entered_date' },
  issues: { key: of('issue_id'), day: 'created_date', entity: true },
  project_summary: { key: of('project_id') },
  projects: { key: of('project_id'), entity: true },
  sprint_issues: { key: of('sprint_id', 'issue_id'), within: ['sprint_id'] },
  sprint_burndown_daily: {
    key: of('sprint_id', 'date_day'),
    // An issue may be in two sprints on one day.
    day: 'date_day',
    days: 'state',
    within: ['sprint_id', 'date_day'],
    numbers: { day_number: 'label' },
  },
  // What is carried over was committed to in several sprints.
  sprints: { key: of('sprint_id'), within: ['sprint_id'], entity: true },
  throughput_weekly: {
    key: of('project_id', 'issue_type', 'week_start'),
    nullable: ['project_id', 'issue_type'],
    day: 'week_start',
    days: 'flow',
  },
  user_workload: { key: of('assignee_id'), nullable: ['assignee_id'] },
  users: { key: of('user_id'), entity: true },
  versions: { key: of('version_id'), within: ['version_id'], entity: true },
  worklogs: { key: of('worklog_id'), day: 'work_date' },

  // The advertising platform
  account_performance_daily: { key: of('ad_account_id', 'date_day'), day: 'date_day', days: 'flow' },
  ad_accounts: { key: of('ad_account_id'), entity: true },
  ad_change_history: {
    key: of('change_id', 'field_number'),
    nullable: ['field_number'],
    day: 'changed_date',
  },
  ad_extra_metrics: {
    key: of('entity_type', 'entity_id', 'date_day', 'metric'),
    day: 'date_day',
    days: 'flow',
    numbers: { metric_value: 'non_additive' },
  },
  ad_level_checks: {
    key: of('ad_account_id', 'date_day', 'measure', 'upper_level'),
    day: 'date_day',
    days: 'flow',
    within: ['measure', 'upper_level'],
    numbers: { lower_sum: 'semi_additive', upper_sum: 'semi_additive', difference: 'semi_additive' },
  },
  ad_performance_daily: { key: of('ad_id', 'date_day'), day: 'date_day', days: 'flow' },
  ad_performance_hourly: { key: of('ad_id', 'hour_start_at'), day: 'date_day', days: 'flow' },
  ad_set_history: { key: of('ad_set_id', 'valid_from'), numbers: { budget: 'non_additive' } },
  ad_set_pacing: { key: of('ad_set_id'), entity: true, numbers: { budget: 'non_additive' } },
  ad_set_performance_daily: { key: of('ad_set_id', 'date_day'), day: 'date_day', days: 'flow' },
  ad_set_targets: { key: of('ad_set_id', 'dimension', 'target_value') },
  target_performance_daily: {
    key: of('ad_set_id', 'date_day', 'dimension', 'target_value'),
    day: 'date_day',
    days: 'flow',
    within: ['dimension'],
  },
  ads: { key: of('ad_id'), entity: true },
  assets: {
    key: of('asset_id'),
    entity: true,
    numbers: {
      width_pixels: 'non_additive',
      height_pixels: 'non_additive',
      duration_seconds: 'non_additive',
    },
  },
  audience_insights: {
    key: of('entity_type', 'entity_id', 'dimension', 'dimension_value', 'captured_date'),
    day: 'captured_date',
    days: 'state',
    within: ['entity_type', 'dimension', 'captured_date'],
  },
  audiences: {
    key: of('audience_id'),
    entity: true,
    numbers: {
      size_min: 'non_additive',
      size_max: 'non_additive',
      lookback_days: 'non_additive',
      targeting_ad_sets: 'non_additive',
      excluding_ad_sets: 'non_additive',
    },
  },
  campaign_performance_daily: { key: of('campaign_id', 'date_day'), day: 'date_day', days: 'flow' },
  campaigns: { key: of('campaign_id'), entity: true },
  landing_pages: { key: of('ad_id', 'item_number') },
  reach_periods: {
    key: of('entity_type', 'entity_id', 'period', 'captured_date'),
    day: 'captured_date',
    days: 'state',
    within: ['entity_type', 'period', 'captured_date'],
  },
  report_revisions: {
    key: of('entity_type', 'entity_id', 'date_day', 'metric', 'seen_at'),
    day: 'date_day',
    days: 'flow',
    within: ['entity_type', 'metric'],
    numbers: {
      old_value: 'non_additive',
      new_value: 'non_additive',
      difference: 'semi_additive',
      days_later: 'non_additive',
    },
  },

  // The workflow engine
  dags: { key: of('dag_name'), numbers: { max_active_runs: 'non_additive' }, entity: true },
  workflow_daily: { key: of('dag_name', 'date_day'), nullable: ['date_day'], day: 'date_day', days: 'flow' },
  workflow_attempts: { key: of('dag_name', 'dag_run_id', 'attempt_number'), day: 'start_date' },
  workflow_runs: {
    key: of('dag_name', 'dag_run_id'),
    entity: true,
    numbers: { attempts: 'additive' },
  },
  workflow_steps: { key: of('dag_name', 'dag_run_id', 'step_name', 'occurrence') },

  // Across the systems
  cross_links: {
    key: of('from_kind', 'from_id', 'from_name', 'from_field', 'mention', 'to_kind', 'to_source', 'to_id'),
  },
  linked_campaign_spend_daily: {
    key: of('campaign_id', 'date_day', 'issue_source', 'linked_issue_id'),
    day: 'date_day',
    days: 'flow',
  },
  dora_weekly: { key: ['week_start'], day: 'week_start', days: 'flow' },
  incidents: {
    key: of('incident_kind', 'incident_id', 'incident_name', 'opened_at'),
    day: 'opened_date',
  },

  // Tidemark itself
  data_freshness: { key: of('stream'), numbers: { freshness_promise_seconds: 'non_additive' } },
  deletions: { key: of('table_name', 'record_id'), day: 'deleted_date' },
  late_nights: { key: of('night_date'), day: 'night_date', days: 'flow' },
  quality_checks: { key: of('check_name'), within: ['check_name'] },
  receipts: { key: of('slice_id'), day: 'finished_date' },
  stream_runs: {
    key: of('run_id', 'stream'),
    day: 'started_date',
    numbers: { live_rows: 'non_additive' },
  },
  sync_runs: { key: ['run_id'], day: 'started_date', entity: true },

  // Data about people, with a grant of its own
  'bi_pii.comments': { key: of('comment_id') },
  'bi_pii.users': { key: of('user_id') },
  'bi_pii.worklogs': { key: of('worklog_id') },
};

/** What a number is by the name of its column; the first rule that fits holds. */
export const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/_(number|sequence|position|rank|year|quarter|week|month)$|^(day_of_week|occurrence)$/, 'label'],
  [
    /_ratio$|_share$|_per_|_cost$|^(ctr|cpc|cpm|cpa)$|^(p\d\d|median|average|longest|shortest)_|^seconds_since_/,
    'non_additive',
  ],
  // From one event to another: such spans overlap. Time in a status, time worked and durations of runs are amounts.
  [
    /^(age|lead_time|cycle_time|restore|(first_response|resolution)(_working)?|lateness|queue)_(days|hours|seconds)$/,
    'non_additive',
  ],
  [/(^|_)(reach|listeners|frequency|people|users)(_|$)|^bid$/, 'non_additive'],
  [
    /(^|_)(seconds|hours|days|points|issues|steps|runs|streams|changes|count|records|rows|requests|retries)(_|$)/,
    'additive',
  ],
  [
    /^(allocated|budget|spend|revenue|clicks|starts|completes|skips|unmutes|paid_listens|ads_as)(_|$)/,
    'additive',
  ],
  [/(^|_)(impressions|quartiles|midpoints|video_views|video_expands|lookalike_audiences)(_|$)/, 'additive'],
  [/^(page_views|leads|add_to_cart|start_checkout|purchases|products|sign_ups|custom_event_\d)$/, 'additive'],
  [
    /^(succeeded|failed|aborted|unfinished|votes|watchers|slices|rejects|open_rejects|net_open_change)$/,
    'additive',
  ],
  [/(^|_)(deployments|incidents)$|^(definition_errors|passes|repetitions)$/, 'additive'],
];

/** The unit of a number by the name of its column; else it counts what it is named after. */
export const units: readonly (readonly [RegExp, string])[] = [
  [/_(issues|runs|steps|streams|count)$/, 'count'],
  [/_in_reporting_currency$/, 'reporting currency'],
  [/(^|_)seconds(_|$)/, 'seconds'],
  [/(^|_)hours(_|$)/, 'hours'],
  [/(^|_)days(_|$)/, 'days'],
  [/(^|_)points(_|$)/, 'story points'],
  [/_ratio$|_share$|^ctr$/, 'ratio'],
  [
    /^(spend|allocated_spend|revenue|budget|bid|cpc|cpm|cpa|cost_per)(_|$)|_cost$|^average_order_value$/,
    'currency',
  ],
  [/(^|_)frequency(_|$)|^streams_per_/, 'times per person'],
  [/(^|_)(reach|listeners|people)(_|$)/, 'people'],
  [/^(old_value|new_value|difference|lower_sum|upper_sum|metric_value)$/, 'unit of the metric'],
  [/^value_number$/, 'unit of the field'],
];

/** Columns that lead to an entity under another name than its own. */
export const roles: Readonly<Record<string, string>> = {
  assignee_id: 'users',
  author_id: 'users',
  canvas_asset_id: 'assets',
  changed_by_id: 'users',
  companion_asset_id: 'assets',
  creator_id: 'users',
  entered_by_id: 'users',
  first_response_by_id: 'users',
  lead_id: 'users',
  reporter_id: 'users',
  last_dag_run_id: 'workflow_runs',
  last_run_id: 'sync_runs',
  logo_asset_id: 'assets',
  other_issue_id: 'issues',
  parent_issue_id: 'issues',
  seed_audience_id: 'audiences',
};

/**
 * Relations, as `view.column`, in which every row finds its target; those of `*` hold in all views. Other targets may be deleted at the source,
 * hidden, or not read yet: the row stays, and finds nothing.
 */
export const complete: readonly string[] = [
  '*.issue_id',
  '*.dag_run_id',
  'stream_runs.run_id',
  'sprint_issues.sprint_id',
];

/** Data about people, by `view.column`. Ids of `users` count as well, by themselves. */
export const personal: readonly (readonly [RegExp, string])[] = [
  [/\.(assignee|author|changed_by|creator|entered_by|first_response_by|lead|reporter|user)_name$/, 'name'],
  [/^ad_change_history\.changed_by$|^deletions\.record_name$|\.trigger_actor$/, 'name'],
  [/\.email$/, 'e-mail address'],
  [/\.(body|work_comment)$|^issues\.(summary|description)$|\.other_summary$|^sprints\.goal$/, 'free text'],
  [
    /^(ad_change_history|issue_changes)\.(old|new)_value$|^issue_.*\.value_text$/,
    'may hold names or free text',
  ],
];
