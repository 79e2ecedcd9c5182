/** Where messages go. */

import type { Hidden } from '../http/auth.ts';
import type { Proxies } from '../http/proxy.ts';
import type { Message } from './health.ts';

export interface HttpChannel {
  readonly name: 'webhook' | 'slack' | 'pagerduty';
  /** A secret, because anyone who knows it may post. */
  readonly url: Hidden;
  /** Signs the body of a webhook; at PagerDuty the integration key of Events API v2. */
  readonly secret?: Hidden;
  readonly proxies?: Proxies;
}

export interface EmailChannel {
  readonly name: 'email';
  /** `smtp:` or `smtps:`, with user and password where the server wants them. */
  readonly url: Hidden;
  readonly from: string;
  readonly to: readonly string[];
}

export type Channel = HttpChannel | EmailChannel;

/** A message with the id that is the same in every try: a receiver knows a repetition by it. */
export interface Outgoing {
  readonly notification_id: string;
  readonly message: Message;
}

/** To the minute. */
export const sinceText = ({ since }: Message): string => `since ${since.slice(0, 16).replace('T', ' ')} UTC`;
