/** Sends messages by HTTP: to a webhook, to Slack and to PagerDuty. */

import crypto from 'node:crypto';
import os from 'node:os';
import { request } from 'undici';
import { seconds } from '../core/time.ts';
import { connectTo, proxyFailure } from '../http/proxy.ts';
import { type HttpChannel, type Outgoing, sinceText } from './channel.ts';
import type { Message } from './health.ts';

const deadline = seconds(10);

/** One try. Redirects are not followed. The error does not hold the address, because that may hold a token. `isRefused`: another try would end the same way. */
export async function post(channel: HttpChannel, outgoing: Outgoing, signal: AbortSignal) {
  const { body, headers } = encode(channel, outgoing);
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
    const { statusCode: status } = answer;
    const isSent = status >= 200 && status < 300;
    // PagerDuty's 400 means that the event is invalid. What a 401, 403 or 404 means may be mended within the day: a wrong address, a proxy.
    const isRefused = [400, 413, 422].includes(status);
    return { isSent, isRefused, error: isSent ? null : `${channel.name} answered ${status}` };
  } catch (error) {
    const failed = proxy === undefined ? undefined : proxyFailure(url.origin, proxy, error);
    const { code, name } = error as NodeJS.ErrnoException;
    const why = failed?.error.message ?? code ?? name;
    return { isSent: false, isRefused: false, error: `${channel.name} could not be reached: ${why}` };
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * The body and its headers. The generic webhook is signed as Standard Webhooks has it: HMAC-SHA256 over `id.timestamp.body`, base64, in
 * `webhook-signature: v1,…` (https://www.standardwebhooks.com).
 */
function encode({ name, secret }: HttpChannel, { message, notification_id: id }: Outgoing) {
  if (name === 'slack') return { body: JSON.stringify({ text: slackText(message) }), headers: {} };
  if (name === 'pagerduty')
    return { body: JSON.stringify(pagerDutyEvent(secret?.reveal(), message)), headers: {} };
  const now = new Date();
  const type = `pipeline.${message.event}`;
  const body = JSON.stringify({ type, timestamp: now.toISOString(), data: message });
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return { body, headers };
  const hmac = crypto.createHmac('sha256', secret.reveal()).update(`${id}.${timestamp}.${body}`);
  return { body, headers: { ...headers, 'webhook-signature': `v1,${hmac.digest('base64')}` } };
}

const forSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The text of a message in Slack's notation. */
function slackText(message: Message): string {
  const { title, cause, next } = message;
  const lines = [`*${forSlack(title)}*`, sinceText(message)];
  if (cause !== null) lines.push(forSlack(cause));
  return [...lines, `\`${forSlack(next)}\``].join('\n');
}

/**
 * An event of PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/send-alert-event). A pipeline has one alert: what follows while
 * it is open is added to it, and the recovery resolves it.
 */
function pagerDutyEvent(key: string | undefined, message: Message) {
  const { pipeline, event, state, since, run, title, cause, next } = message;
  const alert = { routing_key: key, dedup_key: `tidemark/${pipeline}` };
  if (event === 'recovered') return { ...alert, event_action: 'resolve' };
  const bad = state === 'failed' || state === 'stale' ? 'error' : 'warning';
  const severity = event === 'test' ? 'info' : bad;
  const of = { source: os.hostname(), component: pipeline, class: state };
  const payload = { summary: title, severity, timestamp: since, ...of, custom_details: { cause, run, next } };
  return { ...alert, event_action: 'trigger', client: 'Tidemark', payload };
}
