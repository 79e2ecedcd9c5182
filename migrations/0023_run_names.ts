import { type Kysely, sql } from 'kysely';

/** What was rejected of a run is kept under the names of its DAG and of the run: runs of two DAGs may have one id. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`update ops.rejects r set record_key = (r.slice #>> '{partition,dag_name}') || '/' || r.record_key
    from ops.sources s where s.source_id = r.source_id and s.kind = 'workflow' and r.stream = 'dag_runs'
      and r.record_key <> '' and r.slice #>> '{partition,dag_name}' is not null`.execute(db);
}
