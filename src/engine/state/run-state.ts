import { type Kysely, sql } from 'kysely';
import type { HttpCounters } from '../../core/request.ts';
import { type Counts, noCounts, type RunKind, type RunReport, type StreamReport } from '../../core/run.ts';
import type { Source, Stream } from '../../core/stream.ts';
import { nameOf, type Table } from '../../core/table.ts';
import type { Loaded } from '../../load/load.ts';
import type { Session } from '../../load/session.ts';
import { type Counters, counters } from '../../queries/db.ts';
import { rowCount } from '../../queries/stream-history.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';

/** A run while it goes. */
export interface Run {
  readonly runId: string;
  readonly sourceId: number;
  readonly pipeline: string;
  readonly kind: RunKind;
}

/**
 * Finds or makes the source's row and keeps its streams listed, with which of them are `excluded`. Where it
 * was read from last stays as it is: see `moveSource`.
 */
export async function registerSource(
  db: Kysely<AnyDatabase>,
  source: Source,
  excluded: ReadonlySet<string>,
): Promise<number> {
  const { rows } = await sql<{ source_id: number }>`insert into ops.sources as s (name, kind, base_url)
    values (${source.name}, ${source.kind}, ${source.baseUrl})
    on conflict (name) do update set base_url = s.base_url returning source_id`.execute(db);
  const sourceId = rows[0]?.source_id;
  if (sourceId === undefined) throw new Error(`ops.sources gave no id for ${source.name}`);
  const all = source.streams.map(({ name, about, endpoint, table }) => {
    return { name, target: nameOf(table), about, endpoint, excluded: excluded.has(name) };
  });
  await sql`insert into ops.streams as s (source_id, stream, target, about, endpoint, excluded)
    select ${sourceId}, n.* from jsonb_to_recordset(${JSON.stringify(all)}::jsonb)
      as n (name text, target text, about text, endpoint text, excluded boolean)
    on conflict (source_id, stream) do update
      set target = excluded.target, about = excluded.about, endpoint = excluded.endpoint, excluded = excluded.excluded
    where (s.target, s.about, s.endpoint, s.excluded)
      is distinct from (excluded.target, excluded.about, excluded.endpoint, excluded.excluded)`.execute(db);
  return sourceId;
}

/** Notes the source's base URL. Gives the one before, if it was another. */
export async function moveSource(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  baseUrl: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ before: string }>`
    update ops.sources s set base_url = ${baseUrl}
    from (select base_url from ops.sources where source_id = ${sourceId} for update) old
    where s.source_id = ${sourceId} and old.base_url <> ${baseUrl} returning old.base_url as before`.execute(
    db,
  );
  return rows[0]?.before;
}

/** The warning for rows of another base URL that are loaded into the same tables. */
export const movedText = (name: string, before: string, now: string): string =>
  `${name} was ${before} until now and is ${now}: a site may move, but rows of another system would mix with those that are here; give that one a warehouse of its own`;

/** Whether the server has the stream, as found out just now. */
export async function markStream(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: string,
  state: 'available' | 'unavailable' | 'forbidden',
  reason: string | null,
): Promise<void> {
  await sql`update ops.streams set state = ${state}, reason = ${reason}, checked_at = now()
    where source_id = ${sourceId} and stream = ${stream}`.execute(db);
}

/** Whether the stream was read before: it was available when last requested, and has rows. */
export async function wasRead(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  { name, table }: Stream,
): Promise<boolean> {
  // Rows without a hash come from other streams that name the entity.
  const own = table.entity ? sql`t._row_hash is not null` : sql`true`;
  const { rows } = await sql<{ was: boolean }>`select exists (select from ops.streams
      where source_id = ${sourceId} and stream = ${name} and state = 'available')
    and exists (select from ${sql.id(table.schema, table.name)} t where t.source_id = ${sourceId} and ${own}) as was`.execute(
    db,
  );
  return rows[0]?.was === true;
}

/**
 * Opens the run's row. Asked again under the same epoch, where the first answer was lost, it gives the row
 * that is there.
 */
export async function beginRun(
  db: Kysely<AnyDatabase>,
  run: {
    readonly pipeline: string;
    readonly sourceId: number;
    readonly kind: RunKind;
    readonly trigger: string;
    readonly version: string;
    readonly epoch: string;
    readonly params: Readonly<Record<string, unknown>>;
  },
): Promise<string> {
  const { rows } = await sql<{ run_id: string }>`with present as (
      select run_id from ops.runs where pipeline = ${run.pipeline} and epoch = ${run.epoch}::bigint and status = 'running'),
    made as (insert into ops.runs (pipeline, source_id, kind, trigger, status, params, app_version, epoch)
      select ${run.pipeline}, ${run.sourceId}, ${run.kind}, ${run.trigger}, 'running', ${JSON.stringify(run.params)}::jsonb,
        ${run.version}, ${run.epoch}::bigint where not exists (select from present) returning run_id)
    select run_id::text from present union all select run_id::text from made`.execute(db);
  return rows[0]?.run_id ?? '';
}

