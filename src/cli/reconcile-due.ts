/** Whether `nightly` has a reconciliation to do. */

import { type Kysely, sql } from 'kysely';
import { due } from '../scheduler/schedule.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { jobsOf } from './pipelines.ts';

/**
 * True if an instant of the pipeline's reconcile has passed since the last one of every stream that came to a verdict, or since the pipeline's first run if there
 * was none. By the database clock.
 */
export async function reconcileDue(db: Kysely<AnyDatabase>, pipeline: string): Promise<boolean> {
  const job = jobsOf(pipeline).find(({ does, within }) => does === 'reconcile' && within === 'nightly');
  if (job === undefined) return false;
  const { rows } = await sql<{ since: Date | null; now: Date }>`
    select coalesce(max(started_at) filter (where settles = 'deletions' and status in ('succeeded', 'needs_attention')), min(started_at)) as since,
      clock_timestamp() as now
    from ops.runs where pipeline = ${pipeline}`.execute(db);
  const { since, now } = rows[0] ?? { since: null, now: new Date() };
  return since !== null && due(job.on).next(since) <= now;
}
