/** After a clock gap (sleep, VM pause), wait one grace period before taking other workers for dead. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { databaseNow } from './worker.ts';

/**
 * Wraps work that judges whether others are dead. After a gap it runs `graceMs` later: where the warehouse's clock moved by more than `longestMs`
 * between two looks, the machine slept, this process stood still or the clock was set, and every lease seems to be over until its holder shows
 * that it lives. `at`: the moment of the look by that clock. Waiting ends with the signal.
 */
export function unlessAway(
  db: Kysely<AnyDatabase>,
  { longestMs, graceMs }: { readonly longestMs: number; readonly graceMs: number },
  work: (at: Date) => Promise<void>,
): (signal: AbortSignal) => Promise<void> {
  let last: number | undefined;
  return async (signal) => {
    // The grace period itself is no gap, however long it is.
    for (let given = 0; ; given = graceMs) {
      const now = await databaseNow(db);
      const wasAway = last !== undefined && Math.abs(now - last - given) > longestMs;
      last = now;
      if (!wasAway) return work(new Date(now));
      // Within the same look: where looks are rare or slow, the next one would come after a gap, too.
      await sleep(graceMs, undefined, { signal });
    }
  };
}
