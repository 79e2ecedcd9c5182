/**
 * What a contract does not promise: is it there at all? Not every server says 404 to what it does not have: some refuse it (400), forbid every
 * path that they do not know (403), show the page of their own application to it, or lead to a login.
 */

import { AuthFailed, Forbidden, Refused, SeemsMissing, UnexpectedContent } from '../core/errors.ts';
import { once } from '../core/memoize-async.ts';
import type { Http, Request } from '../core/request.ts';

/** What of a source's requests is promised, and how to ask for what no server has. */
export interface Unpromised {
  /** A name for what is asked for; undefined where the contract promises it: that is never taken for missing by its looks. */
  readonly name: (request: Request) => string | undefined;
  /** Whether an answer may stand for 404 at all. */
  readonly isOdd: (error: unknown) => error is Odd;
  /** The same question about what no server has. */
  readonly absurd: (request: Request) => Request;
  /** Whether the answer to the absurd question is the same as that to the request. */
  readonly isAlike: (one: Odd, other: unknown, request: Request) => boolean;
  /** What every server answers whose state says anything: one that does not answer it, either, is ill, and nothing is concluded. */
  readonly control: (request: Request) => Request;
}

/** An answer that may stand for 404. */
export type Odd = Refused | Forbidden | UnexpectedContent;

/** Stands where the name of what is asked for does. */
const nonsense = 'tidemark-asks-what-is-not-there';

/**
 * Sends. Where what the contract does not promise is answered oddly (refused, or with no JSON), what no server has is asked for in its place, once for
 * each name: where that is answered alike, and the control as it should be, throws `SeemsMissing`. What has answered once is there, and of what has
 * once been found missing the control is not asked again.
 */
export const asMissing = (
  send: Http['send'],
  { name, isOdd, absurd, isAlike, control }: Unpromised,
): Http['send'] => {
  const answered = new Set<string>();
  const others = new Map<string, (signal: AbortSignal) => Promise<unknown>>();
  /** What the server says to what it cannot have; undefined where it answers that, too. */
  const other = (of: string, request: Request): ((signal: AbortSignal) => Promise<unknown>) => {
    const known = others.get(of);
    if (known !== undefined) return known;
    const asking = once((signal) =>
      send(absurd(request), signal).then(
        () => undefined,
        (cause: unknown) => {
          signal.throwIfAborted();
          return cause;
        },
      ),
    );
    others.set(of, asking);
    return asking;
  };
  const missing = new Set<string>();
  /** Throws `AuthFailed` where it is we who are not let in. */
  const isWell = async (request: Request, signal: AbortSignal): Promise<boolean> => {
    try {
      await send(control(request), signal);
      return true;
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof AuthFailed) throw cause;
      return false;
    }
  };
  return async (request, signal) => {
    const of = name(request);
    if (of === undefined) return send(request, signal);
    try {
      const answer = await send(request, signal);
      answered.add(of);
      return answer;
    } catch (cause) {
      if (!isOdd(cause) || answered.has(of) || request.url !== undefined) throw cause;
      if (!isAlike(cause, await other(of, request)(signal), request)) throw cause;
      if (!missing.has(of) && !(await isWell(request, signal))) throw cause;
      missing.add(of);
      const message = `${cause.message}; so does the server answer what it does not have`;
      throw new SeemsMissing(message, statusOf(cause), { cause });
    }
  };
};

const statusOf = (error: Odd): number =>
  error instanceof Refused ? error.status : error instanceof Forbidden ? 403 : 200;

const isRefusal = (error: unknown): error is Refused =>
  error instanceof Refused && (error.status === 400 || error.status === 422);

/**
 * Endpoints beyond the promised ones, asked beside a path that no server has. A refusal may quote the path that it refuses: its status counts; what
 * a page is, or where it leads, stands in the message, and the endpoint's name is the same in both. `forbidden`: whether 403 may stand for 404,
 * where it does not rather speak of a part of the source.
 */
export const endpointsBeyond = (
  isPromised: (endpoint: string) => boolean,
  { forbidden, control }: { readonly forbidden: boolean; readonly control: Request },
): Unpromised => ({
  name: ({ endpoint }) => (isPromised(endpoint) ? undefined : endpoint),
  isOdd: (error): error is Odd =>
    isRefusal(error) || error instanceof UnexpectedContent || (forbidden && error instanceof Forbidden),
  absurd: (request) => ({ ...request, path: request.path.replace(/[^/]*$/, nonsense) }),
  control: () => control,
  isAlike: (one, other) =>
    one instanceof Refused
      ? other instanceof Refused && other.status === one.status
      : one instanceof Forbidden
        ? other instanceof Forbidden
        : other instanceof UnexpectedContent && other.message === one.message,
});

/**
 * Values of a parameter beyond the promised ones, asked beside one that no server has. Only a refusal that says the same of both counts: the value
 * may be known, and something else be wrong with the question.
 */
export const valuesBeyond = (
  parameter: string,
  promised: readonly string[],
  control: Unpromised['control'],
): Unpromised => {
  const valueIn = ({ query }: Request): string | undefined => {
    const value = query?.[parameter];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    name: (request) => {
      const value = valueIn(request);
      return value === undefined || promised.includes(value) ? undefined : value;
    },
    isOdd: isRefusal,
    absurd: (request) => ({ ...request, query: { ...request.query, [parameter]: nonsense } }),
    control,
    isAlike: (one, other, request) => {
      const without = (error: Refused, value = ''): string => error.messages.join(' ').replaceAll(value, '…');
      return (
        one instanceof Refused &&
        other instanceof Refused &&
        one.status === other.status &&
        without(one, valueIn(request)) === without(other, nonsense)
      );
    },
  };
};
