/** Who is told of changes of state. */

import type { Secret } from '../core/secret.ts';
import { isThisMachine } from '../core/this-machine.ts';
import type { Names, Variables } from './variables.ts';

/** The addresses are secrets: whoever knows them may post. */
export interface NotifyConfig {
  readonly webhookUrl?: Secret;
  /** Signs what is sent to `webhookUrl`. */
  readonly webhookSecret?: Secret;
  readonly slackWebhookUrl?: Secret;
}

export const notifyNames = {
  secrets: ['TIDEMARK_WEBHOOK_URL', 'TIDEMARK_WEBHOOK_SECRET', 'TIDEMARK_SLACK_WEBHOOK_URL'],
  plain: [],
} as const satisfies Names;

export function readNotify(from: Variables): NotifyConfig {
  const webhookUrl = target(from, 'TIDEMARK_WEBHOOK_URL');
  const slackWebhookUrl = target(from, 'TIDEMARK_SLACK_WEBHOOK_URL');
  const webhookSecret = from.secret('TIDEMARK_WEBHOOK_SECRET');
  if (webhookUrl && !webhookSecret)
    from.warn('TIDEMARK_WEBHOOK_SECRET', 'is not set: its receiver cannot tell our messages from others');
  return {
    ...(webhookUrl ? { webhookUrl } : {}),
    ...(webhookSecret ? { webhookSecret } : {}),
    ...(slackWebhookUrl ? { slackWebhookUrl } : {}),
  };
}

/** An address that is itself a secret: https, or http on this machine. */
function target(from: Variables, name: string): Secret | undefined {
  const secret = from.secret(name);
  if (secret === undefined) return undefined;
  const url = URL.parse(secret.reveal());
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isThisMachine(url.hostname));
  if (url !== null && isSafe && url.username === '' && url.password === '') return secret;
  from.problem(
    name,
    isSafe ? 'must not hold a user or a password: they would not be sent' : 'is not an https address',
  );
  return undefined;
}
