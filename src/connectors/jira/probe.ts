/** Is it there? The question in its two forms: which of several endpoints a server has, and whether an entity still exists. */

import { Forbidden, Missing, Refused } from '../../core/errors.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Http, Request } from '../../core/request.ts';
import { askAccount } from './account.ts';
import type { Tracker } from './jira.ts';

/**
 * The first of these walks whose endpoint answers; each is asked for one record. Behind one that is closed to us an empty list says nothing: to
 * whom may not see users the vendor finds none (its OpenAPI, `GET /rest/api/3/user/search`). Throws, where none answers, what says most: that an
 * endpoint is closed (`Forbidden`, `Refused`) rather than that another is not there (`Missing`).
 */
export const firstThere = async (
  http: Http,
  walks: readonly PageWalk[],
  signal: AbortSignal,
): Promise<PageWalk> => {
  let told: Forbidden | Refused | Missing | undefined;
  for (const walk of walks) {
    try {
      const { body } = await http.send(
        { ...walk.first, query: { ...walk.first.query, maxResults: 1 } },
        signal,
      );
      if (!(told instanceof Forbidden) || walk.list(body).length > 0) return walk;
    } catch (cause) {
      if (!(cause instanceof Forbidden || cause instanceof Refused || cause instanceof Missing)) throw cause;
      if (told === undefined || told instanceof Missing) told = cause;
    }
  }
  throw told ?? new Error('no endpoint was given');
};

/**
 * Whether an entity still exists: true on 200, false on 404 and 410, anything else is thrown. A 404 is believed only while the credentials
 * still hold: the vendor answers 404 to everything it hides from strangers.
 */
export const existsAt =
  ({ http }: Tracker, endpoint: string, request: (key: string) => Omit<Request, 'method' | 'endpoint'>) =>
  async (key: string, signal: AbortSignal): Promise<boolean> => {
    try {
      await http.send({ method: 'GET', endpoint, ...request(key) }, signal);
      return true;
    } catch (cause) {
      if (!(cause instanceof Missing) || (cause.status !== 404 && cause.status !== 410)) throw cause;
      await askAccount(http, signal);
      return false;
    }
  };
