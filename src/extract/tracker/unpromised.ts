/**
 * Endpoints beyond the contract's seven: is it there at all? Not every server says 404 to what it does not have: some refuse it (400), forbid
 * every path that they do not know (403), show the page of their own application to it, or lead to a login.
 */

import { Forbidden, Refused, SeemsMissing, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Request } from '../../core/request.ts';
import { once } from '../once.ts';

/** contracts/tracker.md, section 4. What one of these answers is judged by itself: none of them is ever taken for missing by its looks. */
const promised: ReadonlySet<string> = new Set([
  ...['/rest/api/3/search/jql', '/rest/api/3/field/search', '/rest/api/3/user/search', '/rest/api/3/group/member'],
  ...['/rest/api/3/project/search', '/rest/agile/1.0/board', '/rest/agile/1.0/sprint/{id}/issue'],
]);

/** Stands where the last word of a path does: no server has it. */
const nonsense = 'tidemark-asks-what-is-not-there';

/**
 * Sends. Where an endpoint that the contract does not promise is refused (400), forbidden (403) or answers no JSON, the path beside it that no server has is
 * asked for, once for each endpoint: where that is answered alike, throws `SeemsMissing`. An endpoint that has answered once is there.
 */
export const asMissing = (send: Http['send']): Http['send'] => {
  const answered = new Set<string>();
  const besides = new Map<string, (signal: AbortSignal) => Promise<unknown>>();
  /** What the server says to a path that it cannot have; undefined where it answers that, too. */
  const beside = (request: Request): ((signal: AbortSignal) => Promise<unknown>) => {
    const known = besides.get(request.endpoint);
    if (known !== undefined) return known;
    const path = request.path.replace(/[^/]*$/, nonsense);
    const asking = once((signal) =>
      send({ ...request, path }, signal).then(
        () => undefined,
        (cause: unknown) => {
          signal.throwIfAborted();
          return cause;
        },
      ),
    );
    besides.set(request.endpoint, asking);
    return asking;
  };
  return async (request, signal) => {
    if (promised.has(request.endpoint)) return send(request, signal);
    try {
      const answer = await send(request, signal);
      answered.add(request.endpoint);
      return answer;
    } catch (cause) {
      if (!isOdd(cause) || answered.has(request.endpoint) || request.url !== undefined) throw cause;
      if (!isAlike(cause, await beside(request)(signal))) throw cause;
      const message = `${cause.message}; so does the server answer what it does not have`;
      throw new SeemsMissing(message, statusOf(cause), { cause });
    }
  };
};

type Odd = Refused | Forbidden | UnexpectedContent;

const isOdd = (error: unknown): error is Odd =>
  (error instanceof Refused && error.status === 400) ||
  error instanceof Forbidden ||
  error instanceof UnexpectedContent;

const statusOf = (error: Odd): number =>
  error instanceof Refused ? error.status : error instanceof Forbidden ? 403 : 200;

/** A refusal may quote the path it refuses; what a page is, or where it leads, stands in the message, and the endpoint's name is the same in both. */
const isAlike = (one: Odd, other: unknown): boolean =>
  one instanceof Refused
    ? other instanceof Refused && other.status === one.status
    : one instanceof Forbidden
      ? other instanceof Forbidden
      : other instanceof UnexpectedContent && other.message === one.message;
