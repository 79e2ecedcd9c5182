/** One refresh of credentials for all requests that were turned away together. */

import { orStopped } from '../core/abort.ts';
import { AuthFailed, TidemarkError } from '../core/errors.ts';
import type { Request } from '../core/request.ts';
import type { Attempt, Try } from './attempt.ts';

/** Headers that let a request in. */
export type Credentials = Readonly<Record<string, string>>;

/** What becomes of one try, told as it happens: between being asked for and leaving it may wait long, and so may its answer for being read. */
export interface Course {
  /** It leaves, with these. */
  leaves(credentials: Credentials): void;
  /** They let it in. */
  isIn(): void;
}

/** One try that is told of. */
export type Told = (request: Request, signal: AbortSignal, course: Course) => Promise<Attempt>;

/** Credentials may die while a request waits for its place, and their successors may, too; a request that is turned away so often is meant. */
const mostRenewals = 3;

/**
 * Sends; after a 401 has the credentials renewed, once for everybody who was turned away with the same ones, and sends again; who was turned away
 * with older ones just sends again. Credentials that were renewed and never worked are not renewed again; a renewal that failed is not tried
 * again. `lifetime` aborts when the `Http` closes: one caller's abort does not take the renewal from the others.
 */
export const authorized = (
  send: Told,
  authorize: () => Credentials,
  onUnauthorized: ((signal: AbortSignal) => Promise<boolean>) | undefined,
  lifetime: AbortSignal,
): Try => {
  if (onUnauthorized === undefined)
    return (request, signal) => send(request, signal, { leaves() {}, isIn() {} });
  /** Those of the last renewal, until they have let somebody in. */
  let unproven: Credentials | undefined;
  let renewal: Promise<boolean> | undefined;

  const renew = async (): Promise<boolean> => {
    const renewed = await onUnauthorized(lifetime);
    if (renewed) {
      unproven = authorize();
      renewal = undefined;
    }
    return renewed;
  };

  return async (request, signal) => {
    for (let renewals = 0; ; renewals++) {
      let used: Credentials | undefined;
      const attempt = await send(request, signal, {
        leaves: (credentials) => {
          used = credentials;
        },
        isIn: () => {
          if (unproven !== undefined && areSame(unproven, used)) unproven = undefined;
        },
      });
      if ('answer' in attempt || !(attempt.failed.error instanceof AuthFailed) || renewals === mostRenewals)
        return attempt;
      if (!areSame(used, authorize())) continue;
      if (areSame(used, unproven)) return attempt;
      renewal ??= renew();
      try {
        if (!(await orStopped(renewal, signal))) return attempt;
      } catch (cause) {
        if (signal.aborted) throw cause;
        const why = cause instanceof TidemarkError ? `: ${cause.message}` : '.';
        const error = new AuthFailed(`${attempt.failed.error.message} They could not be renewed${why}`, {
          cause,
        });
        return { failed: { error, again: 'no' } };
      }
    }
  };
};

const areSame = (one: Credentials | undefined, other: Credentials | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