/**
 * How the source delayed the run: throttled answers, and spans without requests (by `performance.now()`, ms).
 */
export type Strain = Pick<HttpCounters, 'throttled' | 'quiet'>;

/**
 * Closes the run's row. What began to be quiet before the run did is cut off there, and what would last
 * beyond now, here.
 */
export async function finishRun(db: Kysely<AnyDatabase>, report: RunReport, strain: Strain): Promise<void> {
  const { counts } = report;
  const now = performance.now();
  const quiet = strain.quiet.map(({ fromMs, untilMs }) => [now - fromMs, now - untilMs] as const);
  await sql`update ops.runs set status = ${report.status}, finished_at = clock_timestamp(),
      received = ${counts.received}, inserted = ${counts.inserted}, updated = ${counts.updated}, unchanged = ${counts.unchanged},
      deduplicated = ${counts.deduplicated}, superseded = ${counts.superseded}, rejected = ${counts.rejected},
      deleted = ${report.deleted}, requests = ${report.requests}, retries = ${report.retries},
      throttled_ms = ${Math.round(report.throttledMs)}, throttled = ${strain.throttled}, quiet = (
        select coalesce(range_agg(tstzrange(
            greatest(started_at, clock_timestamp() - (span ->> 0)::float8 * interval '1 ms'),
            least(clock_timestamp(), clock_timestamp() - (span ->> 1)::float8 * interval '1 ms'))), '{}')
        from jsonb_array_elements(${JSON.stringify(quiet)}::jsonb) span
        where clock_timestamp() - (span ->> 1)::float8 * interval '1 ms' > started_at),
      error_code = ${report.error?.code ?? null},
      error_message = ${report.error?.message ?? null}
    where run_id = ${report.runId}::bigint and status = 'running'`.execute(db);
}

/** Whether the stream has rejects that wait for a good version. */
export async function hasOpenRejects(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: string,
): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`select exists (select from ops.rejects
    where source_id = ${sourceId} and stream = ${stream} and status = 'open') as open`.execute(db);
  return rows[0]?.open === true;
}

export async function beginStream(db: Kysely<AnyDatabase>, run: Run, stream: string): Promise<void> {
  await sql`insert into ops.run_streams (run_id, source_id, stream, status)
    values (${run.runId}::bigint, ${run.sourceId}, ${stream}, 'running') on conflict do nothing`.execute(db);
}

/**
 * What the batches of a run have done, as they committed it with their rows: one sum for each of `counters`.
 */
const sums = counters.map((name) => `coalesce(sum(s.${name}), 0)`);

/** Marks a run as lost whose process ended: its counts are those of its committed batches. */
export const loseRuns = `update ops.runs r set status = 'lost', finished_at = clock_timestamp(), error_code = 'lost',
    error_message = 'its process ended without saying goodbye',
    (${counters.join(', ')}) = (select ${sums.join(', ')}
      from ops.run_streams s where s.run_id = r.run_id)
  where pipeline = $1 and status = 'running'`;

/** Counts of one batch, inside its transaction: what a dead run did stays known. */
export async function countBatch(session: Session, run: Run, stream: string, loaded: Loaded): Promise<void> {
  const { counts } = loaded;
  await sql`update ops.run_streams set received = received + ${counts.received}, inserted = inserted + ${counts.inserted},
      updated = updated + ${counts.updated}, unchanged = unchanged + ${counts.unchanged},
      deduplicated = deduplicated + ${counts.deduplicated}, superseded = superseded + ${counts.superseded},
      rejected = rejected + ${counts.rejected}, deleted = deleted + ${loaded.deleted}
    where run_id = ${run.runId}::bigint and stream = ${stream}`.execute(session.trx);
}

/** What a run's batches have done so far, by what was committed with them. */
export async function writtenBy(
  db: Kysely<AnyDatabase>,
  runId: string,
): Promise<{ readonly counts: Counts; readonly deleted: number }> {
  const columns = counters.map((name, at) => `${sums[at]}::float8 as ${name}`);
  const { rows } = await sql<Counters>`select ${sql.raw(columns.join(', '))}
    from ops.run_streams s where s.run_id = ${runId}::bigint`.execute(db);
  const { deleted, ...counts } = rows[0] ?? { ...noCounts, deleted: 0 };
  return { counts, deleted };
}

/**
 * Closes the stream's row, with how many rows its table holds now (beyond a million by the planner's
 * estimate).
 */
export async function finishStream(
  db: Kysely<AnyDatabase>,
  run: Run,
  report: StreamReport,
  table: Table,
): Promise<void> {
  const rows = await rowCount(db, table);
  await sql`update ops.run_streams set status = ${report.status}, reason = ${report.reason ?? null},
      finished_at = clock_timestamp(), slices = ${report.slices}, expected = ${report.receipt.expected},
      fetched = ${report.receipt.fetched}, landed = ${report.receipt.landed}, rows = ${rows?.live ?? null}
    where run_id = ${run.runId}::bigint and stream = ${report.stream}`.execute(db);
}
