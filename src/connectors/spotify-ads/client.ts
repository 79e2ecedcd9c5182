/** The client of the ads platform: its token, its tracking header, its rates, and lists that cannot be sorted. */

import { Refused } from '../../core/errors.ts';
import type { Http, Request } from '../../core/request.ts';
import type { TokenStore } from '../../core/token-store.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions, Rate } from '../../http/http-options.ts';
import { type Credentials, memoryStore, tokensFor } from './tokens.ts';

export interface ClientSettings {
  /** Includes `/ads/v3`; without a slash at its end. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
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
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'authorize' | 'onUnauthorized' | 'rates'>>;
  /** Where a renewed refresh token is kept; absent: in memory. */
  readonly tokens?: TokenStore;
  /** Gets what a person should know. */
  readonly note: (message: string) => void;
}

/** Throws `Misconfigured` for a base URL or a token URL that cannot be used; `send` throws what `Http` and `Tokens` throw. */
export const openClient = (
  settings: ClientSettings,
  { http: options = {}, tokens: store = memoryStore(), note }: ClientDeps,
): Http => {
  const tokens = tokensFor(settings.credentials, { store, http: options });
  const http = createHttp({
    ...options,
    baseUrl: settings.baseUrl,
    headers: { ...options.headers, [settings.sdkHeader]: `tidemark/${options.version ?? '0'}` },
    authorize: tokens.authorize,
    ...(tokens.renew && { onUnauthorized: tokens.renew }),
    concurrency: settings.concurrency,
    rates: rates(settings),
  });
  return {
    origin: http.origin,
    counters: http.counters,
    send: sorting(async (request, signal) => {
      await tokens.ready(signal);
      return http.send(request, signal);
    }, note),
    async close() {
      await http.close();
      await tokens.close();
    },
  };
};

/** No bursts: the vendor counts in windows of 30 seconds, and a burst on top of the rate would exceed its limit. */
const rates = ({ requestsPerSecond, reportRequestsPerSecond }: ClientSettings): readonly Rate[] =>
  [
    {
      covers: (endpoint: string) => /_reports(\/|$)/.test(endpoint),
      perSecond: reportRequestsPerSecond,
      burst: 1,
    },
    { covers: () => true, perSecond: requestsPerSecond, burst: 1 },
  ].filter(({ perSecond }) => perSecond > 0);

/**
 * The contract does not say by which fields a list can be sorted. Where a server refuses the vendor's field (400, 422) and
 * answers without it, that list is read without it from then on, with one note.
 */
const sorting = (send: Http['send'], note: (message: string) => void): Http['send'] => {
  const unsorted = new Set<string>();
  return async (request, signal) => {
    const field = request.query?.sort_field;
    const plain: Request = { ...request, query: { ...request.query, sort_field: undefined } };
    if (field === undefined || unsorted.has(request.endpoint)) return send(plain, signal);
    try {
      return await send(request, signal);
    } catch (cause) {
      if (!(cause instanceof Refused) || (cause.status !== 400 && cause.status !== 422)) throw cause;
      const answer = await send(plain, signal).catch(() => {
        // Not the sort field was at fault: report the first refusal.
        throw cause;
      });
      if (!unsorted.has(request.endpoint))
        note(`${request.endpoint} cannot be sorted by ${String(field)}; it is read as it comes`);
      unsorted.add(request.endpoint);
      return answer;
    }
  };
};
