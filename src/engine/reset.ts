import { sql } from 'kysely';
import { Misconfigured } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { takeLease } from './state/lease.ts';
import { withLease } from './state/lease-guard.ts';

/**
 * Forgets a stream's watermark, its unfinished walks and whether the source has it: the next run walks it
 * whole. The rows stay. Throws LockHeld while a run is going on, Misconfigured where the warehouse knows no
 * such stream.
 */
export async function resetStream(warehouse: Warehouse, pipeline: string, stream: string): Promise<void> {
  const lease = await takeLease(warehouse.pool, pipeline);
  try {
    await withLease({ deps: { warehouse }, lease }, async ({ trx }) => {
      const { rows } = await sql<{
        source_id: number;
      }>`select s.source_id from ops.streams t join ops.sources s using (source_id)
        where s.name = ${pipeline} and t.stream = ${stream}`.execute(trx);
      const sourceId = rows[0]?.source_id;
      if (sourceId === undefined)
        throw new Misconfigured(`the warehouse knows no stream ${stream} of ${pipeline}`);
      await sql`delete from ops.checkpoints where source_id = ${sourceId} and stream = ${stream}`.execute(
        trx,
      );
      await sql`update ops.streams set state = 'unknown', reason = null, checked_at = null
        where source_id = ${sourceId} and stream = ${stream}`.execute(trx);
      await sql`update ops.walks set status = 'abandoned', closed_at = now()
        where source_id = ${sourceId} and stream = ${stream} and status = 'open'`.execute(trx);
    });
  } finally {
    await lease.release();
  }
}
