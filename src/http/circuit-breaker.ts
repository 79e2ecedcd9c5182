/**
 * A source that answers nobody any more is away: it restarts, or the network is gone. All requests then wait together; else the first of many to lose
 * its patience would end them all.
 */

import type { Time } from './delay.ts';

/** The time in which nobody was answered, over the life of an `Http`. */
export interface Absence {
  /** Resolves when the source may be back. */
  over(signal: AbortSignal): Promise<void>;
  /** Nobody asks for `ms` from now; a longer wait stands. */
  lasts(ms: number): void;
  /** Whether less than what is borne in all was waited for. */
  isBearable(): boolean;
}

/** `mostMs`: what is borne in all. */
export const absenceOf = (time: Time, mostMs: number): Absence => {
  let until = Number.NEGATIVE_INFINITY;
  let spent = 0;
  return {
    async over(signal) {
      for (let left = until - time.now(); left > 0; left = until - time.now())
        await time.sleep(Math.ceil(left), signal);
    },
    lasts(ms) {
      const now = time.now();
      spent += Math.max(0, now + ms - Math.max(now, until));
      until = Math.max(until, now + ms);
    },
    isBearable: () => spent < mostMs,
  };
};
