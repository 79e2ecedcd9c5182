import { sql } from 'kysely';
import { Misconfigured } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { takeLease } from './state/lease.ts';

/**
 * Forgets a stream's watermark, its unfinished walks and whether the source has it: the next run walks it
 * whole. The rows stay. Throws LockHeld while a run is going on, Misconfigured where the warehouse knows no
 * such stream.
 */
export async function resetStream(warehouse: Warehouse, pipeline: string, stream: string): Promise<void> {
  const lease = await takeLease(warehouse.pool, pipeline);
  try {
    await lease.transaction(async ({ trx }) => {
      const { numAffectedRows } = await sql`
        with source as (select source_id from ops.sources where name = ${pipeline}),
        watermark as (delete from ops.checkpoints c using source s
          where c.source_id = s.source_id and c.stream = ${stream}),
        walks as (update ops.walks w set status = 'abandoned', closed_at = now() from source s
          where w.source_id = s.source_id and w.stream = ${stream} and w.status = 'open')
        update ops.streams t set state = 'unknown', reason = null, checked_at = null from source s
        where t.source_id = s.source_id and t.stream = ${stream}`.execute(trx);
      if (!numAffectedRows) throw new Misconfigured(`the warehouse knows no stream ${stream} of ${pipeline}`);
    });
  } finally {
    await lease.release();
  }
}
