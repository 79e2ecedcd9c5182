/** Requests and questions that most sources have in common, and reading the list out of an answer, whatever the endpoint calls it. */

import { BadData, caught, Missing, Redirected, UnexpectedContent } from '../core/errors.ts';
import { ExactNumber } from '../core/json.ts';
import { isObject, kindOf, names, own, unlessBad } from '../core/record.ts';
import type { Answer, Http, Json, Request, Windows } from '../core/stream.ts';
import { parseInstant } from '../core/time.ts';

/** A GET request. `endpoint`: the route as it is documented, the label of logs and rate limits; default: the path. */
export const get = (path: string, query?: Request['query'], endpoint = path): Request => ({
  method: 'GET',
  path,
  endpoint,
  ...(query && { query }),
});

/** How one record is asked for, and what says that it is gone. */
interface ExistsOptions {
  /** The query, where the endpoint does not have `{id}` in the place of the id. */
  readonly query?: (id: string) => Request['query'];
  /** Statuses that say it, e.g. 301 for a record that was moved elsewhere. Default: 404 and 410. */
  readonly gone?: readonly number[];
  /** Asked before an answer counts, where the server says the same to accounts that it does not accept. */
  readonly confirm?: (signal: AbortSignal) => Promise<unknown>;
}

/** The answer about one record; undefined where it is gone: on 404 and 410. Anything else is thrown. */
export const oneAt =
  (http: Http, endpoint: string, { query, gone = [404, 410], confirm }: ExistsOptions = {}) =>
  async (id: string, signal: AbortSignal): Promise<Answer | undefined> => {
    const path = endpoint.replace('{id}', encodeURIComponent(id));
    const answer = await http
      .send(get(path, query?.(id), endpoint), signal)
      .catch(caught(Missing, Redirected));
    if (!(answer instanceof Error)) return answer;
    if (!gone.includes(answer.status)) throw answer;
    await confirm?.(signal);
    return undefined;
  };

/** Whether a record still exists: true where its endpoint answers, false on 404 and 410; anything else is thrown. */
export const existsAt = (...where: Parameters<typeof oneAt>) => {
  const ask = oneAt(...where);
  return async (id: string, signal: AbortSignal): Promise<boolean> => (await ask(id, signal)) !== undefined;
};

/**
 * Windows of a stream whose server filters by `updated` alone and counts nothing: everything at first, then what changed since the last run.
 * `created` and `updated`: the record's own instants. `scope`: what the settings restrict the stream to; where it changes, all is read again.
 */
export const changesBy = (created: string, updated: string, scope = ''): Windows => ({
  scope,
  count: async () => undefined,
  changes: async () => 'updated',
  instant: (record, field) => instantAt(record, field === 'created' ? created : updated),
});

/** The instant under a key (microseconds UTC); undefined where there is none: the transform then rejects the record. */
export const instantAt = (record: Json, key: string): bigint | undefined => {
  const value = at(record, key);
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const instant = unlessBad(() => parseInstant(value));
  return instant instanceof BadData ? undefined : instant;
};

/** An own property of a JSON value (never an inherited one: records may have a key named `toString`). */
export const at = (value: Json, key: string): Json => (isObject(value) ? own(value, key) : undefined);

/** An own property that is text, or undefined. */
export const textAt = (value: Json, key: string): string | undefined => {
  const found = at(value, key);
  return typeof found === 'string' ? found : undefined;
};

/** Arrays of an envelope that are never its records: a 200 that holds an error must not be read as a list. */
const notRecords = names(
  'errorMessages warningMessages warnings errors messages error_codes validation_errors',
);

/**
 * The reader of an endpoint's list: a bare array, the first of `keys` that is there, or the single array of the envelope. Throws
 * `UnexpectedContent` with the endpoint and the keys seen for anything else: an answer without its list is never an empty list.
 */
export const listNamed =
  (endpoint: string, ...keys: readonly string[]) =>
  (body: Json): readonly Json[] => {
    if (Array.isArray(body)) return body;
    for (const name of keys) {
      const list = at(body, name);
      if (Array.isArray(list)) return list;
      if (list !== undefined)
        throw new UnexpectedContent(`${endpoint}: ${name} is ${kindOf(list)}, not a list`);
    }
    const lists = arraysOf(body);
    const [only] = lists;
    if (only !== undefined && lists.length === 1) return only;
    throw new UnexpectedContent(`${endpoint}: the answer has no list; it is ${kindOf(body)}${keysOf(body)}`);
  };

const arraysOf = (body: Json): readonly (readonly Json[])[] =>
  Object.entries(isObject(body) ? body : {}).flatMap(([key, value]) =>
    Array.isArray(value) && !notRecords.has(key) ? [value] : [],
  );

const keysOf = (body: Json): string =>
  isObject(body) ? ` with the keys ${Object.keys(body).slice(0, 12).join(', ') || '(none)'}` : '';

/** The identity of a record by the first of these properties it has, as text; '' if it has none. */
export const idBy =
  (...keys: readonly string[]) =>
  (record: Json): string => {
    for (const name of keys) {
      const id = at(record, name);
      if (typeof id === 'string' || typeof id === 'number' || id instanceof ExactNumber) return String(id);
    }
    return '';
  };
