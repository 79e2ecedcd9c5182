/**
 * How the tracker says that credentials are wrong, that a board has no sprints, and that it refuses a
 * parameter.
 */

import { AuthFailed, HasNone, Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';

/** The list of a board's sprints. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as
 * anonymous, with 200 and empty lists, and says so only in the header `X-Seraph-LoginReason`. Throws
 * `HasNone` where a Kanban board refuses the first page of its sprints (400). A board that refuses only a
 * later page has some.
 */
export const trackerHttp = (http: Http, note: (message: string) => void): Http => {
  const sendList = withoutExtras(http, note);
  return {
    origin: http.origin,
    counters: http.counters,
    async send(request, signal) {
      const answer = await sendList(request, signal).catch((cause: unknown) => {
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
    },
    close: () => http.close(),
  };
};

/**
 * Parameters that the contract does not name: archived projects, descriptions and leads; inactive members;
 * issues by ids alone.
 */
const extras = { status: undefined, expand: undefined, includeInactiveUsers: undefined, fields: undefined };

/**
 * Sends lists with our extra parameters. Where a server refuses a first page with them twice (400, 422) and
 * gives it without, it is asked without them from then on, with one note a list. A later page is never asked
 * differently from the first: it would be of another list.
 */
const withoutExtras = (http: Http, note: (message: string) => void): Http['send'] => {
  const refusing = new Set<string>();
  return async (request, signal) => {
    const { method, endpoint, query = {} } = request;
    const names = Object.keys(extras).filter((name) => query[name] !== undefined);
    if (method !== 'GET' || names.length === 0) return http.send(request, signal);
    const bare = { ...request, query: { ...query, ...extras } };
    if (refusing.has(endpoint)) return http.send(bare, signal);
    const given = await answerOrRefusal(http, request, signal);
    if (!(given instanceof Refused)) return given;
    // Where the extras are not the reason, report the first refusal.
    const answer = isFirst(request) ? await answerOrRefusal(http, bare, signal) : given;
    if (answer instanceof Refused) throw given;
    const second = await answerOrRefusal(http, request, signal);
    if (!(second instanceof Refused)) return second;
    if (!refusing.has(endpoint))
      note(`${endpoint} refuses ${names.join(', ')}; it is read as the server shows it`);
    refusing.add(endpoint);
    return answer;
  };
};

const answerOrRefusal = async (
  http: Http,
  request: Request,
  signal: AbortSignal,
): Promise<Answer | Refused> => {
  try {
    return await http.send(request, signal);
  } catch (cause) {
    if (cause instanceof Refused && (cause.status === 400 || cause.status === 422)) return cause;
    throw cause;
  }
};

/** Whether a request is for the first page of its list. */
const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);
