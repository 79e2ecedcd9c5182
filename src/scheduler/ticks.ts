/**
 * Schedules that come due. A tick is a row that exists once, whoever writes it, and the same transaction queues what it asks for. Nobody's own
 * clock counts: an instant is due when the database clock has passed it.
 */

import crypto from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { type Due, due } from './cron.ts';
import type { Catalogue, Timed } from './pipelines.ts';
import type { Queue } from './queue.ts';
import { enqueue, lockPipeline } from './requests.ts';
import { dropLater, isAgain } from './retry.ts';
import { paramsOf, rowOf } from './run-request.ts';

/** A schedule that starts runs by itself. */
export interface Scheduled extends Timed {
  readonly pipeline: string;
  readonly due: Due;
}

/** One that came due just now. */
export interface Tick {
  readonly pipeline: string;
  readonly does: Timed['does'];
  readonly scheduledFor: Date;
  /** How many due instants it stands for. */
  readonly covers: number;
  readonly dagRunId: string;
  /** The request was there already. */
  readonly joined: boolean;
}

/** What starts by itself among the configured DAGs. Throws Misconfigured where a schedule cannot be read. */
export const scheduled = ({ dags }: Catalogue): readonly Scheduled[] =>
  dags.flatMap((dag) =>
    dag.configured
      ? dag.timed
          .filter(({ starts }) => starts)
          .map((timed) => ({ ...timed, pipeline: dag.name, due: due(timed) }))
      : [],
  );

/** Missed instants are counted up to here; what is beyond makes no difference to the one run that covers them. */
const mostMissed = 1000;

/**
 * Looks at one schedule: makes its tick if an instant has passed that nobody has seen to. Whatever was missed becomes one tick, for the newest
 * instant. A schedule that nobody knew before begins now; one that was changed is first seen to as it was.
 */
export async function tick(
  db: Kysely<AnyDatabase>,
  queue: Queue,
  schedule: Scheduled,
  by: string,
): Promise<Tick | undefined> {
  const { pipeline, does, cron, timeZone } = schedule;
  await queue.prepare(pipeline);
  return db.transaction().execute(async (trx) => {
    await lockPipeline(trx, pipeline);
    await sql`insert into ops.schedules (pipeline, does, cron, time_zone) values (${pipeline}, ${does}, ${cron}, ${timeZone})
      on conflict do nothing`.execute(trx);
    const { rows } = await sql<{ cron: string; time_zone: string; seen_to: Date; now: Date }>`
      select cron, time_zone, seen_to, clock_timestamp() as now from ops.schedules
      where pipeline = ${pipeline} and does = ${does} for update`.execute(trx);
    const [known] = rows;
    if (known === undefined) throw new Error(`the schedule of ${pipeline} vanished`);
    const changed = known.cron !== cron || known.time_zone !== timeZone;
    const was = changed
      ? (readable({ cron: known.cron, timeZone: known.time_zone }) ?? schedule.due)
      : schedule.due;
    const missed = was.between(known.seen_to, known.now, mostMissed);
    const [newest] = missed;
    // A database clock that was set back must not keep everything from running until it has caught up.
    const ahead = known.seen_to > known.now;
    if (newest !== undefined || changed || ahead)
      await sql`update ops.schedules set cron = ${cron}, time_zone = ${timeZone},
          seen_to = ${changed || ahead ? known.now : newest}, changed_at = case when ${changed} then clock_timestamp() else changed_at end
        where pipeline = ${pipeline} and does = ${does}`.execute(trx);
    if (newest === undefined) return undefined;
    return make(trx, queue, { pipeline, does, missed: [newest, ...missed.slice(1)], by });
  });
}

/** A schedule that an earlier version wrote may not be readable by this one. */
function readable(when: { readonly cron: string; readonly timeZone: string }): Due | undefined {
  try {
    return due(when);
  } catch {
    return undefined;
  }
}

interface Missed {
  readonly pipeline: string;
  readonly does: Timed['does'];
  /** Newest first. */
  readonly missed: readonly [Date, ...Date[]];
  readonly by: string;
}

async function make(
  trx: Kysely<AnyDatabase>,
  queue: Queue,
  { pipeline, does, missed, by }: Missed,
): Promise<Tick | undefined> {
  const [newest] = missed;
  const oldest = missed.at(-1) ?? newest;
  const there = await covering(trx, { pipeline, does, at: newest });
  const dagRunId = there ?? `${pipeline}-${does}-${compact(newest)}-${crypto.randomBytes(3).toString('hex')}`;
  const { numAffectedRows } = await sql`insert into ops.ticks
      (pipeline, does, scheduled_for, covers, first_missed, dag_run_id, joined, made_by)
    values (${pipeline}, ${does}, ${newest}, ${missed.length}, ${missed.length > 1 ? oldest : null}, ${dagRunId},
      ${there !== undefined}, ${by})
    on conflict do nothing`.execute(trx);
  if (Number(numAffectedRows ?? 0) === 0) return undefined;
  const ask = { pipeline, does };
  await dropLater(trx, { pipeline, does }, dagRunId);
  if (there === undefined)
    await enqueue(trx, queue, {
      id: dagRunId,
      ask: rowOf(ask),
      params: paramsOf(ask),
      trigger: 'schedule',
      by: 'schedule',
    });
  return {
    pipeline,
    does,
    scheduledFor: newest,
    covers: missed.length,
    dagRunId,
    joined: there !== undefined,
  };
}

/**
 * The request that sees to the instant already: one that still waits, or one that began no earlier. A run that began before may have read
 * past what was due since, so another waits behind it; never more than one.
 */
async function covering(
  trx: Kysely<AnyDatabase>,
  { pipeline, does, at }: { readonly pipeline: string; readonly does: Timed['does']; readonly at: Date },
): Promise<string | undefined> {
  // A complete walk does what an incremental one would.
  const enough = does === 'sync' ? ['sync', 'full'] : [does];
  const { rows } = await sql<{ id: string }>`select dag_run_id as id from ops.dag_runs d
    where pipeline = ${pipeline} and does = any (${enough}::text[]) and streams is null and stop_asked_at is null and not ${isAgain('d')}
      and (status = 'queued' or (status in ('running', 'interrupted', 'lost') and started_at >= ${at}))
    order by seq limit 1`.execute(trx);
  return rows[0]?.id;
}

const compact = (at: Date): string => at.toISOString().slice(0, 16).replaceAll(/[-:]/g, '');
