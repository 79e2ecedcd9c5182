-- What leaves: DAGs that are triggered, the state of each pipeline as last notified, and the outbox of messages.

create table ops.handoffs ( -- What a pipeline triggers at the workflow engine when a run of it succeeded; one row a run.
  handoff_id bigint generated always as identity primary key, -- Key.
  pipeline text not null, -- The pipeline that succeeded.
  run_key text not null, -- Its run: the number in ops.runs, or the id of a nightly run.
  dag text not null, -- The DAG that is started.
  params text not null, -- What it is given: RUN_ID, FROM, TO and what the pipeline adds.
  remote_run_id text not null, -- The run id we ask the engine to use: the same run is never started twice where the engine takes one.
  wait boolean not null, -- Whether its end is waited for.
  status text not null default 'pending'
    check (status in ('pending', 'starting', 'started', 'succeeded', 'failed', 'unknown')), -- pending, starting (asked for, the answer is not known), started, succeeded, failed, or unknown (it is not known whether it was started: nothing is started blindly).
  engine_status text, -- The engine's own word for the state of its run.
  attempts integer not null default 0, -- How often the start was tried.
  error text, -- Why it is not started, in one line.
  created_at timestamptz not null default clock_timestamp(), -- When the run succeeded.
  starting_at timestamptz, -- When the start was last asked for.
  next_at timestamptz not null default clock_timestamp(), -- When it is looked at again.
  changed_at timestamptz not null default clock_timestamp(), -- When its state last changed.
  changed_from timestamptz, -- FROM of the parameters: rows that changed since the hand-off before this one have a _synced_at from here on (inclusive).
  changed_to timestamptz, -- TO of the parameters: the end of the run; rows that it changed have a _synced_at before this.
  engine_run_id text, -- The run id that the engine gave at the start, where it does not take ours; null if it gave none.
  unique (pipeline, run_key, dag)
);
create index on ops.handoffs (next_at) where status in ('pending', 'starting', 'started');
create index on ops.handoffs (run_key);

create table ops.health ( -- The state of each pipeline that people were last notified of.
  pipeline text primary key, -- Key.
  state text not null, -- ok, failed, partly_failed, needs_attention, stale (a promise of freshness is broken) or stuck (runs without progress).
  since timestamptz not null default clock_timestamp(), -- Since when.
  run_key text, -- The run that brought it about.
  notified_at timestamptz -- When people were last notified, reminders included.
);

create table ops.notifications ( -- The outbox of messages: each is delivered at least once, with an id by which a receiver knows a repetition.
  notification_id text primary key, -- Key, and the webhook-id header: the same in every try.
  channel text not null, -- webhook or slack.
  pipeline text not null, -- Which pipeline it is about.
  event text not null, -- failed, partly_failed, needs_attention, stale, stuck, recovered or reminder.
  message jsonb not null, -- Its text: facts, no secrets.
  status text not null default 'pending' check (status in ('pending', 'sent', 'given_up')), -- pending, sent or given_up (tried for a day).
  attempts integer not null default 0, -- How often it was tried.
  error text, -- Why the last try failed, in one line.
  created_at timestamptz not null default clock_timestamp(), -- When the state changed.
  next_at timestamptz not null default clock_timestamp(), -- When it is tried next.
  sent_at timestamptz -- When it arrived.
);
create index on ops.notifications (next_at) where status = 'pending';
