/** The way out to the ads platform: its token, its tracking header, its rates. */

import type { Http } from '../../core/request.ts';
import type { TokenStore } from '../../core/token-store.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions, SharedRate } from '../../http/http-options.ts';
import { adsHttp, isReport } from './http.ts';
import { type Credentials, memoryStore, tokensFor } from './tokens.ts';

export interface ClientSettings {
  /** Includes `/ads/v3`; without a slash at its end. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
  /** Name of the header that tells the platform which program asks; its value is `tidemark/<version>`. */
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
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'authorize' | 'onUnauthorized' | 'rate'>>;
  /** Where a renewed refresh token is kept; absent: in memory. */
  readonly tokens?: TokenStore;
  /** Told what a person should know. */
  readonly note: (message: string) => void;
}

/** Throws `Misconfigured` for a base URL or a token URL that cannot be used; `send` throws what `Http` and `Tokens` throw. */
export const openClient = (
  settings: ClientSettings,
  { http = {}, tokens: store, note }: ClientDeps,
): Http => {
  const tokens = tokensFor(settings.credentials, { store: store ?? memoryStore(), http });
  const { renew } = tokens;
  const wire = createHttp({
    ...http,
    baseUrl: settings.baseUrl,
    headers: { ...http.headers, [settings.sdkHeader]: `tidemark/${http.version ?? '0'}` },
    authorize: tokens.authorize,
    ...(renew && { onUnauthorized: renew }),
    concurrency: settings.concurrency,
    rate: { shared: rates(settings) },
  });
  return adsHttp(wire, tokens, note);
};

/** No bursts: the vendor counts in windows of 30 seconds, and a burst on top of the rate would be beyond its limit. */
const rates = ({ requestsPerSecond, reportRequestsPerSecond }: ClientSettings): readonly SharedRate[] =>
  [
    { covers: isReport, perSecond: reportRequestsPerSecond, burst: 1 },
    { covers: () => true, perSecond: requestsPerSecond, burst: 1 },
  ].filter(({ perSecond }) => perSecond > 0);
