/** The advertising platform, opened. */

import { AuthFailed, Forbidden, Missing, type TidemarkError } from '../../core/errors.ts';
import type { Request } from '../../core/request.ts';
import type { Observe } from '../../core/run.ts';
import type { Preflight, Source } from '../../core/stream.ts';
import { textAt } from '../../reading/offset-list.ts';
import { type Ads, ofAccount } from './ads.ts';
import { type ClientDeps, type ClientSettings, openClient } from './client.ts';
import { isOfOne } from './failures.ts';
import { adsFlows } from './flows.ts';
import { listing } from './lists.ts';
import { reportsOf } from './reports/request.ts';
import { businessPlace } from './streams/accounts.ts';

/** What opening an ads platform takes; `AdsConfig` of config.ts is one. */
export interface AdsSettings extends ClientSettings {
  /** Ad accounts to read; empty: all that the credentials can see. */
  readonly accountIds: readonly string[];
  /** The first day of reports. */
  readonly start: Date;
  /** Hosts besides the platform's own from which reports may be fetched, without credentials. */
  readonly reportHosts: readonly string[];
  /** How many days of reports are read again: every day, every 7 and every 30 days. */
  readonly restateDays: readonly [nightly: number, weekly: number, monthly: number];
}

export interface AdsDeps extends Omit<ClientDeps, 'note'> {
  /** Gets notes that a person should see. */
  readonly observe?: Observe;
}

const name = 'ads';

/**
 * Sends nothing yet. What the server supports is found out once while the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL or a token URL that cannot be used.
 */
export const openAds = (settings: AdsSettings, { observe, ...deps }: AdsDeps = {}): Source => {
  const note: Ads['note'] = (message) => observe?.({ type: 'note', pipeline: name, level: 'warn', message });
  const { accountIds, concurrency } = settings;
  const proxies = deps.http?.proxies;
  const ads: Ads = {
    http: openClient(settings, { ...deps, note }),
    accountIds,
    concurrency,
    ...(proxies !== undefined && { proxies }),
    note,
  };
  return {
    name,
    kind: 'ads',
    baseUrl: settings.baseUrl,
    http: ads.http,
    streams: adsFlows(ads, reportsOf(ads, settings)),
    preflight: (signal) => preflight(ads, settings, signal),
    close: () => ads.http.close(),
  };
};

const preflight = async (ads: Ads, { credentials }: AdsSettings, signal: AbortSignal): Promise<Preflight> => {
  const { clock, name: account, words } = await askAccount(ads, signal);
  const from =
    ads.accountIds.length === 0 ? 'those of the businesses' : `${ads.accountIds.length} of ADS_ACCOUNT_IDS`;
  const token = credentials.kind === 'token' ? 'as configured' : 'from the refresh token';
  return { clock, account, dialect: [words, `ad accounts: ${from}`, `access token: ${token}`], problems: [] };
};

/** Whose credentials these are. */
interface Account {
  /** Names of the businesses, or of the account; undefined where the server does not say. */
  readonly name: string | undefined;
  /** The source's clock when it answered. */
  readonly clock: Date | undefined;
  /** What was asked, in words. */
  readonly words: string;
}

/**
 * Asks for the businesses, then for the configured accounts, until one answers. Throws `AuthFailed` where the token is not
 * accepted or nothing is open to it, `Missing` where this is no ads platform, or what a request failed by.
 */
export const askAccount = async ({ http, accountIds }: Ads, signal: AbortSignal): Promise<Account> => {
  const walk = listing(businessPlace);
  const single = (id: string): Request => ({
    method: 'GET',
    path: ofAccount(id),
    endpoint: '/ad_accounts/{id}',
  });
  const failed: TidemarkError[] = [];
  for (const request of [walk.first, ...accountIds.map(single)])
    try {
      const { body, date: clock } = await http.send(request, signal);
      if (request !== walk.first)
        return {
          name: textAt(body, 'name'),
          clock,
          words: 'businesses: cannot be read; accounts as configured',
        };
      const businesses = walk.list(body);
      const names = businesses.flatMap((one) => textAt(one, 'name') ?? textAt(one, 'id') ?? []);
      const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
      const name = names.length === 0 ? undefined : names.slice(0, 3).join(', ') + more;
      return { name, clock, words: `businesses: ${businesses.length}` };
    } catch (cause) {
      if (!(cause instanceof Missing) && !isOfOne(cause)) throw cause;
      failed.push(cause);
    }
  const closed = failed.find((one) => one instanceof Forbidden);
  const other = failed.find((one) => !(one instanceof Forbidden || one instanceof Missing));
  if (other !== undefined) throw other;
  if (closed !== undefined)
    throw new AuthFailed(`${http.origin} is closed to this token: ${closed.message}`, { cause: closed });
  throw new Missing(
    `${http.origin} has neither businesses nor the configured accounts: is ADS_BASE_URL that of an ads platform, with /ads/v3?`,
    404,
    { cause: failed[0] },
  );
};
