/** How the tracker says that credentials are wrong, and that a board has no sprints. */

import { AuthFailed, HasNone, Refused } from '../../core/errors.ts';
import type { Http, Request } from '../../core/stream.ts';
import { adviceOn } from '../../http/advice.ts';
import { advice } from './advice.ts';

/** The list of a board's sprints. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Statuses of the first page that say that an owner has no such list, by endpoint. The sentences are translated.
 * 400: a Kanban board. 422: no column of the board has a status (estuary/connectors#4848).
 */
const noList: Readonly<Record<string, readonly number[]>> = { [boardSprint]: [400, 422] };

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as
 * anonymous, with 200 and empty lists, and says so only in the header `X-Seraph-LoginReason`. Throws
 * `HasNone` where a board refuses the first page of its sprints (`noList`). A board that refuses only a later
 * page has some.
 */
export const trackerHttp = (http: Http): Http =>
  sending(http, async (request, signal) => {
    const answer = await http.send(request, signal).catch((cause: unknown) => {
      const hasNone = cause instanceof Refused && noList[request.endpoint]?.includes(cause.status);
      throw hasNone && isFirst(request) ? new HasNone(cause.message, { cause }) : cause;
    });
    const login = answer.headers['x-seraph-loginreason'] ?? '';
    if (/AUTH/i.test(login))
      throw new AuthFailed(
        `${http.origin} does not accept these credentials: it answered ${request.endpoint} as anonymous (X-Seraph-LoginReason: ${login}); ${adviceOn(advice, answer.headers)?.[1]}`,
      );
    return answer;
  });

/** The same client with another `send`. */
export const sending = (http: Http, send: Http['send']): Http => ({ ...http, send });

/** Whether a request is for the first page of its list. */
const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);
