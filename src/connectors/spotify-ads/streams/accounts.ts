/** Businesses and their ad accounts. */

import { Forbidden, Misconfigured, Missing } from '../../../core/errors.ts';
import type { Reading } from '../../../core/paging.ts';
import type { ReadSide, SliceContext } from '../../../core/stream.ts';
import { pages } from '../../../reading/pages.ts';
import { type Ads, ofAccount } from '../ads.ts';
import { byId, type Wanted } from '../by-id.ts';
import { failures, isOfOne } from '../failures.ts';
import { type Place, wholeOrPaged } from '../lists.ts';

export const businessPlace: Place = { endpoint: '/businesses', key: 'businesses' };

const account = '/ad_accounts/{id}';
const accountsOfBusiness = '/businesses/{id}/ad_accounts';

/** Needed only where the accounts are found through them. */
export const businesses = ({ http, accountIds }: Ads): ReadSide => ({
  by: 'list',
  name: 'businesses',
  about: 'Businesses that the token can see.',
  endpoint: `GET ${businessPlace.endpoint}`,
  ...(accountIds.length > 0 && { optional: true as const }),
  pages: (_, signal) => wholeOrPaged(http, businessPlace, signal),
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
  endpoint: `GET ${account}`,
  after: ['businesses'],
  async read(_, given, signal): Promise<Reading> {
    const isConfigured = ads.accountIds.length > 0;
    const found = isConfigured ? { ids: ads.accountIds } : await discovered(ads, given, signal);
    const stored = await given.keys({ table: 'ads.ad_accounts', columns: { id: 'id' } });
    const ids = new Set(stored.map(({ id }) => id?.toLowerCase()));
    const known = (id: string): boolean => !isConfigured || ids.has(id.toLowerCase());
    return byId(ads, { ...found, endpoint: account, path: (id) => ofAccount(id), known }, signal);
  },
});

/** The ids of the accounts of all businesses. Throws `Misconfigured` where there is no way to find any. */
const discovered = async (
  ads: Ads,
  given: SliceContext,
  signal: AbortSignal,
): Promise<Pick<Wanted, 'ids' | 'incomplete'>> => {
  const owners = await given.keys({
    table: 'ads.businesses',
    columns: { id: 'id' },
    where: '_deleted_at is null',
  });
  if (owners.length === 0)
    throw new Misconfigured('the token sees no business: name the ad accounts to read in ADS_ACCOUNT_IDS');
  const ids = new Set<string>();
  const refused: (Forbidden | Missing)[] = [];
  const failed = failures(accountsOfBusiness, owners.length);
  for (const { id: business = '' } of owners)
    try {
      for (const id of await accountsOf(ads, business, signal)) ids.add(id);
      failed.answered();
    } catch (cause) {
      if (cause instanceof Forbidden || cause instanceof Missing) refused.push(cause);
      else if (isOfOne(cause)) failed.keep(business, cause);
      else throw cause;
    }
  if (refused.length === owners.length)
    throw new Misconfigured(
      `the server does not list the ad accounts of a business (${refused[0]?.message}): name them in ADS_ACCOUNT_IDS`,
      { cause: refused[0] },
    );
  for (const { message } of refused) ads.note(`ad accounts of a business cannot be found: ${message}`);
  return { ids: [...ids], incomplete: failed.asOne() };
};

/** The vendor has this list and the contract does not. */
const accountsOf = async ({ http, note }: Ads, business: string, signal: AbortSignal): Promise<string[]> => {
  const path = `/businesses/${encodeURIComponent(business)}/ad_accounts`;
  const walk = await wholeOrPaged(http, { endpoint: accountsOfBusiness, path, key: 'ad_accounts' }, signal);
  const ids: string[] = [];
  const reading = pages(http, walk, signal);
  let step = await reading.next();
  for (; step.done !== true; step = await reading.next()) ids.push(...step.value.records.map(walk.id));
  const { matched, expected, fetched } = step.value;
  if (!matched)
    note(`${accountsOfBusiness} (${business}): ${fetched} of ${expected} ad accounts could be read`);
  return ids.filter((id) => id !== '');
};
