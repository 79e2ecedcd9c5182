/** Remembers the state of each pipeline, and writes a message for every channel when it changes: once, whoever finds it out. */

import crypto from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { days } from '../core/time.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { lastComplete } from '../warehouse/freshness.ts';
import { type Health, type Message, messageOf, type Which } from './message.ts';

export type ChannelName = 'webhook' | 'slack';

/** What was found out about a pipeline. */
export interface Finding {
  readonly pipeline: string;
  readonly state: Health;
  readonly which: Which | null;
  readonly cause: string | null;
}

/** As long as it stays bad, people are reminded this often. */
const remindEvery = days(1);

/**
 * Takes the finding in. Gives the message if the state changed or a reminder is due, after it was put into the outbox of every channel in the
 * same transaction; undefined where there is nothing to be told. The first state of a pipeline is told only if it is bad.
 */
export function takeIn(
  db: Kysely<AnyDatabase>,
  channels: readonly ChannelName[],
  finding: Finding,
): Promise<Message | undefined> {
  const { pipeline, which, cause } = finding;
  return db.transaction().execute(async (trx) => {
    await sql`insert into ops.health (pipeline, state) values (${pipeline}, 'ok') on conflict do nothing`.execute(
      trx,
    );
    const { rows } = await sql<{ state: Health; since: Date; told_at: Date | null; now: Date }>`
      select state, since, told_at, clock_timestamp() as now from ops.health where pipeline = ${pipeline} for update`.execute(
      trx,
    );
    const [known] = rows;
    if (known === undefined) throw new Error(`the state of ${pipeline} vanished`);
    // What failed gets old, too: that is no news, unless a run since left nothing else to say.
    const state =
      finding.state === 'stale' && which === null && known.state !== 'ok' ? known.state : finding.state;
    const changed = known.state !== state;
    const isOld = known.told_at === null || known.now.getTime() - known.told_at.getTime() >= remindEvery;
    if (!changed && (state === 'ok' || !isOld)) return undefined;
    const since = changed ? known.now : known.since;
    const message = messageOf({
      pipeline,
      state,
      before: known.state,
      since,
      which,
      cause,
      reminder: !changed,
    });
    await sql`update ops.health set state = ${state}, since = ${since}, run_key = ${message.run}, told_at = ${known.now}
      where pipeline = ${pipeline}`.execute(trx);
    for (const channel of channels)
      await sql`insert into ops.notifications (notification_id, channel, pipeline, event, message)
        values (${`msg_${crypto.randomUUID()}`}, ${channel}, ${pipeline}, ${message.event}, ${JSON.stringify(message)}::jsonb)`.execute(
        trx,
      );
    return message;
  });
}

/**
 * What is stale or stuck now, by the database's clock: found out from the bookkeeping, not from a run, so that a run that never began is
 * noticed. Stale: a stream that was complete once and whose last complete walk began longer ago than promised, as `status` has it (a source that
 * tells no time has no watermark). A pipeline that runs is not stale but stuck, if its streams have not moved for `stuckMs`.
 */
export async function findings(
  db: Kysely<AnyDatabase>,
  pipelines: readonly string[],
): Promise<readonly Finding[]> {
  const { rows } = await sql<{ pipeline: string; stream: string; hours: number }>`
    select distinct on (s.name) s.name as pipeline, t.stream,
      round(extract(epoch from clock_timestamp() - fresh.at) / 3600)::int as hours
    from ops.sources s join ops.streams t using (source_id) cross join ${lastComplete} fresh
    where s.name = any (${[...pipelines]}::text[]) and t.state <> 'unavailable' and not t.excluded
      and clock_timestamp() - fresh.at > t.freshness_seconds * interval '1 second'
      and not exists (select from ops.runs r where r.pipeline = s.name and r.status = 'running')
    order by s.name, fresh.at`.execute(db);
  return rows.map(({ pipeline, stream, hours }) => ({
    pipeline,
    state: 'stale' as const,
    which: null,
    cause: `${stream} was last complete ${hours} hours ago; no run brought it up to date since`,
  }));
}

/**
 * What is made of several pipelines (`nightly`) and is well again: a request of it for every stream succeeded since it was found bad. No run in
 * `ops.runs` is its own and could say so.
 */
export async function recoveries(db: Kysely<AnyDatabase>): Promise<readonly Finding[]> {
  const { rows } = await sql<{ pipeline: string; request: string }>`
    select distinct on (h.pipeline) h.pipeline, d.dag_run_id as request
    from ops.health h join ops.dag_runs d using (pipeline)
    where h.state <> 'ok' and not exists (select from ops.sources s where s.name = h.pipeline)
      and d.status = 'succeeded' and d.does in ('sync', 'full') and d.streams is null and d.finished_at > h.since
    order by h.pipeline, d.seq desc`.execute(db);
  return rows.map(({ pipeline, request }) => ({
    pipeline,
    state: 'ok' as const,
    which: { request },
    cause: null,
  }));
}
