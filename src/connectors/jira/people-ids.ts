/** Parameters of lists that the contract does not name: the vendor shows more by them, another server may refuse them. */

import { Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';

/** Archived projects, their descriptions and leads; inactive members; issues by their ids alone. */
const extras = { status: undefined, expand: undefined, includeInactiveUsers: undefined, fields: undefined };

/**
 * Sends a list's first request with our extras; where a server refuses them (400, 422), takes the same request without, and refuses them again, that
 * list is asked without them from then on: one bad answer must not cost what is shown by them. A later page is never asked otherwise than the
 * first: it would be of another list. `note` hears of it once a list.
 */
export const withoutExtras = (http: Pick<Http, 'send'>, note: (message: string) => void) => {
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
      // Then it was not the extras: the first refusal is the one to tell.
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

/** The answer, or that the server does not take the question. */
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
export const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);
