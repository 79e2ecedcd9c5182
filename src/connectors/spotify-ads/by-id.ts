/** Entities that are requested by their id: ad accounts, and ad sets where the server has no list of them. */

import { caught, Forbidden, Misconfigured, Missing, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { ReadSide, Request, Slice, SliceContext, SliceReading } from '../../core/stream.ts';
import { readingOf, readWhole } from '../../reading/pages.ts';
import { get, idBy, textAt } from '../../reading/requests.ts';
import { type Ads, accountOf, accounts, canonicalId, ofAccount } from './ads.ts';
import { listing, wholeOrPaged } from './lists.ts';
import { oneByOne } from './one-by-one.ts';

interface WantedIds {
  /** Each once. */
  readonly ids: readonly string[];
  /** The route as the contract writes it. */
  readonly endpoint: string;
  readonly path: (id: string) => string;
  /** Whether the warehouse has no such entity yet. Absent: it has each. */
  readonly isNew?: (id: string) => boolean;
}

/** One page an entity. One that never was there fails. */
const byId = (ads: Ads, { ids, endpoint, path, isNew }: WantedIds, signal: AbortSignal): SliceReading => {
  const page = async (id: string, until: AbortSignal) => {
    const sent = ads.http.send(get(path(id), undefined, endpoint), until);
    const { raw, body } = await sent.catch((cause: unknown) => {
      if (!(cause instanceof Missing) || isNew?.(id) !== true) throw cause;
      const message = `${cause.message}; it was never there: is its id right?`;
      throw new Refused(message, cause.status, [], { cause });
    });
    const given = textAt(body, 'id');
    if (given?.toLowerCase() !== id.toLowerCase())
      throw new UnexpectedContent(`${endpoint}: asked for ${id}, the answer is ${given ?? 'without an id'}`);
    return { records: [body], raw };
  };
  const requests = { endpoint, items: ids, nameOf: (id: string) => id, page };
  return { pages: oneByOne(ads, requests, signal), id: idBy('id'), bytes: (_, { raw }) => raw };
};

const accountEndpoint = '/ad_accounts/{id}';

/**
 * Each account is read by its id: those of ADS_ACCOUNT_IDS, else those of the businesses. One that is closed (403) keeps its
 * row and fails the stream, which names it. One of ADS_ACCOUNT_IDS that is not there and never was is a failure: nothing else
 * would say that all of it is missing.
 */
export const adAccounts = (ads: Ads): ReadSide => ({
  by: 'list',
  name: 'ad_accounts',
  about: 'Ad accounts: those of ADS_ACCOUNT_IDS, else those of the businesses.',
  endpoint: `GET ${accountEndpoint}`,
  after: ['businesses'],
  async read(_, context, signal) {
    const isConfigured = ads.accountIds.length > 0;
    const all = isConfigured ? ads.accountIds : await discovered(ads, context, signal);
    const ids = all.filter((id) => !ads.leftOut?.includes(canonicalId(id)));
    const stored = await context.keys({ table: 'ads.ad_accounts', columns: { id: 'id' } });
    const seen = new Set(stored.map(({ id }) => id?.toLowerCase()));
    const isNew = (id: string): boolean => isConfigured && !seen.has(id.toLowerCase());
    return byId(ads, { ids, endpoint: accountEndpoint, path: (id) => ofAccount(id), isNew }, signal);
  },
});

/** The ids of the accounts of all businesses. Throws `Misconfigured` where there is no way to find any. */
const discovered = async (ads: Ads, context: SliceContext, signal: AbortSignal): Promise<string[]> => {
  const where = '_deleted_at is null';
  const owners = await context.keys({ table: 'ads.businesses', columns: { id: 'id' }, where });
  if (owners.length === 0)
    throw new Misconfigured('the token sees no business: name the ad accounts to read in ADS_ACCOUNT_IDS');
  const ids = new Set<string>();
  const refused: Error[] = [];
  for (const { id = '' } of owners) {
    const found = await accountsOf(ads, id, signal).catch(caught(Forbidden, Missing));
    if (found instanceof Error) refused.push(found);
    else for (const account of found) ids.add(account);
  }
  const [cause] = refused;
  if (refused.length === owners.length)
    throw new Misconfigured(
      `the server does not list the ad accounts of a business (${cause?.message}): name them in ADS_ACCOUNT_IDS`,
      { cause },
    );
  for (const { message } of refused) ads.note(`ad accounts of a business cannot be found: ${message}`);
  return [...ids].filter((id) => id !== '');
};

/** The vendor has this list and the contract does not. */
const accountsOf = async ({ http, note }: Ads, business: string, signal: AbortSignal): Promise<string[]> => {
  const endpoint = '/businesses/{id}/ad_accounts';
  const path = `/businesses/${encodeURIComponent(business)}/ad_accounts`;
  const walk = wholeOrPaged({ endpoint, path, key: 'ad_accounts' });
  const { records, end } = await readWhole(http, walk, signal);
  const { matched, expected, read } = end;
  if (!matched) note(`${endpoint} (${business}): ${read} of ${expected} ad accounts could be read`);
  return records.map(walk.id);
};

/**
 * From the list, which the vendor has and the contract does not. Else one by one, with the ids that the account's ads name and those that the
 * warehouse has: an ad set stays when its last ad is gone.
 */
export const adSets = (ads: Ads): ReadSide => {
  const all = { endpoint: '/ad_accounts/{id}/ad_sets', key: 'ad_sets', sort: 'CREATED_AT' };
  const endpoint = `${all.endpoint}/{ad_set_id}`;
  let isListed: boolean | undefined;
  return {
    by: 'list',
    name: 'ad_sets',
    about: 'Ad sets: from their list where the server has one, else one by one, as the ads name them.',
    endpoint: `GET ${endpoint}`,
    after: ['ad_accounts', 'ads'],
    partitions: accounts(ads),
    async read(slice, context, signal) {
      const account = accountOf(slice);
      const list = listing({ ...all, path: ofAccount(account, '/ad_sets') });
      const least = { ...list.first, query: { ...list.first.query, limit: 1 } };
      isListed ??= await isThere(ads, account, least, signal);
      if (isListed) return readingOf(ads.http, list, signal);
      const path = (id: string): string => ofAccount(account, `/ad_sets/${encodeURIComponent(id)}`);
      return byId(ads, { ids: await adSetIds(slice, context), endpoint, path }, signal);
    },
  };
};

const adSetIds = async ({ partition = {} }: Slice, { keys }: SliceContext): Promise<readonly string[]> => {
  const listed = { of: partition, where: 'is_listed' };
  const named = await keys({ table: 'ads.ads', columns: { id: 'ad_set_id' }, ...listed });
  const stored = await keys({ table: 'ads.ad_sets', columns: { id: 'id' }, ...listed });
  return [...new Set([...named, ...stored].flatMap(({ id }) => id ?? []))].sort();
};

/** Whether the server has an endpoint of an account. Throws what the account itself is refused with. */
export const isThere = async (
  { http }: Pick<Ads, 'http'>,
  account: string,
  request: Request,
  signal: AbortSignal,
): Promise<boolean> => {
  const answer = await http.send(request, signal).catch(caught(Missing));
  // 404 is also the answer for an account that is not there: then this throws.
  if (answer instanceof Missing && answer.status === 404)
    await http.send(get(ofAccount(account), undefined, accountEndpoint), signal);
  return !(answer instanceof Missing);
};
