/** The rows of a run: its source, its streams, and what it counts. */

import { sql } from 'kysely';
import type { SentWork } from '../../core/request-count.ts';
import type { Cost, ReadMode, RunKind, RunReport, StreamReport } from '../../core/run.ts';
import type { HttpCounters, Source, Stream } from '../../core/stream.ts';
import { nameOf, type Table } from '../../core/table.ts';
import { formatInstant, type Instant } from '../../core/time.ts';
import type { Session } from '../../load/session.ts';
import { type Counters, counters, type Db, query, rowsOf } from '../../queries/db.ts';
import { rowCount } from '../../queries/stream-history.ts';

/** What names a run in the warehouse. */
export interface RunKey {
  readonly runId: string;
  readonly sourceId: number;
  readonly pipeline: string;
  readonly kind: RunKind;
}

/**
 * Finds or makes the source's row and keeps the list of its streams. `excluded`: streams that are not read; `inTurn`: streams
 * of which each run reads some owners. The address that was read last stays as it is: see `beginRun`.
 */
export async function registerSource(
  db: Db,
  { name, kind, baseUrl, streams }: Source,
  excluded: ReadonlySet<string>,
  inTurn: Readonly<Record<string, unknown>> = {},
): Promise<number> {
  const all = streams.map(({ name, about, endpoint, table, children = {} }) => {
    const reading = { excluded: excluded.has(name), in_turn: name in inTurn };
    const child_tables = Object.values(children).map((child) => nameOf(child.table));
    return { name, target: nameOf(table), about, endpoint, ...reading, child_tables };
  });
  const [source] = await query(db)<{ id: number }>`with source as (
      insert into ops.sources as s (name, kind, base_url) values (${name}, ${kind}, ${baseUrl})
      on conflict (name) do update set base_url = s.base_url returning source_id),
    listed as (
      insert into ops.streams (source_id, stream, target, about, endpoint, excluded, in_turn, child_tables)
      select source_id, n.* from source, jsonb_to_recordset(${JSON.stringify(all)}::jsonb)
        as n (name text, target text, about text, endpoint text, excluded boolean, in_turn boolean, child_tables text[])
      on conflict (source_id, stream) do update set target = excluded.target, about = excluded.about,
        endpoint = excluded.endpoint, excluded = excluded.excluded, in_turn = excluded.in_turn,
        child_tables = excluded.child_tables)
    select source_id as id from source`;
  if (source === undefined) throw new Error(`ops.sources gave no id for ${name}`);
  return source.id;
}

/** When the token ends that signs in to the source; undefined: not known. */
export async function noteTokenEnd(db: Db, sourceId: number, ends: Date | undefined): Promise<void> {
  await sql`update ops.sources set token_ends_at = ${ends ?? null}
    where source_id = ${sourceId} and token_ends_at is distinct from ${ends ?? null}`.execute(db);
}

/** Whether the server has the stream, as found out just now. */
export async function markStream(
  db: Db,
  sourceId: number,
  stream: string,
  state: 'available' | 'unavailable' | 'forbidden',
  reason: string | null,
): Promise<void> {
  await sql`update ops.streams set state = ${state}, reason = ${reason}, checked_at = now()
    where source_id = ${sourceId} and stream = ${stream}`.execute(db);
}

/** Whether the stream was read before: it was available when last requested, and has rows. */
export async function wasRead(db: Db, sourceId: number, { name, table }: Stream): Promise<boolean> {
  // Rows without a hash come from other streams that name the entity.
  const own = table.entity ? sql`t._row_hash is not null` : sql`true`;
  const found = sql`select from ops.streams s
    where source_id = ${sourceId} and stream = ${name} and state = 'available' and exists (
      select from ${sql.id(table.schema, table.name)} t where t.source_id = s.source_id and ${own})`;
  return (await rowsOf(found, db)).length > 0;
}

/** Whether the stream has rejects that wait for a good version. */
export async function hasOpenRejects(db: Db, sourceId: number, stream: string): Promise<boolean> {
  const rejects = await query(db)`select from ops.rejects
    where source_id = ${sourceId} and stream = ${stream} and status = 'open' limit 1`;
  return rejects.length > 0;
}

