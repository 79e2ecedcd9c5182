/** The tables of schema `ads`. */
import { adDrafts, adSetDrafts, campaignDrafts } from './tables/drafts.ts';
import {
  adAccounts,
  adCategories,
  adSetFrequencyCaps,
  adSetPlacements,
  adSets,
  adSetTargets,
  ads,
  assets,
  audiences,
  businesses,
  campaigns,
  changeHistory,
  changeHistoryItems,
} from './tables/entities.ts';
import {
  insightSnapshots,
  insightStates,
  reportCsv,
  reportDaily,
  reportHourly,
  reportLifetime,
} from './tables/reports.ts';

export * from './tables/drafts.ts';
export * from './tables/entities.ts';
export * from './tables/metrics.ts';
export * from './tables/reports.ts';

/** All tables of the schema that records become rows of; their versions and revisions are declared with them. */
export const adsTables = [
  businesses,
  adAccounts,
  campaigns,
  adSets,
  adSetTargets,
  adSetFrequencyCaps,
  adSetPlacements,
  ads,
  assets,
  audiences,
  adCategories,
  changeHistory,
  changeHistoryItems,
  campaignDrafts,
  adSetDrafts,
  adDrafts,
  reportDaily,
  reportHourly,
  reportLifetime,
  insightStates,
  insightSnapshots,
  reportCsv,
] as const;
