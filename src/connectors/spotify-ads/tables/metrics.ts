/**
 * The metrics of the ads reports: which column each one fills, what kind of number it is, and whether the platform may hide it. The names
 * are those of the vendor's OpenAPI (ReportFieldType, AsyncReportMetric). A metric that is not here goes to `extra_metrics`.
 */

/**
 * count: whole, bigint. money: an amount in currency units (never micros), numeric(18,6). rate: a ratio or an average, money per something
 * included, as the platform divided it: exact, any number of digits.
 */
export type MetricKind = 'count' | 'money' | 'rate';

/** Where a metric can be asked for: aggregate reports, insight reports, asynchronous CSV reports. */
export type Report = 'aggregate' | 'insight' | 'csv';

export interface Metric {
  readonly kind: MetricKind;
  /** The names in aggregate and insight reports, and in CSV reports. */
  readonly names: { readonly [R in 'aggregate' | 'csv']?: string };
  /** False where insight reports refuse an aggregate metric (ReportFieldType, description). */
  readonly insight: boolean;
  /** The platform answers -5 for "1 to 4" conversions, also in what is computed from them (ReportField; recorded for COST_PER_LEAD, REVENUE). */
  readonly hidden: boolean;
}

interface Options {
  readonly csv?: string | null;
  readonly insight?: false;
  readonly hidden?: true;
}

const metric =
  (kind: MetricKind) =>
  (aggregate: string | null, options: Options = {}): Metric => ({
    kind,
    names: {
      ...(aggregate !== null && { aggregate }),
      ...(options.csv !== null && { csv: options.csv ?? aggregate ?? '' }),
    },
    insight: aggregate !== null && options.insight !== false,
    hidden: options.hidden === true,
  });

const count = metric('count');
const money = metric('money');
const rate = metric('rate');
const hidden = { hidden: true } as const;
const onlyAggregate = { csv: null } as const;

/** Column → metric. In the order of the columns. */
export const metrics = {
  spend: money('SPEND', { insight: false }),
  impressions: count('IMPRESSIONS', { csv: 'IMPRESSIONS_ON_SPOTIFY' }),
  off_platform_impressions: count('OFF_SPOTIFY_IMPRESSIONS', {
    csv: 'IMPRESSIONS_OFF_SPOTIFY',
    insight: false,
  }),
  streamed_impressions: count('STREAMED_IMPRESSIONS', onlyAggregate),
  clicks: count('CLICKS'),
  ctr: rate('CTR'),
  cpm: rate(null, { csv: 'CPM' }),
  reach: count('REACH'),
  frequency: rate('FREQUENCY', { insight: false }),
  starts: count('STARTS', { insight: false }),
  first_quartiles: count('FIRST_QUARTILES', { csv: 'PLAYED_TO_25' }),
  midpoints: count('MIDPOINTS', { csv: 'PLAYED_TO_50' }),
  third_quartiles: count('THIRD_QUARTILES', { csv: 'PLAYED_TO_75' }),
  played_to_end: count(null, { csv: 'PLAYED_TO_100' }),
  completes: count('COMPLETES', { csv: 'AD_COMPLETES' }),
  completion_rate: rate('COMPLETION_RATE'),
  completes_reach: count(null, { csv: 'REACH_OF_AD_COMPLETES' }),
  completes_frequency: rate(null, { csv: 'FREQUENCY_OF_AD_COMPLETES' }),
  e_cpcl: rate('E_CPCL', { csv: 'CPCL', insight: false }),
  skips: count('SKIPS', { csv: null, insight: false }),
  unmutes: count('UNMUTES', { insight: false }),
  video_views: count('VIDEO_VIEWS'),
  video_expands: count('VIDEO_EXPANDS'),
  video_expand_rate: rate('VIDEO_EXPAND_RATE'),
  paid_listens: count('PAID_LISTENS', onlyAggregate),
  paid_listens_reach: count('PAID_LISTENS_REACH', onlyAggregate),
  paid_listens_frequency: rate('PAID_LISTENS_FREQUENCY', { csv: null, insight: false }),
  listeners: count('LISTENERS'),
  new_listeners: count('NEW_LISTENERS'),
  streams: count('STREAMS'),
  new_listener_streams: count('NEW_LISTENER_STREAMS', onlyAggregate),
  conversion_rate: rate('CONVERSION_RATE', { csv: 'LISTENER_CONVERSION_RATE' }),
  new_listener_conversion_rate: rate('NEW_LISTENER_CONVERSION_RATE'),
  streams_per_user: rate('STREAMS_PER_USER', { csv: 'AVG_STREAMS_PER_LISTENER' }),
  streams_per_new_listener: rate('STREAMS_PER_NEW_LISTENER', { csv: 'AVG_STREAMS_PER_NEW_LISTENER' }),
  intent_rate: rate('INTENT_RATE'),
  page_views: count('PAGE_VIEWS', hidden),
  leads: count('LEADS', hidden),
  add_to_cart: count('ADD_TO_CART', hidden),
  start_checkout: count('START_CHECKOUT', hidden),
  purchases: count('PURCHASES', hidden),
  products: count('PRODUCTS', hidden),
  sign_ups: count('SIGN_UPS', hidden),
  custom_event_1: count('CUSTOM_EVENT_1', hidden),
  custom_event_2: count('CUSTOM_EVENT_2', hidden),
  custom_event_3: count('CUSTOM_EVENT_3', hidden),
  custom_event_4: count('CUSTOM_EVENT_4', hidden),
  custom_event_5: count('CUSTOM_EVENT_5', hidden),
  revenue: money('REVENUE', hidden),
  average_order_value: rate('AVERAGE_ORDER_VALUE', hidden),
  return_on_ad_spend: rate('RETURN_ON_AD_SPEND', hidden),
  customer_acquisition_cost: rate('CUSTOMER_ACQUISITION_COST', hidden),
  cost_per_lead: rate('COST_PER_LEAD', hidden),
  modeled_page_views: count(null, { csv: 'MODELED_PAGE_VIEWS', hidden: true }),
  modeled_leads: count(null, { csv: 'MODELED_LEADS', hidden: true }),
  modeled_add_to_cart: count(null, { csv: 'MODELED_ADD_TO_CART', hidden: true }),
  modeled_purchases: count(null, { csv: 'MODELED_PURCHASES', hidden: true }),
  unmodeled_page_views: count(null, { csv: 'UNMODELED_PAGE_VIEWS', hidden: true }),
  unmodeled_leads: count(null, { csv: 'UNMODELED_LEADS', hidden: true }),
  unmodeled_add_to_cart: count(null, { csv: 'UNMODELED_ADD_TO_CART', hidden: true }),
  unmodeled_purchases: count(null, { csv: 'UNMODELED_PURCHASES', hidden: true }),
  skad_app_installs: count(null, { csv: 'SKAD_APP_INSTALLS', hidden: true }),
  kochava_app_installs: count(null, { csv: 'KOCHAVA_APP_INSTALLS', hidden: true }),
  appsflyer_app_installs: count(null, { csv: 'APPSFLYER_APP_INSTALLS', hidden: true }),
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricColumn = keyof typeof metrics;

/** The metrics that a kind of report has columns for, in order. */
export const metricsOf = (report: Report): readonly (readonly [column: string, metric: Metric])[] =>
  Object.entries<Metric>(metrics).filter(([, one]) =>
    report === 'csv'
      ? one.names.csv !== undefined
      : one.names.aggregate !== undefined && (report === 'aggregate' || one.insight),
  );

/** The column that says whether a metric was hidden. */
export const hiddenColumn = (column: string): string => `${column}_suppressed`;
