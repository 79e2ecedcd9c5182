/** The tracker's manners, laid around an `Http`: what counts as "not let in", and what counts as "none of those here". */

import { AuthFailed, HasNone, Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';
import { isFirst, withoutExtras } from './people-ids.ts';

/** The list of a board's sprints, as the vendor writes it. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as anonymous, with 200 and empty
 * lists, and tells it only in the header `X-Seraph-LoginReason` (AUTHENTICATED_FAILED, AUTHENTICATION_DENIED, AUTHORISATION_FAILED).
 * A Kanban board refuses the question for its sprints with 400: that is `HasNone`. A board that refuses only a later page has some.
 */
export const trackerHttp = (http: Http, note: (message: string) => void): Http => {
  const send = withoutExtras(http, note);
  return {
    origin: http.origin,
    counters: http.counters,
    async send(request, signal) {
      const answer = await sentOrSprintless(send, request, signal);
      const login = answer.headers['x-seraph-loginreason'] ?? '';
      if (/AUTH/i.test(login)) {
        throw new AuthFailed(
          `${http.origin} does not accept these credentials: it answered ${request.endpoint} as to a stranger (X-Seraph-LoginReason: ${login})`,
        );
      }
      return answer;
    },
    close: () => http.close(),
  };
};

const sentOrSprintless = async (
  send: Http['send'],
  request: Request,
  signal: AbortSignal,
): Promise<Answer> => {
  try {
    return await send(request, signal);
  } catch (cause) {
    const isSprintless = cause instanceof Refused && cause.status === 400 && request.endpoint === boardSprint;
    if (!isSprintless || !isFirst(request)) throw cause;
    throw new HasNone(cause.message, { cause });
  }
};
