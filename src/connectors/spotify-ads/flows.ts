/** What the ads platform's streams become and where it goes, in the order in which they are read. */

import type { LoadSide, ReadSide, Stream } from '../../core/stream.ts';
import type { Table } from '../../core/table.ts';
import { adSetDrafts, adSets } from './ad-sets.ts';
import type { Ads } from './ads.ts';
import { absurdPrices, emptyLevels, finalDaily, finalHourly } from './after-load.ts';
import * as entities from './entities.ts';
import type { Entity } from './fields.ts';
import type { Reports } from './reports/reports.ts';
import * as reportStreams from './reports.ts';
import * as streams from './streams.ts';
import * as tables from './tables.ts';
import * as transforms from './transform.ts';

export const adsFlows = (ads: Ads, reports: Reports): readonly Stream[] => [
  kept(streams.businesses(ads), entities.businesses),
  kept(streams.adAccounts(ads), entities.adAccounts),
  replaced(streams.adCategories(ads), entities.adCategories),
  kept(streams.campaigns(ads), entities.campaigns),
  kept(streams.ads(ads), entities.ads),
  kept(streams.adSets(ads), adSets),
  kept(streams.assets(ads), entities.assets),
  replaced(streams.audiences(ads), entities.audiences),
  replaced(streams.campaignDrafts(ads), entities.campaignDrafts),
  replaced(streams.adSetDrafts(ads), adSetDrafts),
  replaced(streams.adDrafts(ads), entities.adDrafts),
  kept(streams.changeHistory(ads), entities.changeHistory),
  ...reportFlows(reports),
];

/** Facts: a day that is read again is replaced as a whole. */
const reportFlows = (reports: Reports): readonly Stream[] => {
  const back = Math.max(...reports.reread.map((one) => one.back));
  const hourly = reportStreams.reportHourly(reports);
  return [
    {
      ...facts(reportStreams.reportDaily(reports), tables.reportDaily, transforms.dailyRow),
      afterwards: [finalDaily(back), absurdPrices, emptyLevels],
    },
    {
      ...facts(hourly, tables.reportHourly, transforms.hourlyRow),
      afterwards: [finalHourly(Math.max(...(hourly.days?.reread ?? []).map((one) => one.back)))],
    },
    facts(reportStreams.reportLifetime(reports), tables.reportLifetime, transforms.lifetimeRow),
    facts(reportStreams.asyncReports(reports), tables.reportCsv, transforms.csvRow),
    {
      ...facts(reportStreams.insightReports(reports), tables.insightStates, {
        transform: transforms.insight,
      }),
      children: tables.insightChildren,
      absent: 'keep',
    },
  ];
};

/** What the platform archives but never deletes. */
const kept = (stream: ReadSide, { table, children, transform }: Entity): Stream => ({
  ...stream,
  table,
  children,
  transform: transform,
  absent: 'keep',
});

/** What is gone when its list no longer shows it. */
const replaced = (stream: ReadSide, what: Entity): Stream => ({ ...kept(stream, what), absent: 'delete' });

/** Facts with their transform, and which row a record is about that cannot become one. */
const facts = (stream: ReadSide, table: Table, how: Pick<LoadSide, 'transform' | 'keyOf'>): Stream => ({
  ...stream,
  table,
  ...how,
  absent: 'delete',
});
