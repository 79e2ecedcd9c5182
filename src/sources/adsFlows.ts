/** What the ads platform's streams become and where it goes, in the order in which they are read. */

import type { Flow, Stream } from '../core/stream.ts';
import type { Table } from '../core/table.ts';
import type { Ads } from '../extract/ads/ads.ts';
import * as streams from '../extract/ads/streams.ts';
import * as tables from '../tables/ads.ts';
import * as transforms from '../transform/ads.ts';

export const adsFlows = (ads: Ads): readonly Flow[] => [
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
];

/** What the platform archives but never deletes. */
const kept = (stream: Stream, table: Table, via: Flow['via']): Flow => ({
  stream,
  table,
  children: {},
  via,
  absent: 'kept',
});

/** What is gone when its list no longer shows it. */
const replaced = (stream: Stream, table: Table, via: Flow['via']): Flow => ({
  ...kept(stream, table, via),
  absent: 'replaced',
});
