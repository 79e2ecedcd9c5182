/** Queues hand-offs: a row for a run that succeeded, before anything is asked of the engine. handoff.ts carries it out. */

import crypto from 'node:crypto';
import { type QueryExecutorProvider as Db, sql } from 'kysely';
import type { OnSuccess } from '../core/dag-engine.ts';

/** A run that is to be handed over. */
interface FinishedRun {
  readonly pipeline: string;
  /** Its number in `ops.runs`; of a request that covers all pipelines, its id. */
  readonly runKey: string;
  /** True for a request that covers all pipelines. */
  readonly ofAll?: boolean;
}

/**
 * Writes the hand-off; the same run again changes nothing. The engine gets RUN_ID, and as FROM and TO the changes since the hand-off before:
 * rows with `_synced_at` in [FROM, TO) (UTC, microseconds). They include runs in between that were not handed over, runs that were still
 * writing at the last TO, and hand-offs that the engine did not take.
 */
export async function enqueueHandoff(db: Db, run: FinishedRun, next: OnSuccess): Promise<void> {
  const { pipeline, runKey } = run;
  const { from, to } = await changed(db, run, next.dag);
  const params = { RUN_ID: runKey, ...(from !== null && { FROM: from }), TO: to, ...next.params };
  const text = Object.entries(params)
    .map(([name, value]) => `${name}=${/[\s"]/.test(value) ? JSON.stringify(value) : value}`)
    .join(' ');
  const remote = remoteId(pipeline, runKey);
  await sql`insert into ops.handoffs (pipeline, run_key, dag, params, remote_run_id, wait, changed_from, changed_to)
    values (${pipeline}, ${runKey}, ${next.dag}, ${text}, ${remote}, ${next.wait === true}, ${from}::timestamptz, ${to}::timestamptz)
    on conflict (pipeline, run_key, dag) do nothing`.execute(db);
}

/**
 * The id of the run at the engine: letters, digits, hyphens and underscores, 64 at most (to a longer one Dagu 1.30.2 answers 200 and runs
 * nothing, measured). Its end is random, because a new warehouse counts its runs from 1 and the engine may remember those of the old one.
 */
const remoteId = (pipeline: string, runKey: string): string => {
  const named = `tidemark-${pipeline}-${runKey}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  return `${named.slice(0, 51)}-${crypto.randomBytes(6).toString('hex')}`;
};

type Changes = { readonly from: string | null; readonly to: string };

/** Instants as text: a Date has no microseconds, and a row of the last one must not fall between two hand-offs. */
async function changed(db: Db, run: FinishedRun, dag: string): Promise<Changes> {
  const { pipeline, runKey, ofAll = false } = run;
  const { rows } = await sql<Changes>`
    with this as (
      select coalesce((select finished_at from ops.runs where not ${ofAll} and pipeline = ${pipeline} and run_id::text = ${runKey}),
        clock_timestamp()) as until),
    earlier as (
      select * from ops.handoffs
      where pipeline = ${pipeline} and dag = ${dag} and run_key <> ${runKey} and changed_to <= (select until from this)),
    -- Hand-offs that the engine never took (it gave no status), unless a later one that it took covers them.
    owed as (
      select min(changed_from) as since from earlier e
      where status in ('failed', 'unknown') and engine_status is null and not exists (
        select from earlier l where l.engine_status is not null and l.changed_from <= e.changed_from and l.changed_to >= e.changed_to)),
    before as (select least(max(changed_to), (select since from owed)) as until from earlier),
    since as (
      select min(started_at) as began from ops.runs, before
      where (${ofAll} or pipeline = ${pipeline}) and (before.until is null or finished_at is null or finished_at > before.until))
    select ${iso(sql`least(before.until, since.began)`)} as "from", ${iso(sql`this.until`)} as "to"
    from this, before, since`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('a query without conditions has one row');
  return row;
}

const iso = (instant: ReturnType<typeof sql>) =>
  sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Queues the newest run of every stream that succeeded within a day and was not queued, because its process ended first. */
export async function enqueueMissedHandoff(db: Db, pipeline: string, next: OnSuccess): Promise<void> {
  const { rows } = await sql<{ run_key: string }>`
    select run_id::text as run_key from ops.runs r
    where pipeline = ${pipeline} and settles = 'freshness' and status = 'succeeded'
      and finished_at > clock_timestamp() - interval '1 day'
      and run_id > coalesce((select max(run_key::bigint) from ops.handoffs h
        where h.pipeline = ${pipeline} and h.dag = ${next.dag} and h.run_key ~ '^[0-9]+$'), 0)
    order by run_id desc limit 1`.execute(db);
  const [row] = rows;
  if (row !== undefined) await enqueueHandoff(db, { pipeline, runKey: row.run_key }, next);
}
