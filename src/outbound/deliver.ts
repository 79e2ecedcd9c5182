/** Delivers queued messages: at least once, in the order of each pipeline's changes, with back-off; given up after a day, or when the receiver refuses them. */

import crypto from 'node:crypto';
import { sql } from 'kysely';
import { hours, minutes, seconds } from '../core/time.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Channel, Outgoing } from './channel.ts';
import { sendEmail } from './email.ts';
import { testMessage } from './health.ts';
import { post } from './post.ts';

const giveUpAfter = hours(24);
const longestPause = minutes(30);

interface Pending extends Outgoing {
  readonly attempts: number;
  readonly created_at: Date;
}

/** Sends what is due. Several processes may do it at once: each message is held by one. */
export async function deliver(db: Warehouse['db'], channels: readonly Channel[], signal: AbortSignal) {
  for (const channel of channels) while (!signal.aborted && (await deliverOne(db, channel, signal)));
}

/** Whether a message is done with, so that another may be due. */
function deliverOne(db: Warehouse['db'], channel: Channel, signal: AbortSignal): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    // A message waits for older ones of its pipeline that are not sent yet: the last that arrives must be the current state.
    const { rows } = await sql<Pending>`
      select notification_id, message, attempts, created_at from ops.notifications n
      where channel = ${channel.name} and status = 'pending' and next_at <= clock_timestamp() and not exists (
        select from ops.notifications o where o.channel = n.channel and o.pipeline = n.pipeline and o.status = 'pending'
          and (o.created_at, o.notification_id) < (n.created_at, n.notification_id))
      order by created_at limit 1 for update skip locked`.execute(trx);
    const [pending] = rows;
    if (pending === undefined) return false;
    const { isSent, isRefused, error } = await send(channel, pending, signal);
    if (isSent) {
      await sql`update ops.notifications set status = 'sent', sent_at = clock_timestamp(), attempts = attempts + 1, error = ${error}
        where notification_id = ${pending.notification_id}`.execute(trx);
      return true;
    }
    if (isRefused) {
      await sql`update ops.notifications set status = 'given_up', attempts = attempts + 1, error = ${`${error}: it refuses the message, which is not sent again`}
        where notification_id = ${pending.notification_id}`.execute(trx);
      return true;
    }
    const pause = Math.min(longestPause, seconds(5) * 2 ** pending.attempts);
    await sql`update ops.notifications set attempts = attempts + 1, error = ${error},
        next_at = clock_timestamp() + ${pause} * interval '1 millisecond',
        status = case when clock_timestamp() - created_at > ${giveUpAfter} * interval '1 millisecond' then 'given_up' else 'pending' end
      where notification_id = ${pending.notification_id}`.execute(trx);
    return false;
  });
}

/**
 * Sends a test message to each channel now, once; nothing is queued. `db`: where it is noted how that went. `problem`: why the channel did not
 * take it; null: it did.
 */
export async function sendTest(channels: readonly Channel[], signal: AbortSignal, db?: Warehouse['db']) {
  const message = testMessage(new Date());
  const sent = channels.map(async (channel) => {
    const outgoing = { notification_id: `msg_${crypto.randomUUID()}`, message };
    const { isSent, error } = await send(channel, outgoing, signal);
    if (db !== undefined)
      await sql`insert into ops.notifications (notification_id, channel, pipeline, event, message, status, attempts, error, sent_at)
        values (${outgoing.notification_id}, ${channel.name}, ${message.pipeline}, ${message.event}, ${JSON.stringify(message)}::jsonb,
          ${isSent ? 'sent' : 'given_up'}, 1, ${error}, case when ${isSent} then clock_timestamp() end)`.execute(
        db,
      );
    return { channel: channel.name, problem: isSent ? null : error };
  });
  return Promise.all(sent);
}

/** One try. */
const send = (channel: Channel, outgoing: Outgoing, signal: AbortSignal) =>
  channel.name === 'email' ? sendEmail(channel, outgoing, signal) : post(channel, outgoing, signal);
