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
  /** Of the last one that day that no other has mended; a part that went well (some streams, a replay) only where nothing else ran. */
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
  const last = sql`is_well, settles is null and is_well, run_id desc`;
  const found = await rowsOf(
    sql<Row>`
      with r as (
        select *, ${dayOf} as day, status = 'succeeded' or ${isMended({
          lists: sql`status = 'succeeded' and settles = 'freshness'`,
          reconcile: sql`status = 'succeeded' and settles = 'deletions'`,
        })} as is_well
        from ops.runs where started_at >= ${since} and kind <> 'backfill'
        window of_day as (partition by pipeline, ${dayOf}))
      select pipeline, null::text as stream, day, count(*)::float8 as runs,
        (count(*) filter (where status not in ('succeeded', 'running')))::float8 as failures,
        (array_agg(status order by ${last}))[1] as status, (array_agg(run_id order by ${last}))[1]::text as run_id,
        sum(inserted + updated + deleted)::float8 as changed
      from r group by pipeline, day order by pipeline, day`,
    db,
  );
  return found.map(nightOf);
}

/** The same for each stream. */
export async function streamNights(db: Db, since: Date): Promise<readonly Night[]> {
  const isBad = sql`status in ('failed', 'partial', 'interrupted', 'attention')`;
  const isWell = sql`not (${isBad} or status = 'running')`;
  const last = sql`is_well, kind = 'replay' and is_well, run_id desc`;
  const found = await rowsOf(
    sql<Row>`
      with s as (
        select s.*, r.kind, src.name as pipeline
        from ops.run_streams s join ops.runs r using (run_id) join ops.sources src on src.source_id = s.source_id
        where s.started_at >= ${since} and r.kind <> 'backfill'),
      r as (
        select *, ${dayOf} as day, ${isWell} or ${isMended({
          lists: sql`${isWell} and kind in ('sync', 'full')`,
          reconcile: sql`${isWell} and kind = 'reconcile'`,
        })} as is_well
        from s window of_day as (partition by pipeline, stream, ${dayOf}))
      select pipeline, stream, day, count(*)::float8 as runs, (count(*) filter (where ${isBad}))::float8 as failures,
        (array_agg(status order by ${last}))[1] as status, (array_agg(run_id order by ${last}))[1]::text as run_id,
        sum(inserted + updated + deleted)::float8 as changed
      from r group by pipeline, stream, day order by pipeline, stream, day`,
    db,
  );
  return found.map(nightOf);
}

const dayOf = sql`(started_at at time zone 'UTC')::date::text`;

/** Of a run: one of that day behind it reads what it had not read. `lists`: which one does so of everything; `reconcile`: which one of a reconciliation alone. */
const isMended = ({
  lists,
  reconcile,
}: Readonly<Record<'lists' | 'reconcile', ReturnType<typeof sql>>>) => sql`coalesce(
  run_id < max(run_id) filter (where ${lists}) over of_day
    or kind = 'reconcile' and run_id < max(run_id) filter (where ${reconcile}) over of_day, false)`;

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
