/** Settings of notifications: where changes of state are sent. Addresses and keys are secrets: anyone who knows one may post. */
import { emailAddress, emailAddresses, integrationKey, oneOf, smtpUrl, text, webhookUrl } from './values.ts';
import type { Variables } from './variables.ts';

/** The channels that are configured, in the order in which messages go to them. */
export const notify = (from: Variables) =>
  [webhook(from), slack(from), pagerDuty(from), email(from)].filter((one) => one !== undefined);

function webhook(from: Variables) {
  const url = from.secretValue('TIDEMARK_WEBHOOK_URL', webhookUrl);
  const secret = from.secretValue('TIDEMARK_WEBHOOK_SECRET', text);
  if (url && !secret)
    from.warn('TIDEMARK_WEBHOOK_SECRET', 'is not set: the receiver cannot verify who sent a message');
  return url && { name: 'webhook' as const, url, ...(secret && { secret }) };
}

function slack(from: Variables) {
  const url = from.secretValue('TIDEMARK_SLACK_WEBHOOK_URL', webhookUrl);
  return url && { name: 'slack' as const, url };
}

/** By service region: https://support.pagerduty.com/main/docs/service-regions. */
const pagerDutyHosts = { us: 'events.pagerduty.com', eu: 'events.eu.pagerduty.com' };

function pagerDuty(from: Variables) {
  const secret = from.secretValue('TIDEMARK_PAGERDUTY_ROUTING_KEY', integrationKey);
  const region = from.value('TIDEMARK_PAGERDUTY_REGION', oneOf('us', 'eu').default('us'));
  const url = { reveal: () => `https://${pagerDutyHosts[region]}/v2/enqueue` };
  return secret && { name: 'pagerduty' as const, url, secret };
}

function email(from: Variables) {
  const url = from.secretValue('TIDEMARK_SMTP_URL', smtpUrl);
  const sender = from.value('TIDEMARK_EMAIL_FROM', emailAddress);
  const to = from.value('TIDEMARK_EMAIL_TO', emailAddresses);
  const names = ['TIDEMARK_SMTP_URL', 'TIDEMARK_EMAIL_FROM', 'TIDEMARK_EMAIL_TO'];
  const missing = names.filter((name) => !from.isSet(name));
  if (missing.length < names.length)
    for (const name of missing)
      from.problem(name, 'is missing: e-mail needs a server, a sender and recipients');
  return url && sender && to ? { name: 'email' as const, url, from: sender, to } : undefined;
}
