/** The runs of the past, and one of them in detail with its hand-offs. */
import { type RawBuilder, sql } from 'kysely';
import type { Receipt, StreamReport } from '../core/run.ts';
import type { HttpCounters } from '../core/stream.ts';
import type { Counters, Db, FailureText } from './db.ts';
import { countsOf, errorOf, every, query, receiptOf } from './db.ts';

/** A run, or a night as the sum of its parts. */
export interface RunLine
  extends Readonly<Pick<HttpCounters, 'requests' | 'retries' | 'throttled' | 'throttledMs'>> {
  /** Its number in `ops.runs`; of a night, the id of its request. */
  readonly runId: string;
  readonly pipeline: string;
  readonly kind: string;
  /** What it says of the whole pipeline: `freshness`, `deletions`; null for a run of a part. */
  readonly settles: string | null;
  readonly trigger: string;
  readonly status: string;
  /** Of a running one: false if its process is gone (its database session ended, or its lease expired). */
  readonly alive: boolean | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** Until now, while it runs. */
  readonly seconds: number;
  readonly counts: Counters;
  readonly error: FailureText;
}

/** One stream's part in a run. */
export interface RunStream
  extends Pick<StreamReport, 'stream' | 'slices' | 'receipt'>,
    Pick<RunLine, 'startedAt' | 'finishedAt'> {
  readonly status: string;
  readonly reason: string | null;
  readonly counts: Counters;
  readonly seconds: number | null;
  /** While a request of it was under way; null until it ends, and of runs before this was kept. */
  readonly readingSeconds: number | null;
  /** While none was, and one waited for a rate limit; null as `readingSeconds`. */
  readonly limitedSeconds: number | null;
}

/** A slice that this run did not finish. */
export interface BadSlice extends Readonly<Record<keyof Receipt, number | null>> {
  readonly stream: string;
  readonly partition: unknown;
  readonly from: Date | null;
  readonly to: Date | null;
  readonly status: string;
  readonly error: FailureText;
}

export interface RunDetail extends RunLine {
  readonly params: unknown;
  readonly appVersion: string | null;
  readonly streams: readonly RunStream[];
  readonly badSlices: readonly BadSlice[];
  /** Also those of the request that it is a part of. */
  readonly handoffs: readonly HandedOver[];
}

