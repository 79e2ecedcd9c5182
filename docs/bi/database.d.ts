/**
 * The rows of `bi`, `bi_pii` and `ops`, for Kysely: `new Kysely<TidemarkDatabase>(…)`. Days, amounts and large numbers are text, exact as
 * Postgres has them; docs/bi/readers.md shows the parsers to set. A column of a view may be null unless it is in the view's key.
 * The views `bi.issues_wide_…` are made for a site and are not here. Written by `npm run docs` from a migrated warehouse; do not edit it by hand.
 */

export interface TidemarkDatabase {
  'bi.account_performance_daily': BiAccountPerformanceDaily;
  'bi.ad_accounts': BiAdAccounts;
  'bi.ad_change_history': BiAdChangeHistory;
  'bi.ad_extra_metrics': BiAdExtraMetrics;
  'bi.ad_level_checks': BiAdLevelChecks;
  'bi.ad_performance_daily': BiAdPerformanceDaily;
  'bi.ad_performance_hourly': BiAdPerformanceHourly;
  'bi.ad_set_history': BiAdSetHistory;
  'bi.ad_set_pacing': BiAdSetPacing;
  'bi.ad_set_performance_daily': BiAdSetPerformanceDaily;
  'bi.ad_set_targets': BiAdSetTargets;
  'bi.ads': BiAds;
  'bi.assets': BiAssets;
  'bi.audience_insights': BiAudienceInsights;
  'bi.audiences': BiAudiences;
  'bi.boards': BiBoards;
  'bi.calendar': BiCalendar;
  'bi.campaign_performance_daily': BiCampaignPerformanceDaily;
  'bi.campaigns': BiCampaigns;
  'bi.comments': BiComments;
  'bi.components': BiComponents;
  'bi.contract': BiContract;
  'bi.cross_links': BiCrossLinks;
  'bi.cumulative_flow_daily': BiCumulativeFlowDaily;
  'bi.dags': BiDags;
  'bi.data_freshness': BiDataFreshness;
  'bi.deletions': BiDeletions;
  'bi.dora_weekly': BiDoraWeekly;
  'bi.incidents': BiIncidents;
  'bi.issue_changes': BiIssueChanges;
  'bi.issue_custom_fields': BiIssueCustomFields;
  'bi.issue_cycle_times': BiIssueCycleTimes;
  'bi.issue_field_history': BiIssueFieldHistory;
  'bi.issue_labels': BiIssueLabels;
  'bi.issue_links': BiIssueLinks;
  'bi.issue_response_times': BiIssueResponseTimes;
  'bi.issue_status_history': BiIssueStatusHistory;
  'bi.issues': BiIssues;
  'bi.landing_pages': BiLandingPages;
  'bi.late_nights': BiLateNights;
  'bi.linked_campaign_spend_daily': BiLinkedCampaignSpendDaily;
  'bi.project_summary': BiProjectSummary;
  'bi.projects': BiProjects;
  'bi.quality_checks': BiQualityChecks;
  'bi.reach_periods': BiReachPeriods;
  'bi.receipts': BiReceipts;
  'bi.report_revisions': BiReportRevisions;
  'bi.sprint_burndown_daily': BiSprintBurndownDaily;
  'bi.sprint_issues': BiSprintIssues;
  'bi.sprints': BiSprints;
  'bi.stream_runs': BiStreamRuns;
  'bi.sync_runs': BiSyncRuns;
  'bi.target_performance_daily': BiTargetPerformanceDaily;
  'bi.throughput_weekly': BiThroughputWeekly;
  'bi.user_workload': BiUserWorkload;
  'bi.users': BiUsers;
  'bi.versions': BiVersions;
  'bi.workflow_attempts': BiWorkflowAttempts;
  'bi.workflow_daily': BiWorkflowDaily;
  'bi.workflow_runs': BiWorkflowRuns;
  'bi.workflow_steps': BiWorkflowSteps;
  'bi.worklogs': BiWorklogs;
  'bi_pii.comments': BiPiiComments;
  'bi_pii.users': BiPiiUsers;
  'bi_pii.worklogs': BiPiiWorklogs;
  'ops.active_dag_runs': OpsActiveDagRuns;
  'ops.all_rejects': OpsAllRejects;
  'ops.attempts': OpsAttempts;
  'ops.audit': OpsAudit;
  'ops.batches': OpsBatches;
  'ops.budgets': OpsBudgets;
  'ops.calendar_days': OpsCalendarDays;
  'ops.change_token': OpsChangeToken;
  'ops.checkpoints': OpsCheckpoints;
  'ops.commits': OpsCommits;
  'ops.custom_field_columns': OpsCustomFieldColumns;
  'ops.dag_run_asks': OpsDagRunAsks;
  'ops.dag_run_list': OpsDagRunList;
  'ops.dag_run_runs': OpsDagRunRuns;
  'ops.dag_runs': OpsDagRuns;
  'ops.definitions': OpsDefinitions;
  'ops.deleted_rows': OpsDeletedRows;
  'ops.found_deletions': OpsFoundDeletions;
  'ops.handoffs': OpsHandoffs;
  'ops.health': OpsHealth;
  'ops.held_deletions': OpsHeldDeletions;
  'ops.issues_wide_views': OpsIssuesWideViews;
  'ops.jobs': OpsJobs;
  'ops.kept_secrets': OpsKeptSecrets;
  'ops.leases': OpsLeases;
  'ops.live_runs': OpsLiveRuns;
  'ops.log_lines': OpsLogLines;
  'ops.meanings': OpsMeanings;
  'ops.messages': OpsMessages;
  'ops.notifications': OpsNotifications;
  'ops.open_rejects': OpsOpenRejects;
  'ops.pipeline_events': OpsPipelineEvents;
  'ops.pipeline_states': OpsPipelineStates;
  'ops.rejects': OpsRejects;
  'ops.run_heads': OpsRunHeads;
  'ops.run_list': OpsRunList;
  'ops.run_log': OpsRunLog;
  'ops.run_steps': OpsRunSteps;
  'ops.run_streams': OpsRunStreams;
  'ops.runs': OpsRuns;
  'ops.schedules': OpsSchedules;
  'ops.schema_changes': OpsSchemaChanges;
  'ops.settings_seen': OpsSettingsSeen;
  'ops.slices': OpsSlices;
  'ops.sources': OpsSources;
  'ops.stream_freshness': OpsStreamFreshness;
  'ops.stream_states': OpsStreamStates;
  'ops.streams': OpsStreams;
  'ops.table_readers': OpsTableReaders;
  'ops.text_mentions': OpsTextMentions;
  'ops.ticks': OpsTicks;
  'ops.undelivered': OpsUndelivered;
  'ops.unseen': OpsUnseen;
  'ops.walks': OpsWalks;
  'ops.working_days': OpsWorkingDays;
}

/** What every ad account did on every day, as reported for the account; one row per ad account and day with delivery. For reach and conversions, which cannot be added up from its campaigns. Facts of closed accounts stay. */
export interface BiAccountPerformanceDaily {
  source: string;
  date_day: string;
  ad_account_id: string;
  ad_account_name: string | null;
  currency: string | null;
  reporting_currency: string | null;
  spend: string | null;
  spend_in_reporting_currency: string | null;
  impressions: string | null;
  off_platform_impressions: string | null;
  streamed_impressions: string | null;
  clicks: string | null;
  starts: string | null;
  first_quartiles: string | null;
  midpoints: string | null;
  third_quartiles: string | null;
  completes: string | null;
  skips: string | null;
  unmutes: string | null;
  video_views: string | null;
  video_expands: string | null;
  paid_listens: string | null;
  streams: string | null;
  new_listener_streams: string | null;
  page_views: string | null;
  is_page_views_suppressed: boolean | null;
  leads: string | null;
  is_leads_suppressed: boolean | null;
  add_to_cart: string | null;
  is_add_to_cart_suppressed: boolean | null;
  start_checkout: string | null;
  is_start_checkout_suppressed: boolean | null;
  purchases: string | null;
  is_purchases_suppressed: boolean | null;
  products: string | null;
  is_products_suppressed: boolean | null;
  sign_ups: string | null;
  is_sign_ups_suppressed: boolean | null;
  custom_event_1: string | null;
  is_custom_event_1_suppressed: boolean | null;
  custom_event_2: string | null;
  is_custom_event_2_suppressed: boolean | null;
  custom_event_3: string | null;
  is_custom_event_3_suppressed: boolean | null;
  custom_event_4: string | null;
  is_custom_event_4_suppressed: boolean | null;
  custom_event_5: string | null;
  is_custom_event_5_suppressed: boolean | null;
  revenue: string | null;
  is_revenue_suppressed: boolean | null;
  revenue_in_reporting_currency: string | null;
  ctr: string | null;
  cpc: string | null;
  cpm: string | null;
  completion_ratio: string | null;
  return_on_ad_spend_ratio: string | null;
  is_return_on_ad_spend_suppressed: boolean | null;
  video_expand_ratio: string | null;
  listener_conversion_ratio: string | null;
  new_listener_conversion_ratio: string | null;
  streams_per_listener: string | null;
  streams_per_new_listener: string | null;
  intent_ratio: string | null;
  cost_per_completed_listen: string | null;
  average_order_value: string | null;
  is_average_order_value_suppressed: boolean | null;
  customer_acquisition_cost: string | null;
  is_customer_acquisition_cost_suppressed: boolean | null;
  cost_per_lead: string | null;
  is_cost_per_lead_suppressed: boolean | null;
  reach_day: string | null;
  frequency_day: string | null;
  listeners_day: string | null;
  new_listeners_day: string | null;
  paid_listens_reach_day: string | null;
  paid_listens_frequency_day: string | null;
  is_final: boolean | null;
  synced_at: Date | null;
}

