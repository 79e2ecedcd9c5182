/** Day by day: what became of each pipeline and each stream. Days are of UTC. */
import { sql } from 'kysely';
import { type Db, rowsOf } from './db.ts';

/** What happened to a pipeline or a stream on one day. */
export interface Night {
  readonly pipeline: string;
  /** Null: the pipeline as a whole. */
  readonly stream: string | null;
  /** `2026-11-21` (UTC), the day on which the runs began. */
  readonly day: string;
  readonly runs: number;
  /** Of these, how many did not succeed. */
  readonly failures: number;
  /** Of the last one that day; a part that went well (some streams, a replay) only where nothing else ran. */
  readonly status: string;
  readonly lastRunId: string;
  /** Rows inserted, updated or removed that day. */
  readonly changed: number;
}

interface Row {
  readonly pipeline: string;
  readonly stream: string | null;
  readonly day: string;
  readonly runs: number;
  readonly failures: number;
  readonly status: string;
  readonly run_id: string;
  readonly changed: number;
}

/** The runs of each pipeline since the given day but backfills, by pipeline and day. That a part went well does not say that the day did. */
export async function nights(db: Db, since: Date): Promise<readonly Night[]> {
  const last = sql`r.settles is null and r.status = 'succeeded', r.run_id desc`;
  const found = await rowsOf(
    sql<Row>`
      select r.pipeline, null::text as stream, (r.started_at at time zone 'UTC')::date::text as day, count(*)::float8 as runs,
        (count(*) filter (where r.status not in ('succeeded', 'running')))::float8 as failures,
        (array_agg(r.status order by ${last}))[1] as status, (array_agg(r.run_id order by ${last}))[1]::text as run_id,
        sum(r.inserted + r.updated + r.deleted)::float8 as changed
      from ops.runs r where r.started_at >= ${since} and r.kind <> 'backfill' group by r.pipeline, 3 order by 1, 3`,
    db,
  );
  return found.map(nightOf);
}

/** The same for each stream. */
export async function streamNights(db: Db, since: Date): Promise<readonly Night[]> {
  const last = sql`r.kind = 'replay' and s.status = 'ok', s.run_id desc`;
  const found = await rowsOf(
    sql<Row>`
      select src.name as pipeline, s.stream, (s.started_at at time zone 'UTC')::date::text as day, count(*)::float8 as runs,
        (count(*) filter (where s.status in ('failed', 'partial', 'interrupted', 'attention')))::float8 as failures,
        (array_agg(s.status order by ${last}))[1] as status, (array_agg(s.run_id order by ${last}))[1]::text as run_id,
        sum(s.inserted + s.updated + s.deleted)::float8 as changed
      from ops.run_streams s join ops.runs r using (run_id) join ops.sources src on src.source_id = s.source_id
      where s.started_at >= ${since} and r.kind <> 'backfill' group by src.name, s.stream, 3 order by 1, 2, 3`,
    db,
  );
  return found.map(nightOf);
}

const nightOf = (row: Row): Night => ({
  pipeline: row.pipeline,
  stream: row.stream,
  day: row.day,
  runs: row.runs,
  failures: row.failures,
  status: row.status,
  lastRunId: row.run_id,
  changed: row.changed,
});
