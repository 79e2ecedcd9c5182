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
export const schemaChanges = (
  db: Db,
  { limit }: { readonly limit: number },
): Promise<readonly SchemaChange[]> =>
  rowsOf(
    sql<SchemaChange>`
      select c.change_id::text as "changeId", src.name as pipeline, c.stream, c.note, c.run_id::text as "runId",
        c.detected_at as "detectedAt"
      from ops.schema_changes c join ops.sources src using (source_id) order by c.change_id desc limit ${limit}`,
    db,
  );