/** Ad accounts; one row per live account. */
export interface BiAdAccounts {
  source: string;
  ad_account_id: string;
  ad_account_name: string | null;
  status: string | null;
  currency: string | null;
  country_code: string | null;
  industry: string | null;
  business_id: string | null;
  business_name: string | null;
  synced_at: Date | null;
}

/** Who changed what at the platform; one row per change and field. Empty where the server keeps no such history. */
export interface BiAdChangeHistory {
  source: string;
  change_id: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  changed_at: Date | null;
  changed_date: string | null;
  entity_type: string | null;
  entity_id: string | null;
  entity_name: string | null;
  operation: string | null;
  changed_by: string | null;
  changed_by_category: string | null;
  field_number: number | null;
  field_name: string | null;
  change_category: string | null;
  old_value: string | null;
  new_value: string | null;
}

/** Numbers of the daily reports that no column of the performance views holds: metrics that are new at the platform, fractions or hidden values where a whole number was expected, amounts finer than a millionth; one row per entity, day and metric. */
export interface BiAdExtraMetrics {
  source: string;
  date_day: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  entity_type: string;
  entity_id: string;
  entity_name: string | null;
  metric: string;
  exact_value: string | null;
  metric_value: string | null;
}

/** Where the levels of the daily reports disagree: the sum over an account's ads against that over its ad sets, its campaigns and the account itself; one row per ad account, day, measure and level compared, only where they differ. */
export interface BiAdLevelChecks {
  source: string;
  date_day: string;
  ad_account_id: string;
  ad_account_name: string | null;
  currency: string | null;
  measure: string;
  lower_level: string | null;
  upper_level: string;
  lower_sum: string | null;
  upper_sum: string | null;
  difference: string | null;
  is_final: boolean | null;
}

/** What every ad did on every day, with what is above it; one row per ad and day with delivery. The main table of advertising. Facts of deleted ads stay. */
export interface BiAdPerformanceDaily {
  source: string;
  date_day: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  currency: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  objective: string | null;
  ad_set_id: string | null;
  ad_set_name: string | null;
  asset_format: string | null;
  ad_id: string;
  ad_name: string | null;
  reporting_currency: string | null;
  spend: string | null;
  spend_in_reporting_currency: string | null;
  impressions: string | null;
  off_platform_impressions: string | null;
  streamed_impressions: string | null;
  clicks: string | null;
  starts: string | null;
  first_quartiles: string | null;
  midpoints: string | null;
  third_quartiles: string | null;
  completes: string | null;
  skips: string | null;
  unmutes: string | null;
  video_views: string | null;
  video_expands: string | null;
  paid_listens: string | null;
  streams: string | null;
  new_listener_streams: string | null;
  page_views: string | null;
  is_page_views_suppressed: boolean | null;
  leads: string | null;
  is_leads_suppressed: boolean | null;
  add_to_cart: string | null;
  is_add_to_cart_suppressed: boolean | null;
  start_checkout: string | null;
  is_start_checkout_suppressed: boolean | null;
  purchases: string | null;
  is_purchases_suppressed: boolean | null;
  products: string | null;
  is_products_suppressed: boolean | null;
  sign_ups: string | null;
  is_sign_ups_suppressed: boolean | null;
  custom_event_1: string | null;
  is_custom_event_1_suppressed: boolean | null;
  custom_event_2: string | null;
  is_custom_event_2_suppressed: boolean | null;
  custom_event_3: string | null;
  is_custom_event_3_suppressed: boolean | null;
  custom_event_4: string | null;
  is_custom_event_4_suppressed: boolean | null;
  custom_event_5: string | null;
  is_custom_event_5_suppressed: boolean | null;
  revenue: string | null;
  is_revenue_suppressed: boolean | null;
  revenue_in_reporting_currency: string | null;
  ctr: string | null;
  cpc: string | null;
  cpm: string | null;
  completion_ratio: string | null;
  return_on_ad_spend_ratio: string | null;
  is_return_on_ad_spend_suppressed: boolean | null;
  video_expand_ratio: string | null;
  listener_conversion_ratio: string | null;
  new_listener_conversion_ratio: string | null;
  streams_per_listener: string | null;
  streams_per_new_listener: string | null;
  intent_ratio: string | null;
  cost_per_completed_listen: string | null;
  average_order_value: string | null;
  is_average_order_value_suppressed: boolean | null;
  customer_acquisition_cost: string | null;
  is_customer_acquisition_cost_suppressed: boolean | null;
  cost_per_lead: string | null;
  is_cost_per_lead_suppressed: boolean | null;
  reach_day: string | null;
  frequency_day: string | null;
  listeners_day: string | null;
  new_listeners_day: string | null;
  paid_listens_reach_day: string | null;
  paid_listens_frequency_day: string | null;
  is_final: boolean | null;
  synced_at: Date | null;
  page_views_suppressed: boolean | null;
  leads_suppressed: boolean | null;
  add_to_cart_suppressed: boolean | null;
  purchases_suppressed: boolean | null;
  sign_ups_suppressed: boolean | null;
  revenue_suppressed: boolean | null;
  asset_id: string | null;
  asset_name: string | null;
}

/** What every ad did in every hour; one row per ad and hour with delivery, since the first sync less two weeks. */
export interface BiAdPerformanceHourly {
  source: string;
  hour_start_at: Date;
  date_day: string | null;
  ad_account_id: string | null;
  ad_account_name: string | null;
  currency: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  objective: string | null;
  ad_set_id: string | null;
  ad_set_name: string | null;
  asset_format: string | null;
  ad_id: string;
  ad_name: string | null;
  spend: string | null;
  impressions: string | null;
  off_platform_impressions: string | null;
  streamed_impressions: string | null;
  clicks: string | null;
  starts: string | null;
  first_quartiles: string | null;
  midpoints: string | null;
  third_quartiles: string | null;
  completes: string | null;
  skips: string | null;
  unmutes: string | null;
  video_views: string | null;
  video_expands: string | null;
  paid_listens: string | null;
  streams: string | null;
  new_listener_streams: string | null;
  is_final: boolean | null;
  synced_at: Date | null;
  reporting_currency: string | null;
  spend_in_reporting_currency: string | null;
  page_views: string | null;
  is_page_views_suppressed: boolean | null;
  leads: string | null;
  is_leads_suppressed: boolean | null;
  add_to_cart: string | null;
  is_add_to_cart_suppressed: boolean | null;
  start_checkout: string | null;
  is_start_checkout_suppressed: boolean | null;
  purchases: string | null;
  is_purchases_suppressed: boolean | null;
  products: string | null;
  is_products_suppressed: boolean | null;
  sign_ups: string | null;
  is_sign_ups_suppressed: boolean | null;
  custom_event_1: string | null;
  is_custom_event_1_suppressed: boolean | null;
  custom_event_2: string | null;
  is_custom_event_2_suppressed: boolean | null;
  custom_event_3: string | null;
  is_custom_event_3_suppressed: boolean | null;
  custom_event_4: string | null;
  is_custom_event_4_suppressed: boolean | null;
  custom_event_5: string | null;
  is_custom_event_5_suppressed: boolean | null;
  reach_hour: string | null;
  listeners_hour: string | null;
  new_listeners_hour: string | null;
  paid_listens_reach_hour: string | null;
}

/** Status, budget and bid of ad sets over time; one row per ad set and version. As fine as the sync is frequent. */
export interface BiAdSetHistory {
  source: string;
  ad_set_id: string;
  ad_set_name: string | null;
  status: string | null;
  currency: string | null;
  budget: string | null;
  budget_type: string | null;
  bid: string | null;
  bid_strategy: string | null;
  valid_from: Date;
  valid_to: Date | null;
  is_current: boolean | null;
}

/** Is the budget spent at the pace of the flight? One row per ad set that is or was live. */
export interface BiAdSetPacing {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  ad_set_id: string;
  ad_set_name: string | null;
  status: string | null;
  is_paused: boolean | null;
  currency: string | null;
  budget_type: string | null;
  budget: string | null;
  budget_to_date: string | null;
  spend_to_date: string | null;
  budget_used_ratio: string | null;
  flight_elapsed_ratio: string | null;
  bid: string | null;
  bid_strategy: string | null;
  start_at: Date | null;
  end_at: Date | null;
  first_report_date: string | null;
  last_report_date: string | null;
  synced_at: Date | null;
  asset_format: string | null;
  category: string | null;
  delivery_goal: string | null;
  cost_model: string | null;
  pacing: string | null;
  pause_reason: string | null;
  reject_reason: string | null;
  frequency_caps: string | null;
}

