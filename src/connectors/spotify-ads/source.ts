/** The advertising platform, opened: streams, transforms and tables joined into flows. */

import type { Observe } from '../../core/run.ts';
import type { Preflight, Source } from '../../core/stream.ts';
import { askAccount } from './account.ts';
import type { Ads } from './ads.ts';
import { type ClientDeps, type ClientSettings, openClient } from './client.ts';
import { adsFlows } from './flows.ts';
import { reportsOf } from './reports/reports.ts';

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
  /** Told what was found out that a person should know. */
  readonly observe?: Observe;
}

const name = 'ads';

/**
 * Asks nothing yet. What the server has is found out once and kept as long as the source is open: open one for each run. Throws
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
    flows: adsFlows(ads, reportsOf(ads, settings)),
    preflight: (signal) => preflight(ads, settings, signal),
    close: () => ads.http.close(),
  };
};

/** Who we are there, asked with one request where the businesses are open to us. */
const preflight = async (ads: Ads, { credentials }: AdsSettings, signal: AbortSignal): Promise<Preflight> => {
  const { clock, name: account, words } = await askAccount(ads, signal);
  const from =
    ads.accountIds.length === 0 ? 'those of the businesses' : `${ads.accountIds.length} of ADS_ACCOUNT_IDS`;
  const token = credentials.kind === 'token' ? 'as given' : 'had by the refresh token';
  return { clock, account, dialect: [words, `ad accounts: ${from}`, `access token: ${token}`], problems: [] };
};
