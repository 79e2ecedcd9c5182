/**
 * A request of a schedule that failed of what may pass by itself (a source that is away, or wants to be left alone for longer than a run waits) is
 * asked for again later, a few times (guarantee G14). Until its time has come the later one is not there for anybody: it holds up nothing, and
 * whatever is asked for meanwhile that does the same takes its place.
 */

import { type Kysely, type RawBuilder, sql } from 'kysely';
import { minute } from '../core/format.ts';
import type { Db } from '../queries/db.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { Done } from './control.ts';
import type { Queue } from './queue.ts';
import { appendIn } from './request-log.ts';
import { type Claimed, enqueue, lockPipeline } from './requests.ts';
import { type AskRow, askOf, paramsOf } from './run-request.ts';

/** Of a row `d` of `ops.dag_runs`: it was asked for by itself, in place of one that failed. */
export const isAgain = (d: string): RawBuilder<boolean> =>
  sql<boolean>`(${sql.ref(`${d}.retry_of`)} is not null and ${sql.ref(`${d}.trigger`)} = 'schedule')`;

/** Of a row `d` of `ops.dag_runs`: it waits for its later time. */
export const isLater = (d: string): RawBuilder<boolean> =>
  sql<boolean>`(${sql.ref(`${d}.status`)} = 'queued' and ${isAgain(d)} and ${sql.ref(`${d}.not_before`)} > clock_timestamp())`;

/** The request and those before it in whose place it was asked for by itself, the newest first: `tries (id, place)`, for a query to begin with. */
const triesOf = (id: string): RawBuilder<unknown> => sql`recursive tries (id, place) as (
  select ${id}::text, 1
  union all
  select d.retry_of, t.place + 1 from tries t join ops.dag_runs d on d.dag_run_id = t.id where ${isAgain('d')})`;

/**
 * Asks for the request again, in the transaction that closes it, and says so in its log. `passesAfterMs`: so long the source asks to be left alone.
 * Nothing is asked for behind the last of the `pauses` (ms, one for each further try), of what somebody told to stop, and where the same waits
 * already.
 */
export async function askAgain(
  trx: Kysely<AnyDatabase>,
  queue: Queue,
  { id, ask, trigger }: Pick<Claimed, 'id' | 'ask' | 'trigger'>,
  passesAfterMs: number,
  pauses: readonly number[],
): Promise<void> {
  if (trigger !== 'schedule') return;
  await lockPipeline(trx, ask.pipeline);
  const { rows } = await sql<{ first: string; tries: number }>`
    with ${triesOf(id)}
    select t.id as first, t.place as tries from tries t
    where not exists (select from ops.dag_runs where dag_run_id = ${id} and stop_asked_at is not null)
      and not exists (select from ops.dag_runs where pipeline = ${ask.pipeline} and does = ${ask.does} and streams is null
        and status in ('queued', 'interrupted', 'lost') and stop_asked_at is null)
    order by t.place desc limit 1`.execute(trx);
  const [known] = rows;
  if (known === undefined) return;
  const pause = pauses[known.tries - 1];
  if (pause === undefined) return;
  const pauseMs = Math.max(pause, passesAfterMs);
  await enqueue(trx, queue, {
    id: `${known.first}-again-${known.tries}`,
    ask,
    params: paramsOf(askOf(ask)),
    trigger: 'schedule',
    by: 'schedule',
    retryOf: id,
    pauseMs,
  });
  const at = minute(new Date(Date.now() + pauseMs));
  await note(
    trx,
    id,
    `this may pass: the same again at ${at} UTC (try ${known.tries + 1} of ${pauses.length + 1})`,
  );
}

/** What waits for its later time, and what a request of every stream that does this does as well, gives its place to that request. */
export async function dropLater(
  trx: Db,
  { pipeline, does }: Pick<AskRow, 'pipeline' | 'does'>,
  by: string,
): Promise<void> {
  // A complete walk does what an incremental one would.
  const done = does === 'full' ? ['sync', 'full'] : [does];
  await drop(
    trx,
    sql`pipeline = ${pipeline} and does = any (${done}::text[])`,
    `not again by itself: ${by} does it`,
  );
}

/** Nothing of the pipeline that waits for its later time is asked for again. */
export const giveUpLater = (db: Db, pipeline: string, by: string): Promise<void> =>
  drop(db, sql`pipeline = ${pipeline}`, `not again by itself: stop asked for by ${by}`);

async function drop(db: Db, which: RawBuilder<unknown>, why: string): Promise<void> {
  const { rows } = await sql<{ before: string }>`
    delete from ops.dag_runs d where ${isLater('d')} and ${which} returning retry_of as before`.execute(db);
  for (const { before } of rows) await note(db, before, why);
}

const note = (db: Db, id: string, message: string): Promise<void> =>
  appendIn(db, id, [{ at: new Date(), level: 'info', message }]);

/** What succeeded of the request already: before its process ended, or in the tries in whose place it was asked for by itself. */
export async function doneBefore(db: Db, id: string): Promise<readonly Done[]> {
  const { rows } = await sql<Done>`
    with ${triesOf(id)}
    select distinct r.pipeline, r.kind from tries t
    join ops.dag_run_runs l on l.dag_run_id = t.id join ops.runs r using (run_id)
    where r.status = 'succeeded'`.execute(db);
  return rows;
}