/** What every ad set did on every day, as reported for the ad set; one row per ad set and day with delivery. For reach and conversions, which cannot be added up from its ads. Facts of deleted ad sets stay. */
export interface BiAdSetPerformanceDaily {
  source: string;
  date_day: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  currency: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  objective: string | null;
  ad_set_id: string;
  ad_set_name: string | null;
  asset_format: string | null;
  status: string | null;
  reporting_currency: string | null;
  spend: string | null;
  spend_in_reporting_currency: string | null;
  impressions: string | null;
  off_platform_impressions: string | null;
  streamed_impressions: string | null;
  clicks: string | null;
  starts: string | null;
  first_quartiles: string | null;
  midpoints: string | null;
  third_quartiles: string | null;
  completes: string | null;
  skips: string | null;
  unmutes: string | null;
  video_views: string | null;
  video_expands: string | null;
  paid_listens: string | null;
  streams: string | null;
  new_listener_streams: string | null;
  page_views: string | null;
  is_page_views_suppressed: boolean | null;
  leads: string | null;
  is_leads_suppressed: boolean | null;
  add_to_cart: string | null;
  is_add_to_cart_suppressed: boolean | null;
  start_checkout: string | null;
  is_start_checkout_suppressed: boolean | null;
  purchases: string | null;
  is_purchases_suppressed: boolean | null;
  products: string | null;
  is_products_suppressed: boolean | null;
  sign_ups: string | null;
  is_sign_ups_suppressed: boolean | null;
  custom_event_1: string | null;
  is_custom_event_1_suppressed: boolean | null;
  custom_event_2: string | null;
  is_custom_event_2_suppressed: boolean | null;
  custom_event_3: string | null;
  is_custom_event_3_suppressed: boolean | null;
  custom_event_4: string | null;
  is_custom_event_4_suppressed: boolean | null;
  custom_event_5: string | null;
  is_custom_event_5_suppressed: boolean | null;
  revenue: string | null;
  is_revenue_suppressed: boolean | null;
  revenue_in_reporting_currency: string | null;
  ctr: string | null;
  cpc: string | null;
  cpm: string | null;
  completion_ratio: string | null;
  return_on_ad_spend_ratio: string | null;
  is_return_on_ad_spend_suppressed: boolean | null;
  video_expand_ratio: string | null;
  listener_conversion_ratio: string | null;
  new_listener_conversion_ratio: string | null;
  streams_per_listener: string | null;
  streams_per_new_listener: string | null;
  intent_ratio: string | null;
  cost_per_completed_listen: string | null;
  average_order_value: string | null;
  is_average_order_value_suppressed: boolean | null;
  customer_acquisition_cost: string | null;
  is_customer_acquisition_cost_suppressed: boolean | null;
  cost_per_lead: string | null;
  is_cost_per_lead_suppressed: boolean | null;
  reach_day: string | null;
  frequency_day: string | null;
  listeners_day: string | null;
  new_listeners_day: string | null;
  paid_listens_reach_day: string | null;
  paid_listens_frequency_day: string | null;
  is_final: boolean | null;
  synced_at: Date | null;
}

/** Whom ad sets are aimed at; one row per ad set, dimension and value. */
export interface BiAdSetTargets {
  source: string;
  ad_set_id: string;
  ad_set_name: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  dimension: string;
  target_value: string;
  target_name: string | null;
  target_parent_name: string | null;
}

/** Ads that are or were live, with what is above them; one row per ad. Drafts are left out. */
export interface BiAds {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_name: string | null;
  ad_id: string;
  ad_name: string | null;
  status: string | null;
  advertiser_name: string | null;
  tagline: string | null;
  asset_id: string | null;
  asset_name: string | null;
  asset_type: string | null;
  click_url: string | null;
  created_at: Date | null;
  updated_at: Date | null;
  synced_at: Date | null;
  companion_asset_id: string | null;
  logo_asset_id: string | null;
  canvas_asset_id: string | null;
  call_to_action: string | null;
  delivery: string | null;
  start_at: Date | null;
  end_at: Date | null;
  reject_reason: string | null;
  preview_url: string | null;
  is_listed: boolean | null;
}

/** Images, audio and video files that ads are made of; one row per asset. Deleted ones stay: facts of their ads do. */
export interface BiAssets {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  asset_id: string;
  asset_name: string | null;
  asset_type: string | null;
  subtype: string | null;
  status: string | null;
  is_archived: boolean | null;
  is_deleted: boolean | null;
  url: string | null;
  thumbnail_url: string | null;
  file_type: string | null;
  duration_seconds: string | null;
  width_pixels: string | null;
  height_pixels: string | null;
  aspect_ratio: string | null;
  is_with_sound: boolean | null;
  ads_as_creative: number | null;
  ads_as_companion: number | null;
  ads_as_logo: number | null;
  ads_as_canvas: number | null;
  created_at: Date | null;
  updated_at: Date | null;
  synced_at: Date | null;
}

/** Who heard it: lifetime numbers of campaigns and ad sets by part of their audience, as they were on a day; one row per entity, dimension, value and day of capture. */
export interface BiAudienceInsights {
  source: string;
  entity_type: string;
  entity_id: string;
  entity_name: string | null;
  dimension: string;
  dimension_value: string;
  captured_date: string;
  is_latest: boolean | null;
  impressions: string | null;
  clicks: string | null;
  completes: string | null;
  reach: string | null;
  listeners: string | null;
  streams: string | null;
  page_views: string | null;
  is_page_views_suppressed: boolean | null;
  leads: string | null;
  is_leads_suppressed: boolean | null;
  add_to_cart: string | null;
  is_add_to_cart_suppressed: boolean | null;
  start_checkout: string | null;
  is_start_checkout_suppressed: boolean | null;
  purchases: string | null;
  is_purchases_suppressed: boolean | null;
  products: string | null;
  is_products_suppressed: boolean | null;
  sign_ups: string | null;
  is_sign_ups_suppressed: boolean | null;
  custom_event_1: string | null;
  is_custom_event_1_suppressed: boolean | null;
  custom_event_2: string | null;
  is_custom_event_2_suppressed: boolean | null;
  custom_event_3: string | null;
  is_custom_event_3_suppressed: boolean | null;
  custom_event_4: string | null;
  is_custom_event_4_suppressed: boolean | null;
  custom_event_5: string | null;
  is_custom_event_5_suppressed: boolean | null;
  purchases_suppressed: boolean | null;
  ctr: string | null;
  impression_share_ratio: string | null;
  new_listeners: string | null;
  new_listener_streams: string | null;
  streamed_impressions: string | null;
  first_quartiles: string | null;
  midpoints: string | null;
  third_quartiles: string | null;
  video_views: string | null;
  video_expands: string | null;
  paid_listens: string | null;
  paid_listens_reach: string | null;
  currency: string | null;
  revenue: string | null;
  is_revenue_suppressed: boolean | null;
}

/** Audiences that ad sets can be aimed at; one row per live audience. */
export interface BiAudiences {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  audience_id: string;
  audience_name: string | null;
  description: string | null;
  audience_type: string | null;
  subtype: string | null;
  category: string | null;
  status: string | null;
  size_min: string | null;
  size_max: string | null;
  seed_audience_id: string | null;
  seed_audience_name: string | null;
  lookalike_audiences: number | null;
  data_sources: string | null;
  included_events: string | null;
  excluded_events: string | null;
  lookback_days: string | null;
  exposure_type: string | null;
  targeting_ad_sets: number | null;
  excluding_ad_sets: number | null;
  created_at: Date | null;
  updated_at: Date | null;
  synced_at: Date | null;
}

/** Scrum and Kanban boards; one row per live board. */
export interface BiBoards {
  source: string;
  board_id: string;
  board_name: string | null;
  board_type: string | null;
  project_id: string | null;
  project_key: string | null;
  project_name: string | null;
  synced_at: Date | null;
}

/** The days from 2010 to 2039, to fill gaps and to group by week, month, quarter; one row per day. */
export interface BiCalendar {
  date_day: string;
  week_start: string | null;
  month_start: string | null;
  quarter_start: string | null;
  year_start: string | null;
  iso_year: number | null;
  iso_week: number | null;
  month_number: number | null;
  day_of_week: number | null;
  day_name: string | null;
  is_weekend: boolean | null;
  is_working_day: boolean | null;
  holiday_name: string | null;
  fiscal_year: number | null;
  fiscal_quarter: number | null;
  working_day_number: string | null;
}

