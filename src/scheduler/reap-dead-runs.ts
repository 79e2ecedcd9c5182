/** Ends the leases of runs whose process died, so that such a run is `lost` within one lease time also where nobody takes its place. */

import { type RawBuilder, sql } from 'kysely';
import { LockHeld } from '../core/errors.ts';
import { takeLease, usualTimes } from '../engine/state/lease.ts';
import type { Warehouse } from '../warehouse/connect.ts';

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

/**
 * Whether this session lasts for so long. After a restart of the server all sessions are gone, and the first process to come back would take the
 * others for dead. So a missing session counts only for a process that has been connected for as long as the others need to come back.
 */
const isHereFor = (ms: number): RawBuilder<boolean> =>
  sql`exists (select from pg_stat_activity where pid = pg_backend_pid()
    and backend_start < clock_timestamp() - ${ms} * interval '1 millisecond')`;

const instantOf = (at: Date | undefined): RawBuilder<Date> =>
  at === undefined ? sql<Date>`clock_timestamp()` : sql<Date>`${at}::timestamptz`;
