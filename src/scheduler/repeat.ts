/** Work that a service does again and again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { seconds } from '../core/time.ts';
import { withRetry } from '../warehouse/with-retry.ts';

/** Does the work again and again, `ms` after its end, until the signal. After an error the pauses grow to half a minute, at random. */
export async function repeat(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  trouble: (error: unknown) => void,
): Promise<void> {
  const limits = { totalMs: Number.POSITIVE_INFINITY, firstMs: seconds(1), longestMs: seconds(30) };
  const goOn = (error: unknown): boolean => {
    if (!signal.aborted) trouble(error);
    return true;
  };
  const pause = (): Promise<void> => sleep(ms, undefined, { signal });
  while (!signal.aborted)
    await withRetry(work, limits, goOn, signal)
      .then(pause)
      .catch(() => undefined);
}