/** What every campaign did on every day; one row per campaign and day with delivery. For reach and conversions, which cannot be added up from the campaign's ads. Facts of deleted campaigns stay. */
export interface BiCampaignPerformanceDaily {
  source: string;
  date_day: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  currency: string | null;
  campaign_id: string;
  campaign_name: string | null;
  objective: string | null;
  status: string | null;
  reporting_currency: string | null;
  spend: string | null;
  spend_in_reporting_currency: string | null;
  impressions: string | null;
  off_platform_impressions: string | null;
  streamed_impressions: string | null;
  clicks: string | null;
  starts: string | null;
  first_quartiles: string | null;
  midpoints: string | null;
  third_quartiles: string | null;
  completes: string | null;
  skips: string | null;
  unmutes: string | null;
  video_views: string | null;
  video_expands: string | null;
  paid_listens: string | null;
  streams: string | null;
  new_listener_streams: string | null;
  page_views: string | null;
  is_page_views_suppressed: boolean | null;
  leads: string | null;
  is_leads_suppressed: boolean | null;
  add_to_cart: string | null;
  is_add_to_cart_suppressed: boolean | null;
  start_checkout: string | null;
  is_start_checkout_suppressed: boolean | null;
  purchases: string | null;
  is_purchases_suppressed: boolean | null;
  products: string | null;
  is_products_suppressed: boolean | null;
  sign_ups: string | null;
  is_sign_ups_suppressed: boolean | null;
  custom_event_1: string | null;
  is_custom_event_1_suppressed: boolean | null;
  custom_event_2: string | null;
  is_custom_event_2_suppressed: boolean | null;
  custom_event_3: string | null;
  is_custom_event_3_suppressed: boolean | null;
  custom_event_4: string | null;
  is_custom_event_4_suppressed: boolean | null;
  custom_event_5: string | null;
  is_custom_event_5_suppressed: boolean | null;
  revenue: string | null;
  is_revenue_suppressed: boolean | null;
  revenue_in_reporting_currency: string | null;
  ctr: string | null;
  cpc: string | null;
  cpm: string | null;
  completion_ratio: string | null;
  return_on_ad_spend_ratio: string | null;
  is_return_on_ad_spend_suppressed: boolean | null;
  video_expand_ratio: string | null;
  listener_conversion_ratio: string | null;
  new_listener_conversion_ratio: string | null;
  streams_per_listener: string | null;
  streams_per_new_listener: string | null;
  intent_ratio: string | null;
  cost_per_completed_listen: string | null;
  average_order_value: string | null;
  is_average_order_value_suppressed: boolean | null;
  customer_acquisition_cost: string | null;
  is_customer_acquisition_cost_suppressed: boolean | null;
  cost_per_lead: string | null;
  is_cost_per_lead_suppressed: boolean | null;
  reach_day: string | null;
  frequency_day: string | null;
  listeners_day: string | null;
  new_listeners_day: string | null;
  paid_listens_reach_day: string | null;
  paid_listens_frequency_day: string | null;
  is_final: boolean | null;
  synced_at: Date | null;
  page_views_suppressed: boolean | null;
  leads_suppressed: boolean | null;
  add_to_cart_suppressed: boolean | null;
  purchases_suppressed: boolean | null;
  sign_ups_suppressed: boolean | null;
  revenue_suppressed: boolean | null;
}

/** Campaigns that are or were live; one row per campaign. Drafts are left out. */
export interface BiCampaigns {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  campaign_id: string;
  campaign_name: string | null;
  status: string | null;
  objective: string | null;
  delivery_goal_group: string | null;
  created_at: Date | null;
  updated_at: Date | null;
  synced_at: Date | null;
  is_listed: boolean | null;
}

/** Comments; one row per live comment of a live issue. Their text is in bi_pii.comments. */
export interface BiComments {
  source: string;
  comment_id: string;
  issue_id: string | null;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  author_id: string | null;
  author_name: string | null;
  is_restricted: boolean | null;
  is_public: boolean | null;
  is_edited: boolean | null;
  created_at: Date | null;
  updated_at: Date | null;
  created_date: string | null;
  synced_at: Date | null;
}

/** Components with what is open in them; one row per component that a live issue names. Name and description are as of the last change of an issue that names it; a component without issues is not known. */
export interface BiComponents {
  source: string;
  component_id: string;
  component_name: string | null;
  project_id: string | null;
  project_key: string | null;
  component_description: string | null;
  issues: string | null;
  open_issues: string | null;
  in_progress_issues: string | null;
  done_issues: string | null;
  open_story_points: string | null;
  oldest_open_at: Date | null;
}

/** What this schema is and how it is set up; one row per warehouse. */
export interface BiContract {
  bi_version: string;
  reporting_time_zone: string | null;
  reporting_currency: string | null;
  fiscal_year_start_month: number | null;
  is_restricted_shown: boolean | null;
}

/** Which campaign, issue and DAG run belong together, because a text of one names the other by the patterns of ref.link_patterns; one row per record, field and what it names. A name that leads to nothing is no link. */
export interface BiCrossLinks {
  source: string;
  from_kind: string;
  from_id: string;
  from_name: string;
  from_field: string;
  mention: string;
  to_kind: string;
  to_source: string;
  to_id: string;
  to_name: string | null;
}

/** How many live issues stood in each status category at the end of each day (reporting time zone); one row per source, project, category and day, from the first issue in the category until today; without gaps since 2000. */
export interface BiCumulativeFlowDaily {
  source: string;
  project_id: string | null;
  project_key: string | null;
  status_category: string;
  date_day: string;
  issues: string | null;
}

/** DAGs that the engine lists, with how their runs ended; one row per DAG. Runs of DAGs that are gone are in bi.workflow_runs alone. */
export interface BiDags {
  source: string;
  dag_name: string;
  dag_group: string | null;
  dag_role: string | null;
  description: string | null;
  schedule: string | null;
  is_suspended: boolean | null;
  tags: string | null;
  queue_name: string | null;
  max_active_runs: string | null;
  definition_errors: number | null;
  runs: string | null;
  live_runs: string | null;
  last_dag_run_id: string | null;
  last_status: string | null;
  last_state: string | null;
  last_run_at: Date | null;
  last_success_at: Date | null;
  last_failure_at: Date | null;
  synced_at: Date | null;
  workspace: string | null;
  next_run_at: Date | null;
}

/** Can this be trusted? One row per source and stream: how far the warehouse is complete, and what the last run said. */
export interface BiDataFreshness {
  source: string;
  stream: string;
  target_table: string | null;
  freshness: string | null;
  is_stale: boolean | null;
  fresh_at: Date | null;
  seconds_since_fresh: string | null;
  freshness_promise_seconds: string | null;
  watermark_at: Date | null;
  full_at: Date | null;
  last_run_id: string | null;
  last_status: string | null;
  last_finished_at: Date | null;
  last_rows_received: string | null;
  last_success_at: Date | null;
  open_rejects: string | null;
  reason: string | null;
  stale_at: Date | null;
  live_rows: string | null;
  description: string | null;
}

/** What vanished at the sources and when that was found; one row per deleted record of the synced tables, but for issues whose security level is not shown, and their comments and worklogs. A record that comes back has no row any more. */
export interface BiDeletions {
  source: string;
  table_name: string;
  record_id: string;
  record_name: string | null;
  deleted_at: Date | null;
  deleted_date: string | null;
  run_id: string | null;
}

/** How the company delivers, over all sources; one row per week from the first deployment or incident until today, weeks without any included. */
export interface BiDoraWeekly {
  week_start: string;
  deployments: string | null;
  failed_deployments: string | null;
  change_failure_ratio: string | null;
  done_issues: string | null;
  median_cycle_time_hours: string | null;
  opened_incidents: string | null;
  resolved_incidents: string | null;
  median_restore_hours: string | null;
}

/** What had to be restored: issues that ref.incident_rules call incidents, and deployments that failed, until the next success of the same DAG, also of the same run; one row per incident. */
export interface BiIncidents {
  source: string;
  incident_kind: string;
  incident_id: string;
  incident_name: string;
  opened_at: Date;
  resolved_at: Date | null;
  opened_date: string | null;
  resolved_date: string | null;
  is_open: boolean | null;
  restore_hours: string | null;
}

/** Audit: every change of every field; one row per changed field of a live issue. */
export interface BiIssueChanges {
  source: string;
  history_id: string;
  item_number: number;
  issue_id: string | null;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  changed_at: Date | null;
  changed_date: string | null;
  changed_by_id: string | null;
  changed_by_name: string | null;
  field_id: string | null;
  field_name: string | null;
  old_value: string | null;
  new_value: string | null;
  old_id: string | null;
  new_id: string | null;
}

/** Custom fields that are set, for discovery; one row per live issue, field and value (several values, several rows). */
export interface BiIssueCustomFields {
  source: string;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  field_id: string;
  field_name: string | null;
  field_type: string | null;
  value_number_in_field: string;
  value_text: string | null;
  value_number: number | null;
}

/** Lead and cycle time; one row per live issue. An issue that was reopened and is not done has no done_at. */
export interface BiIssueCycleTimes {
  source: string;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  story_points: string | null;
  created_at: Date | null;
  first_started_at: Date | null;
  first_done_at: Date | null;
  done_at: Date | null;
  done_date: string | null;
  lead_time_days: string | null;
  cycle_time_days: string | null;
  todo_days: string | null;
  in_progress_days: string | null;
  reopen_count: string | null;
  status_changes: string | null;
  is_done: boolean | null;
}

/** What fields held when; one row per live issue, field, value and interval. As of an instant: field_name = … and valid_from <= instant and (valid_to > instant or valid_to is null). An issue has one such row of status, assignee, priority and story_points (empty values are rows with null), and one for each of its sprints and fix versions (none without any). Values that were changed again in the same instant are left out: see bi.issue_changes. */
export interface BiIssueFieldHistory {
  source: string;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  field_name: string;
  field_id: string | null;
  value_id: string | null;
  value_text: string | null;
  value_number: string | null;
  valid_from: Date;
  valid_to: Date | null;
  is_current: boolean | null;
  is_inferred: boolean | null;
}

/** Labels; one row per live issue and label. */
export interface BiIssueLabels {
  source: string;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_label: string;
}

