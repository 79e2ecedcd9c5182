/** What changed in the shape of the sources. */
import { sql } from 'kysely';
import { type Db, rowsOf } from './db.ts';

export interface SchemaChange {
  readonly changeId: string;
  readonly pipeline: string;
  readonly stream: string;
  /** What was seen, e.g. `field votes changed from number to object`. */
  readonly note: string;
  readonly runId: string;
  readonly detectedAt: Date;
}

/** The newest first. */
export async function schemaChanges(
  db: Db,
  { limit, offset = 0 }: { readonly limit: number; readonly offset?: number },
): Promise<readonly SchemaChange[]> {
  const found = await rowsOf(
    sql<{
      change_id: string;
      pipeline: string;
      stream: string;
      note: string;
      run_id: string;
      detected_at: Date;
    }>`
      select c.change_id::text as change_id, src.name as pipeline, c.stream, c.note, c.run_id::text as run_id, c.detected_at
      from ops.schema_changes c join ops.sources src using (source_id)
      order by c.change_id desc limit ${limit} offset ${offset}`,
    db,
  );
  return found.map((row) => ({
    changeId: row.change_id,
    pipeline: row.pipeline,
    stream: row.stream,
    note: row.note,
    runId: row.run_id,
    detectedAt: row.detected_at,
  }));
}
