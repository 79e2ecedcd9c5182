/** What a run was handed over to, and what became of it there. */
import { sql } from 'kysely';
import { type Db, rowsOf } from './db.ts';

export interface HandedOver {
  /** The DAG at the workflow engine, and what its run is called there (where the engine takes or gives ids). */
  readonly dag: string;
  readonly dagRunId: string;
  readonly params: string;
  /** pending, starting, started, succeeded, failed, unknown: as `ops.handoffs.status`. */
  readonly status: string;
  /** The engine's own status. */
  readonly engineStatus: string | null;
  readonly error: string | null;
  readonly changedAt: Date;
}

/** `keys`: numbers of `ops.runs`, or ids of requests. */
export const handoffsOf = (db: Db, keys: readonly string[]): Promise<readonly HandedOver[]> =>
  rowsOf(
    sql<HandedOver>`
      select dag, coalesce(engine_run_id, remote_run_id) as "dagRunId", params, status,
        engine_status as "engineStatus", error, changed_at as "changedAt"
      from ops.handoffs where run_key = any (${[...keys]}::text[]) order by handoff_id`,
    db,
  );
