/** Waiting for a warehouse that is away, restarting or contended: which errors pass, and how long they are waited for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../core/errors.ts';
import { isPassing } from './pg-errors.ts';

/** How long work is tried again, in milliseconds; the pause doubles from `firstMs` to `longestMs`. */
interface RetryLimits {
  readonly totalMs: number;
  readonly firstMs: number;
  readonly longestMs: number;
}

export const usualRetry: RetryLimits = { totalMs: 90_000, firstMs: 50, longestMs: 5_000 };

/**
 * Runs work that may run twice without harm (looks, and bookkeeping that writes the same again) until it succeeds. Throws its error when that
 * does not pass or the time is over; where it would wait and `signal` is aborted, the reason of that.
 */
export async function withRetry<T>(
  work: () => Promise<T>,
  limits: RetryLimits = usualRetry,
  isWorthIt: (error: unknown) => boolean = isRepeatable,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + limits.totalMs;
  for (let pause = limits.firstMs; ; pause = Math.min(pause * 2, limits.longestMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isWorthIt(error) || performance.now() + pause > deadline) throw error;
    }
    signal?.throwIfAborted();
    const jittered = pause * (0.5 + Math.random() / 2);
    await sleep(jittered, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}

/** SQLSTATEs of what others were in the way of: deadlock, serialisation, lock time-out, too many connections. */
const contended: ReadonlySet<string> = new Set(['40P01', '40001', '55P03', '53300']);

/** True where the same transaction may succeed another time. */
export const isRepeatable = (error: unknown): boolean =>
  contended.has(codeOf(error) ?? '') || isConnectionLoss(error);

/** True where the session is gone and the fate of what it last did is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  // A limit that was reached, of connections or of what one may use, breaks no session.
  if (code.startsWith('53')) return false;
  // After the login every exception of the connection is its end: also a pooler's 08P01, which at the login is a refusal.
  if (isPassing(error) || code.startsWith('08')) return true;
  return error instanceof Error && lossMessage.test(error.message);
}

const lossMessage =
  /connection (ended|terminated|timeout)|not queryable|client has encountered a connection error|query read timeout/i;