interface RunFilter {
  readonly pipeline?: string | undefined;
  /** Only the runs of this night. */
  readonly night?: string | undefined;
  /** Any of these kinds. */
  readonly kinds?: readonly string[] | undefined;
  readonly status?: string | undefined;
  /** Only runs older than this one. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The newest runs first. A night is one of them, in place of its parts; with `pipeline`, `night` or `status` each part is. */
export const runs = (db: Db, { pipeline, night, kinds, status, before, limit }: RunFilter) => {
  const isWhole = pipeline === undefined && night === undefined && status === undefined;
  const fits = every(
    isWhole ? sql`r.night is null` : sql`(r.run_id > 0 or r.pipeline = ${pipeline ?? null})`,
    pipeline !== undefined && sql`r.pipeline = ${pipeline}`,
    night !== undefined &&
      sql`r.run_id = any (array(select run_id from ops.dag_run_runs join ops.dag_runs p using (dag_run_id) where p.part_of = ${night}))`,
    kinds !== undefined && sql`r.kind = any (${[...kinds]}::text[])`,
    status !== undefined && sql`r.status = ${status}`,
    before !== undefined &&
      sql`(r.started_at, r.run_id) < (select started_at, run_id from ops.run_heads where id = ${before})`,
  );
  const newest = sql`select id from ops.run_heads r where ${fits} order by r.started_at desc, r.run_id desc limit ${limit}`;
  return selectRuns(
    db,
    sql`r.id = any (array(${newest})) order by r.started_at desc, coalesce(r.run_id, 0) desc`,
  );
};

/** What a night has besides: how many of its parts have each status, and whether a pipeline of it was later than promised. */
type NightParts = { readonly parts: object | null; readonly timing: 'on time' | 'late' | null };

/** The newest night, which may be running, as `ops.dag_run_list` and `bi.late_nights` have it; none before the first one. */
export const lastNight = (db: Db) =>
  selectRuns<RunLine & NightParts>(
    db,
    sql`r.id = (select dag_run_id from ops.dag_runs where pipeline = 'nightly' order by queued_at desc, dag_run_id desc limit 1)`,
    sql`, (select parts from ops.dag_run_list where run_id = r.id) as parts, (
      select case when bool_or(is_late) then 'late' when not bool_or(is_late) then 'on time' end
      from bi.late_nights l join ops.dag_runs p on p.pipeline = l.source where p.part_of = r.id
        and night_date = (r.started_at at time zone ops.reporting_time_zone())::date) as timing`,
  );

/** The newest of all runs, and of each pipeline the newest that ended of every stream, of its deletions and of a part. */
export const recentRuns = (db: Db): Promise<readonly RunLine[]> =>
  selectRuns(
    db,
    sql`r.run_id = any (array(
        (select run_id from ops.runs order by run_id desc limit 20)
        union all select newest.run_id from ops.sources s cross join lateral (values
          (${newestEnded(sql`settles = 'freshness'`)}), (${newestEnded(sql`settles = 'deletions'`)}),
          (${newestEnded(sql`settles is null`)})
        ) newest (run_id)))
      order by r.run_id desc`,
  );

/** The number of the newest run of the source `s`. */
const newestEnded = (which: RawBuilder<unknown>) =>
  sql`(select max(run_id) from ops.runs where pipeline = s.name and finished_at is not null and ${which})`;

/** Of each pipeline among these runs (the newest first) the last run of every stream that has ended: the state of the pipeline. */
export const lastWhole = (last: readonly RunLine[]): readonly RunLine[] => {
  const ended = last.filter((run) => run.settles === 'freshness' && run.finishedAt !== null);
  return ended.filter((run, at) => ended.findIndex(({ pipeline }) => pipeline === run.pipeline) === at);
};

/**
 * The runs by which each pipeline is judged, among these (the newest first): the last that ended of every stream, the last of its deletions, and the
 * last of a part that no later run of every stream has mended.
 */
export const judged = (last: readonly RunLine[]): readonly RunLine[] => {
  const ended = last.filter(({ finishedAt }) => finishedAt !== null);
  return ended.filter(({ pipeline, settles }, at) => {
    const newer = ended.slice(0, at).filter((run) => run.pipeline === pipeline);
    return !newer.some((run) => run.settles === settles || (settles === null && run.settles === 'freshness'));
  });
};

/** Those of these runs (the newest first) that need attention: the newest one, and those by which a pipeline is judged, if they failed. */
export const complaining = (last: readonly RunLine[]): readonly RunLine[] =>
  [...new Set([...last.slice(0, 1), ...judged(last)])].filter((run) => run.error !== null);

/** One run with its streams, receipts and unfinished slices; undefined if there is none of that number. */
export async function run(db: Db, runId: string): Promise<RunDetail | undefined> {
  type RunDetailRow = RunLine & Pick<RunDetail, 'params' | 'appVersion'>;
  const more = sql`, r.params, r.app_version`;
  const [found] = await selectRuns<RunDetailRow>(db, sql`r.run_id = ${runId}::bigint`, more);
  if (!found) return undefined;
  const request = await requestOfRun(db, runId);
  const keys = [runId, request?.runId, request?.partOf].filter((key) => typeof key === 'string');
  return {
    ...found,
    streams: await streamsOf(db, runId),
    badSlices: await badSlicesOf(db, runId),
    handoffs: await handoffsOf(db, keys),
  };
}

/** The request a run came from, and the night that it is a part of; undefined for a run that was not queued. */
export async function requestOfRun(db: Db, runId: string) {
  const [found] = await query(db)<{ pipeline: string; runId: string; partOf: string | null }>`
    select d.pipeline, d.dag_run_id as run_id, d.part_of from ops.dag_run_runs l join ops.dag_runs d using (dag_run_id)
    where l.run_id = ${runId}::bigint`;
  return found;
}

const selectRuns = <R = RunLine>(db: Db, where: RawBuilder<unknown>, more = sql``) =>
  query(db)<R>`
    select r.id as run_id, r.pipeline, r.kind, r.settles, r.trigger, r.status,
      case when r.status = 'running' and r.run_id is not null
        then exists (select from ops.live_runs l where l.run_id = r.run_id) end as alive,
      r.started_at, r.finished_at, r.requests::float8, r.retries::float8, r.throttled::float8, r.throttled_ms::float8,
      extract(epoch from coalesce(r.finished_at, now()) - r.started_at)::float8 as seconds, ${countsOf('r')}, ${errorOf} ${more}
    from ops.run_list r where ${where}`;

const streamsOf = (db: Db, runId: string) =>
  query(db)<RunStream>`
    select s.stream, s.status, s.reason, s.slices::float8, ${receiptOf('s')}, ${countsOf('s')}, s.started_at, s.finished_at,
      extract(epoch from s.finished_at - s.started_at)::float8 as seconds, s.reading_seconds, s.limited_seconds
    from ops.run_streams s where s.run_id = ${runId}::bigint order by s.started_at, s.stream`;

const badSlicesOf = (db: Db, runId: string): Promise<readonly BadSlice[]> =>
  query(db)<BadSlice>`
    select w.stream, s.partition, s.window_from as "from", s.window_to as "to", s.status,
      s.expected::float8, s.read::float8, s.stored::float8, ${errorOf}
    from ops.slices s join ops.walks w using (walk_id)
    where s.run_id = ${runId}::bigint and s.status in ('pending', 'partial', 'failed')
    order by w.stream, s.slice_id limit 200`;

/** What a run was handed over to, and what became of it there. */
export interface HandedOver {
  /** The DAG at the workflow engine, and what its run is called there (where the engine takes or gives ids). */
  readonly dag: string;
  readonly dagRunId: string;
  readonly params: string;
  /** pending, starting, started, succeeded, failed, unknown: as `ops.handoffs.status`. */
  readonly status: string;
  /** The engine's own status. */
  readonly engineStatus: string | null;
  readonly error: string | null;
  readonly changedAt: Date;
}

/** `keys`: numbers of `ops.runs`, or ids of requests. */
export const handoffsOf = (db: Db, keys: readonly string[]): Promise<readonly HandedOver[]> =>
  query(db)<HandedOver>`
    select dag, coalesce(engine_run_id, remote_run_id) as dag_run_id, params, status, engine_status, error, changed_at
    from ops.handoffs where run_key = any (${[...keys]}::text[]) order by handoff_id`;
