/** What all processes keep together of one source's limits: requests of its rates, and pauses. */

import { orStopped, stopped } from '../core/abort.ts';
import type { Budget, HttpOptions, Rate } from './http-options.ts';
import type { Time } from './with-retry.ts';

/** At most so much of a rate is taken at once; so late a request may leave before its place is lost. */
const grantMs = 100;
/** While requests leave, pauses that other processes were told are looked up so often. */
const lookEveryMs = 250;

/** Resolves when the budget lets a request of the rate go. `waiting`: how many wait for it, this one included. One call at a time. */
export type Grants = (waiting: number, signal: AbortSignal) => Promise<void>;

/** How limits are shared. A call of the budget that fails is reported, once; this process's own buckets and pauses are kept in any case. */
export interface Sharing extends Required<Pick<HttpOptions, 'observe' | 'wall'>> {
  readonly budget: Budget;
  /** The source, by the same name in all processes. */
  readonly source: string;
  readonly closing: AbortSignal;
}

/** `paused` gets each pause in force: its name ('' for the whole source) and the ms left of it. */
export const sharedLimits = (sharing: Sharing, time: Time, paused: (name: string, ms: number) => void) => {
  const { budget, source, observe, wall, closing } = sharing;
  let isReported = false;
  let look = { at: Number.NEGATIVE_INFINITY, done: Promise.resolve() };
  const failed = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    if (!isReported && !closing.aborted) observe({ type: 'unshared', endpoint: source, reason });
    isReported = true;
  };
  const lookUp = async (): Promise<void> => {
    const reason = 'asked for by the source, of this or of another process';
    for (const [key, ms] of await budget.pauses(source)) {
      paused(key.slice(source.length + 1), ms);
      observe({ type: 'throttled', endpoint: key, untilMs: wall() + ms, reason });
    }
  };
  return {
    grants: (rate: Rate): Grants =>
      grantsOf(rate, time, (count, signal) =>
        budget.take(`${rate.name} ${source}`, count, rate, signal).catch((error: unknown) => {
          if (signal.aborted) throw stopped(signal);
          failed(error);
          return 0;
        }),
      ),
    pause(name: string, ms: number): void {
      budget.pause(`${source} ${name}`.trimEnd(), ms).catch(failed);
    },
    /** From here on, what other processes were told 250 ms ago is known. */
    async look(signal: AbortSignal): Promise<void> {
      const now = time.now();
      if (now - look.at >= lookEveryMs) look = { at: now, done: lookUp().catch(failed) };
      await orStopped(look.done, signal);
    },
  };
};

/**
 * Takes as many as wait, at most 100 ms of the rate, and lets them go one after the other at their times. A place that no
 * request takes in time expires: its request would leave beside those that others have taken since. `take` resolves with the ms until the first may leave.
 */
const grantsOf = (rate: Rate, time: Time, take: (...args: Parameters<Grants>) => Promise<number>): Grants => {
  const stepMs = 1000 / rate.perSecond;
  const most = Math.max(1, Math.round(grantMs / stepMs));
  /** When each of those that were taken may leave. */
  let places: readonly number[] = [];
  return async (waiting, signal) => {
    places = places.filter((at) => at + grantMs >= time.now());
    if (places.length === 0) {
      const count = Math.min(most, waiting);
      const first = (await take(count, signal)) + time.now();
      places = Array.from({ length: count }, (_, n) => Math.max(time.now(), first + n * stepMs));
    }
    const [at = 0, ...rest] = places;
    places = rest;
    const ms = Math.ceil(at - time.now());
    if (ms > 0) await time.sleep(ms, signal);
  };
};
