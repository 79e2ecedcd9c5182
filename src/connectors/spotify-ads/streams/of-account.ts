/** Lists that every ad account has of its own. */

import type { Stream } from '../../../core/stream.ts';
import { type Ads, accountOf as accountIn, accounts, ofAccount } from '../ads.ts';
import { listing, type Place } from '../lists.ts';

export { accountOf as accountIn } from '../ads.ts';

/** The stream of a list below `/ad_accounts/{id}`. */
export const listOfAccount = (
  ads: Ads,
  {
    list,
    promised = true,
    ...said
  }: {
    readonly name: string;
    readonly about: string;
    readonly list: Place;
    readonly promised?: boolean;
    readonly partly?: true;
  },
): Stream => ({
  ...said,
  endpoint: `GET ${list.endpoint}`,
  promised,
  after: ['ad_accounts'],
  parents: accounts(ads),
  walk: (slice) =>
    listing({ ...list, path: ofAccount(accountIn(slice), list.endpoint.slice('/ad_accounts/{id}'.length)) }),
});
