/** What ads are made of and aimed at, and what has been done to them: assets, audiences, categories, the history of changes. */

import type { ReadSide } from '../../../core/stream.ts';
import type { Ads } from '../ads.ts';
import { type Place, wholeOrPaged } from '../lists.ts';
import { listOfAccount } from './of-account.ts';

export const assets = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'assets',
    about: 'Images, sounds and videos, archived ones included.',
    list: { endpoint: '/ad_accounts/{id}/assets', key: 'assets', sort: 'CREATED_AT' },
  });

/** Of the vendor's two orders, NAME and UPDATED_AT, names change less often. */
export const audiences = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'audiences',
    about: 'Audiences, custom and lookalike; one that its list no longer shows was deleted.',
    list: { endpoint: '/ad_accounts/{id}/audiences', key: 'audiences', sort: 'NAME' },
  });

const categories: Place = { endpoint: '/ad_categories', key: 'categories' };

export const adCategories = ({ http }: Ads): ReadSide => ({
  by: 'list',
  name: 'ad_categories',
  about: 'Categories of ads, e.g. of industries.',
  endpoint: `GET ${categories.endpoint}`,
  pages: (_, signal) => wholeOrPaged(http, categories, signal),
});

/** The vendor keeps 180 days, and dates a change when it is made: new ones come at the end. */
export const changeHistory = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'change_history',
    about: 'Who changed what, of the last 180 days; kept here for ever.',
    list: {
      endpoint: '/ad_accounts/{id}/change_history',
      key: 'change_history',
      sort: 'TIMESTAMP',
      id: 'change_id',
    },
    optional: true,
    recentOnly: true,
  });
