/** Businesses and their ad accounts. */

import { Forbidden, Misconfigured, Missing } from '../../../core/errors.ts';
import type { Reading } from '../../../core/paging.ts';
import type { Json } from '../../../core/request.ts';
import type { SliceContext, Stream } from '../../../core/stream.ts';
import { idBy } from '../../../reading/offset-list.ts';
import { pages } from '../../../reading/pages.ts';
import { type Ads, canonicalId, ofAccount } from '../ads.ts';
import { byId } from '../by-id.ts';
import { type Failure, failures, isOfOne } from '../failures.ts';
import { type Place, wholeOrPaged } from '../lists.ts';

export const businessPlace: Place = { endpoint: '/businesses', key: 'businesses' };

const account = '/ad_accounts/{id}';
const accountsOfBusiness = '/businesses/{id}/ad_accounts';

/** Needed only where the accounts are found through them. */
export const businesses = ({ http, accountIds }: Ads): Stream => ({
  name: 'businesses',
  about: 'Businesses that the token can see.',
  endpoint: `GET ${businessPlace.endpoint}`,
  promised: accountIds.length === 0,
  walk: (_, signal) => wholeOrPaged(http, businessPlace, signal),
});

/**
 * Each account is asked for by its id: those of ADS_ACCOUNT_IDS, else those of the businesses. One that is closed to us keeps the row it has;
 * a new one gets a row of its id alone, so that its slices are tried and told of. One of ADS_ACCOUNT_IDS that is not there and never was is a failure:
 * nothing else would say that all of it is missing.
 */
export const adAccounts = (ads: Ads): Stream => ({
  name: 'ad_accounts',
  about: 'Ad accounts: those of ADS_ACCOUNT_IDS, else those of the businesses.',
  endpoint: `GET ${account}`,
  promised: true,
  after: ['businesses'],
  async read(_, given, signal): Promise<Reading> {
    const { listed, owed } =
      ads.accountIds.length > 0 ? { listed: bare(ads.accountIds) } : await discovered(ads, given, signal);
    const known = new Set(
      (await given.keys({ table: 'ads.ad_accounts', columns: { id: 'id' } })).map(({ id }) =>
        id?.toLowerCase(),
      ),
    );
    return byId(
      ads,
      {
        ids: [...listed.keys()],
        endpoint: account,
        path: (id) => ofAccount(id),
        closed: (id) => (known.has(id.toLowerCase()) ? undefined : listed.get(id)),
        ...(ads.accountIds.length > 0 && { known: (id) => known.has(id.toLowerCase()) }),
        ...(owed !== undefined && { owed }),
      },
      signal,
    );
  },
});

/** Under the name that the account will tell us when it opens. */
const bare = (ids: readonly string[]): ReadonlyMap<string, Json> =>
  new Map(ids.map((id) => [id, { id: canonicalId(id) }]));

interface Discovered {
  /** By id. */
  readonly listed: ReadonlyMap<string, Json>;
  /** What the accounts of a business could not be had by. */
  readonly owed?: Failure;
}

/** Accounts of all businesses as their lists show them. Throws `Misconfigured` where there is no way to find any. */
const discovered = async (ads: Ads, given: SliceContext, signal: AbortSignal): Promise<Discovered> => {
  const owners = await given.keys({
    table: 'ads.businesses',
    columns: { id: 'id' },
    where: '_deleted_at is null',
  });
  if (owners.length === 0)
    throw new Misconfigured('the token sees no business: name the ad accounts to read in ADS_ACCOUNT_IDS');
  const found = new Map<string, Json>();
  const refusals: (Forbidden | Missing)[] = [];
  const failed = failures(accountsOfBusiness, owners.length);
  for (const { id: business = '' } of owners) {
    try {
      for (const record of await accountsOf(ads, business, signal)) found.set(idBy('id')(record), record);
      failed.answered();
    } catch (cause) {
      if (cause instanceof Forbidden || cause instanceof Missing) refusals.push(cause);
      else if (isOfOne(cause)) failed.keep(business, cause);
      else throw cause;
    }
  }
  if (refusals.length === owners.length)
    throw new Misconfigured(
      `the server does not tell the ad accounts of a business (${refusals[0]?.message}): name them in ADS_ACCOUNT_IDS`,
      { cause: refusals[0] },
    );
  for (const { message } of refusals) ads.note(`ad accounts of a business cannot be found: ${message}`);
  found.delete('');
  const owed = failed.asOne();
  return { listed: found, ...(owed !== undefined && { owed }) };
};

const accountsOf = async (
  { http, note }: Ads,
  business: string,
  signal: AbortSignal,
): Promise<readonly Json[]> => {
  const path = `/businesses/${encodeURIComponent(business)}/ad_accounts`;
  const walk = await wholeOrPaged(http, { endpoint: accountsOfBusiness, path, key: 'ad_accounts' }, signal);
  const records: Json[] = [];
  const reading = pages(http, walk, signal);
  for (let step = await reading.next(); ; step = await reading.next()) {
    if (step.done === true) {
      const { matched, expected, fetched } = step.value;
      if (!matched)
        note(
          `${accountsOfBusiness} (${business}): the source says ${expected} ad accounts, ${fetched} could be read`,
        );
      return records;
    }
    records.push(...step.value.records);
  }
};
