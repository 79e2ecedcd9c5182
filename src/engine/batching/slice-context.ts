/**
 * What the engine lends to a stream that reads a slice itself: keys that the warehouse has, and a ledger of
 * its report jobs.
 */

import { type RawBuilder, sql } from 'kysely';
import type { JobLedger, KeySet, ReportJob, SliceContext, Stream } from '../../core/stream.ts';
import { ask, type Reader } from '../context/run-context.ts';

/** For one slice of a run. In a plan, which creates no jobs, any id will do. */
export const sliceContext = (reader: Reader, stream: Stream, sliceId = '0'): SliceContext => ({
  keys: (set) => keysOf(reader, set),
  job: ledgerOf(reader, stream.name, sliceId),
  clock: reader.clock ?? new Date(),
  now: reader.now(),
});

async function keysOf(reader: Reader, { table, columns, of = {}, among = {}, where = 'true' }: KeySet) {
  const values = Object.values(columns).map((column) => sql`${sql.id(column)}::text`);
  const named = Object.keys(columns).map((name, at) => sql`${name}::text, ${values[at]}`);
  const conditions = Object.entries({ ...of, ...among }).map(
    // The values are of the column's own type, so that its index serves.
    ([column, value]) => sql`${sql.id(column)} = any(${[value].flat()})`,
  );
  const own = sql`source_id = ${reader.sourceId} and (${sql.raw(where)})`;
  const query = sql<{ key: Readonly<Record<string, string>> }>`
    select jsonb_strip_nulls(jsonb_build_object(${sql.join(named)})) as key from ${sql.table(table)}
    where ${sql.join([own, ...conditions], sql` and `)}
    group by ${sql.join(values)} order by ${sql.join(values)}`;
  return (await ask(reader, query)).map(({ key }) => key);
}

interface JobRow extends Pick<ReportJob, 'status' | 'overtaken'> {
  readonly id: string | null;
  readonly submittedAt: Date | null;
}

/** `ops.jobs`, one row for each attempt of a slice. */
function ledgerOf(reader: Reader, stream: string, sliceId: string): JobLedger {
  const { sourceId, runId } = reader;
  const newest = sql`job_id = (select max(job_id) from ops.jobs where slice_id = ${sliceId}::bigint)`;
  const current = sql<JobRow>`
    select remote_id as id, status, submitted_at as "submittedAt", exists (
      select from ops.slices mine, ops.slices s join ops.walks w using (walk_id)
      where mine.slice_id = ${sliceId}::bigint and w.source_id = ${sourceId} and w.stream = ${stream}
        and s.partition is not distinct from mine.partition and s.status = 'done' and s.finished_at > j.submitted_at
        and s.window_from < mine.window_to and s.window_to > mine.window_from) as overtaken
    from ops.jobs j where ${newest}`;
  // Where the answer to it was lost there may be two: the newer one counts.
  const create = (request: string) => sql`
    insert into ops.jobs (source_id, stream, slice_id, attempt, request, status, run_id)
    select ${sourceId}, ${stream}, ${sliceId}::bigint, coalesce(max(attempt), 0) + 1, ${request}, 'creating', ${runId}::bigint
    from ops.jobs where slice_id = ${sliceId}::bigint`;
  const change = (set: RawBuilder<unknown>) => sql`
    update ops.jobs set ${set}, changed_at = clock_timestamp(), run_id = ${runId}::bigint where ${newest}`;
  const submit = (id: string) =>
    sql`remote_id = ${id}, status = 'submitted', submitted_at = clock_timestamp()`;
  return {
    async current() {
      const [job] = await ask(reader, current);
      return job && { ...job, id: job.id ?? undefined, submittedAt: job.submittedAt ?? undefined };
    },
    creating: (request) => ask(reader, create(request)),
    submitted: (id) => ask(reader, change(submit(id))),
    became: (status, reason) => ask(reader, change(sql`status = ${status}, reason = ${reason ?? null}`)),
  };
}
