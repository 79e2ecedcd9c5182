/** Intends hand-offs: a row, derived from a run that succeeded, before anything is asked of the engine. handoff.ts carries it out. */

import crypto from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';

/** What a pipeline declares (`onSuccess` of its file). */
export interface Then {
  readonly dag: string;
  /** Whether its end is waited for and stored. Default: no. */
  readonly wait?: boolean;
  /** Further parameters. */
  readonly params?: Readonly<Record<string, string>>;
}

/** A run that is to be handed over. */
export interface Done {
  readonly pipeline: string;
  /** Its number in `ops.runs`; of a run that is made of several, the id of the request. */
  readonly runKey: string;
  /** It stands for the runs of all pipelines, not for one of `ops.runs`. */
  readonly ofAll?: boolean;
}

/**
 * Writes the intent; the same run again changes nothing. The engine is given RUN_ID, and as FROM and TO what changed here since the hand-off
 * before: rows with `_synced_at` in [FROM, TO) (UTC, microseconds), so that what follows us can work on these alone. Runs between the two that
 * were not handed over (they failed in part, or were backfills) are within; what a run wrote that was still at work at the last TO is so, too, and
 * what a hand-off was to bring that the engine did not take, as far as it is known.
 */
export async function intend(db: Kysely<AnyDatabase>, done: Done, then: Then): Promise<void> {
  const { pipeline, runKey } = done;
  const { from, to } = await changed(db, done, then.dag);
  const params = { RUN_ID: runKey, ...(from !== null && { FROM: from }), TO: to, ...then.params };
  const text = Object.entries(params)
    .map(([name, value]) => `${name}=${/[\s"]/.test(value) ? JSON.stringify(value) : value}`)
    .join(' ');
  const remote = remoteId(pipeline, runKey);
  await sql`insert into ops.handoffs (pipeline, run_key, dag, params, remote_run_id, wait, changed_from, changed_to)
    values (${pipeline}, ${runKey}, ${then.dag}, ${text}, ${remote}, ${then.wait === true}, ${from}::timestamptz, ${to}::timestamptz)
    on conflict (pipeline, run_key, dag) do nothing`.execute(db);
}

/**
 * What the run is called at the engine. Engines take letters, digits, hyphens and underscores, 64 at most: of a longer one the vendor's 1.30.2
 * says that it is started, and runs nothing (measured). The end is random: an engine that remembers a run of this name, of a warehouse that was
 * made anew or under a key that is written alike, would take ours for that one.
 */
const remoteId = (pipeline: string, runKey: string): string => {
  const named = `tidemark-${pipeline}-${runKey}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  return `${named.slice(0, 51)}-${crypto.randomBytes(6).toString('hex')}`;
};

/** Instants as text: a Date has no microseconds, and a row of the last one must not fall between two hand-offs. */
async function changed(
  db: Kysely<AnyDatabase>,
  { pipeline, runKey, ofAll = false }: Done,
  dag: string,
): Promise<{ readonly from: string | null; readonly to: string }> {
  const { rows } = await sql<{ from: string | null; to: string }>`
    with this as (
      select coalesce((select finished_at from ops.runs where not ${ofAll} and pipeline = ${pipeline} and run_id::text = ${runKey}),
        clock_timestamp()) as until),
    earlier as (
      select * from ops.handoffs
      where pipeline = ${pipeline} and dag = ${dag} and run_key <> ${runKey} and changed_to <= (select until from this)),
    -- What the engine took has a word of it. Of what it never took nobody has the rows, unless it took them with a later one.
    owed as (
      select min(changed_from) as since from earlier e
      where status in ('failed', 'unknown') and engine_status is null and not exists (
        select from earlier l where l.engine_status is not null and l.changed_from <= e.changed_from and l.changed_to >= e.changed_to)),
    before as (select least(max(changed_to), (select since from owed)) as until from earlier),
    since as (
      select min(started_at) as began from ops.runs, before
      where (${ofAll} or pipeline = ${pipeline}) and (before.until is null or finished_at is null or finished_at > before.until))
    select ${iso(sql`least(before.until, since.began)`)} as "from", ${iso(sql`this.until`)} as "to" from this, before, since`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a question without conditions has one answer');
  return row;
}

const iso = (instant: ReturnType<typeof sql>) =>
  sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The newest run of every stream of the pipeline that succeeded within a day and was not handed over: its process ended before it could say so. */
export async function intendMissed(db: Kysely<AnyDatabase>, pipeline: string, then: Then): Promise<void> {
  const { rows } = await sql<{ run_key: string }>`
    select run_id::text as run_key from ops.runs r
    where pipeline = ${pipeline} and settles = 'freshness' and status = 'succeeded'
      and finished_at > clock_timestamp() - interval '1 day'
      and run_id > coalesce((select max(run_key::bigint) from ops.handoffs h
        where h.pipeline = ${pipeline} and h.dag = ${then.dag} and h.run_key ~ '^[0-9]+$'), 0)
    order by run_id desc limit 1`.execute(db);
  const [row] = rows;
  if (row !== undefined) await intend(db, { pipeline, runKey: row.run_key }, then);
}
