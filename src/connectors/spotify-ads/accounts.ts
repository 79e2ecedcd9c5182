/** Businesses and their ad accounts: how they are read. */

import { Forbidden, Misconfigured, Missing } from '../../core/errors.ts';
import type { ReadSide, SliceContext } from '../../core/stream.ts';
import { pages } from '../../reading/pages.ts';
import { type Ads, ofAccount } from './ads.ts';
import { byId } from './by-id.ts';
import { type ListSpec, wholeOrPaged } from './lists.ts';

export const businessList: ListSpec = { endpoint: '/businesses', key: 'businesses' };

/** Required only where the accounts are found through them. */
export const businesses = ({ http, accountIds }: Ads): ReadSide => ({
  by: 'list',
  name: 'businesses',
  about: 'Businesses that the token can see.',
  endpoint: `GET ${businessList.endpoint}`,
  ...(accountIds.length > 0 && { optional: true }),
  pages: (_, signal) => wholeOrPaged(http, businessList, signal),
});

/**
 * Each account is read by its id: those of ADS_ACCOUNT_IDS, else those of the businesses. One that is closed (403) keeps its
 * row and fails the stream, which names it. One of ADS_ACCOUNT_IDS that is not there and never was is a failure: nothing else
 * would say that all of it is missing.
 */
export const adAccounts = (ads: Ads): ReadSide => ({
  by: 'list',
  name: 'ad_accounts',
  about: 'Ad accounts: those of ADS_ACCOUNT_IDS, else those of the businesses.',
  endpoint: 'GET /ad_accounts/{id}',
  after: ['businesses'],
  async read(_, context, signal) {
    const isConfigured = ads.accountIds.length > 0;
    const ids = isConfigured ? ads.accountIds : await discovered(ads, context, signal);
    const stored = await context.keys({ table: 'ads.ad_accounts', columns: { id: 'id' } });
    const seen = new Set(stored.map(({ id }) => id?.toLowerCase()));
    const wasThere = (id: string): boolean => !isConfigured || seen.has(id.toLowerCase());
    return byId(ads, { ids, endpoint: '/ad_accounts/{id}', path: (id) => ofAccount(id), wasThere }, signal);
  },
});

/** The ids of the accounts of all businesses. Throws `Misconfigured` where there is no way to find any. */
const discovered = async (ads: Ads, context: SliceContext, signal: AbortSignal): Promise<string[]> => {
  const where = '_deleted_at is null';
  const owners = await context.keys({ table: 'ads.businesses', columns: { id: 'id' }, where });
  if (owners.length === 0)
    throw new Misconfigured('the token sees no business: name the ad accounts to read in ADS_ACCOUNT_IDS');
  const ids = new Set<string>();
  const refused: (Forbidden | Missing)[] = [];
  for (const { id = '' } of owners)
    try {
      for (const account of await accountsOf(ads, id, signal)) ids.add(account);
    } catch (cause) {
      if (!(cause instanceof Forbidden || cause instanceof Missing)) throw cause;
      refused.push(cause);
    }
  const [first] = refused;
  if (refused.length === owners.length)
    throw new Misconfigured(
      `the server does not list the ad accounts of a business (${first?.message}): name them in ADS_ACCOUNT_IDS`,
      { cause: first },
    );
  for (const { message } of refused) ads.note(`ad accounts of a business cannot be found: ${message}`);
  return [...ids];
};

/** The vendor has this list and the contract does not. */
const accountsOf = async ({ http, note }: Ads, business: string, signal: AbortSignal): Promise<string[]> => {
  const endpoint = '/businesses/{id}/ad_accounts';
  const path = `/businesses/${encodeURIComponent(business)}/ad_accounts`;
  const walk = await wholeOrPaged(http, { endpoint, path, key: 'ad_accounts' }, signal);
  const reading = pages(http, walk, signal);
  const ids: string[] = [];
  let step = await reading.next();
  for (; step.done !== true; step = await reading.next()) ids.push(...step.value.records.map(walk.id));
  const { matched, expected, fetched } = step.value;
  if (!matched) note(`${endpoint} (${business}): ${fetched} of ${expected} ad accounts could be read`);
  return ids.filter((id) => id !== '');
};