/** Links between issues, as seen from each end; one row per live issue, link and direction (a link between two live issues has two rows: filter on direction to count it once). */
export interface BiIssueLinks {
  source: string;
  link_id: string;
  direction: string;
  link_type: string | null;
  relation: string | null;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  is_done: boolean | null;
  other_issue_id: string | null;
  other_issue_key: string | null;
  other_project_key: string | null;
  other_summary: string | null;
  other_status: string | null;
  is_other_known: boolean | null;
  is_other_done: boolean | null;
  is_blocking: boolean | null;
  is_blocked: boolean | null;
  link_type_id: string | null;
}

/** First response and resolution, in hours of the clock and of working days; one row per live issue. Working hours are those of working days (see bi.calendar), which count from 00:00 to 24:00 in the reporting time zone. */
export interface BiIssueResponseTimes {
  source: string;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  reporter_id: string | null;
  reporter_name: string | null;
  created_at: Date | null;
  first_response_at: Date | null;
  resolved_at: Date | null;
  created_date: string | null;
  first_response_date: string | null;
  resolved_date: string | null;
  first_response_hours: string | null;
  first_response_working_hours: string | null;
  resolution_hours: string | null;
  resolution_working_hours: string | null;
}

/** Time in status; one row per live issue and stay in a status, computed from the changelog. The last stay is in the status that the issue has: where the changes end with another one, a stay more is added, from the resolution of a done issue, else from the last change of the issue. */
export interface BiIssueStatusHistory {
  source: string;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  status_sequence: string;
  status: string | null;
  status_id: string | null;
  status_category: string | null;
  previous_status_category: string | null;
  transition: string | null;
  entered_at: Date | null;
  left_at: Date | null;
  entered_date: string | null;
  entered_by_id: string | null;
  entered_by_name: string | null;
  is_current: boolean | null;
  seconds_in_status: string | null;
  days_in_status: string | null;
  is_inferred: boolean | null;
}

/** Issues as they are today; one row per live issue (deleted ones are left out). For backlog, ageing, workload. */
export interface BiIssues {
  source: string;
  issue_id: string;
  issue_key: string | null;
  summary: string | null;
  project_id: string | null;
  project_key: string | null;
  project_name: string | null;
  issue_type: string | null;
  is_subtask: boolean | null;
  status: string | null;
  status_category: string | null;
  priority: string | null;
  priority_rank: number | null;
  resolution: string | null;
  assignee_id: string | null;
  assignee_name: string | null;
  reporter_id: string | null;
  reporter_name: string | null;
  parent_issue_id: string | null;
  parent_issue_key: string | null;
  epic_issue_key: string | null;
  labels: string | null;
  components: string | null;
  fix_versions: string | null;
  security_level: string | null;
  due_date: string | null;
  created_at: Date | null;
  updated_at: Date | null;
  resolved_at: Date | null;
  created_date: string | null;
  resolved_date: string | null;
  story_points: string | null;
  original_estimate_hours: string | null;
  remaining_estimate_hours: string | null;
  time_spent_hours: string | null;
  votes: string | null;
  watchers: string | null;
  is_open: boolean | null;
  is_overdue: boolean | null;
  age_days: string | null;
  synced_at: Date | null;
  description: string | null;
  creator_id: string | null;
  creator_name: string | null;
  parent_summary: string | null;
  epic_summary: string | null;
  current_sprint: string | null;
  comment_count: number | null;
  last_comment_at: Date | null;
  first_assigned_at: Date | null;
  first_started_at: Date | null;
  done_at: Date | null;
  done_date: string | null;
  lead_time_days: string | null;
  cycle_time_days: string | null;
  status_entered_at: Date | null;
  reopen_count: number | null;
  assignee_changes: number | null;
  url: string | null;
  priority_changes: number | null;
  resolution_id: string | null;
  start_date: string | null;
  is_flagged: boolean | null;
  team: string | null;
  epic_issue_id: string | null;
  direct_epic_issue_key: string | null;
}

/** Where clicks on ads lead, with the parts of the address decoded; one row per ad and address: its call to action and each item of a carousel. Deleted ads stay, to be joined with their facts. */
export interface BiLandingPages {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_name: string | null;
  ad_id: string;
  ad_name: string | null;
  item_number: number;
  is_deleted: boolean | null;
  click_url: string | null;
  host: string | null;
  path: string | null;
  utm_source: string | null;
  utm_medium: string | null;
  utm_campaign: string | null;
  utm_content: string | null;
  utm_term: string | null;
}

/** How the sync of each night went, and which was late, failed or missing; one row per source and day on which it ran or should have. Syncs of all streams count; backfills, reconciliations and syncs of some streams do not. */
export interface BiLateNights {
  source: string;
  night_date: string;
  status: string | null;
  is_late: boolean | null;
  promised_at: Date | null;
  scheduled_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  duration_seconds: number | null;
  runs: string | null;
  failed_runs: string | null;
}

/** What campaigns spent, allocated evenly to the issues that bi.cross_links joins them with, by a text of either; one row per campaign, day and issue. Sums are those of the campaigns that have an issue. */
export interface BiLinkedCampaignSpendDaily {
  source: string;
  date_day: string;
  campaign_id: string;
  campaign_name: string | null;
  issue_source: string;
  linked_issue_id: string;
  linked_issue_key: string | null;
  currency: string | null;
  allocated_spend: string | null;
  allocated_impressions: string | null;
  allocated_clicks: string | null;
}

/** Projects with the state of their issues now; one row per live project. */
export interface BiProjectSummary {
  source: string;
  project_id: string;
  project_key: string | null;
  project_name: string | null;
  lead_id: string | null;
  lead_name: string | null;
  is_archived: boolean | null;
  issues: string | null;
  open_issues: string | null;
  in_progress_issues: string | null;
  done_issues: string | null;
  created_30_days_issues: string | null;
  done_30_days_issues: string | null;
  overdue_issues: string | null;
  unassigned_issues: string | null;
  open_story_points: string | null;
  oldest_open_at: Date | null;
  last_updated_at: Date | null;
}

/** Projects; one row per live project. */
export interface BiProjects {
  source: string;
  project_id: string;
  project_key: string | null;
  project_name: string | null;
  project_type: string | null;
  project_category: string | null;
  lead_id: string | null;
  lead_name: string | null;
  is_archived: boolean | null;
  synced_at: Date | null;
}

/** What may be wrong with the data; one row per source and check. To see the rows of a check, see what its description names. */
export interface BiQualityChecks {
  source: string;
  check_name: string;
  severity: string | null;
  description: string | null;
  offending_rows: string | null;
  is_ok: boolean | null;
  example_key: string | null;
}

/** How many different people accounts, campaigns, ad sets and ads reached over longer than a day, as the platform counts them: the lifetime, as it was on each day of capture, and of accounts and campaigns each month and the last 7 and 30 days; one row per entity, period and day of capture. Of one day: reach_day of the views of performance. */
export interface BiReachPeriods {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  currency: string | null;
  entity_type: string;
  entity_id: string;
  entity_name: string | null;
  period: string;
  period_start_at: Date | null;
  period_end_at: Date | null;
  captured_date: string;
  is_latest: boolean | null;
  reach_period: string | null;
  impressions_period: string | null;
  frequency_period: string | null;
  listeners_period: string | null;
  new_listeners_period: string | null;
  paid_listens_reach_period: string | null;
  spend_period: string | null;
  cost_per_person_reached: string | null;
  synced_at: Date | null;
}

/** Receipts of the parts that streams are read in: what the source said it has, what came, what was stored; one row per slice. Those of the last 30 days, and of the last walk of each kind; sums per run and stream are kept in bi.stream_runs. */
export interface BiReceipts {
  source: string;
  stream: string | null;
  slice_id: string;
  run_id: string | null;
  walk_kind: string | null;
  owner: string | null;
  window_start_at: Date | null;
  window_end_at: Date | null;
  status: string | null;
  records_expected: string | null;
  records_read: string | null;
  records_stored: string | null;
  is_matching: boolean | null;
  passes: number | null;
  started_at: Date | null;
  finished_at: Date | null;
  finished_date: string | null;
  error_code: string | null;
  error_message: string | null;
}

/** What daily numbers said before the platform restated them; one row per number and change. A day read for the first time is no change. */
export interface BiReportRevisions {
  source: string;
  ad_account_id: string | null;
  ad_account_name: string | null;
  currency: string | null;
  entity_type: string;
  entity_id: string;
  entity_name: string | null;
  date_day: string;
  metric: string;
  old_value: string | null;
  new_value: string | null;
  difference: string | null;
  seen_at: Date;
  days_later: number | null;
  run_id: string | null;
  seen_date: string | null;
}

/** Burndown and burnup; one row per started sprint and day, from its start until it was closed, or today; without gaps since 2000. What a day says is as of its end; the last day of a closed sprint as of its closing. */
export interface BiSprintBurndownDaily {
  source: string;
  sprint_id: string;
  sprint_name: string | null;
  sprint_state: string | null;
  board_id: string | null;
  board_name: string | null;
  date_day: string;
  day_number: number | null;
  scope_issues: string | null;
  remaining_issues: string | null;
  done_issues: string | null;
  scope_points: string | null;
  remaining_points: string | null;
  done_points: string | null;
  ideal_points: string | null;
  start_date: string | null;
  planned_end_date: string | null;
}

