/** One renewal of credentials for all requests that were answered 401 together. */

import { orStopped } from '../core/abort.ts';
import { AuthFailed, TidemarkError, Transient, Unreachable } from '../core/errors.ts';
import type { Login } from './http-options.ts';
import type { Try } from './with-retry.ts';

/**
 * Sends; after a 401 renews the credentials, once for all requests that were refused with the same ones, and sends again. Renewed credentials
 * that have never worked are not renewed again; a renewal that failed is not tried again. `lifetime` aborts when the `Http` closes: one
 * caller's abort does not take the renewal from the others.
 */
export const withRenewal = (send: Try, login: Login, lifetime: AbortSignal): Try => {
  if (login.renew === undefined) return send;
  const current = (): string => JSON.stringify(login.authorize());
  /** Those of the last renewal, until the source accepts them. */
  let unproven: string | undefined;
  /** Endpoints that refused renewed credentials: a 401 of theirs renews nothing. */
  const closed = new Set<string>();
  let renewal: Promise<boolean> | undefined;
  const renew = async (): Promise<boolean> => {
    const renewed = (await login.renew?.(lifetime)) === true;
    if (renewed) {
      unproven = current();
      renewal = undefined;
    }
    return renewed;
  };

  return async (request, signal) => {
    for (let sent = 1; ; sent++) {
      const used = current();
      const attempt = await send(request, signal);
      const error = 'failed' in attempt ? attempt.failed.error : undefined;
      if (!(error instanceof AuthFailed)) {
        const isAnswer = !(error instanceof Transient || error instanceof Unreachable);
        if (isAnswer && used === unproven) unproven = undefined;
        return attempt;
      }
      if (sent > 1) closed.add(request.endpoint);
      if (sent === 3) return attempt;
      // Another request renewed them meanwhile.
      if (current() !== used) continue;
      if (used === unproven || closed.has(request.endpoint)) return attempt;
      renewal ??= renew();
      try {
        if (!(await orStopped(renewal, signal))) return attempt;
      } catch (cause) {
        if (signal.aborted) throw cause;
        const why = cause instanceof TidemarkError ? `: ${cause.message}` : '.';
        const message = `${error.message} They could not be renewed${why}`;
        return { failed: { error: new AuthFailed(message, { cause }), retry: 'no' } };
      }
    }
  };
};
