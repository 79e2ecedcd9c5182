/** One request of the issue search, and what its answer says. */

import { BadData, Refused } from '../../core/errors.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import type { Window } from '../../core/stream.ts';
import { parseToldInstant } from '../../core/time.ts';
import { at, listOf } from './lists.ts';

export const searchEndpoint = '/rest/api/3/search/jql';

/** The fields of the search body of both dialects; `expand` is the vendor's. */
export interface SearchBody extends Readonly<Record<string, unknown>> {
  readonly jql: string;
  readonly maxResults: number;
  readonly fields: readonly string[];
  readonly startAt?: number;
  readonly expand?: 'changelog';
}

export const searchRequest = (body: SearchBody): Request => ({
  method: 'POST',
  path: searchEndpoint,
  endpoint: searchEndpoint,
  body,
});

export const issuesOf = listOf(searchEndpoint);

/** An answer of the search. */
export interface SearchAnswer {
  readonly body: Json;
  readonly issues: readonly Json[];
}

/** One question. Throws what `Http.send` throws, and `UnexpectedContent` where the answer has no list. */
export const ask = async (http: Http, body: SearchBody, signal: AbortSignal): Promise<SearchAnswer> => {
  const { body: answer } = await http.send(searchRequest(body), signal);
  return { body: answer, issues: issuesOf(answer) };
};

/** The same, but a 400 or 422 (the server does not understand the question) is an answer, too: the refusal. */
export const tryAsking = async (
  http: Http,
  body: SearchBody,
  signal: AbortSignal,
): Promise<SearchAnswer | Refused> => {
  try {
    return await ask(http, body, signal);
  } catch (cause) {
    if (cause instanceof Refused && (cause.status === 400 || cause.status === 422)) return cause;
    throw cause;
  }
};

/**
 * An issue's own `created` or `updated` (microseconds UTC), or undefined where it has none that is an instant: such a record is not ours
 * to drop, the transform rejects it with its bytes.
 */
export const instantOf = (record: Json, field: Window['field']): bigint | undefined => {
  const value = at(at(record, 'fields'), field);
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  try {
    return parseToldInstant(value);
  } catch (cause) {
    if (cause instanceof BadData) return undefined;
    throw cause;
  }
};

/** The total that an answer states, if it does. */
export const totalOf = (body: Json): number | undefined => {
  const total = at(body, 'total');
  return typeof total === 'number' ? total : undefined;
};

/** The most that the search gives where only ids are asked for: 100 by the contract (offset), 5000 by the vendor (token). */
export const idsPage = { offset: 100, token: 5000 } as const;
