/** When a run did what: its streams, the progress of its slices, and the spans in which its source limited the rate. */
import { sql } from 'kysely';
import { type Db, rowsOf } from './db.ts';

export interface StreamSpan {
  readonly stream: string;
  readonly status: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** A slice, as the newest run that touched it left it. */
export interface SliceLine {
  readonly stream: string;
  readonly partition: unknown;
  /** What the window is on; null where the stream is listed whole. */
  readonly field: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
  /** pending · reading (a run is at it) · done · split · partial · failed · absent */
  readonly status: string;
}

/** A span in which the source limited the rate and no request was sent. Known when the run has ended. */
export interface Quiet {
  readonly from: Date;
  readonly to: Date;
}

export interface Timeline {
  readonly streams: readonly StreamSpan[];
  readonly quiet: readonly Quiet[];
}

/** What a run did when, by the database's clock. */
export const timeline = async (db: Db, runId: string): Promise<Timeline> => ({
  streams: await rowsOf(
    sql<StreamSpan>`
      select stream, status, started_at as "startedAt", finished_at as "finishedAt" from ops.run_streams
      where run_id = ${runId}::bigint order by started_at, stream`,
    db,
  ),
  quiet: await rowsOf(
    sql<Quiet>`select lower(span) as from, upper(span) as to from ops.runs r cross join unnest(r.quiet) span
      where r.run_id = ${runId}::bigint order by 1`,
    db,
  ),
});

/** How far the walks are that a run opened or works on. */
export interface Progress {
  readonly stream: string;
  /** Slices by status; split ones are counted as their parts. */
  readonly slices: readonly SliceLine[];
  readonly total: number;
  readonly done: number;
}

/** Every slice of the walks that a run opened or went on with, by stream; at most `limit` slices of a stream are listed. */
export async function progressOf(db: Db, runId: string, limit = 600): Promise<readonly Progress[]> {
  const rows = await rowsOf(
    sql<SliceLine & { readonly total: number; readonly done: number }>`
      select * from (
        ${selectSlices(sql`, count(*) over (partition by w.stream)::float8 as total,
          (count(*) filter (where s.status in ('done', 'absent')) over (partition by w.stream))::float8 as done,
          row_number() over (partition by w.stream order by s.window_from nulls first, s.slice_id) as place`)}
        where s.status <> 'split' and s.walk_id in (
          select walk_id from ops.slices where run_id = ${runId}::bigint
          union select walk_id from ops.walks where run_id = ${runId}::bigint)) x
      where x.place <= ${limit} order by x.stream, x.place`,
    db,
  );
  const streams = [...new Set(rows.map((row) => row.stream))];
  return streams.map((stream) => {
    const own = rows.filter((row) => row.stream === stream);
    return { stream, slices: own, total: own[0]?.total ?? 0, done: own[0]?.done ?? 0 };
  });
}

/** A slice counts as being read while it was begun, is not finished, and its run is running. */
const selectSlices = (more: ReturnType<typeof sql>) => sql`
  select w.stream, s.partition, w.field, s.window_from as from, s.window_to as to,
    case when s.started_at is not null and s.finished_at is null and s.status in ('pending', 'failed', 'partial') and exists (
      select from ops.runs r where r.run_id = s.run_id and r.status = 'running') then 'reading' else s.status end as status
    ${more}
  from ops.slices s join ops.walks w using (walk_id)`;
