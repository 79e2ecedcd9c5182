/**
 * The metrics of the ads reports. Columns, the fields that requests ask for and the reading of answers are made from this one list. Names
 * are those of the vendor's OpenAPI (ReportFieldType, AsyncReportMetric). A metric that is not listed goes to `extra_metrics`.
 */

import * as columns from '../../core/table.ts';
import { bool, type Column, type Columns, jsonb } from '../../core/table.ts';

/** The kinds of reports: aggregate, insight and asynchronous CSV reports. */
export type ReportKind = 'aggregate' | 'insight' | 'csv';

/** count: whole. money: units of the currency, never micros. rate: a ratio or an average, exact, as the platform divided it. */
const kinds = { count: columns.bigint, money: columns.money, rate: columns.numeric } as const;

interface MetricDefinition {
  readonly kind: keyof typeof kinds;
  /** The comment of the column. */
  readonly about: string;
  /** The name in aggregate and insight reports, and in CSV reports; null: they lack it. Absent: the column's name in capitals. */
  readonly api?: string | null;
  readonly csv?: string | null;
  /** False where insight reports refuse the metric (ReportFieldType, description). */
  readonly insight?: false;
  /** The platform answers -5 for "1 to 4" (ReportField), also for what it computes from such a number (recorded for COST_PER_LEAD, REVENUE). */
  readonly hidden?: true;
}
type MetricOptions = Omit<MetricDefinition, 'kind' | 'about'>;

const metric =
  (kind: MetricDefinition['kind']) =>
  (about: string, options: MetricOptions = {}): MetricDefinition => ({ kind, about, ...options });
const count = metric('count');
const money = metric('money');
const rate = metric('rate');
const notInsight = { insight: false } as const;
const notCsv = { csv: null } as const;
const csv = (name: string) => ({ csv: name });
const onlyCsv = (name: string) => ({ api: null, csv: name });
const onlyAggregate = { ...notInsight, ...notCsv };

const delivery = {
  spend: money("Spend in units of the ad account's currency, as reported (not millionths).", notInsight),
  impressions: count('Times shown or played on the platform.', csv('IMPRESSIONS_ON_SPOTIFY')),
  off_platform_impressions: count('Times shown or played elsewhere.', {
    ...notInsight,
    api: 'OFF_SPOTIFY_IMPRESSIONS',
    csv: 'IMPRESSIONS_OFF_SPOTIFY',
  }),
  streamed_impressions: count('Impressions that were streamed.', notCsv),
  clicks: count('Clicks.'),
  ctr: rate('Clicks by impressions, as reported.'),
  cpm: rate("Cost of a thousand impressions in the ad account's currency, as reported.", onlyCsv('CPM')),
  reach: count('Different people reached in the period of the row; never sum it over rows.'),
  frequency: rate('Impressions by reach in the period of the row, as reported; never sum it.', notInsight),
  starts: count('Times playing began.', notInsight),
  first_quartiles: count('Times a quarter was played.', csv('PLAYED_TO_25')),
  midpoints: count('Times half was played.', csv('PLAYED_TO_50')),
  third_quartiles: count('Times three quarters were played.', csv('PLAYED_TO_75')),
  played_to_end: count('Times played to 100 percent, as CSV reports count it.', onlyCsv('PLAYED_TO_100')),
  completes: count('Times played to the end.', csv('AD_COMPLETES')),
  completion_rate: rate('Completes by starts, as reported.'),
  completes_reach: count('Different people who heard all; never sum it.', onlyCsv('REACH_OF_AD_COMPLETES')),
  completes_frequency: rate('Completes by that reach; never sum it.', onlyCsv('FREQUENCY_OF_AD_COMPLETES')),
  e_cpcl: rate("Effective cost of a completed listen in the ad account's currency, as reported.", {
    ...notInsight,
    csv: 'CPCL',
  }),
  skips: count('Times skipped.', onlyAggregate),
  unmutes: count('Times unmuted.', notInsight),
  video_views: count('Video views.'),
  video_expands: count('Times a video was expanded.'),
  video_expand_rate: rate('Expands by views, as reported.'),
  paid_listens: count('Paid listens.', notCsv),
  paid_listens_reach: count('Different people with a paid listen; never sum it over rows.', notCsv),
  paid_listens_frequency: rate('Paid listens by their reach, as reported; never sum it.', onlyAggregate),
  listeners: count('Different people who listened to what is promoted; never sum it.'),
  new_listeners: count('Different people who listened to it for the first time; never sum it.'),
  streams: count('Streams of what is promoted.'),
  new_listener_streams: count('Streams of it by new listeners.', notCsv),
  conversion_rate: rate('Listeners by reach, as reported.', csv('LISTENER_CONVERSION_RATE')),
  new_listener_conversion_rate: rate('New listeners by reach, as reported.'),
  streams_per_user: rate('Streams by listeners, as reported.', csv('AVG_STREAMS_PER_LISTENER')),
  streams_per_new_listener: rate('Streams by new listeners.', csv('AVG_STREAMS_PER_NEW_LISTENER')),
  intent_rate: rate('Share of listeners with intent (saved or added to a playlist), as reported.'),
};

