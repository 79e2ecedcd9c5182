/** Looking for workers and runs whose process died, also where none takes their place. */

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { LockHeld } from '../core/errors.ts';
import { takeLease, usualTimes } from '../engine/state/lease.ts';
import type { Db } from '../queries/db.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { databaseNow } from './request-records.ts';

/**
 * Wraps work that judges whether others are dead. Where the warehouse's clock moved by more than `longestMs` between two looks, the machine slept,
 * this process stood still or the clock was set, and every lease seems to be over: then it waits `graceMs` first, so that the living can show
 * themselves. `at`: the moment of the look by that clock. Waiting ends with the signal.
 */
export function afterClockGaps(
  db: Db,
  { longestMs, graceMs }: { readonly longestMs: number; readonly graceMs: number },
  work: (at: Date) => Promise<void>,
): (signal: AbortSignal) => Promise<void> {
  let last: number | undefined;
  return async (signal) => {
    // The grace period itself is no gap, however long it is.
    for (let waited = 0; ; waited = graceMs) {
      const asked = Date.now();
      const now = await databaseNow(db);
      // A process that stood still while it waited for the answer has an old one.
      const isLate = Math.abs(Date.now() - asked) > longestMs;
      const isGap = isLate || (last !== undefined && Math.abs(now - last - waited) > longestMs);
      last = now;
      if (!isGap) return work(new Date(now));
      await sleep(graceMs, undefined, { signal });
    }
  };
}

/** Ends the expired leases of runs that say running, by which those runs become lost (guarantee G13). `at`: the time to judge by. */
export async function endDeadRuns({ db, pool }: Warehouse, at: Date): Promise<void> {
  const { rows } = await sql<{ pipeline: string }>`
    select pipeline from ops.leases l where expires_at <= ${at}::timestamptz
      and exists (select from ops.runs r where r.pipeline = l.pipeline and r.status = 'running')`.execute(db);
  for (const { pipeline } of rows) {
    try {
      // Taking the lease marks the dead run lost and makes its writes impossible.
      await (await takeLease(pool, pipeline, { ...usualTimes, waitMs: 0 })).release();
    } catch (error) {
      // It came back to life, or a new run was faster.
      if (!(error instanceof LockHeld)) throw error;
    }
  }
}
