/** Tries again what may pass: full jitter, the source's own wish as a minimum, a budget over all requests, and a circuit breaker. */

import { setTimeout as delay } from 'node:timers/promises';
import { orStopped } from '../core/abort.ts';
import { OutOfTime, RateLimited, type TidemarkError, TimedOut, Transient } from '../core/errors.ts';
import type { Answer, HttpCounters, Request } from '../core/stream.ts';
import type { HttpOptions, RetryPolicy } from './http-options.ts';

/** A failed try, and whether another one makes sense. */
export interface Failed {
  readonly error: TidemarkError;
  /**
   * no: the same again would fail the same way · yes: passing, counts as a try · once: a second look is worth it ·
   * connect: no connection came about · wait: the source asked for quiet (429), which is no failed try
   */
  readonly retry: 'no' | 'yes' | 'once' | 'connect' | 'wait';
  /** The source's wish: not sooner than this many milliseconds. */
  readonly afterMs?: number | undefined;
  /** The wish is for requests of this method to this endpoint alone. */
  readonly isOfEndpoint?: boolean;
}

/** What one try came to. */
export type Attempt = { readonly answer: Answer } | { readonly failed: Failed };

/** One try of a request; rejects only for what is no outcome of a request: an abort, or a defect of ours. */
export type Try = (request: Request, signal: AbortSignal) => Promise<Attempt>;

/** Time, as the parts of `Http` see it: a monotonic clock in ms, and how to let it pass. */
export interface Time {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Resolves after `ms`; throws what `stopped` makes of the signal's reason as soon as it aborts. */
export const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  orStopped(delay(ms, undefined, { signal }), signal);

/** Resolves with the answer, or throws the error of the last try. */
export const withRetry = (
  attempt: Try,
  policy: RetryPolicy,
  tools: Required<Pick<HttpOptions, 'random' | 'wall' | 'observe'>> & {
    readonly time: Time;
    /** No request of this source leaves for so long (ms), or only none like `request`. */
    readonly pause: (ms: number, request?: Request) => void;
    /** When the source last answered any request, by `time`; undefined: it never has. A server's fault (5xx) is no answer. */
    readonly answeredAt: () => number | undefined;
    /** Requests and retries so far; `retries` and `throttled` are counted here. */
    readonly counters: Pick<HttpCounters, 'requests' | 'retries' | 'throttled'>;
  },
) => {
  const { time, counters } = tools;
  /** Uniform in [0, base × 2^tries), capped: full jitter spreads those who failed together. */
  const jitter = (tries: number): number =>
    tools.random() * Math.min(policy.capMs, policy.baseMs * 2 ** tries);
  const breaker = circuitBreaker(time, policy.outageMs);
  let charged = 0;
  const hasBudget = (): boolean =>
    charged < Math.max(policy.budgetFloor, counters.requests * policy.budgetRatio);

  return async (request: Request, signal: AbortSignal): Promise<Answer> => {
    const { endpoint } = request;
    let failures = 0;
    let throttles = 0;
    let throttled: Failed | undefined;
    let throttledMs = 0;
    for (;;) {
      await breaker.closed(signal);
      const sentAt = time.now();
      const outcome = await attempt(request, signal).catch((error: unknown) => {
        throw throttled !== undefined && isDeadline(signal) ? outOfTime(throttled) : error;
      });
      if ('answer' in outcome) return outcome.answer;
      const { error, retry, afterMs = 0 } = outcome.failed;
      if (retry === 'no') throw error;
      if (afterMs > policy.retryAfterMaxMs) throw tooLong(error, afterMs);
      if (retry === 'wait') {
        counters.throttled++;
        const ms = Math.max(afterMs, jitter(throttles++));
        throttled = outcome.failed;
        throttledMs += ms;
        if (throttledMs > policy.throttledMaxMs) throw error;
        tools.pause(ms, outcome.failed.isOfEndpoint ? request : undefined);
        tools.observe({ type: 'throttled', endpoint, untilMs: tools.wall() + ms, reason: error.message });
        continue;
      }
      throttled = undefined;
      failures++;
      const answeredAt = tools.answeredAt();
      // A source that has answered before has the right address.
      const known = answeredAt !== undefined;
      const most = { yes: policy.tries, once: 2, connect: known ? policy.tries : policy.connectTries }[retry];
      const isOutage = answeredAt !== undefined && answeredAt < sentAt && breaker.mayOpen();
      if (
        failures >= Math.min(most, policy.tries) ||
        request.idempotent === false ||
        !(isOutage || hasBudget())
      )
        throw withTries(error, failures);
      const ms = Math.max(afterMs, jitter(failures - 1));
      if (isOutage) breaker.open(ms);
      else charged++;
      counters.retries++;
      tools.observe({ type: 'retry', endpoint, tries: failures, waitMs: ms, reason: error.message });
      await time.sleep(ms, signal);
    }
  };
};

/**
 * While a source that has answered before is down, all requests wait together instead of each exhausting its own retries. `mostMs`: for
 * how long in all.
 */
const circuitBreaker = (time: Time, mostMs: number) => {
  let until = Number.NEGATIVE_INFINITY;
  let spent = 0;
  return {
    async closed(signal: AbortSignal): Promise<void> {
      for (let left = until - time.now(); left > 0; left = until - time.now())
        await time.sleep(Math.ceil(left), signal);
    },
    open(ms: number): void {
      const now = time.now();
      spent += Math.max(0, now + ms - Math.max(now, until));
      until = Math.max(until, now + ms);
    },
    mayOpen: (): boolean => spent < mostMs,
  };
};

const tooLong = (error: TidemarkError, retryAfterMs: number): RateLimited =>
  new RateLimited(`${error.message}; the source asks to wait ${Math.round(retryAfterMs / 1000)} s`, {
    cause: error,
    retryAfterMs,
  });

/** The run's deadline (or `AbortSignal.timeout`), and not a request to stop. */
const isDeadline = ({ reason }: AbortSignal): boolean =>
  reason instanceof OutOfTime || (reason instanceof DOMException && reason.name === 'TimeoutError');

const outOfTime = ({ error, afterMs }: Failed): RateLimited =>
  new RateLimited(`${error.message}, until the run's time was over`, { cause: error, retryAfterMs: afterMs });

/** The error of the last try, with the number of tries. */
const withTries = (error: TidemarkError, tries: number): TidemarkError => {
  if (tries === 1 || !(error instanceof Transient)) return error;
  const kind = error instanceof TimedOut ? TimedOut : Transient;
  const { cause = error, retryAfterMs } = error;
  return new kind(`${error.message} (${tries} tries)`, { cause, retryAfterMs });
};
