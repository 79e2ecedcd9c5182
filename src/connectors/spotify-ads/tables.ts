/** The tables of schema `ads`. */
import type { DeclaredTable } from '../../core/table.ts';
import { adSetDrafts, adSets } from './ad-sets.ts';
import * as entities from './entities.ts';
import type { Entity } from './fields.ts';
import * as reports from './tables/reports.ts';

export * from './tables/metrics.ts';
export * from './tables/reports.ts';

const tablesOf = ({ table, children }: Entity): readonly DeclaredTable[] => [
  table,
  ...Object.values(children).map((child) => child.table as DeclaredTable),
];

/** All tables that records become rows of; their versions and revisions are declared with them. */
export const adsTables: readonly DeclaredTable[] = [
  ...[entities.businesses, entities.adAccounts, entities.campaigns, adSets, entities.ads].flatMap(tablesOf),
  ...[entities.assets, entities.audiences, entities.adCategories, entities.changeHistory].flatMap(tablesOf),
  ...[entities.campaignDrafts, adSetDrafts, entities.adDrafts].flatMap(tablesOf),
  ...([
    reports.reportDaily,
    reports.reportHourly,
    reports.reportLifetime,
    reports.insightStates,
    reports.insightSnapshots,
    reports.reportCsv,
  ] as readonly DeclaredTable[]),
];
