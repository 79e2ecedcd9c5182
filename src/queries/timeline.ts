/** When a run did what: the progress of its slices, and the spans in which its source limited the rate. */
import { type Db, query } from './db.ts';

/** A span in which the source limited the rate and no request was sent. Known when the run has ended. */
export interface Quiet {
  readonly from: Date;
  readonly to: Date;
}

/** In their order, by the database's clock. */
export const quietOf = (db: Db, runId: string) =>
  query(db)<Quiet>`
    select lower(span) as from, upper(span) as to from ops.runs r cross join unnest(r.quiet) span
    where r.run_id = ${runId}::bigint order by 1`;

/** How many slices of a stream there are, are done, and are being read. Split slices count as their parts. */
export interface Progress {
  readonly stream: string;
  readonly total: number;
  readonly done: number;
  readonly reading: number;
}

/** The slices of the walks that a run opened or continued, by stream. A slice is being read while its run is running. */
export const progressOf = (db: Db, runId: string): Promise<readonly Progress[]> =>
  query(db)<Progress>`
    select w.stream, count(*)::float8 as total,
      (count(*) filter (where s.status in ('done', 'absent')))::float8 as done,
      (count(*) filter (where s.started_at is not null and s.finished_at is null and r.status = 'running'
        and s.status in ('pending', 'failed', 'partial')))::float8 as reading
    from ops.slices s join ops.walks w using (walk_id) left join ops.runs r on r.run_id = s.run_id
    where s.status <> 'split' and s.walk_id in (
      select walk_id from ops.slices where run_id = ${runId}::bigint
      union select walk_id from ops.walks where run_id = ${runId}::bigint)
    group by w.stream order by w.stream`;
