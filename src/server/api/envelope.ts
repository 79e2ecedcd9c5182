/** The one shape of every answer under `/api/`: `{status: 'success', data}` or `{status: 'error', message}` (contract, section 2). */

import { AuthFailed, Misconfigured, TidemarkError, Transient, Unreachable } from '../../core/errors.ts';
import { escaped, withoutSecrets } from '../../core/format.ts';
import type { DagRun } from '../../scheduler/control.ts';
import {
  AlreadyActive,
  NothingActive,
  RunIdTaken,
  UnknownDag,
  UnknownRun,
} from '../../scheduler/request-errors.ts';
import { isPassing, isUnwritable } from '../../warehouse/pg-errors.ts';

export interface Success<T> {
  readonly status: 'success';
  readonly data: T;
}

export interface Failure {
  readonly status: 'error';
  readonly message: string;
  /** The run that is in the way of a start. */
  readonly active?: DagRun;
}

export const success = <T>(data: T): Success<T> => ({ status: 'success', data });

export const failure = (message: string): Failure => ({ status: 'error', message });

/** An answer to something that went wrong. */
export interface Refusal {
  readonly code: number;
  readonly body: Failure;
  /** It is our fault, not the caller's: the log must hold the error itself. */
  readonly ours: boolean;
}

/** An error as an answer. Only our own words leave the house: of any other error the caller learns that it happened, not what it says. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof AlreadyActive)
    return { code: 409, body: { ...failure(told(error)), active: error.active }, ours: false };
  if (error instanceof UnknownDag || error instanceof UnknownRun) return theirs(404, told(error));
  if (error instanceof NothingActive || error instanceof RunIdTaken) return theirs(409, told(error));
  if (error instanceof Misconfigured) return theirs(400, told(error));
  if (error instanceof AuthFailed || error instanceof Unreachable || error instanceof Transient)
    return {
      code: 503,
      body: failure('the source or the warehouse does not answer; try again later'),
      ours: true,
    };
  if (!(error instanceof TidemarkError)) {
    const code = codeOf(error);
    if (code !== undefined) return theirs(code, messages[code] ?? 'the request is not acceptable');
    if (isUnwritable(error))
      return { code: 503, body: failure('the warehouse takes no writes; try again later'), ours: true };
    if (isPassing(error))
      return { code: 503, body: failure('the warehouse does not answer; try again later'), ours: true };
  }
  return {
    code: 500,
    body: failure('something went wrong here; the log of the server says what'),
    ours: true,
  };
}

const theirs = (code: number, message: string): Refusal => ({ code, body: failure(message), ours: false });

const told = (error: Error): string => escaped(withoutSecrets(error.message));

/** Words for what the HTTP layer refuses. Its own messages may quote the request. */
export const messages: Readonly<Record<number, string>> = {
  400: 'the request is malformed',
  401: 'a valid token is required: Authorization: Bearer TOKEN',
  403: 'this token may only read',
  404: 'there is no such resource',
  405: 'this resource does not know that method',
  408: 'the request took too long to arrive',
  413: 'the body is too large',
  415: 'the body must be application/json',
  421: 'without a token only names of this machine are answered',
  429: 'too many requests; try again later',
  431: 'the headers are too large',
};

/** The status of an error that fastify or one of its plugins made for the caller's fault. */
function codeOf(error: unknown): number | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined;
  // A name longer than any is the name of nothing.
  if (code === 414) return 404;
  return typeof code === 'number' && code >= 400 && code < 500 ? code : undefined;
}

/** A refusal of the HTTP layer with words of ours. */
export class Rejected extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.name = 'Rejected';
    this.statusCode = statusCode;
  }
}
