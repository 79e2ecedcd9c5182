/** What the user can set of the issue tracker. */

import { defaultConcurrency } from '../../config/concurrency.ts';
import { baseUrl, instant, integer, isSet, list, oneOf, rate } from '../../config/parse.ts';
import type { Names, Variables } from '../../config/variables.ts';
import type { Secret } from '../../core/secret.ts';

export interface TrackerConfig {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly email: string;
  readonly apiToken: Secret;
  /** A further filter, in the tracker's query language. */
  readonly jql?: string;
  /** Where history begins. */
  readonly start: Date;
  /** By which field changes are found; `auto` asks the server. */
  readonly changes: 'auto' | 'updated' | 'created';
  /** The window that is walked again each time where changes are found by `created`, in days. */
  readonly createdWindowDays: number;
  /** How far behind the watermark an incremental run begins, in hours. */
  readonly lookbackHours: number;
  /** Names of groups whose members are read where the server lists no groups. */
  readonly groups: readonly string[];
  /** Streams that are read only where they are named. */
  readonly exclude: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Requests a second at most; 0: as many as the server allows. */
  readonly requestsPerSecond: number;
}

export const trackerNames = {
  secrets: ['TRACKER_API_TOKEN'],
  plain: [
    'TRACKER_BASE_URL',
    'TRACKER_EMAIL',
    'TRACKER_JQL',
    'TRACKER_START',
    'TRACKER_CHANGES',
    'TRACKER_CREATED_WINDOW_DAYS',
    'TRACKER_LOOKBACK_HOURS',
    'TRACKER_GROUPS',
    'TRACKER_EXCLUDE',
    'TRACKER_CONCURRENCY',
    'TRACKER_REQUESTS_PER_SECOND',
  ],
} as const satisfies Names;

const beginning = new Date('2000-01-01T00:00:00Z');

export function readTracker(from: Variables): TrackerConfig | undefined {
  const url = baseUrl(from, 'TRACKER_BASE_URL');
  const email = from.text('TRACKER_EMAIL');
  const apiToken = from.secret('TRACKER_API_TOKEN');
  const jql = from.text('TRACKER_JQL');
  const rest = {
    ...(jql === undefined ? {} : { jql }),
    start: instant(from, 'TRACKER_START', beginning),
    changes: oneOf(from, 'TRACKER_CHANGES', ['auto', 'updated', 'created'], 'auto'),
    createdWindowDays: integer(from, 'TRACKER_CREATED_WINDOW_DAYS', 180, 1, 36_500),
    lookbackHours: integer(from, 'TRACKER_LOOKBACK_HOURS', 24, 0, 87_600),
    groups: list(from, 'TRACKER_GROUPS'),
    exclude: list(from, 'TRACKER_EXCLUDE'),
    concurrency: integer(from, 'TRACKER_CONCURRENCY', defaultConcurrency, 1, 64),
    requestsPerSecond: rate(from, 'TRACKER_REQUESTS_PER_SECOND', 0),
  };
  if (!isSet(from, 'TRACKER_BASE_URL')) {
    if (email !== undefined || apiToken)
      from.problem('TRACKER_BASE_URL', 'is missing, though other variables of the tracker are set');
    return undefined;
  }
  if (email === undefined)
    from.problem('TRACKER_EMAIL', 'is missing: the e-mail address of the account that the token belongs to');
  // RFC 7617: the first colon ends the user, and the rest would be a part of the password.
  else if (email.includes(':'))
    from.problem('TRACKER_EMAIL', 'has a colon in it, which no account of Basic auth can have');
  if (!apiToken && !isSet(from, 'TRACKER_API_TOKEN_FILE'))
    from.problem('TRACKER_API_TOKEN', 'is missing: an API token of that account');
  if (url === undefined || email === undefined || !apiToken) return undefined;
  return { baseUrl: url, email, apiToken, ...rest };
}
