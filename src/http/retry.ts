/** Tries again what may pass: full jitter, the source's own wish as a minimum, a budget over all requests, and patience with rate limits. */

import { OutOfTime, RateLimited, type TidemarkError, TimedOut, Transient } from '../core/errors.ts';
import type { Answer, Request } from '../core/request.ts';
import type { Failed, Try } from './attempt.ts';
import { absenceOf } from './circuit-breaker.ts';
import type { Time } from './delay.ts';
import type { HttpEvent, RetryPolicy } from './http-options.ts';

/** What the retrying needs besides the policy. */
export interface Surroundings {
  readonly time: Time;
  readonly random: () => number;
  /** No request of this source leaves for so long. */
  readonly pause: (ms: number) => void;
  readonly idempotent: (request: Request) => boolean;
  /** When the source last had a word for any request, by `time`; undefined: it never has. A server's fault (5xx) is none. */
  readonly answeredAt: () => number | undefined;
  /** Requests and retries so far; `retries` and `throttled` are counted here. */
  readonly counters: { readonly requests: number; retries: number; throttled: number };
  readonly observe: (event: HttpEvent) => void;
  /** Epoch ms, for events. */
  readonly wall: () => number;
}

/** Resolves with the answer, or throws the error of the last try. */
export type Send = (request: Request, signal: AbortSignal) => Promise<Answer>;

export const retrying = (attempt: Try, policy: RetryPolicy, around: Surroundings): Send => {
  /** Uniform in [0, base × 2^tries), capped: full jitter spreads those who failed together. */
  const jitter = (tries: number): number =>
    around.random() * Math.min(policy.capMs, policy.baseMs * 2 ** tries);

  let charged = 0;
  const hasBudget = (): boolean =>
    charged < Math.max(policy.budgetFloor, around.counters.requests * policy.budgetRatio);

  const { time } = around;
  const absence = absenceOf(time, policy.awayMs);

  return async (request, signal) => {
    let failures = 0;
    let throttles = 0;
    let throttled: Failed | undefined;
    let patience = policy.patienceMs;
    for (;;) {
      await absence.over(signal);
      const sentAt = time.now();
      const outcome = await attempt(request, signal).catch((error: unknown) => {
        throw throttled !== undefined && isDeadline(signal) ? outOfTime(throttled) : error;
      });
      if ('answer' in outcome) return outcome.answer;
      const { error, again, afterMs = 0 } = outcome.failed;
      if (again === 'no') throw error;
      if (afterMs > policy.retryAfterMaxMs) throw tooLong(error, afterMs);
      if (again === 'wait') {
        around.counters.throttled++;
        const ms = Math.max(afterMs, jitter(throttles++));
        throttled = outcome.failed;
        patience -= ms;
        if (patience < 0) throw error;
        around.pause(ms);
        around.observe({
          type: 'throttled',
          endpoint: request.endpoint,
          untilMs: around.wall() + ms,
          reason: error.message,
        });
        continue;
      }
      throttled = undefined;
      failures++;
      const answeredAt = around.answeredAt();
      const most = triesOf(again, policy, answeredAt !== undefined);
      const isAway = answeredAt !== undefined && answeredAt < sentAt && absence.isBearable();
      if (failures >= most || !around.idempotent(request) || !(isAway || hasBudget()))
        throw given(error, failures);
      const ms = Math.max(afterMs, jitter(failures - 1));
      if (isAway) absence.lasts(ms);
      else charged++;
      around.counters.retries++;
      around.observe({
        type: 'retry',
        endpoint: request.endpoint,
        tries: failures,
        waitMs: ms,
        reason: error.message,
      });
      await time.sleep(ms, signal);
    }
  };
};

const triesOf = (again: Failed['again'], { tries, connectTries }: RetryPolicy, known: boolean): number => {
  if (again === 'once') return Math.min(2, tries);
  return again === 'connect' && !known ? Math.min(connectTries, tries) : tries;
};

const tooLong = (error: TidemarkError, retryAfterMs: number): RateLimited =>
  new RateLimited(`${error.message}; the source wants ${Math.round(retryAfterMs / 1000)} s of patience`, {
    cause: error,
    retryAfterMs,
  });

/** The run's deadline (or `AbortSignal.timeout`); anything else is somebody's wish. */
const isDeadline = ({ reason }: AbortSignal): boolean =>
  reason instanceof OutOfTime || (reason instanceof DOMException && reason.name === 'TimeoutError');

const outOfTime = ({ error, afterMs }: Failed): RateLimited =>
  new RateLimited(`${error.message}, until the run's time was over`, { cause: error, retryAfterMs: afterMs });

/** The error of the last try, which says how many there were. */
const given = (error: TidemarkError, tries: number): TidemarkError =>
  tries > 1 && error instanceof Transient
    ? new (error instanceof TimedOut ? TimedOut : Transient)(`${error.message} (${tries} tries)`, {
        cause: error.cause ?? error,
        retryAfterMs: error.retryAfterMs,
      })
    : error;
