/** All streams of the ads platform, in the order in which they are read. */

import type { Afterwards, Days, LoadSide, ReadSide, Stream } from '../../core/stream.ts';
import { type Ads, accountOf, accounts, ofAccount } from './ads.ts';
import { adAccounts, adSets } from './by-id.ts';
import { csvRows } from './csv-rows.ts';
import * as entities from './entities.ts';
import { daily, hourly, insights, lifetime } from './facts.ts';
import { businessList, type ListSpec, listing, wholeOrPaged } from './lists.ts';
import { hourlyReread, reportDaily, reportHourly, reportLifetime } from './reports/aggregate.ts';
import { asyncReports } from './reports/csv.ts';
import { insightReports } from './reports/insight.ts';
import type { Reports } from './reports/request.ts';
import { reportTotals } from './reports/totals.ts';
import { targetNames } from './target-names.ts';

type Loads = Omit<LoadSide, 'absent'>;
/** The platform archives some entities and never deletes them; others are deleted where their list no longer shows them. */
type Absent = LoadSide['absent'];
type More = Pick<ReadSide, 'optional' | 'recentOnly'> & Partial<Omit<ListSpec, 'path'>>;

const entityStreams = (ads: Ads): readonly Stream[] => {
  /** A list of each ad account. `path` is below the account. */
  const list = (path: string, about: string, loads: Loads, absent: Absent, more: More = {}): Stream => {
    const endpoint = `/ad_accounts/{id}/${path}`;
    const key = path.replace(/^drafts\/(\w+)s$/, '$1_drafts');
    return {
      by: 'list',
      name: key,
      about,
      endpoint: `GET ${endpoint}`,
      ...more,
      after: ['ad_accounts'],
      partitions: accounts(ads),
      ...loads,
      absent,
      pages: (slice) => listing({ endpoint, key, ...more, path: ofAccount(accountOf(slice), `/${path}`) }),
    };
  };
  /** A list of the platform itself. */
  const whole = (name: string, about: string, place: ListSpec, loads: Loads, absent: Absent): Stream => ({
    by: 'list',
    name,
    about,
    endpoint: `GET ${place.endpoint}`,
    ...loads,
    absent,
    pages: () => wholeOrPaged(place),
  });
  const sort = 'CREATED_AT';
  const categories = { endpoint: '/ad_categories', key: 'categories' };
  return [
    {
      ...whole('businesses', 'Businesses that the token can see.', businessList, entities.businesses, 'keep'),
      // Required only where the accounts are found through them.
      ...(ads.accountIds.length > 0 && { optional: true }),
    },
    { ...adAccounts(ads), ...entities.adAccounts, absent: 'keep' },
    whole('ad_categories', 'Categories, e.g. of industries.', categories, entities.adCategories, 'delete'),
    list('campaigns', 'Campaigns, archived ones included.', entities.campaigns, 'keep', { sort }),
    list('ads', 'Ads, archived ones included.', entities.ads, 'keep', { sort }),
    { ...adSets(ads), ...entities.adSets, absent: 'keep' },
    { ...targetNames(ads), ...entities.targetNames, absent: 'keep' },
    list('assets', 'Images, sounds and videos, archived ones included.', entities.assets, 'keep', { sort }),
    // The vendor orders them by NAME or UPDATED_AT: names change less often.
    list('audiences', 'Custom and lookalike audiences.', entities.audiences, 'delete', { sort: 'NAME' }),
    list('drafts/campaigns', 'Drafts of campaigns.', entities.campaignDrafts, 'delete', { sort }),
    // The vendor cannot order these two.
    list('drafts/ad_sets', 'Drafts of ad sets.', entities.adSetDrafts, 'delete'),
    list('drafts/ads', 'Drafts of ads.', entities.adDrafts, 'delete'),
    // A change is dated when it is made: new ones come at the end. The vendor keeps 180 days.
    list('change_history', 'Changes of the last 180 days; kept for ever.', entities.changeHistory, 'keep', {
      sort: 'TIMESTAMP',
      id: 'change_id',
      optional: true,
      recentOnly: true,
    }),
  ];
};

// Statements that run in the warehouse after report rows have been loaded.

/**
 * Marks the rows that are older than everything that is read again: the platform is not expected to restate them. A final row stays final when
 * a backfill reads it again; what that changes is in the table of revisions.
 */
const final = (table: string, isOlder: string): Afterwards => ({
  sql: `update ${table} set is_final = true
    where source_id = $1::smallint and not is_final and $2::bigint is not null and ${isOlder}`,
});

/** `back`: the longest restatement in days. */
const firstDay = (back: number): string =>
  `(date_trunc('day', $3::timestamptz at time zone 'UTC') - interval '${back} days')`;

export const finalDaily = (back: number): Afterwards =>
  final('ads.report_daily', `day < ${firstDay(back)}::date`);
export const finalHourly = (back: number): Afterwards =>
  final('ads.report_hourly', `hour_start < ${firstDay(back)} at time zone 'UTC'`);

/** A function of `migrations/facts/8_ads.sql`, which says there what it does. */
const calling = (name: string): string =>
  `select * from ads.${name}($1::smallint, $2::bigint, $3::timestamptz)`;

export const absurdPrices: Afterwards = { sql: calling('absurd_prices') };
export const unlistedEntities: Afterwards = { sql: calling('add_unlisted'), evenInPart: true };
export const levelGaps: Afterwards = { sql: calling('level_gaps') };
export const totalGaps: Afterwards = { sql: calling('total_gaps'), evenInPart: true };

export const adsStreams = (ads: Ads, reports: Reports): readonly Stream[] => [
  ...entityStreams(ads),
  ...reportStreams(reports),
];

/** Facts: a day that is read again is replaced as a whole. */
const reportStreams = (reports: Reports): readonly Stream[] => {
  const longest = (reread: Days['reread']): number => Math.max(...reread.map(({ back }) => back));
  const finalDays = finalDaily(longest(reports.days.reread));
  const afterDays = [finalDays, absurdPrices, unlistedEntities, levelGaps];
  const afterHours = [finalHourly(longest(hourlyReread(reports)))];
  const { perSecond } = reports;
  const streams: readonly Stream[] = [
    { ...reportDaily(reports), ...daily, absent: 'delete', afterwards: afterDays },
    { ...reportHourly(reports), ...hourly, absent: 'delete', afterwards: afterHours },
    { ...reportLifetime(reports), ...lifetime, absent: 'delete' },
    { ...reportTotals(reports), ...entities.totals, absent: 'keep', afterwards: [totalGaps] },
    { ...asyncReports(reports), ...csvRows, absent: 'delete' },
    { ...insightReports(reports), ...insights, absent: 'keep' },
  ];
  return streams.map((stream) => ({ ...stream, perSecond }));
};