const conversions = {
  page_views: count('Page views credited to the ads.'),
  leads: count('Leads credited to the ads.'),
  add_to_cart: count('Products put into a cart, credited to the ads.'),
  start_checkout: count('Checkouts begun, credited to the ads.'),
  purchases: count('Purchases credited to the ads.'),
  products: count('Product views credited to the ads.'),
  sign_ups: count('Sign-ups credited to the ads.'),
  custom_event_1: count('Events of the first custom kind.'),
  custom_event_2: count('Events of the second custom kind.'),
  custom_event_3: count('Events of the third custom kind.'),
  custom_event_4: count('Events of the fourth custom kind.'),
  custom_event_5: count('Events of the fifth custom kind.'),
  revenue: money("Revenue credited to the ads in units of the ad account's currency, as reported."),
  average_order_value: rate("Revenue by purchases in the ad account's currency, as reported."),
  return_on_ad_spend: rate('Revenue by spend, as reported.'),
  customer_acquisition_cost: rate("Spend by purchases in the ad account's currency, as reported."),
  cost_per_lead: rate("Spend by leads in the ad account's currency, as reported."),
};

const csvConversions = {
  modeled_page_views: count('Page views that are estimated.'),
  modeled_leads: count('Leads that are estimated.'),
  modeled_add_to_cart: count('Products put into a cart, estimated.'),
  modeled_purchases: count('Purchases that are estimated.'),
  unmodeled_page_views: count('Page views that were observed.'),
  unmodeled_leads: count('Leads that were observed.'),
  unmodeled_add_to_cart: count('Products put into a cart, observed.'),
  unmodeled_purchases: count('Purchases that were observed.'),
  skad_app_installs: count("App installs as Apple's SKAdNetwork counts them."),
  kochava_app_installs: count('App installs as Kochava counts them.'),
  appsflyer_app_installs: count('App installs as AppsFlyer counts them.'),
};

/** A metric as one kind of report has it. */
export interface Metric extends MetricDefinition {
  readonly column: string;
  /** Its name in the report. */
  readonly name: string;
  /** The column that says whether it was hidden; undefined where the platform hides nothing. */
  readonly flag: string | undefined;
}

const hidden = (all: Readonly<Record<string, MetricDefinition>>, more: MetricOptions = {}) =>
  Object.entries(all).map(([column, one]) => [column, { ...one, hidden: true, ...more }] as const);

const definitions: readonly (readonly [string, MetricDefinition])[] = [
  ...Object.entries<MetricDefinition>(delivery),
  ...hidden(conversions),
  ...hidden(csvConversions, { api: null }),
];

/** The metrics that a kind of report has columns for, in the order of the columns. */
export const metricsOf = (report: ReportKind): readonly Metric[] =>
  definitions.flatMap(([column, one]) => {
    const given = report === 'csv' ? one.csv : one.api;
    const name = given === undefined ? column.toUpperCase() : given;
    if (name === null || (report === 'insight' && one.insight === false)) return [];
    return [{ ...one, column, name, flag: one.hidden ? `${column}_suppressed` : undefined }];
  });

/** The names of a kind of report's metrics. */
export const fieldsOf = (report: ReportKind): readonly string[] => metricsOf(report).map(({ name }) => name);

/** The columns of a report's numbers: one for each metric, its flag where the platform may hide it, and what fits into neither. */
export const numberColumns = (report: ReportKind): Columns => {
  const metrics = metricsOf(report);
  const flagOf = (column: string): Column =>
    bool(`True where ${column} is null because the platform hides 1 to 4 conversions.`).default('false');
  return {
    ...Object.fromEntries(metrics.map(({ column, kind, about }) => [column, kinds[kind](about).nullable()])),
    ...Object.fromEntries(metrics.flatMap(({ column, flag }) => (flag ? [[flag, flagOf(column)]] : []))),
    extra_metrics: jsonb(
      'Numbers that no column holds exactly, by their name at the source: metrics without a column, fractions where a count was expected, amounts finer than a millionth.',
    ).nullable(),
    _extra: columns.extra,
  };
};
