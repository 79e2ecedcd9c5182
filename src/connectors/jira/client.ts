/** How the tracker says that credentials are wrong, that a board has no sprints, and that it refuses a parameter. */

import { AuthFailed, HasNone, Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';

/** The list of a board's sprints, as the vendor writes it. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as anonymous, with 200 and empty
 * lists, and says so only in the header `X-Seraph-LoginReason`. Throws `HasNone` where a board without sprints refuses its first page (400).
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

/** Parameters that the contract does not name: archived projects, descriptions and leads; inactive members; issues by ids alone. */
const extras = { status: undefined, expand: undefined, includeInactiveUsers: undefined, fields: undefined };

/**
 * Sends lists with our extra parameters. Where a server refuses a first page with them (400, 422) twice and gives it without, it is asked
 * without them from then on, with one note a list. Later pages are never asked otherwise than the first: they would be of another list.
 */
const withoutExtras = (http: Pick<Http, 'send'>, note: (message: string) => void) => {
  const plain = new Set<string>();
  return async (request: Request, signal: AbortSignal): Promise<Answer> => {
    const names = request.method === 'GET' ? extrasOf(request) : [];
    if (names.length === 0) return http.send(request, signal);
    const bare = { ...request, query: { ...request.query, ...extras } };
    if (plain.has(request.endpoint)) return http.send(bare, signal);
    const given = await answerOrRefusal(http, request, signal);
    if (!(given instanceof Refused)) return given;
    if (!isFirst(request)) throw given;
    const answer = await http.send(bare, signal).catch(() => {
      signal.throwIfAborted();
      // The extras were not the reason: report the first refusal.
      throw given;
    });
    const again = await answerOrRefusal(http, request, signal);
    if (!(again instanceof Refused)) return again;
    if (!plain.has(request.endpoint))
      note(`${request.endpoint} refuses ${names.join(', ')}; it is read as the server shows it`);
    plain.add(request.endpoint);
    return answer;
  };
};

/** The answer, or the refusal of the request. */
const answerOrRefusal = async (
  http: Pick<Http, 'send'>,
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

const extrasOf = ({ query = {} }: Request): readonly string[] =>
  Object.keys(extras).filter((name) => query[name] !== undefined);

/** Whether a request is for the first page of its list. */
const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);
