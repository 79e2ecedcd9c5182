/** The runs of the past, and one of them in detail. */
import { sql } from 'kysely';
import { type Counters, countColumns, type Db, pickCounters, rowsOf } from './db.ts';
import { type HandedOver, handoffsOf } from './handoff-list.ts';
import { requestOfRun } from './request-status.ts';

export interface RunLine {
  readonly runId: string;
  readonly pipeline: string;
  readonly kind: string;
  /** What it tells of the whole pipeline: `freshness`, `deletions`; null for a run of a part. */
  readonly settles: string | null;
  readonly trigger: string;
  readonly status: string;
  /** For a running one: false if its process is gone: its database session ended, or its lease ran out. */
  readonly alive: boolean | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** Until now, while it runs. */
  readonly seconds: number;
  readonly counts: Counters;
  readonly requests: number;
  readonly retries: number;
  /** Requests that were answered with a wish for patience. */
  readonly throttled: number;
  readonly throttledMs: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** One stream's part in a run. */
export interface RunStream {
  readonly stream: string;
  readonly status: string;
  readonly reason: string | null;
  readonly slices: number;
  readonly receipt: Receipt;
  readonly counts: Counters;
  readonly seconds: number | null;
}

/** Expected (the source's total; null where it states none), fetched, landed. */
export interface Receipt {
  readonly expected: number | null;
  readonly fetched: number;
  readonly landed: number;
}

/** A slice that this run did not finish. */
export interface BadSlice {
  readonly stream: string;
  readonly partition: unknown;
  readonly from: Date | null;
  readonly to: Date | null;
  readonly status: string;
  readonly expected: number | null;
  readonly fetched: number | null;
  readonly landed: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface RunDetail extends RunLine {
  readonly params: unknown;
  readonly appVersion: string | null;
  readonly streams: readonly RunStream[];
  readonly badSlices: readonly BadSlice[];
  /** Those of the request that it is a part of, too. */
  readonly handoffs: readonly HandedOver[];
}

export interface RunFilter {
  readonly pipeline?: string | undefined;
  /** Any of these kinds. */
  readonly kinds?: readonly string[] | undefined;
  readonly status?: string | undefined;
  /** Only runs older than this one. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The newest runs first. */
export async function runs(
  db: Db,
  { pipeline, kinds, status, before, limit }: RunFilter,
): Promise<readonly RunLine[]> {
  const conditions = [
    pipeline === undefined ? undefined : sql`r.pipeline = ${pipeline}`,
    kinds === undefined ? undefined : sql`r.kind = any (${[...kinds]}::text[])`,
    status === undefined ? undefined : sql`r.status = ${status}`,
    before === undefined ? undefined : sql`r.run_id < ${before}::bigint`,
  ].filter((each) => each !== undefined);
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`;
  return (await rowsOf(selectRuns(sql`${where} order by r.run_id desc limit ${limit}`), db)).map(lineOf);
}

/** The newest of all runs, and of each pipeline the newest that ended of those of every stream, however many runs of a part came after it. */
export async function recentRuns(db: Db): Promise<readonly RunLine[]> {
  const chosen = sql`where r.run_id in (select run_id from ops.runs order by run_id desc limit 20) or r.run_id in (
      select max(run_id) from ops.runs where settles = 'freshness' and finished_at is not null group by pipeline)
    order by r.run_id desc`;
  return (await rowsOf(selectRuns(chosen), db)).map(lineOf);
}

/** Of each pipeline among these runs (the newest first) the last of every stream that has ended: how the pipeline stands. */
export const lastWhole = (last: readonly RunLine[]): readonly RunLine[] => {
  const ended = last.filter((run) => run.settles === 'freshness' && run.finishedAt !== null);
  return ended.filter((run, at) => ended.findIndex(({ pipeline }) => pipeline === run.pipeline) === at);
};

/** Those of these runs (the newest first) that somebody should look at: the newest, and how each pipeline stands. */
export const complaining = (last: readonly RunLine[]): readonly RunLine[] =>
  [...new Set([...last.slice(0, 1), ...lastWhole(last)])].filter((run) => run.error !== null);

/** One run with its streams, receipts and unfinished slices; undefined if there is none of that number. */
export async function run(db: Db, runId: string): Promise<RunDetail | undefined> {
  const [found] = await rowsOf(selectRuns(sql`where r.run_id = ${runId}::bigint`), db);
  if (!found) return undefined;
  const request = await requestOfRun(db, runId);
  return {
    ...lineOf(found),
    params: found.params,
    appVersion: found.app_version,
    streams: await streamsOf(db, runId),
    badSlices: await badSlicesOf(db, runId),
    handoffs: await handoffsOf(db, [runId, ...(request === undefined ? [] : [request.runId])]),
  };
}

interface RunRow extends Counters {
  readonly run_id: string;
  readonly pipeline: string;
  readonly kind: string;
  readonly settles: string | null;
  readonly trigger: string;
  readonly status: string;
  readonly alive: boolean | null;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly seconds: number;
  readonly requests: number;
  readonly retries: number;
  readonly throttled: number;
  readonly throttled_ms: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly params: unknown;
  readonly app_version: string | null;
}

const selectRuns = (rest: ReturnType<typeof sql>) => sql<RunRow>`
  select r.run_id::text as run_id, r.pipeline, r.kind, r.settles, r.trigger, r.status, r.started_at, r.finished_at,
    extract(epoch from coalesce(r.finished_at, now()) - r.started_at)::float8 as seconds,
    case when r.status = 'running' then exists (
      select from ops.leases l join pg_stat_activity a on a.pid = l.backend_pid
        and (a.backend_start is null or a.backend_start = l.backend_start)
      where l.run_id = r.run_id and l.expires_at > now()) end as alive,
    ${countColumns('r')},
    r.requests::float8 as requests, r.retries::float8 as retries, r.throttled::float8 as throttled,
    r.throttled_ms::float8 as throttled_ms,
    r.error_code, r.error_message, r.params, r.app_version
  from ops.runs r ${rest}`;

const lineOf = (row: RunRow): RunLine => ({
  runId: row.run_id,
  pipeline: row.pipeline,
  kind: row.kind,
  settles: row.settles,
  trigger: row.trigger,
  status: row.status,
  alive: row.alive,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  seconds: row.seconds,
  counts: pickCounters(row),
  requests: row.requests,
  retries: row.retries,
  throttled: row.throttled,
  throttledMs: row.throttled_ms,
  error: errorOf(row),
});

const errorOf = (row: { readonly error_code: string | null; readonly error_message: string | null }) =>
  row.error_code === null && row.error_message === null
    ? null
    : { code: row.error_code ?? 'internal', message: row.error_message ?? '' };

interface StreamRow extends Counters, Receipt {
  readonly stream: string;
  readonly status: string;
  readonly reason: string | null;
  readonly slices: number;
  readonly seconds: number | null;
}

async function streamsOf(db: Db, runId: string): Promise<readonly RunStream[]> {
  const found = await rowsOf(
    sql<StreamRow>`
      select s.stream, s.status, s.reason, s.slices::float8 as slices, s.expected::float8 as expected,
        s.fetched::float8 as fetched, s.landed::float8 as landed, ${countColumns('s')},
        extract(epoch from s.finished_at - s.started_at)::float8 as seconds
      from ops.run_streams s where s.run_id = ${runId}::bigint order by s.started_at, s.stream`,
    db,
  );
  return found.map((row) => ({
    stream: row.stream,
    status: row.status,
    reason: row.reason,
    slices: row.slices,
    receipt: { expected: row.expected, fetched: row.fetched, landed: row.landed },
    counts: pickCounters(row),
    seconds: row.seconds,
  }));
}

interface SliceRow {
  readonly stream: string;
  readonly partition: unknown;
  readonly window_from: Date | null;
  readonly window_to: Date | null;
  readonly status: string;
  readonly expected: number | null;
  readonly fetched: number | null;
  readonly landed: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

async function badSlicesOf(db: Db, runId: string): Promise<readonly BadSlice[]> {
  const found = await rowsOf(
    sql<SliceRow>`
      select w.stream, s.partition, s.window_from, s.window_to, s.status, s.expected::float8 as expected,
        s.fetched::float8 as fetched, s.landed::float8 as landed, s.error_code, s.error_message
      from ops.slices s join ops.walks w using (walk_id)
      where s.run_id = ${runId}::bigint and s.status in ('pending', 'partial', 'failed')
      order by w.stream, s.slice_id limit 200`,
    db,
  );
  return found.map((row) => ({
    stream: row.stream,
    partition: row.partition,
    from: row.window_from,
    to: row.window_to,
    status: row.status,
    expected: row.expected,
    fetched: row.fetched,
    landed: row.landed,
    error: errorOf(row),
  }));
}
