/** What the user can set of the advertising platform. */

import type { Report } from '../../config/pipeline.ts';
import { setting, type ValuesOf } from '../../config/settings.ts';
import { sentToken, value } from '../../config/values.ts';
import type { AdsCredentials } from './tokens.ts';

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

const restateDays = value(
  (words): readonly [nightly: number, weekly: number, monthly: number] | undefined => {
    if (!/^\d{1,4}( *, *\d{1,4}){2}$/.test(words)) return undefined;
    const [nightly = 0, weekly = 0, monthly = 0] = words.split(',').map(Number);
    return nightly >= 1 && weekly >= nightly && monthly >= weekly ? [nightly, weekly, monthly] : undefined;
  },
  'is not three growing numbers of days (every day, week and month), such as 3,14,90',
);

export const settings = {
  baseUrl: setting.url('the address of the API, such as https://api-partner.spotify.com/ads/v3'),
  accessToken: setting.secret('an access token', sentToken).optional(),
  clientId: setting.text('the id of the registered app').optional(),
  clientSecret: setting.secret('the secret of that app').optional(),
  refreshToken: setting.secret('a refresh token that the app was given').optional(),
  tokenUrl: setting
    .url('the address that gives access tokens, such as https://accounts.spotify.com/api/token')
    .optional(),
  accountIds: setting.list('ad accounts to read; empty: all that the credentials can see'),
  sdkHeader: setting
    .of('the header that names the program; empty: the one that the host expects', headerName)
    .optional(),
  // No report is older; each quarter of a year is asked for by itself.
  start: setting.instant('where the history of reports begins').default(new Date('2015-01-01T00:00:00Z')),
  requestsPerSecond: setting.rate('requests a second at most, of all endpoints together').default(50),
  reportRequestsPerSecond: setting.rate('requests for reports a second at most').default(5),
  reportHosts: setting
    .of('hosts from which finished reports may be fetched', hosts)
    .default(['storage.googleapis.com']),
  restateDays: setting
    .of('how many days of reports are read again each day, week and month', restateDays)
    .default([3, 14, 90]),
};

export type AdsConfig = ValuesOf<typeof settings>;

/** Spotify's hosts want their own name for the header (its OpenAPI and client libraries), other servers that of the contract. */
export const sdkHeaderFor = (baseUrl: string): string => {
  const isVendor = /(^|\.)spotify\.com\.?$/.test(new URL(baseUrl).hostname);
  return isVendor ? 'X-Spotify-Ads-Sdk' : 'X-Service-Ads-Sdk';
};

/** An access token, or everything that it takes to get one. */
export function check(values: Partial<AdsConfig>, { problem, warn }: Report): void {
  const { baseUrl, accessToken } = values;
  if (baseUrl !== undefined && !baseUrl.endsWith('/ads/v3')) warn('baseUrl', 'usually ends with /ads/v3');
  if (accessToken !== undefined) return;
  for (const key of ['clientId', 'clientSecret', 'refreshToken', 'tokenUrl'] as const)
    if (values[key] === undefined) problem(key, `is missing: ${settings[key].about}`, 'accessToken');
}

/** What `check` has found to be whole. */
export function credentialsOf(values: AdsConfig): AdsCredentials {
  const { accessToken, clientId, clientSecret, refreshToken, tokenUrl } = values;
  if (accessToken) return { kind: 'token', accessToken };
  if (clientId && clientSecret && refreshToken && tokenUrl)
    return { kind: 'refresh', clientId, clientSecret, refreshToken, tokenUrl };
  throw new Error('credentials without a token, which check refuses');
}
