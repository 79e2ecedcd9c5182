/** Who was away himself cannot tell who died meanwhile. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { databaseNow } from './worker.ts';

/**
 * The work, `graceMs` later behind a gap: where the warehouse's clock moved on by more than `longestMs` between two looks, the machine slept,
 * this process stood still or the clock was set; the leases of all, those of this process among them, then seem to be over until their holders
 * give a sign. `at`: the look's moment by that clock, by which is to be judged who is over. Waiting ends with the signal.
 */
export function unlessAway(
  db: Kysely<AnyDatabase>,
  { longestMs, graceMs }: { readonly longestMs: number; readonly graceMs: number },
  work: (at: Date) => Promise<void>,
): (signal: AbortSignal) => Promise<void> {
  let last: number | undefined;
  return async (signal) => {
    // The living's time is no gap, however long it is.
    for (let given = 0; ; given = graceMs) {
      const now = await databaseNow(db);
      const wasAway = last !== undefined && Math.abs(now - last - given) > longestMs;
      last = now;
      if (!wasAway) return work(new Date(now));
      // In the same look: where looks are rare or slow, the next one is behind a gap, too.
      await sleep(graceMs, undefined, { signal });
    }
  };
}
