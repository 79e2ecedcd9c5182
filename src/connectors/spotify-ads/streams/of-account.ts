/** Lists that every ad account has of its own. */

import type { ReadSide } from '../../../core/stream.ts';
import { type Ads, accountOf as accountIn, accounts, ofAccount } from '../ads.ts';
import { listing, type Place } from '../lists.ts';

export { accountOf as accountIn } from '../ads.ts';

/** The stream of a list below `/ad_accounts/{id}`. */
export const listOfAccount = (
  ads: Ads,
  {
    list,
    ...said
  }: {
    readonly name: string;
    readonly about: string;
    readonly list: Place;
    readonly optional?: true;
    readonly recentOnly?: true;
  },
): ReadSide => ({
  by: 'list',
  ...said,
  endpoint: `GET ${list.endpoint}`,
  after: ['ad_accounts'],
  partitions: accounts(ads),
  pages: (slice) =>
    listing({ ...list, path: ofAccount(accountIn(slice), list.endpoint.slice('/ad_accounts/{id}'.length)) }),
});
