/** Which request a run came from. */
import { sql } from 'kysely';
import { type Db, rowsOf } from './db.ts';

/** The request's id and its pipeline (which may be `nightly`); undefined for a run that nobody queued. */
export async function requestOfRun(
  db: Db,
  runId: string,
): Promise<{ readonly pipeline: string; readonly runId: string } | undefined> {
  const [found] = await rowsOf(
    sql<{ pipeline: string; id: string }>`
      select d.pipeline, d.dag_run_id as id from ops.dag_run_runs l join ops.dag_runs d using (dag_run_id)
      where l.run_id = ${runId}::bigint`,
    db,
  );
  return found && { pipeline: found.pipeline, runId: found.id };
}
