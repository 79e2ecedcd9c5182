/** Delivers queued messages: at least once, in the order of each pipeline's changes, with back-off; given up after a day. */

import crypto from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { hours, minutes, seconds } from '../core/time.ts';
import { connectTo, type Proxies, proxyFailure } from '../http/proxy.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { ChannelName } from './health.ts';
import type { Message } from './message.ts';

/** Where messages go. Its URL is a secret: it allows to post. */
export interface Channel {
  readonly name: ChannelName;
  readonly url: { reveal(): string };
  /** Signs the body (webhook only). */
  readonly secret?: { reveal(): string };
  readonly proxies?: Proxies;
}

const deadline = seconds(10);
const giveUpAfter = hours(24);
const longestPause = minutes(30);

interface Pending {
  readonly notification_id: string;
  readonly message: Message;
  readonly attempts: number;
  readonly created_at: Date;
}

/** Sends what is due. Several processes may do it at once: each message is held by one. */
export async function deliver(
  db: Kysely<AnyDatabase>,
  channels: readonly Channel[],
  signal: AbortSignal,
): Promise<void> {
  for (const channel of channels) while (!signal.aborted && (await deliverOne(db, channel, signal)));
}

/** Whether a message was sent, so that another may be due. */
function deliverOne(db: Kysely<AnyDatabase>, channel: Channel, signal: AbortSignal): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    // A message waits for older ones of its pipeline that are not sent yet: the last that arrives must be the current state.
    const { rows } =
      await sql<Pending>`select notification_id, message, attempts, created_at from ops.notifications n
      where channel = ${channel.name} and status = 'pending' and next_at <= clock_timestamp() and not exists (
        select from ops.notifications o where o.channel = n.channel and o.pipeline = n.pipeline and o.status = 'pending'
          and (o.created_at, o.notification_id) < (n.created_at, n.notification_id))
      order by created_at limit 1 for update skip locked`.execute(trx);
    const [pending] = rows;
    if (pending === undefined) return false;
    const problem = await post(channel, pending, signal);
    if (problem === undefined) {
      await sql`update ops.notifications set status = 'sent', sent_at = clock_timestamp(), attempts = attempts + 1, error = null
        where notification_id = ${pending.notification_id}`.execute(trx);
      return true;
    }
    const pause = Math.min(longestPause, seconds(5) * 2 ** pending.attempts);
    await sql`update ops.notifications set attempts = attempts + 1, error = ${problem},
        next_at = clock_timestamp() + ${pause} * interval '1 millisecond',
        status = case when clock_timestamp() - created_at > ${giveUpAfter} * interval '1 millisecond' then 'given_up' else 'pending' end
      where notification_id = ${pending.notification_id}`.execute(trx);
    return false;
  });
}

/** One try. Returns the error, without the address (it may hold a token). Redirects are not followed. */
async function post(channel: Channel, pending: Pending, signal: AbortSignal): Promise<string | undefined> {
  const { body, headers } = encode(channel, pending, new Date());
  const url = new URL(channel.url.reveal());
  const { dispatcher, proxy } = connectTo(url.origin, channel.proxies, {
    connections: 1,
    connectMs: deadline,
  });
  try {
    const answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadline)]),
    });
    await answer.body.dump({ limit: 65_536, signal: AbortSignal.timeout(deadline) });
    if (answer.statusCode >= 200 && answer.statusCode < 300) return undefined;
    return `${channel.name} answered ${answer.statusCode}`;
  } catch (error) {
    const failed = proxy === undefined ? undefined : proxyFailure(url.origin, proxy, error);
    if (failed !== undefined) return `${channel.name} could not be reached: ${failed.error.message}`;
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    const name = error instanceof Error ? error.name : 'unknown';
    return `${channel.name} could not be reached (${typeof code === 'string' ? code : name})`;
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * The body and its headers. The generic webhook is signed as Standard Webhooks has it: HMAC-SHA256 over `id.timestamp.body`, base64, in
 * `webhook-signature: v1,…` (https://www.standardwebhooks.com).
 */
function encode(
  channel: Channel,
  pending: Pick<Pending, 'notification_id' | 'message'>,
  now: Date,
): { readonly body: string; readonly headers: Readonly<Record<string, string>> } {
  const { message, notification_id: id } = pending;
  if (channel.name === 'slack') return { body: JSON.stringify(slack(message)), headers: {} };
  const body = JSON.stringify({
    type: `pipeline.${message.event}`,
    timestamp: now.toISOString(),
    data: message,
  });
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (channel.secret === undefined) return { body, headers };
  const signature = crypto
    .createHmac('sha256', channel.secret.reveal())
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64');
  return { body, headers: { ...headers, 'webhook-signature': `v1,${signature}` } };
}

const forSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const marks: Readonly<Record<Message['state'], string>> = {
  ok: '✅',
  failed: '❌',
  partly_failed: '⚠️',
  needs_attention: '⚠️',
  stale: '🕒',
  stuck: '⏸️',
};

function slack(message: Message): object {
  const text = `${marks[message.state]} ${forSlack(message.title)}`;
  const lines = [
    `*${text}*`,
    `since ${message.since.slice(0, 16).replace('T', ' ')} UTC`,
    ...(message.cause === null ? [] : [forSlack(message.cause)]),
    `\`${forSlack(message.next)}\``,
  ];
  return { text, blocks: [{ type: 'section', text: { type: 'mrkdwn', text: lines.join('\n') } }] };
}
