/** The metrics by name, as JSON number text: floats, currency units, and -5 for what is hidden (vendor-facts 2.3). */

import { type Counted, count, counted, heads, hidden, type People, people, type Sums } from './sums.ts';

/** Micros as decimal text in units. */
export const units = (micros: bigint): string => {
  const digits = (micros < 0n ? -micros : micros).toString().padStart(7, '0');
  return `${micros < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
};

/** Decimal text in units with up to six digits behind the point, in micros. */
export const microsOf = (text: string): bigint => {
  const [whole = '0', rest = ''] = text.split('.');
  const micros = BigInt(`${whole.replace('-', '')}${rest.padEnd(6, '0').slice(0, 6)}`);
  return whole.startsWith('-') ? -micros : micros;
};

const suppressed = '-5';
const isHidden = (n: number): boolean => n >= 1 && n <= 4;

const plain = (name: Counted) => (sums: Sums) => `${count(sums, name)}.0`;
const private_ = (name: Counted) => (sums: Sums) =>
  isHidden(count(sums, name)) ? suppressed : `${count(sums, name)}.0`;
const persons = (name: People) => (sums: Sums) => `${heads(sums, name)}.0`;

/** A quotient of counts, to six digits. */
const ratio =
  (above: (sums: Sums) => number, below: (sums: Sums) => number, unless?: Counted) =>
  (sums: Sums): string => {
    if (unless !== undefined && isHidden(count(sums, unless))) return suppressed;
    return below(sums) === 0 ? '0.0' : (above(sums) / below(sums)).toFixed(6);
  };

/** Money by count, in units, cut after six digits. */
const each =
  (money: (sums: Sums) => bigint, by: (sums: Sums) => number, unless?: Counted) =>
  (sums: Sums): string => {
    if (unless !== undefined && isHidden(count(sums, unless))) return suppressed;
    return by(sums) === 0 ? '0.0' : units(money(sums) / BigInt(by(sums)));
  };

const of = (name: Counted) => (sums: Sums) => count(sums, name);
const who = (name: People) => (sums: Sums) => heads(sums, name);
const spend = (sums: Sums): bigint => sums.spend;

const derived: Readonly<Record<string, (sums: Sums) => string>> = {
  SPEND: (sums) => units(sums.spend),
  REVENUE: (sums) => (isHidden(count(sums, 'PURCHASES')) ? suppressed : units(sums.revenue)),
  CTR: ratio(of('CLICKS'), of('IMPRESSIONS')),
  COMPLETION_RATE: ratio(of('COMPLETES'), of('STARTS')),
  CONVERSION_RATE: ratio(who('NEW_LISTENERS'), who('REACH')),
  FREQUENCY: ratio(of('IMPRESSIONS'), who('REACH')),
  INTENT_RATE: ratio(of('PAID_LISTENS'), of('IMPRESSIONS')),
  NEW_LISTENER_CONVERSION_RATE: ratio(who('NEW_LISTENERS'), who('LISTENERS')),
  PAID_LISTENS_FREQUENCY: ratio(of('PAID_LISTENS'), who('PAID_LISTENS_REACH')),
  STREAMS_PER_NEW_LISTENER: ratio(of('NEW_LISTENER_STREAMS'), who('NEW_LISTENERS')),
  STREAMS_PER_USER: ratio(of('STREAMS'), who('LISTENERS')),
  VIDEO_EXPAND_RATE: ratio(of('VIDEO_EXPANDS'), of('VIDEO_VIEWS')),
  E_CPCL: each(spend, of('COMPLETES')),
  COST_PER_LEAD: each(spend, of('LEADS'), 'LEADS'),
  CUSTOMER_ACQUISITION_COST: each(spend, of('PURCHASES'), 'PURCHASES'),
  AVERAGE_ORDER_VALUE: each((sums) => sums.revenue, of('PURCHASES'), 'PURCHASES'),
  RETURN_ON_AD_SPEND: (sums) =>
    isHidden(count(sums, 'PURCHASES'))
      ? suppressed
      : sums.spend === 0n
        ? '0.0'
        : units((sums.revenue * 1_000_000n) / sums.spend),
};

/** How each metric is reported: all 49 of the vendor's `ReportFieldType`. */
export const metrics: ReadonlyMap<string, (sums: Sums) => string> = new Map([
  ...counted.map((name) => [name, hidden.has(name) ? private_(name) : plain(name)] as const),
  ...people.map((name) => [name, persons(name)] as const),
  ...Object.entries(derived),
]);

/** The metrics of the CSV reports that are called otherwise there; the rest have the same name (`AsyncReportMetric`). */
const csvNames: Readonly<Record<string, string>> = {
  AD_COMPLETES: 'COMPLETES',
  AVG_STREAMS_PER_LISTENER: 'STREAMS_PER_USER',
  AVG_STREAMS_PER_NEW_LISTENER: 'STREAMS_PER_NEW_LISTENER',
  CPCL: 'E_CPCL',
  IMPRESSIONS_OFF_SPOTIFY: 'OFF_SPOTIFY_IMPRESSIONS',
  IMPRESSIONS_ON_SPOTIFY: 'IMPRESSIONS',
  LISTENER_CONVERSION_RATE: 'CONVERSION_RATE',
  PLAYED_TO_25: 'FIRST_QUARTILES',
  PLAYED_TO_50: 'MIDPOINTS',
  PLAYED_TO_75: 'THIRD_QUARTILES',
  PLAYED_TO_100: 'COMPLETES',
  MODELED_ADD_TO_CART: 'ADD_TO_CART',
  MODELED_LEADS: 'LEADS',
  MODELED_PAGE_VIEWS: 'PAGE_VIEWS',
  MODELED_PURCHASES: 'PURCHASES',
  UNMODELED_ADD_TO_CART: 'ADD_TO_CART',
  UNMODELED_LEADS: 'LEADS',
  UNMODELED_PAGE_VIEWS: 'PAGE_VIEWS',
  UNMODELED_PURCHASES: 'PURCHASES',
};

const csvOnly: Readonly<Record<string, (sums: Sums) => string>> = {
  CPM: (sums) =>
    count(sums, 'IMPRESSIONS') === 0
      ? '0.0'
      : units((sums.spend * 1000n) / BigInt(count(sums, 'IMPRESSIONS'))),
  REACH_OF_AD_COMPLETES: (sums) => `${Math.floor(heads(sums, 'REACH') * 0.8)}.0`,
  FREQUENCY_OF_AD_COMPLETES: ratio(of('COMPLETES'), (sums) => Math.floor(heads(sums, 'REACH') * 0.8)),
  SKAD_APP_INSTALLS: () => '0.0',
  KOCHAVA_APP_INSTALLS: () => '0.0',
  APPSFLYER_APP_INSTALLS: () => '0.0',
};

/** How a metric of a CSV report is reported; undefined for one it does not have. */
export const csvMetric = (name: string): ((sums: Sums) => string) | undefined =>
  csvOnly[name] ?? (notInCsv.has(name) ? undefined : metrics.get(csvNames[name] ?? name));

const notInCsv: ReadonlySet<string> = new Set([
  'COMPLETES',
  'CONVERSION_RATE',
  'E_CPCL',
  'FIRST_QUARTILES',
  'IMPRESSIONS',
  'MIDPOINTS',
  'NEW_LISTENER_STREAMS',
  'OFF_SPOTIFY_IMPRESSIONS',
  'PAID_LISTENS',
  'PAID_LISTENS_FREQUENCY',
  'PAID_LISTENS_REACH',
  'SKIPS',
  'STREAMS_PER_NEW_LISTENER',
  'STREAMS_PER_USER',
  'THIRD_QUARTILES',
  'STREAMED_IMPRESSIONS',
]);

/** All metrics of these sums. */
export const fieldsOf = (sums: Sums): Readonly<Record<string, string>> =>
  Object.fromEntries([...metrics].map(([name, tell]) => [name, tell(sums)]));