/** Which issues are or ever were in which sprint, and how they fared; one row per live sprint and live issue. */
export interface BiSprintIssues {
  source: string;
  sprint_id: string;
  sprint_name: string | null;
  sprint_state: string | null;
  board_id: string | null;
  issue_id: string;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  story_points: string | null;
  added_at: Date | null;
  removed_at: Date | null;
  is_member: boolean | null;
  is_committed: boolean | null;
  is_added: boolean | null;
  is_removed: boolean | null;
  is_done: boolean | null;
  is_carried_over: boolean | null;
  status_category_at_end: string | null;
  committed_points: string | null;
  added_points: string | null;
  removed_points: string | null;
  done_points: string | null;
  carried_over_points: string | null;
  reestimated_points: string | null;
}

/** Velocity and predictability; one row per live sprint. Issues count by where they were when the sprint started and ended; points are those of that moment. */
export interface BiSprints {
  source: string;
  sprint_id: string;
  sprint_name: string | null;
  sprint_state: string | null;
  board_id: string | null;
  board_name: string | null;
  goal: string | null;
  start_at: Date | null;
  end_at: Date | null;
  completed_at: Date | null;
  member_issues: string | null;
  committed_issues: string | null;
  added_issues: string | null;
  removed_issues: string | null;
  done_issues: string | null;
  carried_over_issues: string | null;
  member_points: string | null;
  committed_points: string | null;
  added_points: string | null;
  removed_points: string | null;
  done_points: string | null;
  carried_over_points: string | null;
  done_to_committed_ratio: string | null;
  synced_at: Date | null;
  reestimated_points: string | null;
  start_date: string | null;
  completed_date: string | null;
}

/** What each run did for each stream, with its receipt; one row per run and stream. */
export interface BiStreamRuns {
  run_id: string;
  source: string;
  pipeline: string | null;
  run_kind: string | null;
  stream: string;
  status: string | null;
  reason: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  started_date: string | null;
  duration_seconds: number | null;
  slices: number | null;
  records_expected: string | null;
  records_fetched: string | null;
  records_landed: string | null;
  rows_received: string | null;
  rows_inserted: string | null;
  rows_updated: string | null;
  rows_unchanged: string | null;
  rows_deduplicated: string | null;
  rows_superseded: string | null;
  rows_rejected: string | null;
  rows_deleted: string | null;
  is_matching: boolean | null;
  live_rows: string | null;
}

/** Runs of the pipelines; one row per run. */
export interface BiSyncRuns {
  run_id: string;
  source: string | null;
  pipeline: string | null;
  run_kind: string | null;
  trigger_type: string | null;
  status: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  started_date: string | null;
  duration_seconds: number | null;
  streams: string | null;
  failed_streams: string | null;
  rows_received: string | null;
  rows_inserted: string | null;
  rows_updated: string | null;
  rows_unchanged: string | null;
  rows_deduplicated: string | null;
  rows_superseded: string | null;
  rows_rejected: string | null;
  rows_deleted: string | null;
  http_requests: string | null;
  http_retries: string | null;
  throttled_seconds: number | null;
  error_code: string | null;
  error_message: string | null;
  app_version: string | null;
  rows_changed: string | null;
  http_throttled_requests: string | null;
  is_whole_sync: boolean | null;
}

/** What ad sets spent, allocated evenly to the values that they are aimed at today; one row per ad set, day, dimension and value. Sums within one dimension are those of the ad sets that have it. Who was really reached: bi.audience_insights. */
export interface BiTargetPerformanceDaily {
  source: string;
  date_day: string;
  ad_set_id: string;
  ad_set_name: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  dimension: string;
  target_value: string;
  target_name: string | null;
  currency: string | null;
  allocated_spend: string | null;
  allocated_impressions: string | null;
  allocated_clicks: string | null;
}

/** Created, done and reopened issues; one row per source, project, issue type and week (from Monday, reporting time zone) in which anything happened. */
export interface BiThroughputWeekly {
  source: string;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  week_start: string;
  created_issues: string | null;
  done_issues: string | null;
  reopened_issues: string | null;
  net_open_change: string | null;
  done_points: string | null;
}

/** Who has what to do; one row per assignee of open issues, and one per source for those without an assignee. */
export interface BiUserWorkload {
  source: string;
  assignee_id: string | null;
  assignee_name: string | null;
  is_active: boolean | null;
  open_issues: string | null;
  in_progress_issues: string | null;
  overdue_issues: string | null;
  unestimated_issues: string | null;
  open_story_points: string | null;
  in_progress_story_points: string | null;
  remaining_estimate_hours: string | null;
  oldest_open_at: Date | null;
  last_updated_at: Date | null;
}

/** People and apps; one row per live account, also those that only other records name. E-mail addresses are in bi_pii.users. */
export interface BiUsers {
  source: string;
  user_id: string;
  user_name: string | null;
  is_active: boolean | null;
  account_type: string | null;
  time_zone: string | null;
  synced_at: Date | null;
}

/** Releases with their progress; one row per version that a live issue names. What is said of a version is as of the last change of an issue that names it; a version without issues is not known. */
export interface BiVersions {
  source: string;
  version_id: string;
  version_name: string | null;
  project_id: string | null;
  project_key: string | null;
  version_description: string | null;
  is_released: boolean | null;
  is_archived: boolean | null;
  start_date: string | null;
  release_date: string | null;
  is_overdue: boolean | null;
  issues: string | null;
  open_issues: string | null;
  in_progress_issues: string | null;
  done_issues: string | null;
  unestimated_issues: string | null;
  story_points: string | null;
  done_story_points: string | null;
  done_issues_ratio: string | null;
  affected_issues: string | null;
}

/** Tries of runs of DAGs, one row each: a run that is retried under its id has one for each try that a sync saw. */
export interface BiWorkflowAttempts {
  source: string;
  dag_name: string;
  dag_run_id: string;
  attempt_number: number;
  is_last: boolean | null;
  is_gone: boolean | null;
  dag_role: string | null;
  status: string | null;
  state: string | null;
  is_over: boolean | null;
  is_success: boolean | null;
  trigger_type: string | null;
  trigger_actor: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  duration_seconds: string | null;
  lateness_seconds: string | null;
  is_late: boolean | null;
  run_at: Date | null;
  start_date: string | null;
  ended_at: Date | null;
  error: string | null;
}

/** How reliable each DAG was, day by day; one row per DAG and day with runs. Days are those of the reporting time zone. */
export interface BiWorkflowDaily {
  source: string;
  dag_name: string;
  date_day: string | null;
  runs: string | null;
  succeeded: string | null;
  failed: string | null;
  aborted: string | null;
  unfinished: string | null;
  success_ratio: string | null;
  p50_duration_seconds: string | null;
  p95_duration_seconds: string | null;
  total_duration_seconds: string | null;
  dag_role: string | null;
  scheduled_runs: string | null;
  late_runs: string | null;
  p95_lateness_seconds: string | null;
  retries: string | null;
}

/** Runs of DAGs, one row each, as their last try went; bi.workflow_attempts has all that were seen. */
export interface BiWorkflowRuns {
  source: string;
  dag_name: string;
  dag_run_id: string;
  dag_group: string | null;
  status: string | null;
  state: string | null;
  is_over: boolean | null;
  is_success: boolean | null;
  is_gone: boolean | null;
  trigger_type: string | null;
  params: string | null;
  labels: string | null;
  worker_id: string | null;
  scheduled_at: Date | null;
  queued_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  duration_seconds: string | null;
  queue_seconds: string | null;
  auto_retry_count: string | null;
  steps: string | null;
  failed_steps: string | null;
  first_failed_step: string | null;
  error: string | null;
  synced_at: Date | null;
  dag_role: string | null;
  lateness_seconds: string | null;
  is_late: boolean | null;
  run_at: Date | null;
  start_date: string | null;
  parent_dag_name: string | null;
  parent_dag_run_id: string | null;
  trigger_actor: string | null;
  workspace: string | null;
  attempts: number | null;
  first_failed_at: Date | null;
}

/** Steps and handlers of the runs of DAGs, one row each. */
export interface BiWorkflowSteps {
  source: string;
  dag_name: string;
  dag_run_id: string;
  step_name: string;
  occurrence: number;
  step_position: number | null;
  kind: string | null;
  status: string | null;
  state: string | null;
  is_success: boolean | null;
  started_at: Date | null;
  finished_at: Date | null;
  duration_seconds: string | null;
  retries: string | null;
  error: string | null;
  run_status: string | null;
  run_started_at: Date | null;
  synced_at: Date | null;
  dag_role: string | null;
  run_state: string | null;
  start_date: string | null;
  depends_on: string | null;
  repetitions: string | null;
}

/** Time sheets; one row per live entry of a live issue. Their text is in bi_pii.worklogs. */
export interface BiWorklogs {
  source: string;
  worklog_id: string;
  issue_id: string | null;
  issue_key: string | null;
  project_id: string | null;
  project_key: string | null;
  issue_type: string | null;
  author_id: string | null;
  author_name: string | null;
  started_at: Date | null;
  work_date: string | null;
  time_spent_seconds: string | null;
  time_spent_hours: string | null;
  is_restricted: boolean | null;
  created_at: Date | null;
  updated_at: Date | null;
  synced_at: Date | null;
}

/** The text of comments; one row per live comment of a live issue, see bi.comments. */
export interface BiPiiComments {
  source: string;
  comment_id: string;
  issue_id: string | null;
  issue_key: string | null;
  body: string | null;
}

