/** Ends the leases of runs whose process died, so that such a run is `lost` within one lease time also where nobody takes its place. */

import { sql } from 'kysely';
import { LockHeld } from '../core/errors.ts';
import { takeLease, usualTimes } from '../engine/state/lease.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { instantOf, isHereFor } from './queue.ts';

/** So many missed beats of a lease whose session is gone are a death, in milliseconds. */
export const missedMs = 3 * usualTimes.heartbeatMs;

/** Gives the pipelines whose runs were found lost. `at`: the moment by which is judged, by the warehouse's clock; default: that of the question. */
export async function fenceDead({ db, pool }: Warehouse, at?: Date): Promise<readonly string[]> {
  const now = instantOf(at);
  const { rows } = await sql<{ pipeline: string }>`
    select pipeline from ops.leases l
    where exists (select from ops.runs r where r.pipeline = l.pipeline and r.status = 'running')
      and (l.expires_at <= ${now} or (l.heartbeat_at < ${now} - ${missedMs} * interval '1 millisecond'
        and ${isHereFor(missedMs)} and not exists (select from pg_stat_activity a where a.pid = l.backend_pid
          and (a.backend_start is null or a.backend_start = l.backend_start))))`.execute(db);
  const fenced: string[] = [];
  for (const { pipeline } of rows) {
    try {
      // Taking it marks the dead run lost and makes its writes impossible; nobody keeps it.
      const lease = await takeLease(pool, pipeline, { ...usualTimes, waitMs: 0 });
      await lease.release();
      fenced.push(pipeline);
    } catch (error) {
      // It came back to life, or a new run was faster.
      if (!(error instanceof LockHeld)) throw error;
    }
  }
  return fenced;
}
