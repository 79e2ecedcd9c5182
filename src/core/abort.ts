/** Ending early: what an aborted signal means, and signals and promises that follow one. */

import { Interrupted, TidemarkError } from './errors.ts';

/** Why an aborted signal stopped us: its reason if that is one of our errors (a lost lease, say), else `Interrupted`. */
export const stopped = (signal: AbortSignal): TidemarkError =>
  signal.reason instanceof TidemarkError
    ? signal.reason
    : new Interrupted('asked to stop', { cause: signal.reason });

/** A signal that follows several, and how to let go of them: unlike `AbortSignal.any` it leaves no listener on a long-lived signal. */
export const either = (
  ...signals: readonly AbortSignal[]
): { readonly signal: AbortSignal; readonly release: () => void } => {
  const follower = new AbortController();
  const follow = (): void => follower.abort(signals.find((signal) => signal.aborted)?.reason);
  for (const signal of signals) signal.addEventListener('abort', follow, { once: true });
  if (signals.some((signal) => signal.aborted)) follow();
  return {
    signal: follower.signal,
    release: () => {
      for (const signal of signals) signal.removeEventListener('abort', follow);
    },
  };
};

/** The promise's outcome, or `stopped` if the signal aborts first. */
export const orStopped = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  // After an abort nothing waits for it: its failure must not count as unhandled.
  promise.catch(() => {});
  if (signal.aborted) throw stopped(signal);
  let leave = (): void => {};
  const abort = new Promise<never>((_, reject) => {
    leave = () => reject(stopped(signal));
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([promise, abort]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
};
