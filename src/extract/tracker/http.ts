/** The tracker's manners, laid around an `Http`: what counts as "not let in", and what counts as "none of those here". */

import { AuthFailed, Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';
import { asMissing, endpointsBeyond } from '../unpromised.ts';
import { cheapest } from './account.ts';
import { withoutExtras } from './extras.ts';

/** contracts/tracker.md, section 4. */
const promised: ReadonlySet<string> = new Set([
  ...['/rest/api/3/search/jql', '/rest/api/3/field/search', '/rest/api/3/user/search', '/rest/api/3/group/member'],
  ...['/rest/api/3/project/search', '/rest/agile/1.0/board', '/rest/agile/1.0/sprint/{id}/issue'],
]);

/** The list of a board's sprints, as the vendor writes it. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as anonymous, with 200 and empty
 * lists, and tells it only in the header `X-Seraph-LoginReason` (AUTHENTICATED_FAILED, AUTHENTICATION_DENIED, AUTHORISATION_FAILED).
 * A board that has no sprints by its nature refuses the question with 400; that is an empty list, unless the server refuses every path so that
 * it does not have.
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

const sentOrSprintless = async (send: Http['send'], request: Request, signal: AbortSignal): Promise<Answer> => {
  try {
    return await send(request, signal);
  } catch (cause) {
    if (!(cause instanceof Refused) || cause.status !== 400 || request.endpoint !== boardSprint) throw cause;
    return noSprints();
  }
};

const noSprints = (): Answer => {
  const body = { startAt: 0, maxResults: 0, total: 0, isLast: true, values: [] };
  const raw = Buffer.from(JSON.stringify(body));
  return { status: 200, headers: {}, raw, body, date: undefined, receivedAt: performance.now() };
};
