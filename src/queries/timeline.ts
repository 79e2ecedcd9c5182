/** When a run did what: its streams, its slices, and the spans in which its source limited the rate. */
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
  readonly sliceId: string;
  readonly walkId: string;
  readonly stream: string;
  readonly partition: unknown;
  /** What the window is on; null where the stream is listed whole. */
  readonly field: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
  /** pending · reading (a run is at it) · done · split · partial · failed · absent */
  readonly status: string;
  readonly expected: number | null;
  readonly fetched: number | null;
  readonly landed: number | null;
  readonly runId: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly error: string | null;
}

/** Spans in which no request left because the source had asked for quiet. Known when the run has ended. */
export interface Quiet {
  readonly from: Date;
  readonly to: Date;
}

export interface Timeline {
  readonly streams: readonly StreamSpan[];
  /** The slices the run worked on; at most `limit` of them, the first ones. */
  readonly slices: readonly SliceLine[];
  /** How many there are. */
  readonly sliceCount: number;
  readonly quiet: readonly Quiet[];
}

/** What a run did when, by the database's clock. */
export async function timeline(db: Db, runId: string, limit = 1500): Promise<Timeline> {
  const streams = await rowsOf(
    sql<{ stream: string; status: string; started_at: Date; finished_at: Date | null }>`
      select stream, status, started_at, finished_at from ops.run_streams
      where run_id = ${runId}::bigint order by started_at, stream`,
    db,
  );
  const slices = await rowsOf(
    sql<SliceRow & { readonly total: number }>`
      ${selectSlices(sql`, count(*) over ()::float8 as total`)} where s.run_id = ${runId}::bigint and s.started_at is not null
      order by s.started_at, s.slice_id limit ${limit}`,
    db,
  );
  const quiet = await rowsOf(
    sql<Quiet>`select lower(span) as from, upper(span) as to from ops.runs r cross join unnest(r.quiet) span
      where r.run_id = ${runId}::bigint order by 1`,
    db,
  );
  return {
    streams: streams.map((row) => ({
      stream: row.stream,
      status: row.status,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
    })),
    slices: slices.map(sliceOf),
    sliceCount: slices[0]?.total ?? 0,
    quiet,
  };
}

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
    sql<SliceRow & { readonly total: number; readonly done: number }>`
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
    return { stream, slices: own.map(sliceOf), total: own[0]?.total ?? 0, done: own[0]?.done ?? 0 };
  });
}

interface SliceRow {
  readonly slice_id: string;
  readonly walk_id: string;
  readonly stream: string;
  readonly partition: unknown;
  readonly field: string | null;
  readonly window_from: Date | null;
  readonly window_to: Date | null;
  readonly status: string;
  readonly expected: number | null;
  readonly fetched: number | null;
  readonly landed: number | null;
  readonly run_id: string | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly error_message: string | null;
}

/** A slice counts as being read while it was begun, is not finished, and its run is running. */
const selectSlices = (more: ReturnType<typeof sql>) => sql`
  select s.slice_id::text as slice_id, s.walk_id::text as walk_id, w.stream, s.partition, w.field, s.window_from, s.window_to,
    case when s.started_at is not null and s.finished_at is null and s.status in ('pending', 'failed', 'partial') and exists (
      select from ops.runs r where r.run_id = s.run_id and r.status = 'running') then 'reading' else s.status end as status,
    s.expected::float8 as expected, s.fetched::float8 as fetched, s.landed::float8 as landed, s.run_id::text as run_id,
    s.started_at, s.finished_at, s.error_message ${more}
  from ops.slices s join ops.walks w using (walk_id)`;

const sliceOf = (row: SliceRow): SliceLine => ({
  sliceId: row.slice_id,
  walkId: row.walk_id,
  stream: row.stream,
  partition: row.partition,
  field: row.field,
  from: row.window_from,
  to: row.window_to,
  status: row.status,
  expected: row.expected,
  fetched: row.fetched,
  landed: row.landed,
  runId: row.run_id,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  error: row.error_message,
});
