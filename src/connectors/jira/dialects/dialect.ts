/**
 * What differs between the servers that speak Jira's language. Streams, tables and the engine know one world,
 * that of Jira Cloud: a dialect turns our requests into the server's and its answers into the cloud's.
 */

import { AuthFailed, Forbidden, Missing, Refused, UnexpectedContent } from '../../../core/errors.ts';
import type { Http, Json } from '../../../core/stream.ts';
import type { DateForm } from '../jql.ts';

export interface JiraDialect {
  /** For people, e.g. `Jira Data Center 9.12.4`. */
  readonly title: string;
  /** Takes requests of the cloud's API, and gives answers in the cloud's shape. */
  adapt(http: Http): Http;
  /** An issue in the cloud's shape: of a search, and of a reject that is read again. Never throws. */
  issue(record: Json): Json;
  /** The date literals of its queries. */
  readonly dates: DateForm;
  /** When the personal access token of the account ends, where the server lists it. */
  readonly tokenEnds?: (http: Http, signal: AbortSignal) => Promise<Date | undefined>;
}

/** A server answered, but not what it was asked for. */
export const answers = [Missing, Forbidden, AuthFailed, Refused, UnexpectedContent] as const;
