/** What the user can set of the issue tracker. */

import { z } from 'zod';
import { baseUrl, integer, list, oneOf, pastInstant, rate, text } from '../../config/values.ts';
import { part } from '../../config/variables.ts';
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
  /** The window that is read again each time where changes are found by `created`, in days. */
  readonly createdWindowDays: number;
  /** How far before the watermark an incremental run begins, in hours. */
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

export const trackerPart = part({
  secrets: { TRACKER_API_TOKEN: text },
  plain: {
    TRACKER_BASE_URL: baseUrl.optional(),
    // RFC 7617: the first colon ends the user name.
    TRACKER_EMAIL: z
      .string()
      .refine((email) => !email.includes(':'), 'has a colon in it, which no account of Basic auth can have')
      .optional(),
    TRACKER_JQL: text,
    TRACKER_START: pastInstant.default(new Date('2000-01-01T00:00:00Z')),
    TRACKER_CHANGES: oneOf('auto', 'updated', 'created').default('auto'),
    TRACKER_CREATED_WINDOW_DAYS: integer(1, 36_500).default(180),
    TRACKER_LOOKBACK_HOURS: integer(0, 87_600).default(24),
    TRACKER_GROUPS: list,
    TRACKER_EXCLUDE: list,
    // Fast enough for a source that answers within 50 ms, and below the vendor's published limits.
    TRACKER_CONCURRENCY: integer(1, 64).default(8),
    TRACKER_REQUESTS_PER_SECOND: rate.default(0),
  },
  build: (v, from): TrackerConfig | undefined => {
    const others = ['TRACKER_EMAIL', 'TRACKER_API_TOKEN'];
    const required = {
      TRACKER_EMAIL: ': the e-mail address of the account that the token belongs to',
      TRACKER_API_TOKEN: ': an API token of that account',
    };
    if (!from.hasSource('tracker', 'TRACKER_BASE_URL', others, required)) return undefined;
    const [url, email, apiToken] = [v.TRACKER_BASE_URL, v.TRACKER_EMAIL, v.TRACKER_API_TOKEN];
    if (url === undefined || email === undefined || apiToken === undefined) return undefined;
    return {
      baseUrl: url,
      email,
      apiToken,
      ...(v.TRACKER_JQL !== undefined && { jql: v.TRACKER_JQL }),
      start: v.TRACKER_START,
      changes: v.TRACKER_CHANGES,
      createdWindowDays: v.TRACKER_CREATED_WINDOW_DAYS,
      lookbackHours: v.TRACKER_LOOKBACK_HOURS,
      groups: v.TRACKER_GROUPS,
      exclude: v.TRACKER_EXCLUDE,
      concurrency: v.TRACKER_CONCURRENCY,
      requestsPerSecond: v.TRACKER_REQUESTS_PER_SECOND,
    };
  },
});
