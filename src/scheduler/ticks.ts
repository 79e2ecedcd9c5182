/**
 * Schedules that come due. A tick is a row that exists once, whichever process writes it, and the same transaction queues its request. An instant is
 * due when the database clock has passed it; no other clock counts.
 */

import crypto from 'node:crypto';
import { sql } from 'kysely';
import { query } from '../queries/db.ts';
import { between, type Due, due } from '../runs/schedule.ts';
import type { Queue, Trx } from './queue.ts';
import { cancelRetries, enqueue, lockQueue } from './requests.ts';
import { type DagCatalogue, paramsOf, type Timed } from './run-request.ts';

/** A schedule that starts runs by itself. */
export interface Scheduled extends Timed {
  readonly pipeline: string;
  readonly due: Due;
}

/** The schedules of the configured DAGs that start by themselves. Throws Misconfigured where one cannot be read. */
export const scheduled = (catalogue: DagCatalogue): readonly Scheduled[] =>
  catalogue.flatMap(({ name: pipeline, configured, timed }) =>
    timed.filter(({ starts }) => configured && starts).map((each) => ({ ...each, pipeline, due: due(each) })),
  );

/**
 * Gives a function that says at which of these schedules `tick` has something to do: those that are new or changed, or have an instant that passed.
 * It reads one row for as long as `ops.schedules` stays as it is and no instant passes.
 */
export function lookout(schedules: readonly Scheduled[]): (db: Trx) => Promise<readonly Scheduled[]> {
  /** Nothing is due from `from` until `to`, where the rows are still those. */
  let quiet: { readonly rows: string; readonly from: Date; readonly to: Date | undefined } | undefined;
  return async (db) => {
    const [at] = await query(db)<{ rows: string; now: Date }>`
      select coalesce(sum(hashtextextended(s::text, 0)), 0)::text as rows, clock_timestamp() as now from ops.schedules s`;
    if (at === undefined) throw new Error('the database gave no time');
    const { rows, now } = at;
    const isQuiet = rows === quiet?.rows && now >= quiet.from && (quiet.to === undefined || now < quiet.to);
    if (isQuiet) return [];
    const seen = await seenOf(db);
    let first: Date | undefined;
    const found = schedules.filter(({ pipeline, does, cron, timeZone, due }) => {
      const row = seen.get(`${pipeline} ${does}`);
      if (row === undefined || row.cron !== cron || row.timeZone !== timeZone || row.seenTo > now)
        return true;
      const next = due(row.seenTo).next().value;
      if (first === undefined || next < first) first = next;
      return next <= now;
    });
    quiet = found.length === 0 ? { rows, from: now, to: first } : undefined;
    return found;
  };
}

/** What is stored of each schedule, by pipeline and what it does. */
async function seenOf(db: Trx) {
  const rows = await query(db)<
    Record<'pipeline' | 'does' | 'cron' | 'timeZone', string> & Record<'seenTo', Date>
  >`select pipeline, does, cron, time_zone, seen_to from ops.schedules`;
  return new Map(rows.map((row) => [`${row.pipeline} ${row.does}`, row]));
}

/**
 * Makes the tick of a schedule if an instant has passed since it was last looked at. Whatever was missed becomes one tick, for the newest instant. A
 * schedule that is new begins now. `by`: the name of this process. Gives the id of the request.
 */
export function tick(db: Trx, queue: Queue, schedule: Scheduled, by: string): Promise<string | undefined> {
  const { pipeline, does, cron, timeZone } = schedule;
  return db.transaction().execute(async (trx) => {
    await lockQueue(trx);
    // A database clock that was set back must not keep everything from running until it has caught up.
    const { rows } = await sql<{ seen_to: Date; now: Date }>`
      insert into ops.schedules as s (pipeline, does, cron, time_zone)
      values (${pipeline}, ${does}, ${cron}, ${timeZone})
      on conflict (pipeline, does) do update set cron = excluded.cron, time_zone = excluded.time_zone,
        seen_to = least(s.seen_to, clock_timestamp()), changed_at = case
          when (s.cron, s.time_zone) = (excluded.cron, excluded.time_zone) then s.changed_at
          else clock_timestamp() end
      returning seen_to, clock_timestamp() as now`.execute(trx);
    const missed = rows[0] ? between(schedule.due, rows[0].seen_to, rows[0].now) : [];
    const made = missed.length === 0 ? undefined : await write(trx, schedule, missed, by);
    if (made === undefined) return undefined;
    const { id, joined } = made;
    const ask = { pipeline, does };
    if (joined) await cancelRetries(trx, ask, `${id} does it`);
    else await enqueue(trx, queue, { id, ask, params: paramsOf(ask), trigger: 'schedule', by: 'schedule' });
    return id;
  });
}

/**
 * Writes the tick for the newest of the missed instants; undefined if it exists. It joins a request that sees to the instant already: one that still
 * waits, or one that began no earlier. A run that began before may have read past what was due since, so one more waits; never two.
 */
async function write(trx: Trx, { pipeline, does }: Scheduled, missed: readonly Date[], by: string) {
  const newest = missed.at(-1) ?? new Date();
  const stamp = newest.toISOString().slice(0, 16).replaceAll(/[-:]/g, '');
  const id = `${pipeline}-${does}-${stamp}-${crypto.randomBytes(3).toString('hex')}`;
  const { rows } = await sql<{ id: string; joined: boolean }>`
    with seen as (update ops.schedules set seen_to = ${newest} where pipeline = ${pipeline} and does = ${does}),
    covering as (select dag_run_id from ops.dag_runs
      where pipeline = ${pipeline} and (does = ${does} or does = 'full' and ${does} = 'sync') and streams is null
        and stop_asked_at is null and (status = 'queued' or started_at >= ${newest} and finished_at is null)
      order by seq limit 1)
    insert into ops.ticks (pipeline, does, scheduled_for, covers, first_missed, made_by, dag_run_id, joined)
    select ${pipeline}, ${does}, ${newest}, ${missed.length}, ${missed.length > 1 ? missed[0] : null}, ${by},
      coalesce(dag_run_id, ${id}), dag_run_id is not null
    from (select) one left join covering on true
    on conflict do nothing returning dag_run_id as id, joined`.execute(trx);
  return rows[0];
}
