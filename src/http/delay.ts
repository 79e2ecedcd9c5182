/** Waiting that ends at once when its signal is aborted. */

import { setTimeout as delay } from 'node:timers/promises';
import { stopped } from '../core/abort.ts';

/** Time, as the parts of `Http` see it: a monotonic clock in ms, and how to let it pass. */
export interface Time {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Resolves after `ms`; throws what `stopped` makes of the signal's reason as soon as it aborts. */
export const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await delay(ms, undefined, { signal });
  } catch {
    throw stopped(signal);
  }
};
