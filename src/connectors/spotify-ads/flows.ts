/** What the ads platform's streams become and where it goes, in the order in which they are read. */

import type { Flow, Stream } from '../../core/stream.ts';
import type { Table } from '../../core/table.ts';
import type { Ads } from './ads.ts';
import { absurdPrices, emptyLevels, finalDaily, finalHourly } from './after-load.ts';
import type { Reports } from './reports/reports.ts';
import * as reportStreams from './reports.ts';
import * as streams from './streams.ts';
import * as tables from './tables.ts';
import * as transforms from './transform.ts';

export const adsFlows = (ads: Ads, reports: Reports): readonly Flow[] => [
  kept(streams.businesses(ads), tables.businesses, transforms.business),
  kept(streams.adAccounts(ads), tables.adAccounts, transforms.adAccount),
  replaced(streams.adCategories(ads), tables.adCategories, transforms.adCategory),
  kept(streams.campaigns(ads), tables.campaigns, transforms.campaign),
  kept(streams.ads(ads), tables.ads, transforms.ad),
  { ...kept(streams.adSets(ads), tables.adSets, transforms.adSet), children: tables.adSetChildren },
  kept(streams.assets(ads), tables.assets, transforms.asset),
  replaced(streams.audiences(ads), tables.audiences, transforms.audience),
  replaced(streams.campaignDrafts(ads), tables.campaignDrafts, transforms.campaignDraft),
  replaced(streams.adSetDrafts(ads), tables.adSetDrafts, transforms.adSetDraft),
  replaced(streams.adDrafts(ads), tables.adDrafts, transforms.adDraft),
  {
    ...kept(streams.changeHistory(ads), tables.changeHistory, transforms.change),
    children: tables.changeHistoryChildren,
  },
  ...reportFlows(reports),
];

/** Facts: a day that is read again is replaced as a whole. */
const reportFlows = (reports: Reports): readonly Flow[] => {
  const back = Math.max(...reports.reread.map((one) => one.back));
  const hourly = reportStreams.reportHourly(reports);
  return [
    {
      ...replaced(reportStreams.reportDaily(reports), tables.reportDaily, transforms.dailyRow),
      afterwards: [finalDaily(back), absurdPrices, emptyLevels],
    },
    {
      ...replaced(hourly, tables.reportHourly, transforms.hourlyRow),
      afterwards: [finalHourly(Math.max(...(hourly.days?.reread ?? []).map((one) => one.back)))],
    },
    replaced(reportStreams.reportLifetime(reports), tables.reportLifetime, transforms.lifetimeRow),
    replaced(reportStreams.asyncReports(reports), tables.reportCsv, transforms.csvRow),
    {
      ...kept(reportStreams.insightReports(reports), tables.insightStates, transforms.insight),
      children: tables.insightChildren,
    },
  ];
};

/** A transform that can also say what it does as a declaration, and which row a record is about that cannot become one. */
type Transform = Pick<Flow, 'via' | 'cells' | 'keyOf'>;

/** What the platform archives but never deletes. */
const kept = (stream: Stream, table: Table, how: Flow['via'] | Transform): Flow => ({
  stream,
  table,
  children: {},
  ...(typeof how === 'function' ? { via: how } : how),
  absent: 'kept',
});

/** What is gone when its list no longer shows it. */
const replaced = (stream: Stream, table: Table, how: Flow['via'] | Transform): Flow => ({
  ...kept(stream, table, how),
  absent: 'replaced',
});
