/** Parameters of lists that the contract does not name: the vendor shows more by them, another server may refuse them. */

import { Refused } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';

/** Archived projects, their descriptions and leads; inactive members; issues by their ids alone. */
const extras = { status: undefined, expand: undefined, includeInactiveUsers: undefined, fields: undefined };

/**
 * Sends a list's first request with our extras; where a server refuses them (400, 422) and takes the same request without, that list is asked
 * without them from then on. A later page is never asked otherwise than the first: it would be of another list. `note` hears of it once a list.
 */
export const withoutExtras = (http: Pick<Http, 'send'>, note: (message: string) => void) => {
  const plain = new Set<string>();
  return async (request: Request, signal: AbortSignal): Promise<Answer> => {
    const names = request.method === 'GET' ? extrasOf(request) : [];
    if (names.length === 0) return http.send(request, signal);
    const bare = { ...request, query: { ...request.query, ...extras } };
    if (plain.has(request.endpoint)) return http.send(bare, signal);
    try {
      return await http.send(request, signal);
    } catch (cause) {
      const isOurs = cause instanceof Refused && (cause.status === 400 || cause.status === 422) && isFirst(request);
      if (!isOurs) throw cause;
      const answer = await http.send(bare, signal).catch(() => {
        // Then it was not the extras: the first refusal is the one to tell.
        throw cause;
      });
      if (!plain.has(request.endpoint))
        note(`${request.endpoint} refuses ${names.join(', ')}; it is read as the server shows it`);
      plain.add(request.endpoint);
      return answer;
    }
  };
};

const extrasOf = ({ query = {} }: Request): readonly string[] =>
  Object.keys(extras).filter((name) => query[name] !== undefined);

/** Whether a request is for the first page of its list. */
export const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);
