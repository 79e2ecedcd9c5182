/** Requests and questions that most sources have in common. */
import { BadData, Missing, Redirected } from '../core/errors.ts';
import { unlessBad } from '../core/record-parts.ts';
import type { Http, Json, Request, Windows } from '../core/stream.ts';
import { parseInstant } from '../core/time.ts';
import { at } from './offset-list.ts';

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

/** Whether a record still exists: true where its endpoint answers, false on 404 and 410; anything else is thrown. */
export const existsAt =
  (http: Http, endpoint: string, { query, gone = [404, 410], confirm }: ExistsOptions = {}) =>
  async (id: string, signal: AbortSignal): Promise<boolean> => {
    try {
      await http.send(get(endpoint.replace('{id}', encodeURIComponent(id)), query?.(id), endpoint), signal);
      return true;
    } catch (cause) {
      if (!((cause instanceof Missing || cause instanceof Redirected) && gone.includes(cause.status)))
        throw cause;
      await confirm?.(signal);
      return false;
    }
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
