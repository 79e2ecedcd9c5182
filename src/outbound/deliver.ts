/** Delivers queued messages: at least once, in the order of each pipeline's changes, with back-off; given up after a day. */

import crypto from 'node:crypto';
import { sql } from 'kysely';
import { request } from 'undici';
import { hours, minutes, seconds } from '../core/time.ts';
import { connectTo, type Proxies, proxyFailure } from '../http/proxy.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Message } from './health.ts';

/** Where messages go. Its URL is a secret: it allows to post. */
export interface Channel {
  readonly name: 'webhook' | 'slack';
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
export async function deliver(db: Warehouse['db'], channels: readonly Channel[], signal: AbortSignal) {
  for (const channel of channels) while (!signal.aborted && (await deliverOne(db, channel, signal)));
}

/** Whether a message was sent, so that another may be due. */
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
  const { body, headers } = encode(channel, pending);
  const url = new URL(channel.url.reveal());
  const limits = { connections: 1, connectMs: deadline };
  const { dispatcher, proxy } = connectTo(url.origin, channel.proxies, limits);
  try {
    const answer = await request(url, {
      dispatcher,
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
    const { code, name } = error as NodeJS.ErrnoException;
    return `${channel.name} could not be reached: ${failed?.error.message ?? code ?? name}`;
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * The body and its headers. The generic webhook is signed as Standard Webhooks has it: HMAC-SHA256 over `id.timestamp.body`, base64, in
 * `webhook-signature: v1,…` (https://www.standardwebhooks.com).
 */
function encode(channel: Channel, { message, notification_id: id }: Pending) {
  if (channel.name === 'slack') return { body: JSON.stringify({ text: slack(message) }), headers: {} };
  const now = new Date();
  const type = `pipeline.${message.event}`;
  const body = JSON.stringify({ type, timestamp: now.toISOString(), data: message });
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (channel.secret === undefined) return { body, headers };
  const hmac = crypto.createHmac('sha256', channel.secret.reveal()).update(`${id}.${timestamp}.${body}`);
  return { body, headers: { ...headers, 'webhook-signature': `v1,${hmac.digest('base64')}` } };
}

const forSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The text of a message in Slack's notation. */
function slack({ title, since, cause, next }: Message): string {
  const lines = [`*${forSlack(title)}*`, `since ${since.slice(0, 16).replace('T', ' ')} UTC`];
  if (cause !== null) lines.push(forSlack(cause));
  return [...lines, `\`${forSlack(next)}\``].join('\n');
}
