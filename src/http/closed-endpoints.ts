/** Tells a refused account from a closed endpoint: a 401 or 403 may mean either. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { AuthFailed, Forbidden } from '../core/errors.ts';
import type { Http } from '../core/stream.ts';

/** The answer 401 or 403 that an error is about; undefined for any other error. */
export const refusalIn = (error: unknown): Forbidden | undefined => {
  const answer = error instanceof AuthFailed ? error.cause : error;
  return answer instanceof Forbidden ? answer : undefined;
};

/**
 * After a 401 or 403 asks for the account again. Where `account` resolves, the credentials are good and only this
 * endpoint is closed: `send` throws `Forbidden`. Else it throws what `account` threw: `AuthFailed` where a token
 * has expired in the meantime. Not kept: the next refusal may be an expired token. Requests of `account` itself
 * are taken at their word.
 */
export const closedEndpoints = (http: Http, account: (signal: AbortSignal) => Promise<unknown>): Http => {
  const asking = new AsyncLocalStorage<true>();
  return {
    ...http,
    send: (request, signal) =>
      http.send(request, signal).catch(async (error: unknown) => {
        const closed = refusalIn(error);
        if (closed === undefined || asking.getStore()) throw error;
        await asking.run(true, () => account(signal));
        throw closed;
      }),
  };
};
