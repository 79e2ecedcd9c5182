/**
 * What the engine lends to a stream that reads a slice itself: keys that the warehouse knows, and a ledger of
 * its report jobs.
 */

import { type Kysely, type QueryResult, type RawBuilder, sql } from 'kysely';
import type { Job, JobLedger, KeySet, SliceContext, Stream } from '../../core/stream.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunContext } from '../context/run-context.ts';

/**
 * For one slice of a run; `sliceId` undefined where nothing is read, only planned: then there are no jobs.
 */
export const sliceContext = (
  context: SliceOwner,
  stream: Stream,
  sliceId: string | undefined,
): SliceContext => ({
  keys: (set) => withRetry(() => keysOf(context.deps.warehouse.db, context.run.sourceId, set)),
  job: ledgerOf(context, stream.name, sliceId),
  clock: context.clock ?? new Date(),
  now: context.now(),
});

/** What it takes to lend; a run's context is one. */
export interface SliceOwner {
  readonly deps: Pick<RunContext['deps'], 'warehouse'>;
  readonly run: { readonly sourceId: number; readonly runId: string };
  readonly clock: Date | undefined;
  readonly now: () => Date;
}

async function keysOf(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  set: KeySet,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const columns = Object.entries(set.columns);
  const of = Object.entries(set.of ?? {}).map(
    ([column, value]) => sql`and ${sql.id(column)}::text = ${value}`,
  );
  const among = Object.entries(set.among ?? {}).map(
    ([column, values]) => sql`and ${sql.id(column)} = any(${[...values]}::text[])`,
  );
  const { rows } = await sql<Record<string, string | null>>`select distinct ${sql.join(
    columns.map(([name, column]) => sql`${sql.id(column)}::text as ${sql.id(name)}`),
  )} from ${sql.table(set.table)} where source_id = ${sourceId} ${sql.join([...of, ...among], sql` `)}
    ${set.where === undefined ? sql`` : sql`and (${sql.raw(set.where)})`}
    order by ${sql.join(columns.map((_, place) => sql.raw(String(place + 1))))}`.execute(db);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    ),
  );
}

/** `ops.jobs`, one row for each attempt of a slice. */
function ledgerOf(context: SliceOwner, stream: string, sliceId: string | undefined): JobLedger {
  const { deps, run } = context;
  const { db } = deps.warehouse;
  if (sliceId === undefined) {
    const none = (): never => {
      throw new Error(`${stream}: a plan makes no jobs`);
    };
    return { current: async () => undefined, creating: none, submitted: none, became: none };
  }
  const ask = <T>(statement: RawBuilder<T>): Promise<QueryResult<T>> =>
    withRetry(() => statement.execute(db));
  const newest = sql`job_id = (select max(job_id) from ops.jobs where slice_id = ${sliceId}::bigint)`;
  return {
    async current() {
      const { rows } = await ask(
        sql<{
          remote_id: string | null;
          status: Job['status'];
          attempt: number;
          submitted_at: Date | null;
          overtaken: boolean;
        }>`select remote_id, status, attempt, submitted_at, exists (
          select from ops.slices mine, ops.slices s join ops.walks w using (walk_id)
          where mine.slice_id = ${sliceId}::bigint and w.source_id = ${run.sourceId} and w.stream = ${stream}
            and s.partition is not distinct from mine.partition and s.status = 'done' and s.finished_at > j.submitted_at
            and s.window_from < mine.window_to and s.window_to > mine.window_from) as overtaken
        from ops.jobs j where ${newest}`,
      );
      const [row] = rows;
      return row === undefined
        ? undefined
        : {
            id: row.remote_id ?? undefined,
            status: row.status,
            attempt: row.attempt,
            submittedAt: row.submitted_at ?? undefined,
            ...(row.overtaken && { overtaken: true }),
          };
    },
    async creating(request) {
      // Where the answer to it was lost there may be two: the newer one counts.
      const { rows } = await ask(
        sql<{ attempt: number }>`insert into ops.jobs
          (source_id, stream, slice_id, attempt, request, status, run_id)
        select ${run.sourceId}, ${stream}, ${sliceId}::bigint, coalesce(max(attempt), 0) + 1, ${request}, 'creating', ${run.runId}::bigint
        from ops.jobs where slice_id = ${sliceId}::bigint returning attempt`,
      );
      return rows[0]?.attempt ?? 1;
    },
    async submitted(id) {
      await ask(sql`update ops.jobs set remote_id = ${id}, status = 'submitted', submitted_at = clock_timestamp(),
        changed_at = clock_timestamp(), run_id = ${run.runId}::bigint where ${newest}`);
    },
    async became(status, reason) {
      await ask(sql`update ops.jobs set status = ${status}, reason = ${reason ?? null}, changed_at = clock_timestamp(),
        run_id = ${run.runId}::bigint where ${newest}`);
    },
  };
}
