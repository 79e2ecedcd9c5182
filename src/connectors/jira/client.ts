/** How the tracker says that credentials are wrong, and that a board has no sprints. */

import { AuthFailed, HasNone, Refused } from '../../core/errors.ts';
import type { Http, Request } from '../../core/request.ts';

/** The list of a board's sprints. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as
 * anonymous, with 200 and empty lists, and says so only in the header `X-Seraph-LoginReason`. Throws
 * `HasNone` where a Kanban board refuses the first page of its sprints (400). A board that refuses only a
 * later page has some.
 */
export const trackerHttp = (http: Http): Http =>
  sending(http, async (request, signal) => {
    const answer = await http.send(request, signal).catch((cause: unknown) => {
      const isSprintless =
        cause instanceof Refused && cause.status === 400 && request.endpoint === boardSprint;
      throw isSprintless && isFirst(request) ? new HasNone(cause.message, { cause }) : cause;
    });
    const login = answer.headers['x-seraph-loginreason'] ?? '';
    if (/AUTH/i.test(login))
      throw new AuthFailed(
        `${http.origin} does not accept these credentials: it answered ${request.endpoint} as anonymous (X-Seraph-LoginReason: ${login})`,
      );
    return answer;
  });

/** The same client with another `send`. */
export const sending = (http: Http, send: Http['send']): Http => ({
  origin: http.origin,
  counters: http.counters,
  send,
  close: () => http.close(),
});

/** Whether a request is for the first page of its list. */
const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);
