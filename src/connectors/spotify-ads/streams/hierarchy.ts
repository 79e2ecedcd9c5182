/** Campaigns, ad sets and ads: what is live or was. */

import { Forbidden, Missing, Refused, UnexpectedContent } from '../../../core/errors.ts';
import type { ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { readingOf } from '../../../reading/open-reading.ts';
import { type Ads, accounts, ofAccount } from '../ads.ts';
import { byId } from '../by-id.ts';
import { listing, type Place } from '../lists.ts';
import { accountIn, listOfAccount } from './of-account.ts';

export const campaigns = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'campaigns',
    about: 'Campaigns, archived ones included.',
    list: { endpoint: '/ad_accounts/{id}/campaigns', key: 'campaigns', sort: 'CREATED_AT' },
  });

export const ads = (opened: Ads): ReadSide =>
  listOfAccount(opened, {
    name: 'ads',
    about: 'Ads, archived ones included.',
    list: { endpoint: '/ad_accounts/{id}/ads', key: 'ads', sort: 'CREATED_AT' },
  });

const list: Place = { endpoint: '/ad_accounts/{id}/ad_sets', key: 'ad_sets', sort: 'CREATED_AT' };
const one = '/ad_accounts/{id}/ad_sets/{ad_set_id}';

/**
 * The vendor lists ad sets; the contract does not: there each is asked for by its id, the ids taken from the ads and from the ad sets that
 * were seen before. Which of the two it is, is found out once a run.
 */
export const adSets = (ads: Ads): ReadSide => {
  const isListed = listsAdSets(ads);
  return {
    by: 'list',
    name: 'ad_sets',
    about: 'Ad sets: from their list where the server has one, else one by one, as the ads name them.',
    endpoint: `GET ${one}`,
    after: ['ad_accounts', 'ads'],
    partitions: accounts(ads),
    async read(slice, given, signal) {
      const account = accountIn(slice);
      const told = await isListed(account, signal).catch(oddly);
      if (told === true)
        return readingOf(ads.http, listing({ ...list, path: ofAccount(account, '/ad_sets') }), signal);
      const path = (id: string): string => ofAccount(account, `/ad_sets/${encodeURIComponent(id)}`);
      const ids = await idsOf(slice, given);
      if (told !== false) {
        if (ids.length === 0) throw told;
        ads.note(`ad sets are asked for one by one, as the ads name them: ${told.message}`);
      }
      return byId(ads, { ids, endpoint: one, path }, signal);
    },
  };
};

/**
 * What a server may say of a list that its contract does not have instead of 404: closed (403), refused (400), a page for people. It is no
 * answer about other accounts; what is promised, an ad set by its id, tells whether the account itself is closed. Anything else is thrown.
 */
const oddly = (cause: unknown): Forbidden | Refused | UnexpectedContent => {
  if (cause instanceof Forbidden || cause instanceof Refused || cause instanceof UnexpectedContent)
    return cause;
  throw cause;
};

/** Ids that an account's ads name, and those of the ad sets that the warehouse has: an ad set does not go when its last ad does. */
const idsOf = async ({ partition: of = {} }: Slice, given: SliceContext): Promise<readonly string[]> => {
  const named = await given.keys({ table: 'ads.ads', columns: { id: 'ad_set_id' }, of });
  const seen = await given.keys({ table: 'ads.ad_sets', columns: { id: 'id' }, of });
  return [...new Set([...named, ...seen].flatMap(({ id }) => id ?? []))].sort();
};

/** Whether the server has the list of ad sets: asked of the first account that answers. Throws what the account itself is refused with. */
const listsAdSets = ({ http }: Ads): ((account: string, signal: AbortSignal) => Promise<boolean>) => {
  let shared: Promise<boolean> | undefined;
  const ask = async (account: string, signal: AbortSignal): Promise<boolean> => {
    const { first } = listing({ ...list, path: ofAccount(account, '/ad_sets') });
    try {
      await http.send({ ...first, query: { ...first.query, limit: 1 } }, signal);
      return true;
    } catch (cause) {
      if (!(cause instanceof Missing)) throw cause;
      // 404 is also what is said of an account that is not there; that throws here.
      if (cause.status === 404)
        await http.send({ method: 'GET', path: ofAccount(account), endpoint: '/ad_accounts/{id}' }, signal);
      return false;
    }
  };
  return async (account, signal) => {
    for (;;) {
      const mine = shared === undefined;
      shared ??= ask(account, signal);
      try {
        return await shared;
      } catch (cause) {
        // What one account is refused with says nothing about the others.
        if (mine) {
          shared = undefined;
          throw cause;
        }
      }
    }
  };
};
