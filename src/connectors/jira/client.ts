/** The tracker's manners, laid around an `Http`: what counts as "not let in", and what counts as "none of those here". */

import { AuthFailed, HasNone, Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';
import { asMissing, endpointsBeyond } from '../../reading/optional-endpoint.ts';
import { cheapest } from './account.ts';
import { isFirst, withoutExtras } from './people-ids.ts';

/** contracts/tracker.md, section 4. */
const promised: ReadonlySet<string> = new Set([
  ...[
    '/rest/api/3/search/jql',
    '/rest/api/3/field/search',
    '/rest/api/3/user/search',
    '/rest/api/3/group/member',
  ],
  ...['/rest/api/3/project/search', '/rest/agile/1.0/board', '/rest/agile/1.0/sprint/{id}/issue'],
]);

/** The list of a board's sprints, as the vendor writes it. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as anonymous, with 200 and empty
 * lists, and tells it only in the header `X-Seraph-LoginReason` (AUTHENTICATED_FAILED, AUTHENTICATION_DENIED, AUTHORISATION_FAILED).
 * A board that has no sprints by its nature refuses the question with 400: that is `HasNone`, unless the server refuses every path so that it does
 * not have. What refuses a later page has some.
 */
export const trackerHttp = (http: Http, note: (message: string) => void): Http => {
  const send = asMissing(
    withoutExtras(http, note),
    endpointsBeyond((endpoint) => promised.has(endpoint), { forbidden: true, control: cheapest }),
  );
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