/** Names and e-mail addresses of people; one row per live account, see bi.users. */
export interface BiPiiUsers {
  source: string;
  user_id: string;
  user_name: string | null;
  email: string | null;
}

/** The text of worklogs; one row per live entry of a live issue, see bi.worklogs. */
export interface BiPiiWorklogs {
  source: string;
  worklog_id: string;
  issue_id: string | null;
  issue_key: string | null;
  work_comment: string | null;
}

/** What is in the way of a start of a pipeline: its requests, and the run of the command line that holds it now. */
export interface OpsActiveDagRuns {
  pipeline: string | null;
  run_id: string | null;
  rank: number | null;
  seq: string | null;
}

/** Records that could not become rows, also those that are settled, the last seen first; one row each. */
export interface OpsAllRejects {
  reject: string | null;
  pipeline: string | null;
  stream: string | null;
  record: string | null;
  field: string | null;
  why: string | null;
  code: string | null;
  seen: Date | null;
  state: string | null;
}

/** Attempts to change something by the dashboard or the API, in words; one row each. */
export interface OpsAttempts {
  asked: Date | null;
  pipeline: string | null;
  what: string | null;
  state: string | null;
  who: string | null;
  address: string | null;
  by: string | null;
  details: string | null;
  request: string | null;
}

/** Every attempt to change something through the control API, also those that were refused. Never holds a token. */
export interface OpsAudit {
  audit_id: string;
  at: Date;
  role: string;
  address: string;
  action: string;
  pipeline: string | null;
  dag_run_id: string | null;
  params: string | null;
  http_status: number | null;
  message: string | null;
}

/** Records of a slice that were committed together; kept as long as the slice. It says which slice wrote a row. */
export interface OpsBatches {
  batch_id: string;
  slice_id: string;
  run_id: string;
  moments: Date[];
}

/** Rate limits and pauses of the sources, shared by all processes. Requests are taken from the future (GCRA): each take moves free_at on. Unlogged: a crash of the server empties it. */
export interface OpsBudgets {
  key: string;
  free_at: Date;
}

/** The days from 2010 to 2039, one row each. What bi.calendar is made of. */
export interface OpsCalendarDays {
  date_day: string;
  week_start: string;
  month_start: string;
  quarter_start: string;
  year_start: string;
  iso_year: number;
  iso_week: number;
  month_number: number;
  day_of_week: number;
  day_name: string;
  is_weekend: boolean;
}

/** One short text that changes when what a person sees may have changed; one row. */
export interface OpsChangeToken {
  token: string | null;
}

/** The stored watermark of each stream: everything before it is in the warehouse or in ops.rejects. */
export interface OpsCheckpoints {
  source_id: number;
  stream: string;
  watermark: Date;
  full_at: Date | null;
  run_id: string;
  updated_at: Date;
  fields: string[] | null;
  selection: string;
  edition: string;
  mapping: string;
}

/** One row a transaction of the loader, kept for a day. Its number alone does not tell whether it was committed: a server that crashed may give the number to another one. */
export interface OpsCommits {
  token: string;
  committed_at: Date;
}

/** Columns of bi.issues_wide_<source> for custom fields, one row per source, field and type: a field that is renamed keeps its column, one that changes its type gets another. */
export interface OpsCustomFieldColumns {
  source_id: number;
  field_id: string;
  column_type: string;
  column_name: string;
}

/** What each request to serve, and each run of the command line, was asked to do. */
export interface OpsDagRunAsks {
  run_id: string | null;
  pipeline: string | null;
  does: string | null;
  streams: string[] | null;
  window_from: Date | null;
  window_to: Date | null;
}

/** Requests to serve, and runs of the command line in the same shape. */
export interface OpsDagRunList {
  run_id: string | null;
  pipeline: string | null;
  does: string | null;
  trigger: string | null;
  status: string | null;
  params: string | null;
  queued_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  runs: string[] | null;
  received: number | null;
  changed: number | null;
  rejected: number | null;
  error: unknown;
  stopping: boolean | null;
  again_at: Date | null;
  part_of: string | null;
  parts: unknown;
  retry_of: string | null;
  retried_by: string | null;
}

/** Which runs a request became: several after a worker was lost, and after a retry. */
export interface OpsDagRunRuns {
  dag_run_id: string;
  run_id: string;
}

/** Requests to run a pipeline, from the moment they were queued to their end. Runs of the command line are only in ops.runs. */
export interface OpsDagRuns {
  dag_run_id: string;
  seq: string;
  pipeline: string;
  does: string;
  streams: string[] | null;
  window_from: Date | null;
  window_to: Date | null;
  params: string;
  trigger: string;
  asked_by: string;
  retry_of: string | null;
  status: string;
  queued_at: Date;
  not_before: Date;
  started_at: Date | null;
  finished_at: Date | null;
  stop_asked_at: Date | null;
  stop_asked_by: string | null;
  worker: string | null;
  progress_at: Date | null;
  stuck_since: Date | null;
  error_code: string | null;
  error_message: string | null;
  part_of: string | null;
}

/** What tidemark migrate has applied: steps of migrations/, synced tables and views. */
export interface OpsDefinitions {
  kind: string;
  name: string;
  hash: string;
  version: string;
  applied_at: Date;
}

/** Rows that are marked as deleted, with the run that found it out; one row each. */
export interface OpsDeletedRows {
  pipeline: string | null;
  name: string | null;
  of_table: string | null;
  found: Date | null;
  id: string | null;
  run: string | null;
}

/** How many rows a run removed or marked as deleted; one row per run and stream. */
export interface OpsFoundDeletions {
  found: Date | null;
  pipeline: string | null;
  stream: string | null;
  deleted: string | null;
  run: string | null;
  by: string | null;
}

/** What a pipeline triggers at the workflow engine when a run of it succeeded; one row a run. */
export interface OpsHandoffs {
  handoff_id: string;
  pipeline: string;
  run_key: string;
  dag: string;
  params: string;
  remote_run_id: string;
  wait: boolean;
  status: string;
  engine_status: string | null;
  attempts: number;
  error: string | null;
  created_at: Date;
  starting_at: Date | null;
  next_at: Date;
  changed_at: Date;
  changed_from: Date | null;
  changed_to: Date | null;
  engine_run_id: string | null;
}

/** The state of each pipeline that people were last notified of. */
export interface OpsHealth {
  pipeline: string;
  state: string;
  since: Date;
  run_key: string | null;
  notified_at: Date | null;
}

/** What the deletion guard holds back since the newest complete reconciliation of each pipeline; one row per pipeline and stream. */
export interface OpsHeldDeletions {
  pipeline: string | null;
  stream: string | null;
  details: string | null;
  what_to_do: string | null;
  again: string | null;
  rows_not_seen: string | null;
  found: Date | null;
  run: string | null;
}

/** The views bi.issues_wide_<source>, one row per source. */
export interface OpsIssuesWideViews {
  source_id: number;
  view_name: string;
  definition: string;
}

/** Report jobs at a source: created there, polled, fetched; a crash in between takes them up again. */
export interface OpsJobs {
  job_id: string;
  source_id: number;
  stream: string;
  slice_id: string;
  attempt: number;
  request: string;
  remote_id: string | null;
  status: string;
  reason: string | null;
  run_id: string;
  created_at: Date;
  submitted_at: Date | null;
  changed_at: Date;
}

/** Refresh tokens that a source renewed, encrypted with TIDEMARK_SECRET_KEY. No reader sees them. */
export interface OpsKeptSecrets {
  name: string;
  sealed: Buffer | null;
  kept_at: Date;
}

/** One row a pipeline: who may write now. The epoch fences out a holder that lost it. */
export interface OpsLeases {
  pipeline: string;
  epoch: string;
  run_id: string | null;
  holder: string | null;
  backend_pid: number | null;
  backend_start: Date | null;
  acquired_at: Date | null;
  heartbeat_at: Date | null;
  expires_at: Date | null;
  commits: string;
}

/** Running runs whose process lives: it holds the lease that they write under, and its session is there. */
export interface OpsLiveRuns {
  run_id: string | null;
  pipeline: string | null;
}

/** The log of each request, of a night with the logs of its parts; of a run from a terminal when it and its streams began and ended. One row a line. */
export interface OpsLogLines {
  request_id: string | null;
  seq: string | null;
  at: Date | null;
  level: string | null;
  message: string | null;
}

/** Meanings of columns that several views have; one row per name and meaning. tidemark migrate writes them as comments of the columns. */
export interface OpsMeanings {
  column_name: string | null;
  views: string | null;
  meaning: string | null;
}

/** Messages about pipelines, the newest first; one row per message and channel. */
export interface OpsMessages {
  what: string | null;
  pipeline: string | null;
  channel: string | null;
  state: string | null;
  created: Date | null;
  sent: Date | null;
  tries: string | null;
  details: string | null;
}

/** The outbox of messages: each is delivered at least once, with an id by which a receiver knows a repetition. */
export interface OpsNotifications {
  notification_id: string;
  channel: string;
  pipeline: string;
  event: string;
  message: unknown;
  status: string;
  attempts: number;
  error: string | null;
  created_at: Date;
  next_at: Date;
  sent_at: Date | null;
}

