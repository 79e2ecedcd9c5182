/** What the user can set of the advertising platform. */

import { defaultConcurrency } from '../../config/concurrency.ts';
import { baseUrl, instant, integer, isSet, list, rate } from '../../config/parse.ts';
import { shown } from '../../config/tokens.ts';
import type { Names, Variables } from '../../config/variables.ts';
import type { Secret } from '../../core/secret.ts';

export interface AdsConfig {
  /** Includes `/ads/v3`; without a slash at its end. */
  readonly baseUrl: string;
  readonly credentials:
    | { readonly kind: 'token'; readonly accessToken: Secret }
    | {
        readonly kind: 'refresh';
        readonly clientId: string;
        readonly clientSecret: Secret;
        readonly refreshToken: Secret;
        readonly tokenUrl: string;
      };
  /** Ad accounts to read; empty: all that the credentials can see. */
  readonly accountIds: readonly string[];
  /** Name of the header that tells the platform which program asks. */
  readonly sdkHeader: string;
  readonly start: Date;
  /** Streams that are read only where they are named. */
  readonly exclude: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Requests a second at most, all endpoints together; 0: as many as the server allows. */
  readonly requestsPerSecond: number;
  /** The same for the reporting endpoints together, which count as well. */
  readonly reportRequestsPerSecond: number;
  /** Hosts besides the platform's own from which reports may be fetched, without credentials. */
  readonly reportHosts: readonly string[];
  /** How many days of reports are read again: every day, every 7 and every 30 days. */
  readonly restateDays: readonly [nightly: number, weekly: number, monthly: number];
}

export const adsNames = {
  secrets: ['ADS_ACCESS_TOKEN', 'ADS_CLIENT_SECRET', 'ADS_REFRESH_TOKEN'],
  plain: [
    'ADS_BASE_URL',
    'ADS_CLIENT_ID',
    'ADS_TOKEN_URL',
    'ADS_ACCOUNT_IDS',
    'ADS_SDK_HEADER',
    'ADS_START',
    'ADS_EXCLUDE',
    'ADS_CONCURRENCY',
    'ADS_REQUESTS_PER_SECOND',
    'ADS_REPORT_REQUESTS_PER_SECOND',
    'ADS_REPORT_HOSTS',
    'ADS_RESTATE_DAYS',
  ],
} as const satisfies Names;

/** Before this no platform of the kind told numbers by day; each quarter of a year is asked for on its own. */
const beginning = new Date('2015-01-01T00:00:00Z');

export function readAds(from: Variables): AdsConfig | undefined {
  const url = baseUrl(from, 'ADS_BASE_URL');
  const accessToken = shown(from, 'ADS_ACCESS_TOKEN');
  const clientId = from.text('ADS_CLIENT_ID');
  const clientSecret = from.secret('ADS_CLIENT_SECRET');
  const refreshToken = from.secret('ADS_REFRESH_TOKEN');
  const tokenUrl = baseUrl(from, 'ADS_TOKEN_URL');
  const rest = {
    accountIds: list(from, 'ADS_ACCOUNT_IDS'),
    sdkHeader: headerName(from, 'ADS_SDK_HEADER', 'X-Service-Ads-Sdk'),
    start: instant(from, 'ADS_START', beginning),
    exclude: list(from, 'ADS_EXCLUDE'),
    concurrency: integer(from, 'ADS_CONCURRENCY', defaultConcurrency, 1, 64),
    requestsPerSecond: rate(from, 'ADS_REQUESTS_PER_SECOND', 50),
    reportRequestsPerSecond: rate(from, 'ADS_REPORT_REQUESTS_PER_SECOND', 5),
    reportHosts: hosts(from, 'ADS_REPORT_HOSTS', ['storage.googleapis.com']),
    restateDays: restateDays(from, 'ADS_RESTATE_DAYS'),
  };
  if (!isSet(from, 'ADS_BASE_URL')) {
    if (accessToken || clientId !== undefined)
      from.problem('ADS_BASE_URL', 'is missing, though other variables of the ads platform are set');
    return undefined;
  }
  if (url !== undefined && !url.endsWith('/ads/v3')) from.warn('ADS_BASE_URL', 'usually ends with /ads/v3');
  if (accessToken)
    return url === undefined
      ? undefined
      : { baseUrl: url, credentials: { kind: 'token', accessToken }, ...rest };
  const asked = {
    ADS_CLIENT_ID: clientId,
    ADS_CLIENT_SECRET: clientSecret,
    ADS_REFRESH_TOKEN: refreshToken,
    ADS_TOKEN_URL: tokenUrl,
  };
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined && !isSet(from, name) && !isSet(from, `${name}_FILE`)) {
      from.problem(name, 'is missing; or give ADS_ACCESS_TOKEN instead');
    }
  }
  if (url === undefined || clientId === undefined || !clientSecret || !refreshToken || tokenUrl === undefined)
    return undefined;
  return {
    baseUrl: url,
    credentials: { kind: 'refresh', clientId, clientSecret, refreshToken, tokenUrl },
    ...rest,
  };
}

function headerName(from: Variables, name: string, fallback: string): string {
  const text = from.text(name) ?? fallback;
  const isTaken = takenHeaders.has(text.toLowerCase());
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text) && !isTaken) return text;
  from.problem(
    name,
    isTaken ? `'${text}' is a header that says something else` : `'${text}' is not a header name`,
  );
  return fallback;
}

/** Headers that each request has for its own ends, or that are of the connection. */
const takenHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'accept', 'accept-encoding', 'content-type', 'content-length', 'user-agent', 'host'],
  ...['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', 'proxy-authorization'],
]);

/** Names of hosts, in lower case, each with a port where it is not the usual one; a URL is a mistake. */
function hosts(from: Variables, name: string, fallback: readonly string[]): readonly string[] {
  const given = list(from, name).map((host) => host.toLowerCase());
  for (const host of given)
    if (!/^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(host))
      from.problem(name, `'${host}' is not the name of a host, such as storage.googleapis.com`);
  return given.length === 0 ? fallback : given;
}

/** Three numbers of days, none smaller than the one before it. */
function restateDays(from: Variables, name: string): AdsConfig['restateDays'] {
  const fallback = [3, 14, 90] as const;
  const text = from.text(name);
  if (text === undefined) return fallback;
  const [nightly, weekly, monthly, ...more] = list(from, name).map((word) =>
    /^\d{1,4}$/.test(word) ? Number(word) : -1,
  );
  const fits = nightly !== undefined && weekly !== undefined && monthly !== undefined && more.length === 0;
  if (fits && nightly >= 1 && weekly >= nightly && monthly >= weekly) return [nightly, weekly, monthly];
  from.problem(
    name,
    `'${text}' is not three growing numbers of days (every day, week and month), such as 3,14,90`,
  );
  return fallback;
}
