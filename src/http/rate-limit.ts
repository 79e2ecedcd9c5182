/** When a request may leave: slots, the source's wishes for quiet, and token buckets. */

import pLimit from 'p-limit';
import { orStopped } from '../core/abort.ts';
import { spending } from '../core/request-count.ts';
import type { HttpCounters, Request } from '../core/stream.ts';
import type { Pace } from './headers.ts';
import type { Rate } from './http-options.ts';
import { type Grants, type Sharing, sharedLimits } from './shared-limits.ts';
import type { Time } from './with-retry.ts';

/** The names of pauses: for requests like this one, and for every request. */
const nameOf = ({ method, endpoint }: Request): string => `${method} ${endpoint}`;
const wholeSource = '';

/** `slots`: requests under way at once. `rates`: the narrowest first. Counts in `counters` what the waiting comes to. */
export const rateLimit = (
  slots: number,
  rates: readonly Rate[],
  time: Time,
  counters: Pick<HttpCounters, 'throttledMs' | 'quiet'>,
  sharing?: Sharing,
) => {
  const quiet = new Map<string, number>();
  const opens = (name: string): number => quiet.get(name) ?? Number.NEGATIVE_INFINITY;
  const keepQuiet = (name: string, ms: number): void => {
    const now = time.now();
    quiet.set(name, Math.max(opens(name), now + ms));
    if (name === wholeSource) counters.quiet = withSpan(counters.quiet, now, now + ms);
  };
  const shared = sharing && sharedLimits(sharing, time, keepQuiet);
  const buckets = rates.map((rate) => ({ rate, wait: bucket(rate, time, shared?.grants(rate)) }));
  const slot = semaphore(slots);
  /** By name, as pauses: the distance that requests keep, until when, and when the last one left. */
  const slow = new Map<string, { readonly spacingMs: number; readonly until: number; lastStart: number }>();
  const pacesOf = (request: Request) =>
    [slow.get(wholeSource), slow.get(nameOf(request))].filter((one) => one !== undefined);

  const inBuckets = (endpoint: string, signal: AbortSignal): Promise<void> =>
    buckets
      .filter(({ rate }) => rate.covers(endpoint))
      .reduceRight<Turn>(
        (next, { wait }) => wait(next),
        async () => {},
      )(signal);
  /** Checks again after each wait: another answer may have prolonged the pause. Resolves with the ms of the waits. */
  const untilOpen = async (request: Request, isLeaving: boolean, signal: AbortSignal): Promise<number> => {
    for (let waited = 0; ; ) {
      await shared?.look(signal);
      const now = time.now();
      const paces = isLeaving ? pacesOf(request).filter(({ until }) => now < until) : [];
      const spacedAt = paces.map(({ lastStart, spacingMs }) => lastStart + spacingMs);
      const left = Math.max(opens(wholeSource), opens(nameOf(request)), ...spacedAt) - now;
      if (left > 0) waited += await timed(time, () => time.sleep(Math.ceil(left), signal));
      else {
        for (const one of paces) one.lastStart = time.now();
        return waited;
      }
    }
  };

  return {
    /** Runs `send` when the buckets of the request, a slot and the source allow it. */
    async run<T>(request: Request, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
      // Quiet and buckets before the slot: an endpoint that must wait does not keep the others from going. Quiet before the buckets: what is
      // taken during a pause would leave all at once at its end.
      let waited = await untilOpen(request, false, signal);
      waited += await timed(time, () => inBuckets(request.endpoint, signal));
      using _slot = await slot(signal);
      waited += await untilOpen(request, true, signal);
      counters.throttledMs += waited;
      using _reading = spending('reading');
      return await send();
    },
    /** For `ms` from now no request leaves, or none like `request`; a longer pause is kept. It holds for other processes, too. */
    pause(ms: number, request?: Request): void {
      const name = request === undefined ? wholeSource : nameOf(request);
      keepQuiet(name, ms);
      shared?.pause(name, ms);
    },
    /** Requests, or those like `request`, keep their distance for a while. */
    slow({ spacingMs, forMs }: Pace, request?: Request): void {
      const name = request === undefined ? wholeSource : nameOf(request);
      const now = time.now();
      slow.set(name, { spacingMs, until: now + forMs, lastStart: slow.get(name)?.lastStart ?? now });
    },
  };
};

/** Pauses begin one after the other; one that begins within the last prolongs it. */
const withSpan = (spans: HttpCounters['quiet'], fromMs: number, untilMs: number): HttpCounters['quiet'] => {
  const last = spans.at(-1);
  if (!(untilMs > fromMs)) return spans;
  if (last === undefined || last.untilMs < fromMs) return [...spans, { fromMs, untilMs }];
  return [...spans.slice(0, -1), { fromMs: last.fromMs, untilMs: Math.max(last.untilMs, untilMs) }];
};

const timed = async (time: Time, wait: () => Promise<void>): Promise<number> => {
  const from = time.now();
  using _limited = spending('limited');
  await wait();
  return time.now() - from;
};

type Turn = (signal: AbortSignal) => Promise<void>;

/**
 * A token bucket, first come, first served. One waiter at a time goes on to the wider bucket `next`. Its token is taken only when the request
 * leaves, so a hold-up there does not end in a burst here.
 */
const bucket = ({ perSecond, burst }: Rate, time: Time, granted?: Grants): ((next: Turn) => Turn) => {
  const first = semaphore(1);
  let waiting = 0;
  let tokens = burst;
  let at = time.now();
  const refill = (): void => {
    const now = time.now();
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000);
    at = now;
  };
  return (next) => async (signal) => {
    waiting++;
    using _turn = await first(signal).finally(() => waiting--);
    refill();
    const ms = Math.ceil(((1 - tokens) * 1000) / perSecond);
    const own = ms > 0 ? time.sleep(ms, signal) : undefined;
    await Promise.all([own, granted?.(waiting + 1, signal), next(signal)]);
    refill();
    tokens -= 1;
  };
};

/** At most `slots` at once, first come, first served: `using slot = await …` gives it back at the end of the scope. */
export const semaphore = (slots: number): ((signal: AbortSignal) => Promise<Disposable>) => {
  const limit = pLimit(slots);
  return async (signal) => {
    const turn = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    void limit(() => {
      turn.resolve();
      return held.promise;
    });
    await orStopped(turn.promise, signal).catch((error: unknown) => {
      // Its turn passes at once, or is given back where it has just come.
      held.resolve();
      throw error;
    });
    return { [Symbol.dispose]: held.resolve };
  };
};
