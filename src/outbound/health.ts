/** Remembers the state of each pipeline, and queues one message for every channel when it changes. */

import { type QueryExecutorProvider as Db, type Kysely, sql } from 'kysely';
import { days } from '../core/time.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';

/** The state of a pipeline. */
type Health = 'ok' | 'failed' | 'partly_failed' | 'needs_attention' | 'stale' | 'stuck';

/** A run by its number, for `tidemark runs`, or a request by its id, for `tidemark remote`; an id may be a number, too. */
export type RunRef = { readonly run: string } | { readonly request: string };

/** An observation about a pipeline. */
export interface Finding {
  readonly pipeline: string;
  readonly state: Health;
  readonly which: RunRef | null;
  /** Probable, in one sentence; null where none is known. */
  readonly cause: string | null;
}

/** One message; plain values, no secret. */
export interface Message extends Pick<Finding, 'pipeline' | 'state' | 'cause'> {
  readonly event: Exclude<Health, 'ok'> | 'recovered' | 'reminder' | 'test';
  readonly before: Health;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The number of the run, or the id of the request; null where there is none (stale, because no run came). */
  readonly run: string | null;
  /** In one sentence. */
  readonly title: string;
  /** The next command to run. */
  readonly next: string;
}

const titles: Readonly<Record<Exclude<Message['event'], 'test'>, string>> = {
  failed: 'failed',
  partly_failed: 'is partly failed: some streams are not complete',
  needs_attention: 'needs a look: the deletion guard held, and nothing was deleted',
  stale: 'is stale: its last complete run is older than promised',
  stuck: 'is stuck: its run makes no progress',
  recovered: 'is well again',
  reminder: 'is still',
};

const nextCommand = ({ pipeline, state, which }: Finding): string => {
  if (state === 'stale') return `tidemark sync ${pipeline}`;
  if (state === 'ok' || which === null) return 'tidemark status';
  return 'run' in which ? `tidemark runs ${which.run}` : `tidemark remote log ${pipeline} ${which.request}`;
};

/** The message of a change from `before`, or the reminder where there is none. */
function messageOf(finding: Finding, before: Health, since: Date): Message {
  const { pipeline, state, which, cause } = finding;
  const event = before === state ? 'reminder' : state === 'ok' ? 'recovered' : state;
  const still = event === 'reminder' ? ` ${state.replace('_', ' ')}` : '';
  const run = which && ('run' in which ? which.run : which.request);
  const title = `${pipeline} ${titles[event]}${still}`;
  const next = nextCommand(finding);
  return { event, pipeline, state, before, since: since.toISOString(), run, title, cause, next };
}

/** The message by which a channel is tried. It is of no pipeline: `pipeline` is the name of the program. */
export function testMessage(at: Date): Message {
  const finding: Finding = { pipeline: 'tidemark', state: 'ok', which: null, cause: null };
  return {
    ...messageOf(finding, 'ok', at),
    event: 'test',
    title: 'Tidemark sends a test message: nothing is wrong',
  };
}

/** How often a reminder is sent while the state stays bad. */
const remindMs = days(1);

/**
 * Stores the state; where it changed or a reminder is due, queues a message for every channel in the same transaction. The first
 * state of a pipeline gives a message only if it is bad.
 */
export function recordHealth(
  db: Kysely<AnyDatabase>,
  channels: readonly { readonly name: string }[],
  finding: Finding,
): Promise<void> {
  const { pipeline, which, state: found } = finding;
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ state: Health; since: Date; notified_at: Date | null; now: Date }>`
      insert into ops.health as h (pipeline, state) values (${pipeline}, 'ok')
      on conflict (pipeline) do update set state = h.state
      returning state, since, notified_at, clock_timestamp() as now`.execute(trx);
    const [row] = rows;
    if (row === undefined) throw new Error(`ops.health has no row of ${pipeline}`);
    const { state: before, notified_at: notifiedAt, now } = row;
    // A failed pipeline gets stale, too: that is a message only if the newest run succeeded.
    const state = found === 'stale' && which === null && before !== 'ok' ? before : found;
    const isDue = notifiedAt === null || now.getTime() - notifiedAt.getTime() >= remindMs;
    if (before === state && (state === 'ok' || !isDue)) return;
    const since = before === state ? row.since : now;
    const message = messageOf({ ...finding, state }, before, since);
    await sql`update ops.health set state = ${state}, since = ${since}, run_key = ${message.run}, notified_at = ${now}
      where pipeline = ${pipeline}`.execute(trx);
    for (const { name } of channels)
      await sql`insert into ops.notifications (notification_id, channel, pipeline, event, message)
        values ('msg_' || gen_random_uuid(), ${name}, ${pipeline}, ${message.event},
          ${JSON.stringify(message)}::jsonb)`.execute(trx);
  });
}

/**
 * Pipelines that are stale now, by the database's clock and the bookkeeping, so that a run that never began is noticed: a stream whose last
 * complete walk began longer ago than promised, as `status` has it. A pipeline that runs is not stale.
 */
export async function findings(db: Db, pipelines: readonly string[]): Promise<readonly Finding[]> {
  const { rows } = await sql<{ pipeline: string; stream: string; hours: number }>`
    select distinct on (s.name) s.name as pipeline, t.stream,
      round(extract(epoch from clock_timestamp() - fresh.at) / 3600)::int as hours
    from ops.sources s join ops.streams t using (source_id)
    join ops.stream_freshness fresh using (source_id, stream)
    where s.name = any (${[...pipelines]}::text[]) and t.state <> 'unavailable' and not t.excluded
      and clock_timestamp() - fresh.at > fresh.promise_seconds * interval '1 second'
      and not exists (select from ops.runs r where r.pipeline = s.name and r.status = 'running')
    order by s.name, fresh.at`.execute(db);
  return rows.map(({ pipeline, stream, hours }) => ({
    pipeline,
    state: 'stale',
    which: null,
    cause: `${stream} was last complete ${hours} hours ago; no run brought it up to date since`,
  }));
}

/**
 * Pipelines made of several (`nightly`) that are well again: a request for every stream succeeded since the state was bad. They have no run
 * of their own in `ops.runs`.
 */
export async function recoveries(db: Db): Promise<readonly Finding[]> {
  const { rows } = await sql<{ pipeline: string; request: string }>`
    select distinct on (h.pipeline) h.pipeline, d.dag_run_id as request
    from ops.health h join ops.dag_runs d using (pipeline)
    where h.state <> 'ok' and not exists (select from ops.sources s where s.name = h.pipeline)
      and d.status = 'succeeded' and d.does in ('sync', 'full') and d.streams is null and d.finished_at > h.since
    order by h.pipeline, d.seq desc`.execute(db);
  return rows.map(({ pipeline, request }) => ({ pipeline, state: 'ok', which: { request }, cause: null }));
}
