/**
 * The one shape of every answer under `/api/`: `{status: 'success', data}` or `{status: 'error', message}`
 * (contract, section 2).
 */

import * as errors from '../../core/errors.ts';
import { escaped, withoutSecrets } from '../../core/format.ts';
import { Conflict, NotFound } from '../../scheduler/run-request.ts';
import { isPassing, isUnwritable } from '../../warehouse/pg-errors.ts';
import { isConnectionLoss } from '../../warehouse/with-retry.ts';

export const success = <T>(data: T) => ({ status: 'success', data }) as const;

export const failure = (message: string) => ({ status: 'error', message }) as const;

/** A request that is refused with a status and a message of ours. */
export class Rejected extends Error {
  override readonly name = 'Rejected';
  readonly statusCode: number;
  constructor(statusCode: number, message = messages[statusCode] ?? 'the request is not acceptable') {
    super(message);
    this.statusCode = statusCode;
  }
}

type ErrorClass = abstract new (...args: never[]) => Error;

const away = 'the source or the warehouse does not answer; try again later';
const ourFault = 'something went wrong here; the log of the server says what';

/** What our own errors are answered with; absent message: their own, which the caller may read. */
const rules: readonly (readonly [types: readonly ErrorClass[], code: number, message?: string])[] = [
  [[Conflict, errors.LockHeld], 409],
  [[NotFound], 404],
  [[errors.Misconfigured], 400],
  [[errors.AuthFailed, errors.Unreachable, errors.Transient], 503, away],
  [[errors.TidemarkError], 500, ourFault],
];

/**
 * An error as an answer. Of errors that are not ours to word, the caller learns only that they happened.
 * `isOurs`: the fault is ours, not the caller's; the error itself belongs into the log.
 */
export function refusalOf(error: unknown) {
  const [code, message] = verdictOf(error);
  // The active run, which prevents a start.
  const active = error instanceof Conflict && error.active ? { active: error.active } : {};
  return {
    code,
    body: { ...failure(message), ...active },
    isOurs: code >= 500 && !(error instanceof Rejected),
  };
}

function verdictOf(error: unknown): readonly [code: number, message: string] {
  if (error instanceof Rejected) return [error.statusCode, error.message];
  const rule = rules.find(([types]) => types.some((type) => error instanceof type));
  if (rule !== undefined) {
    const [, code, message = escaped(withoutSecrets(error instanceof Error ? error.message : ''))] = rule;
    return [code, message];
  }
  const code = httpStatus(error);
  if (code !== undefined) return [code, messages[code] ?? 'the request is not acceptable'];
  if (isUnwritable(error)) return [503, 'the warehouse takes no writes; try again later'];
  if (isPassing(error) || isConnectionLoss(error))
    return [503, 'the warehouse does not answer; try again later'];
  return [500, ourFault];
}

/** Messages for what the HTTP layer refuses. Its own may quote the request. */
export const messages: Readonly<Record<number, string>> = {
  400: 'the request is malformed',
  401: 'a valid token is required: Authorization: Bearer TOKEN',
  403: 'this token may only read',
  404: 'there is no such resource',
  408: 'the request took too long to arrive',
  413: 'the body is too large',
  415: 'the body must be application/json',
  421: 'without a token only names of this machine are answered',
  429: 'too many requests; try again later',
  431: 'the headers are too large',
};

/** The 4xx status of an error that fastify or one of its plugins made. */
function httpStatus(error: unknown): number | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined;
  // An address longer than any of ours (414) is unknown.
  if (code === 414) return 404;
  return typeof code === 'number' && code >= 400 && code < 500 ? code : undefined;
}
