/** What the ads platform's streams become and where it goes, in the order in which they are read. */

import type { ReadSide, Stream } from '../../core/stream.ts';
import { adSetDrafts, adSets } from './ad-sets.ts';
import type { Ads } from './ads.ts';
import { absurdPrices, emptyLevels, finalDaily, finalHourly } from './after-load.ts';
import { csvRows } from './csv-rows.ts';
import * as entities from './entities.ts';
import { daily, type Facts, hourly, insights, lifetime } from './facts.ts';
import type { Entity } from './fields.ts';
import { hourlyReread, reportDaily, reportHourly, reportLifetime } from './reports/aggregate.ts';
import { asyncReports } from './reports/csv.ts';
import { insightReports } from './reports/insight.ts';
import type { Reports } from './reports/request.ts';
import * as streams from './streams.ts';

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
  const longest = (reread: Reports['reread']): number => Math.max(...reread.map(({ back }) => back));
  return [
    {
      ...facts(reportDaily(reports), daily),
      afterwards: [finalDaily(longest(reports.reread)), absurdPrices, emptyLevels],
    },
    { ...facts(reportHourly(reports), hourly), afterwards: [finalHourly(longest(hourlyReread(reports)))] },
    facts(reportLifetime(reports), lifetime),
    facts(asyncReports(reports), csvRows),
    { ...insightReports(reports), ...insights, absent: 'keep' },
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

const facts = (stream: ReadSide, what: Facts): Stream => ({ ...stream, ...what, absent: 'delete' });