/** Records that could not become rows and wait, the last seen first; one row each. */
export interface OpsOpenRejects {
  reject: string | null;
  pipeline: string | null;
  stream: string | null;
  record: string | null;
  field: string | null;
  why: string | null;
  code: string | null;
  seen: Date | null;
}

/** What happened to each pipeline: its newest 25 runs, deletions, and changes of its source's fields, its schedules and its settings, newest first; one row per event. */
export interface OpsPipelineEvents {
  pipeline: string | null;
  happened: Date | null;
  what: string | null;
  stream_or_setting: string | null;
  state: string | null;
  rows: number | null;
  run: string | null;
  details: string | null;
}

/** How each pipeline is that ever ran, by its newest runs; one row a pipeline. */
export interface OpsPipelineStates {
  pipeline: string | null;
  token_ends_at: Date | null;
  run_id: string | null;
  status: string | null;
  started_at: Date | null;
  undone: unknown;
  error_code: string | null;
  error_message: string | null;
  requests: number | null;
  throttled: number | null;
  answered_at: Date | null;
  failing_since: Date | null;
  paused_until: Date | null;
  due_at: Date | null;
  usual_seconds: number | null;
  over_seconds: number | null;
  fresh_at: Date | null;
  stale_streams: string[] | null;
  forbidden_streams: string[] | null;
  open_rejects: number | null;
}

/** Dead letters: records, and parts of records, that could not become rows, with their exact bytes. Nothing is dropped silently. */
export interface OpsRejects {
  reject_id: string;
  source_id: number;
  stream: string;
  record_key: string;
  sha256: Buffer;
  payload: Buffer;
  truncated: boolean;
  stage: string;
  code: string;
  field: string | null;
  message: string;
  slice: unknown;
  first_run_id: string;
  last_run_id: string;
  first_seen_at: Date;
  last_seen_at: Date;
  attempts: number;
  status: string;
  resolved_at: Date | null;
  part: string;
  given: unknown;
}

/** Of each run and each night what lists are filtered by and ordered by; the rest is in ops.run_list. */
export interface OpsRunHeads {
  id: string | null;
  run_id: string | null;
  night: string | null;
  pipeline: string | null;
  kind: string | null;
  status: string | null;
  started_at: Date | null;
}

/** Runs, and each night as the sum of the runs of its parts. */
export interface OpsRunList {
  id: string | null;
  run_id: string | null;
  night: string | null;
  pipeline: string | null;
  kind: string | null;
  settles: string | null;
  trigger: string | null;
  status: string | null;
  params: unknown;
  app_version: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  requests: string | null;
  retries: string | null;
  throttled: string | null;
  throttled_ms: string | null;
  received: string | null;
  inserted: string | null;
  updated: string | null;
  unchanged: string | null;
  deduplicated: string | null;
  superseded: string | null;
  rejected: string | null;
  deleted: string | null;
  error_code: string | null;
  error_message: string | null;
}

/** What happened in each request, line by line. */
export interface OpsRunLog {
  seq: string;
  dag_run_id: string;
  at: Date;
  level: string;
  message: string;
}

/** The streams of each run, and the slices that are being read now. */
export interface OpsRunSteps {
  run_id: string | null;
  stream: string | null;
  slice: string | null;
  status: string | null;
  started_at: Date | null;
  received: number | null;
  expected: number | null;
  slice_id: string | null;
  pipeline: string | null;
}

/** What one run did for one stream, with its receipt. */
export interface OpsRunStreams {
  run_id: string;
  source_id: number;
  stream: string;
  status: string;
  reason: string | null;
  started_at: Date;
  finished_at: Date | null;
  slices: number;
  expected: string | null;
  read: string;
  stored: string;
  received: string;
  inserted: string;
  updated: string;
  unchanged: string;
  deduplicated: string;
  superseded: string;
  rejected: string;
  deleted: string;
  rows: string | null;
  mode: string | null;
  requests: string | null;
  estimated_requests: string | null;
  estimated_seconds: number | null;
  expected_requests: string | null;
  reading_seconds: number | null;
  limited_seconds: number | null;
}

/** One execution of a pipeline. */
export interface OpsRuns {
  run_id: string;
  pipeline: string;
  source_id: number;
  kind: string;
  trigger: string;
  status: string;
  params: unknown;
  app_version: string | null;
  epoch: string;
  started_at: Date;
  finished_at: Date | null;
  received: string;
  inserted: string;
  updated: string;
  unchanged: string;
  deduplicated: string;
  superseded: string;
  rejected: string;
  deleted: string;
  requests: string;
  retries: string;
  throttled_ms: string;
  error_code: string | null;
  error_message: string | null;
  throttled: string;
  quiet: string;
  settles: string | null;
}

/** What is due when, and up to which moment it has been seen to. One row a pipeline and thing it does. */
export interface OpsSchedules {
  pipeline: string;
  does: string;
  cron: string;
  time_zone: string;
  seen_to: Date;
  changed_at: Date;
}

/** What changed in the shape of the source: new fields, changed types. Nothing is altered automatically. */
export interface OpsSchemaChanges {
  change_id: string;
  source_id: number;
  stream: string;
  note: string;
  run_id: string;
  detected_at: Date;
}

/** Settings of a pipeline when serve began with others than before; one row per pipeline and change. */
export interface OpsSettingsSeen {
  pipeline: string;
  seen_at: Date;
  settings: unknown;
}

/** The unit of reading and resuming: one partition and window of a walk, with its receipt. */
export interface OpsSlices {
  slice_id: string;
  walk_id: string;
  partition: unknown;
  window_from: Date | null;
  window_to: Date | null;
  status: string;
  expected: string | null;
  read: string | null;
  stored: string | null;
  passes: number | null;
  run_id: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  error_code: string | null;
  error_message: string | null;
}

/** The systems that are read. source_id leads every key of the synced tables. */
export interface OpsSources {
  source_id: number;
  name: string;
  kind: string;
  base_url: string;
  created_at: Date;
  token_ends_at: Date | null;
}

/** How far the warehouse holds each stream, by its complete walks; a backfill speaks for its window only. */
export interface OpsStreamFreshness {
  source_id: number | null;
  stream: string | null;
  at: Date | null;
  promise_seconds: string | null;
}

/** How fresh each stream is, with its part in the newest run that read it; one row per source and stream, in their order. */
export interface OpsStreamStates {
  pipeline: string | null;
  stream: string | null;
  target: string | null;
  child_tables: string[] | null;
  about: string | null;
  endpoint: string | null;
  freshness: string | null;
  reason: string | null;
  fresh_at: Date | null;
  token_ends_at: Date | null;
  promise_seconds: number | null;
  watermark: Date | null;
  full_at: Date | null;
  open_rejects: number | null;
  run_id: string | null;
  kind: string | null;
  status: string | null;
  finished_at: Date | null;
  receipt: unknown;
}

/** Each stream of each source: where it lands and whether the server has it. */
export interface OpsStreams {
  source_id: number;
  stream: string;
  target: string;
  about: string;
  endpoint: string;
  state: string;
  reason: string | null;
  checked_at: Date | null;
  freshness_seconds: string;
  excluded: boolean;
  in_turn: boolean;
  child_tables: string[];
}

/** Which views of bi read which table, through other views too; one row per table and view. */
export interface OpsTableReaders {
  table_name: string | null;
  view_name: string | null;
  about: string | null;
  steps: number | null;
}

/** What texts name by the patterns of ref.link_patterns, whether it exists or not; one row per record, field and name. Of the records that bi shows. */
export interface OpsTextMentions {
  source_id: number;
  from_kind: string;
  record_id: string;
  record_name: string | null;
  from_field: string;
  to_kind: string;
  mention: string;
}

/** Each time a schedule came due, once, however many processes saw it. */
export interface OpsTicks {
  pipeline: string;
  does: string;
  scheduled_for: Date;
  covers: number;
  first_missed: Date | null;
  dag_run_id: string;
  joined: boolean;
  made_at: Date;
  made_by: string;
}

/** Messages of the last two days that a channel did not take, unless it took a later one; one row per message and channel. */
export interface OpsUndelivered {
  what: string | null;
  pipeline: string | null;
  channel: string | null;
  state: string | null;
  details: string | null;
  created: Date | null;
  tries: string | null;
}

/** One row a record that a reconciliation could not see though it may well be there: its project was hidden from the account. It is read again when a reconciliation sees it. */
export interface OpsUnseen {
  source_id: number;
  stream: string;
  key: string;
  since: Date;
}

/** One walk over a stream: an open one is resumed by the next run, slice by slice. */
export interface OpsWalks {
  walk_id: string;
  source_id: number;
  stream: string;
  kind: string;
  status: string;
  source_clock: Date | null;
  field: string | null;
  window_from: Date | null;
  window_to: Date | null;
  run_id: string;
  opened_at: Date;
  closed_at: Date | null;
  fields: string[] | null;
  purpose: string | null;
  forced: boolean;
  selection: string;
  edition: string;
  mapping: string;
}

/** The days from 2010 to 2039 with the working time before each; one row per day. Working time at an instant: that before its day, and on a working day the seconds since starts_at. Between two instants it is the difference. */
export interface OpsWorkingDays {
  date_day: string | null;
  is_working_day: boolean | null;
  holiday_name: string | null;
  starts_at: Date | null;
  working_day_number: string | null;
  working_seconds_before: number | null;
}
