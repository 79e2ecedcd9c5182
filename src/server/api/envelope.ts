/** The one shape of every answer under `/api/`: `{status: 'success', data}` or `{status: 'error', message}` (contract, section 2). */

import { AuthFailed, Misconfigured, TidemarkError, Transient, Unreachable } from '../../core/errors.ts';
import { escaped, withoutSecrets } from '../../core/format.ts';
import type { DagRun } from '../../scheduler/control.ts';
import { Conflict, NotFound } from '../../scheduler/run-request.ts';
import { isPassing, isUnwritable } from '../../warehouse/pg-errors.ts';

export interface Failure {
  readonly status: 'error';
  readonly message: string;
  /** The active run, which prevents a start. */
  readonly active?: DagRun;
}

export const success = <T>(data: T) => ({ status: 'success', data }) as const;

export const failure = (message: string): Failure => ({ status: 'error', message });

/** A request that is refused with a status and a message of ours. */
export class Rejected extends Error {
  override readonly name = 'Rejected';
  readonly statusCode: number;
  constructor(statusCode: number, message = messages[statusCode] ?? 'the request is not acceptable') {
    super(message);
    this.statusCode = statusCode;
  }
}

/** What an error becomes as an answer. */
export interface Refusal {
  readonly code: number;
  readonly body: Failure;
  /** The fault is ours, not the caller's: the error itself belongs into the log. */
  readonly isOurs: boolean;
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** What our own errors are answered with; absent message: their own, which the caller may read. */
const rules: readonly (readonly [types: readonly ErrorClass[], code: number, message?: string])[] = [
  [[Conflict], 409],
  [[NotFound], 404],
  [[Misconfigured], 400],
  [[AuthFailed, Unreachable, Transient], 503, 'the source or the warehouse does not answer; try again later'],
  [[TidemarkError], 500],
];

/** An error as an answer. Of errors that are not ours to word, the caller learns only that they happened. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Rejected)
    return { code: error.statusCode, body: failure(error.message), isOurs: false };
  const { code, message } = verdictOf(error);
  const body = failure(message);
  return {
    code,
    body: error instanceof Conflict && error.active ? { ...body, active: error.active } : body,
    isOurs: code >= 500,
  };
}

function verdictOf(error: unknown): { readonly code: number; readonly message: string } {
  const [, code = httpStatus(error), message] =
    rules.find(([types]) => types.some((type) => error instanceof type)) ?? [];
  if (message !== undefined && code !== undefined) return { code, message };
  if (error instanceof TidemarkError && code !== undefined && code < 500)
    return { code, message: escaped(withoutSecrets(error.message)) };
  if (code !== undefined && code < 500)
    return { code, message: messages[code] ?? 'the request is not acceptable' };
  if (code === undefined && isUnwritable(error))
    return { code: 503, message: 'the warehouse takes no writes; try again later' };
  if (code === undefined && isPassing(error))
    return { code: 503, message: 'the warehouse does not answer; try again later' };
  return { code: 500, message: 'something went wrong here; the log of the server says what' };
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
