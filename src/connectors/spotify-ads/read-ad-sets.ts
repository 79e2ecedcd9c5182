/** Ad sets: the vendor lists them, the contract gives each by its id alone. */

import { Missing } from '../../core/errors.ts';
import type { ReadSide, Slice, SliceContext } from '../../core/stream.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { type Ads, accountOf, accounts, ofAccount } from './ads.ts';
import { byId } from './by-id.ts';
import { listing } from './lists.ts';

const endpoint = '/ad_accounts/{id}/ad_sets';
const listOf = (account: string) =>
  listing({ endpoint, path: ofAccount(account, '/ad_sets'), key: 'ad_sets', sort: 'CREATED_AT' });

/**
 * From the list where the server has one. Else one by one, with the ids that the account's ads name and those that the
 * warehouse has: an ad set stays when its last ad is gone.
 */
export const readAdSets = (ads: Ads): ReadSide => {
  const isListed = listsAdSets(ads);
  const one = `${endpoint}/{ad_set_id}`;
  return {
    by: 'list',
    name: 'ad_sets',
    about: 'Ad sets: from their list where the server has one, else one by one, as the ads name them.',
    endpoint: `GET ${one}`,
    after: ['ad_accounts', 'ads'],
    partitions: accounts(ads),
    async read(slice, context, signal) {
      const account = accountOf(slice);
      if (await isListed(account, signal)) return readingOf(ads.http, listOf(account), signal);
      const path = (id: string): string => ofAccount(account, `/ad_sets/${encodeURIComponent(id)}`);
      return byId(ads, { ids: await idsOf(slice, context), endpoint: one, path }, signal);
    },
  };
};

const idsOf = async ({ partition: of = {} }: Slice, { keys }: SliceContext): Promise<readonly string[]> => {
  const named = await keys({ table: 'ads.ads', columns: { id: 'ad_set_id' }, of });
  const stored = await keys({ table: 'ads.ad_sets', columns: { id: 'id' }, of });
  return [...new Set([...named, ...stored].flatMap(({ id }) => id ?? []))].sort();
};

/** Whether the server has the list, found out once. Throws what the account itself is refused with. */
const listsAdSets = ({ http }: Ads): ((account: string, signal: AbortSignal) => Promise<boolean>) => {
  let isListed: boolean | undefined;
  return async (account, signal) => {
    if (isListed !== undefined) return isListed;
    const { first } = listOf(account);
    try {
      await http.send({ ...first, query: { ...first.query, limit: 1 } }, signal);
      isListed = true;
    } catch (cause) {
      if (!(cause instanceof Missing)) throw cause;
      // 404 is also the answer for an account that is not there: then this throws.
      if (cause.status === 404)
        await http.send({ method: 'GET', path: ofAccount(account), endpoint: '/ad_accounts/{id}' }, signal);
      isListed = false;
    }
    return isListed;
  };
};