/** What the row of a run says from its beginning. */
interface NewRun extends Omit<RunKey, 'runId'> {
  readonly trigger: string;
  readonly version: string;
  readonly epoch: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * Opens the run's row and names the run in its lease. Repeated under the same epoch, where the first answer
 * was lost, it gives the row that exists. `micros`: the moment by the database's clock, µs since 1970.
 * `movedFrom`: where the source was read from before, if that was not `baseUrl`.
 */
export async function beginRun(db: Db, run: NewRun, baseUrl: string) {
  const { pipeline, sourceId, kind, trigger, version, epoch, params } = run;
  const [row] = await query(db)<{ runId: string; micros: string; movedFrom: string | null }>`with present as (
      select run_id from ops.runs where pipeline = ${pipeline} and epoch = ${epoch}::bigint and status = 'running'),
    made as (insert into ops.runs (pipeline, source_id, kind, trigger, status, params, app_version, epoch)
      select ${pipeline}, ${sourceId}, ${kind}, ${trigger}, 'running', ${JSON.stringify(params)}::jsonb,
        ${version}, ${epoch}::bigint where not exists (select from present) returning run_id),
    run as (select run_id from present union all select run_id from made),
    named as (update ops.leases l set run_id = run.run_id from run
      where l.pipeline = ${pipeline} and l.epoch = ${epoch}::bigint),
    moved as (update ops.sources s set base_url = ${baseUrl} from ops.sources old
      where s.source_id = ${sourceId} and old.source_id = s.source_id and old.base_url <> ${baseUrl}
      returning old.base_url)
    select run_id::text, (extract(epoch from clock_timestamp()) * 1000000)::bigint::text as micros,
      (select base_url from moved) as moved_from from run`;
  if (row === undefined) throw new Error(`ops.runs gave no id for ${pipeline}`);
  return row;
}

export async function beginStream(db: Db, run: RunKey, stream: string): Promise<void> {
  await sql`insert into ops.run_streams (run_id, source_id, stream, status)
    values (${run.runId}::bigint, ${run.sourceId}, ${stream}, 'running') on conflict do nothing`.execute(db);
}

/** What the batches of a stream or of a run have done. */
export type WriteCounts = Pick<RunReport, 'counts' | 'deleted'>;

/** Counts of one batch, inside its transaction: what a dead run did stays known. `moments`: when its records were fetched, if it is of a slice. */
export async function countBatch(
  { trx }: Session,
  { runId }: RunKey,
  stream: string,
  { counts, deleted }: WriteCounts,
  sliceId?: string,
  moments: Iterable<Instant> = [],
): Promise<void> {
  const more: Counters = { ...counts, deleted };
  const sums = counters.map((name) => sql`${sql.id(name)} = ${sql.id(name)} + ${more[name]}`);
  const fetched = [...moments].map(formatInstant);
  await sql`with counted as (
      update ops.run_streams set ${sql.join(sums)} where run_id = ${runId}::bigint and stream = ${stream})
    insert into ops.batches (slice_id, run_id, moments)
    select slice_id, ${runId}::bigint, array_append(${fetched}::timestamptz[], now())
    from ops.slices where slice_id = ${sliceId ?? null}::bigint`.execute(trx);
}

/** Gives a run `r` the counts of its streams, as their batches committed them with their rows. */
const countsOfBatches = `(${counters.join(', ')}) = (
  select ${counters.map((name) => `coalesce(sum(s.${name}), 0)`).join(', ')}
  from ops.run_streams s where s.run_id = r.run_id)`;

/** Marks the runs of the pipeline $1 as lost whose process ended. */
export const loseRuns = `update ops.runs r set status = 'lost', finished_at = clock_timestamp(), error_code = 'lost',
    error_message = 'its process ended without saying goodbye', ${countsOfBatches}
  where pipeline = $1 and status = 'running'`;

/**
 * How the source delayed the run: throttled answers, and spans without requests (by `performance.now()`, ms).
 */
type Strain = Pick<HttpCounters, 'throttled' | 'quiet'>;

/**
 * Closes the run's row, unless it is closed already. What
 * began to be quiet before the run did is cut off there, and what would last beyond now, here.
 */
export async function finishRun(
  db: Db,
  { runId, status, error, requests, retries, throttledMs }: RunReport,
  { throttled, quiet }: Strain,
): Promise<void> {
  const now = performance.now();
  const spans = quiet.map(({ fromMs, untilMs }) => [now - fromMs, now - untilMs] as const);
  await sql`update ops.runs r set status = ${status}, finished_at = clock_timestamp(), ${sql.raw(countsOfBatches)},
      requests = ${requests}, retries = ${retries}, throttled_ms = ${Math.round(throttledMs)},
      throttled = ${throttled}, quiet = (
        select coalesce(range_agg(tstzrange(
            greatest(started_at, clock_timestamp() - (span ->> 0)::float8 * interval '1 ms'),
            least(clock_timestamp(), clock_timestamp() - (span ->> 1)::float8 * interval '1 ms'))), '{}')
        from jsonb_array_elements(${JSON.stringify(spans)}::jsonb) span
        where clock_timestamp() - (span ->> 1)::float8 * interval '1 ms' > started_at),
      error_code = ${error?.code ?? null}, error_message = ${error?.message ?? null}
    where run_id = ${runId}::bigint and status = 'running'`.execute(db);
}

/** What a stream cost in requests, and what was expected of it. */
export interface StreamCost extends Pick<SentWork, 'requests' | 'readingMs' | 'limitedMs'> {
  readonly mode: ReadMode | undefined;
  /** What the source let expect of its slices; undefined: nothing. */
  readonly expected: number | undefined;
  readonly estimated: Cost | undefined;
}

/**
 * Closes the stream's row, with how many rows of it its table holds now (beyond a million by the planner's
 * estimate). Gives what its batches have done.
 */
export async function finishStream(
  db: Db,
  run: RunKey,
  report: StreamReport,
  table: Table,
  { requests, readingMs, limitedMs, mode, expected, estimated }: StreamCost,
) {
  const rows = await rowCount(db, table, run.pipeline);
  const { receipt, status, reason = null, slices, stream } = report;
  const [done] = await query(db)<Counters>`update ops.run_streams set status = ${status}, reason = ${reason},
      finished_at = clock_timestamp(), slices = ${slices}, expected = ${receipt.expected},
      read = ${receipt.read}, stored = ${receipt.stored}, rows = ${rows?.live ?? null},
      mode = ${mode ?? null}, requests = ${requests}, expected_requests = ${expected ?? null}, estimated_requests = ${estimated?.requests ?? null},
      estimated_seconds = ${estimated?.seconds ?? null},
      reading_seconds = ${readingMs / 1000}, limited_seconds = ${limitedMs / 1000}
    where run_id = ${run.runId}::bigint and stream = ${stream}
    returning ${sql.raw(counters.map((name) => `${name}::float8`).join(', '))}`;
  if (done === undefined) return undefined;
  const { deleted, ...counts } = done;
  return { counts, deleted };
}
