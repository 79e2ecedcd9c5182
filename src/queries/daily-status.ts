/** Day by day: how the runs of each pipeline ended. */
import { sql } from 'kysely';
import { type Counters, type Db, query } from './db.ts';

/** What happened to a pipeline on one day; a day has 24 hours. */
export interface DayStatus extends Pick<Counters, 'inserted' | 'updated' | 'deleted'> {
  /** The sum of the three. */
  readonly rows: number;
  /** How long its runs took together. */
  readonly seconds: number;
  readonly pipeline: string;
  /** When the day began on which the runs did. */
  readonly day: Date;
  /** Of the last run that no later one of that day has mended; a run of a part only where nothing else ran. */
  readonly status: string;
}

/** The runs of each pipeline since the given instant except backfills, by pipeline and day; days are counted from there. */
export const dailyStatus = (db: Db, since: Date) => {
  const day = sql`date_bin('24 hours', started_at, ${since}::timestamptz)`;
  // A run of everything mends those before it; a reconciliation mends reconciliations.
  const mended = (what: string) =>
    sql`run_id < max(run_id) filter (where status = 'succeeded' and settles = ${what}) over of_day`;
  return query(db)<DayStatus>`
    with r as (
      select *, ${day} as day, status = 'succeeded' or coalesce(
        ${mended('freshness')} or kind = 'reconcile' and ${mended('deletions')}, false) as is_well
      from ops.runs where started_at >= ${since} and kind <> 'backfill' window of_day as (partition by pipeline, ${day}))
    select pipeline, day, (array_agg(status order by is_well, settles is null and is_well, run_id desc))[1] as status,
      sum(inserted)::float8 as inserted, sum(updated)::float8 as updated, sum(deleted)::float8 as deleted,
      sum(inserted + updated + deleted)::float8 as rows, coalesce(extract(epoch from sum(finished_at - started_at)), 0)::float8 as seconds
    from r group by pipeline, day order by pipeline, day`;
};
