/** Day by day (UTC): how the runs of each pipeline and each stream ended. */
import { type RawBuilder, sql } from 'kysely';
import { type Db, query } from './db.ts';

/** What happened to a pipeline or a stream on one day. */
export interface DayStatus {
  readonly pipeline: string;
  /** Null: the pipeline as a whole. */
  readonly stream: string | null;
  /** `2026-11-21` (UTC), the day on which the runs began. */
  readonly day: string;
  /** Of the last run that no later one of that day has mended; a run of a part only where nothing else ran. */
  readonly status: string;
  readonly lastRunId: string;
  /** Rows inserted, updated or removed that day. */
  readonly changed: number;
}

const dayOf = sql`(started_at at time zone 'UTC')::date::text`;

/** A run that went well, or that a later one of that day has mended. `lists`: which runs read everything; `reconciles`: which mend a reconciliation. */
const isMended = (isWell: RawBuilder<unknown>, lists: RawBuilder<unknown>, reconciles: RawBuilder<unknown>) =>
  sql`${isWell} or coalesce(run_id < max(run_id) filter (where ${isWell} and ${lists}) over of_day
    or kind = 'reconcile' and run_id < max(run_id) filter (where ${isWell} and ${reconciles}) over of_day, false)`;

/** One row a day from `r`. `partly`: runs of a part, which say nothing of the rest. */
const byDay = (partly: RawBuilder<unknown>) => {
  const last = sql`order by is_well, ${partly} and is_well, run_id desc`;
  return sql`pipeline, stream, day,
    (array_agg(status ${last}))[1] as status, (array_agg(run_id ${last}))[1]::text as last_run_id,
    sum(inserted + updated + deleted)::float8 as changed`;
};

/** The runs of each pipeline since the given day except backfills, by pipeline and day. */
export const dailyStatus = (db: Db, since: Date) => {
  const isWell = sql`status = 'succeeded'`;
  const isMendedRun = isMended(isWell, sql`settles = 'freshness'`, sql`settles = 'deletions'`);
  return query(db)<DayStatus>`
    with r as (
      select *, null::text as stream, ${dayOf} as day, ${isMendedRun} as is_well
      from ops.runs where started_at >= ${since} and kind <> 'backfill'
      window of_day as (partition by pipeline, ${dayOf}))
    select ${byDay(sql`settles is null`)}
    from r group by pipeline, stream, day order by pipeline, day`;
};

/** The same for each stream. */
export const dailyStreamStatus = (db: Db, since: Date) => {
  const isWell = sql`status not in ('failed', 'partial', 'interrupted', 'attention', 'running')`;
  const isMendedRun = isMended(isWell, sql`kind in ('sync', 'full')`, sql`kind = 'reconcile'`);
  return query(db)<DayStatus>`
    with s as (
      select s.*, r.kind, src.name as pipeline
      from ops.run_streams s join ops.runs r using (run_id) join ops.sources src on src.source_id = s.source_id
      where s.started_at >= ${since} and r.kind <> 'backfill'),
    r as (
      select *, ${dayOf} as day, ${isMendedRun} as is_well
      from s window of_day as (partition by pipeline, stream, ${dayOf}))
    select ${byDay(sql`kind = 'replay'`)}
    from r group by pipeline, stream, day order by pipeline, stream, day`;
};
