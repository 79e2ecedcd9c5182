/** What the user can set of the advertising platform. */

import { baseUrl, integer, list, pastInstant, rate, sentToken, text, value } from '../../config/values.ts';
import { part } from '../../config/variables.ts';
import type { AdsSettings } from './source.ts';
import type { Credentials } from './tokens.ts';

export interface AdsConfig extends AdsSettings {
  /** Streams that are read only where they are named. */
  readonly exclude: readonly string[];
}

/** Headers that every request sets itself, or that belong to the connection. */
const takenHeaders =
  /^(authorization|accept|accept-encoding|content-(type|length)|user-agent|host|connection|keep-alive|transfer-encoding|upgrade|expect|proxy-authorization)$/i;

const headerName = value(
  (name) => (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) ? name : undefined),
  'is not a header name',
).refine((name) => !takenHeaders.test(name), {
  error: ({ input }) => `'${input}' is a header that says something else`,
});

/** Names of hosts in lower case, each with a port where it is not the usual one. */
const hosts = value((names) => {
  const given = names
    .trim()
    .toLowerCase()
    .split(/\s*,\s*/);
  const isHost = (name: string): boolean => /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(name);
  return given.every(isHost) ? given : undefined;
}, 'is not a list of names of hosts, such as storage.googleapis.com');

const restateDays = value((words): AdsConfig['restateDays'] | undefined => {
  if (!/^\d{1,4}( *, *\d{1,4}){2}$/.test(words)) return undefined;
  const [nightly = 0, weekly = 0, monthly = 0] = words.split(',').map(Number);
  return nightly >= 1 && weekly >= nightly && monthly >= weekly ? [nightly, weekly, monthly] : undefined;
}, 'is not three growing numbers of days (every day, week and month), such as 3,14,90');

export const adsPart = part({
  secrets: { ADS_ACCESS_TOKEN: sentToken, ADS_CLIENT_SECRET: text, ADS_REFRESH_TOKEN: text },
  plain: {
    ADS_BASE_URL: baseUrl.optional(),
    ADS_CLIENT_ID: text,
    ADS_TOKEN_URL: baseUrl.optional(),
    ADS_ACCOUNT_IDS: list,
    ADS_SDK_HEADER: headerName.default('X-Service-Ads-Sdk'),
    // No report is older; each quarter of a year is asked for by itself.
    ADS_START: pastInstant.default(new Date('2015-01-01T00:00:00Z')),
    ADS_EXCLUDE: list,
    ADS_CONCURRENCY: integer(1, 64).default(8),
    ADS_REQUESTS_PER_SECOND: rate.default(50),
    ADS_REPORT_REQUESTS_PER_SECOND: rate.default(5),
    ADS_REPORT_HOSTS: hosts.default(['storage.googleapis.com']),
    ADS_RESTATE_DAYS: restateDays.default([3, 14, 90]),
  },
  build: (v, from): AdsConfig | undefined => {
    const or = '; or give ADS_ACCESS_TOKEN instead';
    const required = { ADS_CLIENT_ID: or, ADS_CLIENT_SECRET: or, ADS_REFRESH_TOKEN: or, ADS_TOKEN_URL: or };
    const others = ['ADS_ACCESS_TOKEN', 'ADS_CLIENT_ID'];
    const hasToken = from.isSet('ADS_ACCESS_TOKEN');
    if (!from.hasSource('ads platform', 'ADS_BASE_URL', others, hasToken ? {} : required)) return undefined;
    const { ADS_BASE_URL: url, ADS_CLIENT_ID: clientId, ADS_TOKEN_URL: tokenUrl } = v;
    const { ADS_ACCESS_TOKEN: accessToken, ADS_CLIENT_SECRET: clientSecret } = v;
    const { ADS_REFRESH_TOKEN: refreshToken } = v;
    let credentials: Credentials | undefined;
    if (accessToken) credentials = { kind: 'token', accessToken };
    else if (clientId && clientSecret && refreshToken && tokenUrl)
      credentials = { kind: 'refresh', clientId, clientSecret, refreshToken, tokenUrl };
    if (url === undefined || credentials === undefined) return undefined;
    if (!url.endsWith('/ads/v3')) from.warn('ADS_BASE_URL', 'usually ends with /ads/v3');
    return {
      baseUrl: url,
      credentials,
      accountIds: v.ADS_ACCOUNT_IDS,
      sdkHeader: v.ADS_SDK_HEADER,
      start: v.ADS_START,
      exclude: v.ADS_EXCLUDE,
      concurrency: v.ADS_CONCURRENCY,
      requestsPerSecond: v.ADS_REQUESTS_PER_SECOND,
      reportRequestsPerSecond: v.ADS_REPORT_REQUESTS_PER_SECOND,
      reportHosts: v.ADS_REPORT_HOSTS,
      restateDays: v.ADS_RESTATE_DAYS,
    };
  },
});
