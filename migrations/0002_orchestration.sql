-- When pipelines run and who asked: schedules, ticks, requests, their log, and the audit of the control API.

create table ops.schedules (
  pipeline text not null,
  does text not null,
  cron text not null,
  time_zone text not null,
  seen_to timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  primary key (pipeline, does)
);
comment on table ops.schedules is 'What is due when, and up to which moment it has been seen to. One row a pipeline and thing it does.';
comment on column ops.schedules.pipeline is 'The pipeline, or nightly for all of them.';
comment on column ops.schedules.does is 'sync, full or reconcile.';
comment on column ops.schedules.cron is 'Five cron fields, as its pipeline file has them.';
comment on column ops.schedules.time_zone is 'IANA zone in which they are read.';
comment on column ops.schedules.seen_to is 'Every instant up to here is seen to: it has its tick, or it was before anybody knew of the schedule. By the database clock.';
comment on column ops.schedules.changed_at is 'When the schedule last became another one.';

create table ops.ticks (
  pipeline text not null,
  does text not null,
  scheduled_for timestamptz not null,
  covers integer not null default 1,
  first_missed timestamptz,
  dag_run_id text not null,
  joined boolean not null default false,
  made_at timestamptz not null default clock_timestamp(),
  made_by text not null,
  primary key (pipeline, does, scheduled_for)
);
create index on ops.ticks (dag_run_id);
comment on table ops.ticks is 'Each time a schedule came due, once, however many processes saw it.';
comment on column ops.ticks.pipeline is 'The pipeline, or nightly for all of them.';
comment on column ops.ticks.does is 'sync, full or reconcile.';
comment on column ops.ticks.scheduled_for is 'The instant that was due; of several that were missed, the newest.';
comment on column ops.ticks.covers is 'How many due instants it covers: more than one after a downtime.';
comment on column ops.ticks.first_missed is 'The oldest of them; null where it covers only its own.';
comment on column ops.ticks.dag_run_id is 'The request in ops.dag_runs that sees to it.';
comment on column ops.ticks.joined is 'True if that request was there already and this one joined it.';
comment on column ops.ticks.made_at is 'When it was noticed.';
comment on column ops.ticks.made_by is 'The process that noticed it.';

