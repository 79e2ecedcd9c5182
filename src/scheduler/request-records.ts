/** Reads of run requests, and of runs of the command line in the same shape: plain selects of views (`migrations/views/ops.*`). */

import { CamelCasePlugin, type RawBuilder, sql } from 'kysely';
import { type Db, rowsOf } from '../queries/db.ts';
import { type Ask, type AskRow, askOf, type DagRun, type Step } from './run-request.ts';

/** Rows with the names of properties: `run_id` is `runId`. */
const camel = (db: Db): Db => ({ getExecutor: () => db.getExecutor().withPlugin(new CamelCasePlugin()) });

const select = (db: Db, which: RawBuilder<unknown>): Promise<readonly DagRun[]> =>
  rowsOf(sql<DagRun>`select * from ops.dag_run_list d where ${which}`, camel(db));

/** What concerns a pipeline: its own requests and runs, and those of `nightly` that came to it. */
const concerns = (pipeline: string): RawBuilder<unknown> => sql`(d.pipeline = ${pipeline} or exists (
  select from ops.dag_run_runs l join ops.runs r using (run_id)
  where l.dag_run_id = d.run_id and r.pipeline = ${pipeline}))`;

/** The one of that id; with `pipeline` only if it concerns that. */
export async function dagRun(db: Db, id: string, pipeline?: string): Promise<DagRun | undefined> {
  const which = pipeline === undefined ? sql`true` : concerns(pipeline);
  return (await select(db, sql`d.run_id = ${id} and ${which}`))[0];
}

/** The newest that concern the pipeline; `before`: only those older than this one. */
export async function dagRuns(
  db: Db,
  pipeline: string,
  { limit, before = null }: { readonly limit: number; readonly before?: string | null },
): Promise<readonly DagRun[]> {
  // Compared with the row itself: its instant has microseconds, a Date has not.
  const older = sql`(d.queued_at, d.run_id) < (select b.queued_at, b.run_id from ops.dag_run_list b where b.run_id = ${before})`;
  return select(
    db,
    sql`${concerns(pipeline)} and ${before === null ? sql`true` : older}
      order by d.queued_at desc, d.run_id desc limit ${limit}`,
  );
}

/**
 * The one that counts as active: what runs, before what waits. A run of `nightly` or of the command line that holds the pipeline now counts, too.
 * Undefined: a start has nothing in its way.
 */
export const activeRun = async (db: Db, pipeline: string): Promise<DagRun | undefined> =>
  (
    await select(
      db,
      sql`d.run_id = (select run_id from ops.active_dag_runs where pipeline = ${pipeline} order by rank, seq limit 1)`,
    )
  )[0];

/** What a request or a run of the command line was asked to do; undefined if there is none of that id. */
export async function askOfRun(db: Db, id: string): Promise<Ask | undefined> {
  const [row] = await rowsOf(sql<AskRow>`select * from ops.dag_run_asks where run_id = ${id}`, db);
  return row && askOf(row);
}

/** The streams of these runs with their status, and the slices that are being read now. */
export const stepsOf = (db: Db, runs: readonly string[]): Promise<readonly Step[]> =>
  rowsOf(
    sql<Step>`select stream, slice, status, started_at, received, expected from ops.run_steps
      where run_id = any (${[...runs]}::bigint[]) order by run_id, stream, slice_id limit 500`,
    camel(db),
  );

/** The database clock, epoch milliseconds. */
export async function databaseNow(db: Db): Promise<number> {
  const [row] = await rowsOf(
    sql<{ ms: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    db,
  );
  return row?.ms ?? Number.NaN;
}
