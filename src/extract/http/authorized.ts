/** One refresh of credentials for all requests that were turned away together. */

import { AuthFailed, TidemarkError } from '../../core/errors.ts';
import type { Request } from '../../core/request.ts';
import type { Attempt, Try } from './attempt.ts';
import { orStopped } from './wait.ts';

/**
 * Sends; after a 401 has the credentials renewed, once for everybody who got one with the same credentials, and sends again, once.
 * Credentials that were renewed and never worked are not renewed again; a renewal that failed is not tried again. `lifetime` aborts when
 * the `Http` closes: one caller's abort does not take the renewal from the others.
 */
export const authorized = (
  send: Try,
  onUnauthorized: ((signal: AbortSignal) => Promise<boolean>) | undefined,
  lifetime: AbortSignal,
): Try => {
  if (onUnauthorized === undefined) return send;
  let generation = 0;
  let proven = true;
  let renewal: Promise<boolean> | undefined;

  const renew = async (): Promise<boolean> => {
    const renewed = await onUnauthorized(lifetime);
    if (renewed) {
      generation++;
      proven = false;
      renewal = undefined;
    }
    return renewed;
  };
  const sendNow = async (request: Request, signal: AbortSignal): Promise<Attempt> => {
    const used = generation;
    const attempt = await send(request, signal);
    if ('answer' in attempt && used === generation) proven = true;
    return attempt;
  };

  return async (request, signal) => {
    const used = generation;
    const first = await sendNow(request, signal);
    if ('answer' in first || !(first.failed.error instanceof AuthFailed)) return first;
    if (used === generation) {
      if (!proven) return first;
      renewal ??= renew();
      try {
        if (!(await orStopped(renewal, signal))) return first;
      } catch (cause) {
        if (signal.aborted) throw cause;
        const why = cause instanceof TidemarkError ? `: ${cause.message}` : '.';
        const error = new AuthFailed(`${first.failed.error.message} They could not be renewed${why}`, { cause });
        return { failed: { error, again: 'no' } };
      }
    }
    return sendNow(request, signal);
  };
};
