/** The numbers that reports are asked for: the vendor's OpenAPI (ReportFieldType, AsyncReportMetric, AsyncReportDimension), all that are not deprecated away. */

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Of aggregate reports. */
export const aggregateFields = words(`
  SPEND IMPRESSIONS OFF_SPOTIFY_IMPRESSIONS STREAMED_IMPRESSIONS CLICKS CTR REACH FREQUENCY STARTS FIRST_QUARTILES MIDPOINTS THIRD_QUARTILES
  COMPLETES COMPLETION_RATE E_CPCL SKIPS UNMUTES VIDEO_VIEWS VIDEO_EXPANDS VIDEO_EXPAND_RATE PAID_LISTENS PAID_LISTENS_REACH
  PAID_LISTENS_FREQUENCY LISTENERS NEW_LISTENERS STREAMS NEW_LISTENER_STREAMS CONVERSION_RATE NEW_LISTENER_CONVERSION_RATE STREAMS_PER_USER
  STREAMS_PER_NEW_LISTENER INTENT_RATE PAGE_VIEWS LEADS ADD_TO_CART START_CHECKOUT PURCHASES PRODUCTS SIGN_UPS CUSTOM_EVENT_1 CUSTOM_EVENT_2
  CUSTOM_EVENT_3 CUSTOM_EVENT_4 CUSTOM_EVENT_5 REVENUE AVERAGE_ORDER_VALUE RETURN_ON_AD_SPEND CUSTOMER_ACQUISITION_COST COST_PER_LEAD`);

/** Without these a row of an aggregate report says less than the one that it replaces, as a CSV report does without `csvRequired`. */
export const indispensableFields = words('SPEND IMPRESSIONS CLICKS');

/** An integrator got 502 for REVENUE by the hour (vendor facts 2.3); what is computed from it goes with it. */
const notByHour: ReadonlySet<string> = new Set(['REVENUE', 'AVERAGE_ORDER_VALUE', 'RETURN_ON_AD_SPEND']);

export const hourlyFields = aggregateFields.filter((field) => !notByHour.has(field));

/** What insight reports refuse (ReportFieldType, description). */
const notByAudience: ReadonlySet<string> = new Set(
  words('E_CPCL FREQUENCY OFF_SPOTIFY_IMPRESSIONS PAID_LISTENS_FREQUENCY SKIPS SPEND STARTS UNMUTES'),
);

export const insightFields = aggregateFields.filter((field) => !notByAudience.has(field));

export const insightDimensions = words(`
  ACT_AND_SET AGE AUDIENCE CITY COUNTRY FORMAT GENDER GENRE INTERESTS METRO PLACEMENT PLATFORM PODCAST_EPISODE_TOPIC REGION TONE`);

export const csvDimensions = words(`
  AD_ACCOUNT_NAME AD_ACCOUNT_CURRENCY CAMPAIGN_NAME CAMPAIGN_STATUS CAMPAIGN_OBJECTIVE AD_SET_NAME AD_SET_STATUS AD_SET_BUDGET
  AD_SET_COST_MODEL AD_NAME`);

export const csvMetrics = words(`
  AD_COMPLETES AVG_STREAMS_PER_LISTENER AVG_STREAMS_PER_NEW_LISTENER CLICKS COMPLETION_RATE CPCL CPM CTR FREQUENCY FREQUENCY_OF_AD_COMPLETES
  IMPRESSIONS_OFF_SPOTIFY IMPRESSIONS_ON_SPOTIFY INTENT_RATE LISTENERS LISTENER_CONVERSION_RATE NEW_LISTENERS NEW_LISTENER_CONVERSION_RATE
  PLAYED_TO_100 PLAYED_TO_25 PLAYED_TO_50 PLAYED_TO_75 REACH REACH_OF_AD_COMPLETES SPEND STARTS STREAMS UNMUTES MODELED_ADD_TO_CART
  MODELED_LEADS MODELED_PAGE_VIEWS MODELED_PURCHASES UNMODELED_ADD_TO_CART UNMODELED_LEADS UNMODELED_PAGE_VIEWS UNMODELED_PURCHASES
  VIDEO_VIEWS VIDEO_EXPANDS VIDEO_EXPAND_RATE SKAD_APP_INSTALLS KOCHAVA_APP_INSTALLS APPSFLYER_APP_INSTALLS PAGE_VIEWS LEADS ADD_TO_CART
  PURCHASES REVENUE AVERAGE_ORDER_VALUE RETURN_ON_AD_SPEND CUSTOMER_ACQUISITION_COST COST_PER_LEAD START_CHECKOUT PRODUCTS SIGN_UPS
  CUSTOM_EVENT_1 CUSTOM_EVENT_2 CUSTOM_EVENT_3 CUSTOM_EVENT_4 CUSTOM_EVENT_5`);

/** Given in full: the vendor's default is ACTIVE alone, and a report of what still runs is not a report of what was spent. */
export const csvStatuses = words('ACTIVE COMPLETED STOPPED PAUSED PENDING_APPROVAL REJECTED');

/** Those of them that the vendor knows of ads, of which the rows are told (OpenAPI, CreateAsyncReportRequest): a server that knows no others has none of the others. */
export const csvStatusesOfAds = words('ACTIVE PENDING_APPROVAL REJECTED');

/** What a CSV report must have: its rows are told apart by the names, and without the numbers each would say less than the one it replaces. */
export const csvRequired = words('CAMPAIGN_NAME AD_SET_NAME AD_NAME SPEND IMPRESSIONS_ON_SPOTIFY CLICKS');
