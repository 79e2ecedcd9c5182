/** The client of the ads platform: its token, its tracking header and its rates. */

import type { Http } from '../../core/stream.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions, Rate } from '../../http/http-options.ts';
import { advice } from './advice.ts';
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
