/** The advertising platform, opened: its client, with its token, its tracking header and its rates, and its streams. */

import { AuthFailed, Forbidden, Missing, type TidemarkError } from '../../core/errors.ts';
import { leftOutOf } from '../../core/exclude.ts';
import type { Http, Preflight } from '../../core/stream.ts';
import { createHttp } from '../../http/client.ts';
import { closedEndpoints, refusalIn } from '../../http/closed-endpoints.ts';
import type { HttpOptions, Rate } from '../../http/http-options.ts';
import { get, textAt } from '../../reading/requests.ts';
import type { Opened } from '../connector.ts';
import { type Ads, canonicalId, ofAccount } from './ads.ts';
import { advice } from './advice.ts';
import { businessList, listing } from './lists.ts';
import { isOfOne } from './one-by-one.ts';
import { type ReportSettings, reportsOf } from './reports/request.ts';
import { adsStreams } from './streams.ts';
import { type AdsCredentials, authFor, type TokenStore } from './tokens.ts';

export interface ClientSettings {
  /** Includes `/ads/v3`; without a slash at its end. */
  readonly baseUrl: string;
  readonly credentials: AdsCredentials;
  /** Name of the header that names the client; its value is `tidemark/<version>`. */
  readonly sdkHeader: string;
  /** Requests at once. */
  readonly concurrency: number;
  /** Of all endpoints together; 0: as many as the server allows. */
  readonly requestsPerSecond: number;
  /** Of the reporting endpoints together, which count as well; 0: as many as the server allows. */
  readonly reportRequestsPerSecond: number;
}

export interface ClientDeps {
  /** Further settings of the HTTP client: version, deadlines, retries, its own events. */
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'auth' | 'rates'>>;
  /** Where a renewed refresh token is kept; absent: in memory. */
  readonly tokens?: TokenStore;
}

/** Throws `Misconfigured` for a base URL or a token URL that cannot be used; `send` throws what `Http` and `accessTokens` throw. */
export const openClient = (settings: ClientSettings, { http: options = {}, tokens }: ClientDeps): Http =>
  createHttp({
    ...options,
    baseUrl: settings.baseUrl,
    advice,
    headers: { ...options.headers, [settings.sdkHeader]: `tidemark/${options.version ?? '0'}` },
    auth: authFor(settings.credentials, tokens),
    concurrency: settings.concurrency,
    rates: rates(settings),
  });

/** No bursts: the vendor counts in windows of 30 seconds, and a burst on top of the rate would exceed its limit. */
const rates = ({ requestsPerSecond, reportRequestsPerSecond }: ClientSettings): readonly Rate[] => {
  const isReport = (endpoint: string): boolean => /_reports(\/|$)/.test(endpoint);
  const reports = { name: 'reports', covers: isReport, perSecond: reportRequestsPerSecond, burst: 1 };
  const all = { name: 'all', covers: () => true, perSecond: requestsPerSecond, burst: 1 };
  return [reports, all].filter(({ perSecond }) => perSecond > 0);
};

/** What opening an ads platform takes. */
export interface AdsSettings extends ClientSettings, ReportSettings {
  /** Ad accounts to read; empty: all that the credentials can see. */
  readonly accountIds: readonly string[];
  /** Of it only ad accounts (`ad_accounts:…`), which are not asked for either. */
  readonly exclude?: readonly string[];
}

interface AdsDeps extends ClientDeps {
  /** Gets notes that a person should see. */
  readonly note?: Ads['note'];
}

/**
 * Sends nothing yet. What the server supports is found out once while the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL or a token URL that cannot be used.
 */
export const openAds = (settings: AdsSettings, { note = () => undefined, ...deps }: AdsDeps = {}): Opened => {
  const { accountIds, concurrency, baseUrl } = settings;
  const proxies = deps.http?.proxies;
  const own = openClient(settings, deps);
  const http = closedEndpoints(own, (signal) => askAccount({ http: own, accountIds }, signal));
  const leftOut = leftOutOf(settings.exclude, 'ad_accounts').map(canonicalId);
  const ads: Ads = { http, accountIds, leftOut, concurrency, note, proxies };
  return {
    baseUrl,
    http,
    streams: adsStreams(ads, reportsOf(ads, settings)),
    check: (signal) => preflight(ads, settings, signal),
  };
};

const preflight = async (ads: Ads, { credentials }: AdsSettings, signal: AbortSignal): Promise<Preflight> => {
  const { words, ...found } = await askAccount(ads, signal);
  const { length } = ads.accountIds;
  const from = length === 0 ? 'those of the businesses' : `${length} of ADS_ACCOUNT_IDS`;
  const token = credentials.kind === 'token' ? 'as configured' : 'from the refresh token';
  return { ...found, dialect: [words, `ad accounts: ${from}`, `access token: ${token}`], problems: [] };
};

/**
 * Whose credentials these are: the names of the businesses, else of a configured account; the first that answers. Throws
 * `AuthFailed` where the token is not accepted or nothing is open to it, `Missing` where this is no ads platform, or what a
 * request failed by.
 */
export const askAccount = async (
  { http, accountIds }: Pick<Ads, 'http' | 'accountIds'>,
  signal: AbortSignal,
): Promise<Pick<Preflight, 'account' | 'clock'> & { readonly words: string }> => {
  const { first, list } = listing(businessList);
  const accounts = accountIds.map((id) => get(ofAccount(id), undefined, '/ad_accounts/{id}'));
  const failed: TidemarkError[] = [];
  for (const request of [first, ...accounts])
    try {
      const isList = request === first;
      const { body, date: clock } = await http.send(request, signal);
      const found = isList ? list(body) : [body];
      const names = found.flatMap((one) => textAt(one, 'name') ?? textAt(one, 'id') ?? []);
      const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
      return {
        account: names.length === 0 ? undefined : names.slice(0, 3).join(', ') + more,
        clock,
        words: `businesses: ${isList ? found.length : 'cannot be read; accounts as configured'}`,
      };
    } catch (cause) {
      const met = refusalIn(cause) ?? cause;
      if (!(met instanceof Missing) && !isOfOne(met)) throw cause;
      failed.push(met);
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
