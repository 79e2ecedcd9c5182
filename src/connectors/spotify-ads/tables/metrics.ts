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
  /** The comment of its column. */
  readonly about: string;
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
  (aggregate: string | null, about: string, options: Options = {}): Metric => ({
    kind,
    about,
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
  spend: money('SPEND', "Spend in units of the ad account's currency, as reported (not millionths).", {
    insight: false,
  }),
  impressions: count('IMPRESSIONS', 'Times shown or played on the platform.', {
    csv: 'IMPRESSIONS_ON_SPOTIFY',
  }),
  off_platform_impressions: count('OFF_SPOTIFY_IMPRESSIONS', 'Times shown or played elsewhere.', {
    csv: 'IMPRESSIONS_OFF_SPOTIFY',
    insight: false,
  }),
  streamed_impressions: count('STREAMED_IMPRESSIONS', 'Impressions that were streamed.', onlyAggregate),
  clicks: count('CLICKS', 'Clicks.'),
  ctr: rate('CTR', 'Clicks by impressions, as reported.'),
  cpm: rate(null, "Cost of a thousand impressions in the ad account's currency, as reported.", {
    csv: 'CPM',
  }),
  reach: count('REACH', 'Different people reached in the period of the row; never sum it over rows.'),
  frequency: rate('FREQUENCY', 'Impressions by reach in the period of the row, as reported; never sum it.', {
    insight: false,
  }),
  starts: count('STARTS', 'Times playing began.', { insight: false }),
  first_quartiles: count('FIRST_QUARTILES', 'Times a quarter was played.', { csv: 'PLAYED_TO_25' }),
  midpoints: count('MIDPOINTS', 'Times half was played.', { csv: 'PLAYED_TO_50' }),
  third_quartiles: count('THIRD_QUARTILES', 'Times three quarters were played.', { csv: 'PLAYED_TO_75' }),
  played_to_end: count(null, 'Times played to 100 percent, as CSV reports count it.', {
    csv: 'PLAYED_TO_100',
  }),
  completes: count('COMPLETES', 'Times played to the end.', { csv: 'AD_COMPLETES' }),
  completion_rate: rate('COMPLETION_RATE', 'Completes by starts, as reported.'),
  completes_reach: count(
    null,
    'Different people who heard it to the end in the period of the row; never sum it.',
    { csv: 'REACH_OF_AD_COMPLETES' },
  ),
  completes_frequency: rate(null, 'Completes by their reach, as reported; never sum it.', {
    csv: 'FREQUENCY_OF_AD_COMPLETES',
  }),
  e_cpcl: rate('E_CPCL', "Effective cost of a completed listen in the ad account's currency, as reported.", {
    csv: 'CPCL',
    insight: false,
  }),
  skips: count('SKIPS', 'Times skipped.', { csv: null, insight: false }),
  unmutes: count('UNMUTES', 'Times unmuted.', { insight: false }),
  video_views: count('VIDEO_VIEWS', 'Video views.'),
  video_expands: count('VIDEO_EXPANDS', 'Times a video was expanded.'),
  video_expand_rate: rate('VIDEO_EXPAND_RATE', 'Expands by views, as reported.'),
  paid_listens: count('PAID_LISTENS', 'Paid listens.', onlyAggregate),
  paid_listens_reach: count(
    'PAID_LISTENS_REACH',
    'Different people with a paid listen in the period of the row; never sum it.',
    onlyAggregate,
  ),
  paid_listens_frequency: rate(
    'PAID_LISTENS_FREQUENCY',
    'Paid listens by their reach, as reported; never sum it.',
    { csv: null, insight: false },
  ),
  listeners: count('LISTENERS', 'Different people who listened to what is promoted; never sum it.'),
  new_listeners: count(
    'NEW_LISTENERS',
    'Different people who listened to it for the first time; never sum it.',
  ),
  streams: count('STREAMS', 'Streams of what is promoted.'),
  new_listener_streams: count('NEW_LISTENER_STREAMS', 'Streams of it by new listeners.', onlyAggregate),
  conversion_rate: rate('CONVERSION_RATE', 'Listeners by reach, as reported.', {
    csv: 'LISTENER_CONVERSION_RATE',
  }),
  new_listener_conversion_rate: rate('NEW_LISTENER_CONVERSION_RATE', 'New listeners by reach, as reported.'),
  streams_per_user: rate('STREAMS_PER_USER', 'Streams by listeners, as reported.', {
    csv: 'AVG_STREAMS_PER_LISTENER',
  }),
  streams_per_new_listener: rate(
    'STREAMS_PER_NEW_LISTENER',
    'Streams of new listeners by their number, as reported.',
    { csv: 'AVG_STREAMS_PER_NEW_LISTENER' },
  ),
  intent_rate: rate(
    'INTENT_RATE',
    'Share of listeners with intent (saved or added to a playlist), as reported.',
  ),
  page_views: count('PAGE_VIEWS', 'Page views credited to the ads.', hidden),
  leads: count('LEADS', 'Leads credited to the ads.', hidden),
  add_to_cart: count('ADD_TO_CART', 'Products put into a cart, credited to the ads.', hidden),
  start_checkout: count('START_CHECKOUT', 'Checkouts begun, credited to the ads.', hidden),
  purchases: count('PURCHASES', 'Purchases credited to the ads.', hidden),
  products: count('PRODUCTS', 'Product views credited to the ads.', hidden),
  sign_ups: count('SIGN_UPS', 'Sign-ups credited to the ads.', hidden),
  custom_event_1: count('CUSTOM_EVENT_1', 'Events of the first custom kind.', hidden),
  custom_event_2: count('CUSTOM_EVENT_2', 'Events of the second custom kind.', hidden),
  custom_event_3: count('CUSTOM_EVENT_3', 'Events of the third custom kind.', hidden),
  custom_event_4: count('CUSTOM_EVENT_4', 'Events of the fourth custom kind.', hidden),
  custom_event_5: count('CUSTOM_EVENT_5', 'Events of the fifth custom kind.', hidden),
  revenue: money(
    'REVENUE',
    "Revenue credited to the ads in units of the ad account's currency, as reported.",
    hidden,
  ),
  average_order_value: rate(
    'AVERAGE_ORDER_VALUE',
    "Revenue by purchases in the ad account's currency, as reported.",
    hidden,
  ),
  return_on_ad_spend: rate('RETURN_ON_AD_SPEND', 'Revenue by spend, as reported.', hidden),
  customer_acquisition_cost: rate(
    'CUSTOMER_ACQUISITION_COST',
    "Spend by purchases in the ad account's currency, as reported.",
    hidden,
  ),
  cost_per_lead: rate('COST_PER_LEAD', "Spend by leads in the ad account's currency, as reported.", hidden),
  modeled_page_views: count(null, 'Page views that are estimated.', {
    csv: 'MODELED_PAGE_VIEWS',
    hidden: true,
  }),
  modeled_leads: count(null, 'Leads that are estimated.', { csv: 'MODELED_LEADS', hidden: true }),
  modeled_add_to_cart: count(null, 'Products put into a cart, estimated.', {
    csv: 'MODELED_ADD_TO_CART',
    hidden: true,
  }),
  modeled_purchases: count(null, 'Purchases that are estimated.', { csv: 'MODELED_PURCHASES', hidden: true }),
  unmodeled_page_views: count(null, 'Page views that were observed.', {
    csv: 'UNMODELED_PAGE_VIEWS',
    hidden: true,
  }),
  unmodeled_leads: count(null, 'Leads that were observed.', { csv: 'UNMODELED_LEADS', hidden: true }),
  unmodeled_add_to_cart: count(null, 'Products put into a cart, observed.', {
    csv: 'UNMODELED_ADD_TO_CART',
    hidden: true,
  }),
  unmodeled_purchases: count(null, 'Purchases that were observed.', {
    csv: 'UNMODELED_PURCHASES',
    hidden: true,
  }),
  skad_app_installs: count(null, "App installs as Apple's SKAdNetwork counts them.", {
    csv: 'SKAD_APP_INSTALLS',
    hidden: true,
  }),
  kochava_app_installs: count(null, 'App installs as Kochava counts them.', {
    csv: 'KOCHAVA_APP_INSTALLS',
    hidden: true,
  }),
  appsflyer_app_installs: count(null, 'App installs as AppsFlyer counts them.', {
    csv: 'APPSFLYER_APP_INSTALLS',
    hidden: true,
  }),
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
