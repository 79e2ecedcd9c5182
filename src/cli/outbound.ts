/** Who is told what, from the configuration and the pipeline files. */
import type { Config } from '../config.ts';
import type { Channel } from '../outbound/deliver.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { pipelines } from './pipelines.ts';

/** The channels that are configured. */
export function channelsOf({ notify }: Config): readonly Channel[] {
  const { webhookUrl, webhookSecret, slackWebhookUrl } = notify;
  return [
    ...(webhookUrl
      ? [{ name: 'webhook' as const, url: webhookUrl, ...(webhookSecret ? { secret: webhookSecret } : {}) }]
      : []),
    ...(slackWebhookUrl ? [{ name: 'slack' as const, url: slackWebhookUrl }] : []),
  ];
}

/** What the pipelines declare, joined with the channels. */
export const outboundOf = (warehouse: Warehouse, config: Config): Outbound => ({
  db: warehouse.db,
  channels: channelsOf(config),
  onSuccess: Object.fromEntries(
    pipelines.flatMap(({ name, onSuccess }) => (onSuccess === undefined ? [] : [[name, onSuccess]])),
  ),
});
