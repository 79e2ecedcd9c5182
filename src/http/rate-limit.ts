/** When a request may leave: slots, the source's wishes for quiet, and one token bucket an endpoint. */

import { stopped } from '../core/abort.ts';
import type { Time } from './delay.ts';
import type { Rate, RateOptions } from './http-options.ts';

/** After `X-RateLimit-NearLimit` requests keep this distance, for so long. */
const nearLimit = { spacingMs: 100, forMs: 10_000 };

export interface Pace {
  /** Runs `send` when its endpoint's bucket, a slot and the source allow it. `waited` hears how many ms that took. */
  run<T>(
    endpoint: string,
    signal: AbortSignal,
    waited: (ms: number) => void,
    send: () => Promise<T>,
  ): Promise<T>;
  /** No request leaves for `ms` from now, whatever its endpoint; a longer pause stands. */
  pause(ms: number): void;
  /** Requests keep their distance for a while. */
  slow(): void;
}

/** `slots`: requests under way at once. */
export const pace = (slots: number, rates: RateOptions, time: Time): Pace => {
  const bucketOf = buckets(rates, time);
  const slot = semaphore(slots);
  let quietUntil = Number.NEGATIVE_INFINITY;
  let slowUntil = Number.NEGATIVE_INFINITY;
  let lastStart = Number.NEGATIVE_INFINITY;

  const opensAt = (): number =>
    Math.max(quietUntil, time.now() < slowUntil ? lastStart + nearLimit.spacingMs : Number.NEGATIVE_INFINITY);

  /** Asks again after each wait: another answer may have prolonged the pause. */
  const gate = async (signal: AbortSignal): Promise<void> => {
    for (let left = opensAt() - time.now(); left > 0; left = opensAt() - time.now())
      await time.sleep(Math.ceil(left), signal);
    lastStart = time.now();
  };

  return {
    async run(endpoint, signal, waited, send) {
      // The bucket before the slot: an endpoint that must wait does not keep the others from going.
      const inBucket = await timed(time, () => bucketOf(endpoint)(signal));
      const release = await slot(signal);
      try {
        waited(inBucket + (await timed(time, () => gate(signal))));
        return await send();
      } finally {
        release();
      }
    },
    pause(ms) {
      quietUntil = Math.max(quietUntil, time.now() + ms);
    },
    slow() {
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

const atOnce: Turn = async () => {};

const buckets = (
  { perEndpoint = {}, default: common, shared = [] }: RateOptions,
  time: Time,
): ((endpoint: string) => Turn) => {
  const made = new Map<string, Turn>();
  const together = shared.map((rate) => ({ covers: rate.covers, before: line(rate, time) }));
  return (endpoint) => {
    const known = made.get(endpoint);
    if (known !== undefined) return known;
    const rate = Object.hasOwn(perEndpoint, endpoint) ? perEndpoint[endpoint] : common;
    const lines = together.flatMap(({ covers, before }) => (covers(endpoint) ? [before] : []));
    const behind = lines.reduceRight((next, before) => before(next), atOnce);
    const turn =
      rate === undefined ? behind : lines.length === 0 ? bucket(rate, time) : line(rate, time)(behind);
    made.set(endpoint, turn);
    return turn;
  };
};

/**
 * A rate within others: first come, first served, and only the first of the line stands in the next one. Its token is taken when it leaves:
 * what the next line holds up does not come out of it in a burst.
 */
const line = ({ perSecond, burst }: Rate, time: Time): ((next: Turn) => Turn) => {
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

/** Takes its token at once, if need be from the future, and waits for it: first come, first served. */
const bucket = ({ perSecond, burst }: Rate, time: Time): Turn => {
  let tokens = burst;
  let at = time.now();
  return async (signal) => {
    const now = time.now();
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000) - 1;
    at = now;
    if (tokens >= 0) return;
    try {
      await time.sleep(Math.ceil((-tokens * 1000) / perSecond), signal);
    } catch (error) {
      tokens += 1;
      throw error;
    }
  };
};

/** At most `slots` at once, first come, first served. Resolves with what gives the slot back. */
const semaphore = (slots: number): ((signal: AbortSignal) => Promise<() => void>) => {
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
  return (signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(stopped(signal));
      if (free > 0) {
        free--;
        return resolve(release);
      }
      const turn = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(release);
      };
      const leave = (): void => {
        queue.delete(turn);
        reject(stopped(signal));
      };
      queue.add(turn);
      signal.addEventListener('abort', leave, { once: true });
    });
};
