-- More channels of messages.
comment on column ops.notifications.channel is 'webhook, slack, pagerduty or email.';
comment on column ops.notifications.error is 'Why the last try failed, or which recipients of a sent message were refused; in one line.';
