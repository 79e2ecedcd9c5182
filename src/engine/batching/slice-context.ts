/**
 * What the engine lends to a stream that reads a slice itself: keys that the warehouse has, and a ledger of
 * its report jobs.
 */

import { type QueryResult, type RawBuilder, sql } from 'kysely';
import type { Job, JobLedger, KeySet, SliceContext, Stream } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunContext } from '../context/run-context.ts';

/** What it takes to lend; a run's context is one. */
interface SliceOwner {
  readonly deps: Pick<RunContext['deps'], 'warehouse'>;
  readonly run: { readonly sourceId: number; readonly runId: string };
  readonly clock: Date | undefined;
  readonly now: () => Date;
}

/** For one slice of a run; `sliceId` undefined where nothing is read, only planned: then there are no jobs. */
export const sliceContext = (
  owner: SliceOwner,
  stream: Stream,
  sliceId: string | undefined,
): SliceContext => ({
  keys: (set) => keysOf(owner, set),
  job: sliceId === undefined ? noJobs : ledgerOf(owner, stream.name, sliceId),
  clock: owner.clock ?? new Date(),
  now: owner.now(),
});

/** Repeats the statement while the warehouse is away. */
const ask = <T>({ deps }: SliceOwner, statement: RawBuilder<T>): Promise<QueryResult<T>> =>
  withRetry(() => statement.execute(deps.warehouse.db));

async function keysOf(
  owner: SliceOwner,
  { table, columns, of = {}, among = {}, where = 'true' }: KeySet,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const selected = Object.entries(columns).map(
    ([name, column]) => sql`${sql.id(column)}::text as ${sql.id(name)}`,
  );
  const conditions = [
    ...Object.entries(of).map(([column, value]) => sql`${sql.id(column)}::text = ${value}`),
    ...Object.entries(among).map(([column, values]) => sql`${sql.id(column)} = any(${[...values]}::text[])`),
    sql`(${sql.raw(where)})`,
  ];
  const { rows } = await ask(
    owner,
    sql<Record<string, string | null>>`select distinct ${sql.join(selected)} from ${sql.table(table)}
    where source_id = ${owner.run.sourceId} and ${sql.join(conditions, sql` and `)}
    order by ${sql.join(selected.map((_, index) => sql.raw(String(index + 1))))}`,
  );
  const isGiven = (entry: [string, string | null]): entry is [string, string] => entry[1] !== null;
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(isGiven)));
}

const refuse = (): never => {
  throw new Error('a plan makes no jobs');
};
const noJobs: JobLedger = {
  current: async () => undefined,
  creating: refuse,
  submitted: refuse,
  became: refuse,
};

interface JobRow {
  readonly remote_id: string | null;
  readonly status: Job['status'];
  readonly attempt: number;
  readonly submitted_at: Date | null;
  readonly overtaken: boolean;
}

/** `ops.jobs`, one row for each attempt of a slice. */
function ledgerOf(owner: SliceOwner, stream: string, sliceId: string): JobLedger {
  const { sourceId, runId } = owner.run;
  const newest = sql`job_id = (select max(job_id) from ops.jobs where slice_id = ${sliceId}::bigint)`;
  const update = async (set: RawBuilder<unknown>): Promise<void> => {
    await ask(
      owner,
      sql`update ops.jobs set ${set}, changed_at = clock_timestamp(), run_id = ${runId}::bigint where ${newest}`,
    );
  };
  return {
    async current() {
      const { rows } = await ask(
        owner,
        sql<JobRow>`select remote_id, status, attempt, submitted_at, exists (
          select from ops.slices mine, ops.slices s join ops.walks w using (walk_id)
          where mine.slice_id = ${sliceId}::bigint and w.source_id = ${sourceId} and w.stream = ${stream}
            and s.partition is not distinct from mine.partition and s.status = 'done' and s.finished_at > j.submitted_at
            and s.window_from < mine.window_to and s.window_to > mine.window_from) as overtaken
        from ops.jobs j where ${newest}`,
      );
      const [row] = rows;
      if (row === undefined) return undefined;
      const { remote_id, status, attempt, submitted_at, overtaken } = row;
      const job = { id: remote_id ?? undefined, status, attempt, submittedAt: submitted_at ?? undefined };
      return overtaken ? { ...job, overtaken } : job;
    },
    async creating(request) {
      // Where the answer to it was lost there may be two: the newer one counts.
      const { rows } = await ask(
        owner,
        sql<{ attempt: number }>`insert into ops.jobs
          (source_id, stream, slice_id, attempt, request, status, run_id)
        select ${sourceId}, ${stream}, ${sliceId}::bigint, coalesce(max(attempt), 0) + 1, ${request}, 'creating', ${runId}::bigint
        from ops.jobs where slice_id = ${sliceId}::bigint returning attempt`,
      );
      return rows[0]?.attempt ?? 1;
    },
    submitted: (id) => update(sql`remote_id = ${id}, status = 'submitted', submitted_at = clock_timestamp()`),
    became: (status, reason) => update(sql`status = ${status}, reason = ${reason ?? null}`),
  };
}
