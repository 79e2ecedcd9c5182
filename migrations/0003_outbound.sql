-- What leaves: DAGs that are triggered, the state of each pipeline as last notified, and the outbox of messages.

create table ops.handoffs (
  handoff_id bigint generated always as identity primary key,
  pipeline text not null,
  run_key text not null,
  dag text not null,
  params text not null,
  remote_run_id text not null,
  wait boolean not null,
  status text not null default 'pending'
    check (status in ('pending', 'starting', 'started', 'succeeded', 'failed', 'unknown')),
  engine_status text,
  attempts integer not null default 0,
  error text,
  created_at timestamptz not null default clock_timestamp(),
  starting_at timestamptz,
  next_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  changed_from timestamptz,
  changed_to timestamptz,
  engine_run_id text,
  unique (pipeline, run_key, dag)
);
create index on ops.handoffs (next_at) where status in ('pending', 'starting', 'started');
create index on ops.handoffs (run_key);
comment on table ops.handoffs is 'What a pipeline triggers at the workflow engine when a run of it succeeded; one row a run.';
comment on column ops.handoffs.handoff_id is 'Key.';
comment on column ops.handoffs.pipeline is 'The pipeline that succeeded.';
comment on column ops.handoffs.run_key is 'Its run: the number in ops.runs, or the id of a nightly run.';
comment on column ops.handoffs.dag is 'The DAG that is started.';
comment on column ops.handoffs.params is 'What it is given: RUN_ID, FROM, TO and what the pipeline adds.';
comment on column ops.handoffs.remote_run_id is 'The run id we ask the engine to use: the same run is never started twice where the engine takes one.';
comment on column ops.handoffs.wait is 'Whether its end is waited for.';
comment on column ops.handoffs.status is 'pending, starting (asked for, the answer is not known), started, succeeded, failed, or unknown (it is not known whether it was started: nothing is started blindly).';
comment on column ops.handoffs.engine_status is 'The engine''s own word for the state of its run.';
comment on column ops.handoffs.attempts is 'How often the start was tried.';
comment on column ops.handoffs.error is 'Why it is not started, in one line.';
comment on column ops.handoffs.created_at is 'When the run succeeded.';
comment on column ops.handoffs.starting_at is 'When the start was last asked for.';
comment on column ops.handoffs.next_at is 'When it is looked at again.';
comment on column ops.handoffs.changed_at is 'When its state last changed.';
comment on column ops.handoffs.changed_from is 'FROM of the parameters: rows that changed since the hand-off before this one have a _synced_at from here on (inclusive).';
comment on column ops.handoffs.changed_to is 'TO of the parameters: the end of the run; rows that it changed have a _synced_at before this.';
comment on column ops.handoffs.engine_run_id is 'The run id that the engine gave at the start, where it does not take ours; null if it gave none.';

create table ops.health (
  pipeline text primary key,
  state text not null,
  since timestamptz not null default clock_timestamp(),
  run_key text,
  notified_at timestamptz
);
comment on table ops.health is 'The state of each pipeline that people were last notified of.';
comment on column ops.health.pipeline is 'Key.';
comment on column ops.health.state is 'ok, failed, partly_failed, needs_attention, stale (a promise of freshness is broken) or stuck (runs without progress).';
comment on column ops.health.since is 'Since when.';
comment on column ops.health.run_key is 'The run that brought it about.';
comment on column ops.health.notified_at is 'When people were last notified, reminders included.';

create table ops.notifications (
  notification_id text primary key,
  channel text not null,
  pipeline text not null,
  event text not null,
  message jsonb not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'given_up')),
  attempts integer not null default 0,
  error text,
  created_at timestamptz not null default clock_timestamp(),
  next_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz
);
create index on ops.notifications (next_at) where status = 'pending';
comment on table ops.notifications is 'The outbox of messages: each is delivered at least once, with an id by which a receiver knows a repetition.';
comment on column ops.notifications.notification_id is 'Key, and the webhook-id header: the same in every try.';
comment on column ops.notifications.channel is 'webhook or slack.';
comment on column ops.notifications.pipeline is 'Which pipeline it is about.';
comment on column ops.notifications.event is 'failed, partly_failed, needs_attention, stale, stuck, recovered or reminder.';
comment on column ops.notifications.message is 'Its text: facts, no secrets.';
comment on column ops.notifications.status is 'pending, sent or given_up (tried for a day).';
comment on column ops.notifications.attempts is 'How often it was tried.';
comment on column ops.notifications.error is 'Why the last try failed, in one line.';
comment on column ops.notifications.created_at is 'When the state changed.';
comment on column ops.notifications.next_at is 'When it is tried next.';
comment on column ops.notifications.sent_at is 'When it arrived.';
