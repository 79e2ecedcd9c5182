/** All streams of the ads platform, in the order in which they are read. */

import type { LoadSide, ReadSide, Stream } from '../../core/stream.ts';
import { adAccounts, businesses } from './accounts.ts';

import { type Ads, accountOf, accounts, ofAccount } from './ads.ts';
import { absurdPrices, emptyLevels, finalDaily, finalHourly } from './after-load.ts';
import { csvRows } from './csv-rows.ts';
import * as entities from './entities.ts';
import { daily, hourly, insights, lifetime } from './facts.ts';
import type { Entity } from './fields.ts';
import { type ListSpec, listing, wholeOrPaged } from './lists.ts';
import { readAdSets } from './read-ad-sets.ts';
import { hourlyReread, reportDaily, reportHourly, reportLifetime } from './reports/aggregate.ts';
import { asyncReports } from './reports/csv.ts';
import { insightReports } from './reports/insight.ts';
import type { Reports } from './reports/request.ts';

/** The platform archives these and never deletes them. */
const keep = (entity: Entity): LoadSide => ({ ...entity, absent: 'keep' });

/** Deleted when the list no longer shows it. */
const remove = (entity: Entity): LoadSide => ({ ...entity, absent: 'delete' });

interface List extends Omit<ListSpec, 'endpoint'>, Pick<ReadSide, 'about' | 'optional' | 'recentOnly'> {
  readonly loads: LoadSide;
}

/** A list of each ad account. `path` is below `/ad_accounts/{id}`; default: the key. */
const list = (
  ads: Ads,
  name: string,
  { key, path = `/${key}`, sort, id = 'id', loads, ...more }: List,
): Stream => {
  const endpoint = `/ad_accounts/{id}${path}`;
  const place = { endpoint, key, id, ...(sort !== undefined && { sort }) };
  return {
    by: 'list',
    name,
    ...more,
    endpoint: `GET ${endpoint}`,
    after: ['ad_accounts'],
    partitions: accounts(ads),
    pages: (slice) => listing({ ...place, path: ofAccount(accountOf(slice), path) }),
    ...loads,
  };
};

const adCategories = ({ http }: Ads): Stream => {
  const place: ListSpec = { endpoint: '/ad_categories', key: 'categories' };
  return {
    by: 'list',
    name: 'ad_categories',
    about: 'Categories of ads, e.g. of industries.',
    endpoint: `GET ${place.endpoint}`,
    pages: (_, signal) => wholeOrPaged(http, place, signal),
    ...remove(entities.adCategories),
  };
};

const sort = 'CREATED_AT';

export const adsStreams = (ads: Ads, reports: Reports): readonly Stream[] => [
  { ...businesses(ads), ...keep(entities.businesses) },
  { ...adAccounts(ads), ...keep(entities.adAccounts) },
  adCategories(ads),
  list(ads, 'campaigns', {
    ...{ key: 'campaigns', sort, loads: keep(entities.campaigns) },
    about: 'Campaigns, archived ones included.',
  }),
  list(ads, 'ads', {
    ...{ key: 'ads', sort, loads: keep(entities.ads) },
    about: 'Ads, archived ones included.',
  }),
  { ...readAdSets(ads), ...keep(entities.adSets) },
  list(ads, 'assets', {
    ...{ key: 'assets', sort, loads: keep(entities.assets) },
    about: 'Images, sounds and videos, archived ones included.',
  }),
  list(ads, 'audiences', {
    // The vendor orders them by NAME or UPDATED_AT: names change less often.
    ...{ key: 'audiences', sort: 'NAME', loads: remove(entities.audiences) },
    about: 'Audiences, custom and lookalike; one that its list no longer shows was deleted.',
  }),
  list(ads, 'campaign_drafts', {
    ...{ path: '/drafts/campaigns', key: 'campaign_drafts', sort, loads: remove(entities.campaignDrafts) },
    about:
      'Drafts of campaigns, with the version of their hierarchy; published and deleted ones leave the list.',
  }),
  // The vendor cannot order these two.
  list(ads, 'ad_set_drafts', {
    ...{ path: '/drafts/ad_sets', key: 'ad_set_drafts', loads: remove(entities.adSetDrafts) },
    about: 'Drafts of ad sets.',
  }),
  list(ads, 'ad_drafts', {
    ...{ path: '/drafts/ads', key: 'ad_drafts', loads: remove(entities.adDrafts) },
    about: 'Drafts of ads.',
  }),
  list(ads, 'change_history', {
    // A change is dated when it is made: new ones come at the end. The vendor keeps 180 days.
    ...{ key: 'change_history', sort: 'TIMESTAMP', id: 'change_id', loads: keep(entities.changeHistory) },
    ...{ optional: true, recentOnly: true },
    about: 'Who changed what, of the last 180 days; kept here for ever.',
  }),
  ...reportStreams(reports),
];

/** Facts: a day that is read again is replaced as a whole. */
const reportStreams = (reports: Reports): readonly Stream[] => {
  const longest = (reread: Reports['reread']): number => Math.max(...reread.map(({ back }) => back));
  return [
    {
      ...{ ...reportDaily(reports), ...daily, absent: 'delete' },
      afterwards: [finalDaily(longest(reports.reread)), absurdPrices, emptyLevels],
    },
    {
      ...{ ...reportHourly(reports), ...hourly, absent: 'delete' },
      afterwards: [finalHourly(longest(hourlyReread(reports)))],
    },
    { ...reportLifetime(reports), ...lifetime, absent: 'delete' },
    { ...asyncReports(reports), ...csvRows, absent: 'delete' },
    { ...insightReports(reports), ...insights, absent: 'keep' },
  ];
};
