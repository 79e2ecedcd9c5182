/** Ending early: what an aborted signal means, and promises that follow one. */

import { Interrupted, TidemarkError } from './errors.ts';

/** Why an aborted signal stopped us: its reason if that is one of our errors (a lost lease, say), else `Interrupted`. */
export const stopped = (signal: AbortSignal): TidemarkError =>
  signal.reason instanceof TidemarkError
    ? signal.reason
    : new Interrupted('asked to stop', { cause: signal.reason });

/** A signal that aborts with the given one, and by that reason when its scope is left: `using scope = abortedAtEnd(…)`. */
export const abortedAtEnd = (signal: AbortSignal, why: string) => {
  const left = new AbortController();
  const leave = (): void => left.abort(new Interrupted(why));
  return { signal: AbortSignal.any([signal, left.signal]), [Symbol.dispose]: leave };
};

/** The promise's outcome, or `stopped` if the signal aborts first: then nothing waits for the promise any more. */
export const orStopped = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(stopped(signal));
    const leave = (): void => signal.removeEventListener('abort', stop);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    promise.then(resolve, reject).finally(leave);
  });
