/** Rate limits: so many requests in a window of real time, reports counted once more (vendor-facts 2.8). */

import type { Answer } from '../shared/http.ts';

export interface RateLimits {
  /** Of all endpoints together. */
  readonly requests?: number;
  /** Of the reporting endpoints. */
  readonly reports?: number;
  /** Milliseconds of the machine's clock, not of the simulator's. Default 30 s. */
  readonly windowMs?: number;
  /** How a refusal says when to come again: the vendor's `X-RateLimit-Reset` (seconds from now), `Retry-After`, or not at all. */
  readonly says?: 'reset' | 'retry-after' | 'nothing';
}

interface Window {
  readonly most: number;
  began: number;
  used: number;
}

/** Counts requests; gives a 429 for one too many, else nothing. `refused` counts those. */
export function rateLimiter(limits: RateLimits): {
  readonly refused: number;
  take(path: string): Answer | undefined;
} {
  const length = limits.windowMs ?? 30_000;
  const windowOf = (most: number | undefined): readonly Window[] =>
    most === undefined ? [] : [{ most, began: Number.NEGATIVE_INFINITY, used: 0 }];
  const all = windowOf(limits.requests);
  const reports = windowOf(limits.reports);
  let refused = 0;
  return {
    get refused() {
      return refused;
    },
    take(path) {
      const now = performance.now();
      const counting = /\/(aggregate|insight|async)_reports/.test(path) ? [...all, ...reports] : all;
      for (const window of counting) {
        if (now >= window.began + length) Object.assign(window, { began: now, used: 0 });
        if (window.used >= window.most) {
          refused += 1;
          return tooMany(
            limits.says ?? 'reset',
            window.most,
            Math.ceil((window.began + length - now) / 1000),
          );
        }
      }
      for (const window of counting) window.used += 1;
      return undefined;
    },
  };
}

/** 429. `seconds`: until the window is over. */
export const tooMany = (
  says: 'reset' | 'retry-after' | 'nothing',
  most: number,
  seconds: number,
): Answer => ({
  status: 429,
  headers: {
    'content-type': 'application/json',
    ...(says === 'reset' && {
      'x-ratelimit-limit': String(most),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(seconds),
    }),
    ...(says === 'retry-after' && { 'retry-after': String(seconds) }),
  },
  body: [
    Buffer.from('{"sp_trace_id":"00000000-0000-4000-a000-000000000429","messages":["Too many requests."]}'),
  ],
});
