/** Entities with everything that the platform fills in where it is not told. */

import type { Ad, AdSet, Asset, Audience, Campaign } from './model.ts';

/** Who something is and since when. */
export interface Stamp {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Without what is not told: it must not hide a default. */
const reported = (given: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

export type Given<T> = { readonly [K in keyof T]?: T[K] | undefined };

export const campaign = (stamp: Stamp, name: string, given: Given<Campaign> = {}): Campaign => ({
  status: 'ACTIVE',
  objective: 'REACH',
  goal: 'AWARENESS',
  purchaseOrder: undefined,
  ...reported(given),
  ...stamp,
  name,
  pauses: [],
});

/** The vendor's defaults (`x-spotify-defaults` of AdSetRequestBase). */
const usualCaps: AdSet['caps'] = [
  { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 5 },
  { frequency_unit: 'WEEK', frequency_period: 1, max_impressions: 35 },
  { frequency_unit: 'MONTH', frequency_period: 1, max_impressions: 50 },
];

export const adSet = (
  stamp: Stamp,
  name: string,
  given: Given<AdSet> & Pick<AdSet, 'campaignId' | 'budget' | 'start'>,
): AdSet => ({
  status: 'ACTIVE',
  budgetType: 'DAILY',
  bid: 1_500_001n,
  bidStrategy: 'MAX_BID',
  costModel: 'CPM',
  assetFormat: 'AUDIO',
  category: 'ADV_1_1',
  pacing: 'PACING_EVEN',
  delivery: 'ON',
  end: undefined,
  targets: {},
  caps: usualCaps,
  ...reported(given),
  ...stamp,
  campaignId: given.campaignId,
  budget: given.budget,
  start: given.start,
  name,
  pauses: [],
});

export const ad = (stamp: Stamp, name: string, given: Given<Ad> & Pick<Ad, 'adSetId' | 'assetId'>): Ad => ({
  status: 'ACTIVE',
  companionId: undefined,
  logoId: undefined,
  tagline: 'Hear it first',
  advertiser: 'Northwind',
  delivery: 'ON',
  callToAction: { key: 'LEARN_MORE', url: 'https://northwind.example/' },
  ...reported(given),
  ...stamp,
  adSetId: given.adSetId,
  assetId: given.assetId,
  name,
  pauses: [],
});

export const asset = (
  stamp: Stamp,
  name: string,
  type: Asset['type'],
  status: 'READY' | 'WAITING_UPLOAD' = 'READY',
): Asset => ({ ...stamp, name, type, status, archived: false });

export const audience = (
  stamp: Stamp,
  name: string,
  type: Audience['type'],
  given: Given<Audience> = {},
): Audience => ({
  status: 'LIVE',
  subtype: type === 'CUSTOM' ? 'CUSTOMER_LIST' : 'AD_ENGAGEMENT',
  seedId: undefined,
  lookbackDays: undefined,
  size: 1000,
  ...reported(given),
  ...stamp,
  name,
  type,
});