create table ops.dag_runs (
  dag_run_id text primary key,
  seq bigint generated always as identity unique,
  pipeline text not null,
  does text not null check (does in ('sync', 'full', 'reconcile', 'backfill')),
  streams text[],
  window_from timestamptz,
  window_to timestamptz,
  params text not null default '',
  trigger text not null check (trigger in ('schedule', 'api')),
  asked_by text not null,
  retry_of text,
  status text not null default 'queued'
    check (status in ('queued', 'running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'stopped', 'lost', 'needs_attention')),
  queued_at timestamptz not null default clock_timestamp(),
  not_before timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz,
  stop_asked_at timestamptz,
  stop_asked_by text,
  worker text,
  progress_at timestamptz,
  stuck_since timestamptz,
  error_code text,
  error_message text,
  check ((does = 'backfill') = (window_from is not null and window_to is not null)),
  check ((status in ('queued', 'running', 'interrupted', 'lost')) = (finished_at is null))
);
create index on ops.dag_runs (pipeline, queued_at desc, dag_run_id desc);
create index on ops.dag_runs (seq) where status in ('queued', 'running', 'interrupted', 'lost');
comment on table ops.dag_runs is 'Requests to run a pipeline, from the moment they were queued to their end. Runs of the command line are only in ops.runs.';
comment on column ops.dag_runs.dag_run_id is 'Key: the run id given by the caller, or made here.';
comment on column ops.dag_runs.seq is 'Order in which they were queued.';
comment on column ops.dag_runs.pipeline is 'The pipeline, or nightly for all of them.';
comment on column ops.dag_runs.does is 'sync, full, reconcile or backfill.';
comment on column ops.dag_runs.streams is 'Only these streams; null is all.';
comment on column ops.dag_runs.window_from is 'A backfill: lower bound, inclusive.';
comment on column ops.dag_runs.window_to is 'A backfill: upper bound, exclusive.';
comment on column ops.dag_runs.params is 'As it was asked, e.g. FROM=2024-01-01 TO=2024-02-01.';
comment on column ops.dag_runs.trigger is 'schedule or api (the dashboard asks through the API, too).';
comment on column ops.dag_runs.asked_by is 'Who asked: schedule, dashboard, or the address and role of the caller.';
comment on column ops.dag_runs.retry_of is 'The earlier request that this one repeats.';
comment on column ops.dag_runs.status is 'queued, running, interrupted (its process was asked to end; waits for a worker), lost (its process died; waits for a worker); and over: succeeded, partly_failed, failed, stopped, needs_attention.';
comment on column ops.dag_runs.queued_at is 'When it was queued.';
comment on column ops.dag_runs.not_before is 'It is not taken up before this moment.';
comment on column ops.dag_runs.started_at is 'When a worker first took it up.';
comment on column ops.dag_runs.finished_at is 'When it was over; null before.';
comment on column ops.dag_runs.stop_asked_at is 'When a person asked to stop it.';
comment on column ops.dag_runs.stop_asked_by is 'Who.';
comment on column ops.dag_runs.worker is 'Host and process of its worker.';
comment on column ops.dag_runs.progress_at is 'When it last got ahead.';
comment on column ops.dag_runs.stuck_since is 'Since when it runs without getting ahead; null while it does.';
comment on column ops.dag_runs.error_code is 'Class of the failure.';
comment on column ops.dag_runs.error_message is 'What went wrong, in one line.';

create table ops.dag_run_runs (
  dag_run_id text not null,
  run_id bigint primary key
);
create index on ops.dag_run_runs (dag_run_id, run_id);
comment on table ops.dag_run_runs is 'Which runs a request became: several for nightly, and after a worker was lost.';
comment on column ops.dag_run_runs.dag_run_id is 'The request, see ops.dag_runs.';
comment on column ops.dag_run_runs.run_id is 'The run, see ops.runs.';

create table ops.run_log (
  seq bigint generated always as identity primary key,
  dag_run_id text not null,
  at timestamptz not null,
  level text not null check (level in ('info', 'warn', 'error')),
  message text not null
);
create index on ops.run_log (at);
create index on ops.run_log (dag_run_id, seq);
comment on table ops.run_log is 'What happened in each request, line by line.';
comment on column ops.run_log.seq is 'Key; within a request it grows in the order in which lines become visible.';
comment on column ops.run_log.dag_run_id is 'The request, see ops.dag_runs.';
comment on column ops.run_log.at is 'When it happened, by the worker''s clock.';
comment on column ops.run_log.level is 'info, warn or error.';
comment on column ops.run_log.message is 'What happened; control characters are written out.';

create table ops.audit (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  role text not null check (role in ('operate', 'read', 'local', 'none')),
  address text not null,
  action text not null,
  pipeline text,
  dag_run_id text,
  params text,
  http_status integer,
  message text
);
create index on ops.audit (at desc);
comment on table ops.audit is 'Every attempt to change something through the control API, also those that were refused. Never holds a token.';
comment on column ops.audit.audit_id is 'Key.';
comment on column ops.audit.at is 'When.';
comment on column ops.audit.role is 'operate or read (which token was shown), local (no token is configured), none (no token, or a wrong one).';
comment on column ops.audit.address is 'Where the request came from.';
comment on column ops.audit.action is 'Method and route, e.g. POST /api/v1/dags/:dagName/start.';
comment on column ops.audit.pipeline is 'Which pipeline was named.';
comment on column ops.audit.dag_run_id is 'The request that came of it, or that was named.';
comment on column ops.audit.params is 'What was asked.';
comment on column ops.audit.http_status is 'What was answered; null if the process ended before it could answer.';
comment on column ops.audit.message is 'Why it was refused.';
