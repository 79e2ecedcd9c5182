/** What each stream of a run stated, fetched and landed. */

import { sql } from 'kysely';
import type { Db } from '../../queries/db.ts';

export interface StreamReceipt {
  readonly stream: string;
  readonly expected: number | null;
  readonly fetched: number;
  readonly landed: number;
}

/** Of streams that are done in the newest of these runs that had them. */
export async function receiptsOf(db: Db, runs: readonly string[]): Promise<readonly StreamReceipt[]> {
  if (runs.length === 0) return [];
  const { rows } = await sql<StreamReceipt>`
    select distinct on (source_id, stream) stream, expected::float8 as expected, fetched::float8 as fetched, landed::float8 as landed
    from ops.run_streams where run_id = any (${[...runs]}::bigint[]) and finished_at is not null
    order by source_id, stream, run_id desc`.execute(db);
  return rows;
}
