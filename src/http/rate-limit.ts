/** When a request may leave: slots, the source's wishes for quiet, and token buckets. */

import { orStopped, stopped } from '../core/abort.ts';
import type { Rate } from './http-options.ts';
import type { Time } from './with-retry.ts';

/** After `X-RateLimit-NearLimit` requests keep this distance, for so long. */
const nearLimit = { spacingMs: 100, forMs: 10_000 };

/** `slots`: requests under way at once. `rates`: the narrowest first. */
export const rateLimit = (slots: number, rates: readonly Rate[], time: Time) => {
  const buckets = rates.map((rate) => ({ rate, wait: bucket(rate, time) }));
  const slot = semaphore(slots);
  let quietUntil = Number.NEGATIVE_INFINITY;
  let slowUntil = Number.NEGATIVE_INFINITY;
  let lastStart = Number.NEGATIVE_INFINITY;

  const inBuckets = (endpoint: string, signal: AbortSignal): Promise<void> =>
    buckets
      .filter(({ rate }) => rate.covers(endpoint))
      .reduceRight<Turn>(
        (next, { wait }) => wait(next),
        async () => {},
      )(signal);
  const opensAt = (): number => {
    const spaced = time.now() < slowUntil ? lastStart + nearLimit.spacingMs : Number.NEGATIVE_INFINITY;
    return Math.max(quietUntil, spaced);
  };
  /** Checks again after each wait: another answer may have prolonged the pause. */
  const untilOpen = async (signal: AbortSignal): Promise<void> => {
    for (let left = opensAt() - time.now(); left > 0; left = opensAt() - time.now())
      await time.sleep(Math.ceil(left), signal);
    lastStart = time.now();
  };

  return {
    /** Runs `send` when its buckets, a slot and the source allow it. `waited` gets how many ms that took. */
    async run<T>(
      endpoint: string,
      signal: AbortSignal,
      waited: (ms: number) => void,
      send: () => Promise<T>,
    ): Promise<T> {
      // The buckets before the slot: an endpoint that must wait does not keep the others from going.
      const inBucket = await timed(time, () => inBuckets(endpoint, signal));
      const release = await slot(signal);
      try {
        waited(inBucket + (await timed(time, () => untilOpen(signal))));
        return await send();
      } finally {
        release();
      }
    },
    /** No request leaves for `ms` from now, whatever its endpoint; a longer pause is kept. */
    pause(ms: number): void {
      quietUntil = Math.max(quietUntil, time.now() + ms);
    },
    /** Requests keep their distance for a while. */
    slow(): void {
      slowUntil = time.now() + nearLimit.forMs;
    },
  };
};

const timed = async (time: Time, wait: () => Promise<void>): Promise<number> => {
  const from = time.now();
  await wait();
  return time.now() - from;
};

type Turn = (signal: AbortSignal) => Promise<void>;

/**
 * A token bucket, first come, first served. One waiter at a time goes on to the wider bucket `next`. Its token is taken only when the request
 * leaves, so a hold-up there does not end in a burst here.
 */
const bucket = ({ perSecond, burst }: Rate, time: Time): ((next: Turn) => Turn) => {
  const first = semaphore(1);
  let tokens = burst;
  let at = time.now();
  const refill = (): void => {
    const now = time.now();
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000);
    at = now;
  };
  return (next) => async (signal) => {
    const release = await first(signal);
    try {
      refill();
      const ms = Math.ceil(((1 - tokens) * 1000) / perSecond);
      await Promise.all([ms > 0 ? time.sleep(ms, signal) : undefined, next(signal)]);
      refill();
      tokens -= 1;
    } finally {
      release();
    }
  };
};

/** At most `slots` at once, first come, first served. Resolves with what gives the slot back. */
export const semaphore = (slots: number): ((signal: AbortSignal) => Promise<() => void>) => {
  let free = slots;
  const queue = new Set<() => void>();
  const release = (): void => {
    const [next] = queue;
    if (next === undefined) free++;
    else {
      queue.delete(next);
      next();
    }
  };
  return async (signal) => {
    if (signal.aborted) throw stopped(signal);
    if (free > 0) free--;
    else {
      const turn = Promise.withResolvers<void>();
      queue.add(turn.resolve);
      await orStopped(turn.promise, signal).catch((error: unknown) => {
        // Its turn may have come at the same moment.
        if (!queue.delete(turn.resolve)) release();
        throw error;
      });
    }
    return release;
  };
};
