/** Who was away himself cannot tell who died meanwhile. */

import type { Kysely } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { databaseNow } from './worker.ts';

/**
 * The work, left out for `graceMs` behind a gap: where the warehouse's clock moved on by more than `longestMs` between two looks, the machine slept,
 * this process stood still or the clock was set; the leases of all, those of this process among them, then seem to be over until their holders
 * give a sign. `at`: the look's moment by that clock, by which is to be judged who is over.
 */
export function unlessAway(
  db: Kysely<AnyDatabase>,
  { longestMs, graceMs }: { readonly longestMs: number; readonly graceMs: number },
  work: (at: Date) => Promise<void>,
): () => Promise<void> {
  let last: number | undefined;
  let gapAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = await databaseNow(db);
    if (last !== undefined && Math.abs(now - last) > longestMs) gapAt = now;
    last = now;
    if (now - gapAt >= graceMs) await work(new Date(now));
  };
}
