-- When pipelines run and who asked: schedules, ticks, requests, their log, and the audit of the control API.

create table ops.schedules ( -- What is due when, and up to which moment it has been seen to. One row a pipeline and thing it does.
  pipeline text not null, -- The pipeline, or nightly for all of them.
  does text not null, -- sync, full or reconcile.
  cron text not null, -- Five cron fields, as its pipeline file has them.
  time_zone text not null, -- IANA zone in which they are read.
  seen_to timestamptz not null default clock_timestamp(), -- Every instant up to here is seen to: it has its tick, or it was before anybody knew of the schedule. By the database clock.
  changed_at timestamptz not null default clock_timestamp(), -- When the schedule last became another one.
  primary key (pipeline, does)
);

create table ops.ticks ( -- Each time a schedule came due, once, however many processes saw it.
  pipeline text not null, -- The pipeline, or nightly for all of them.
  does text not null, -- sync, full or reconcile.
  scheduled_for timestamptz not null, -- The instant that was due; of several that were missed, the newest.
  covers integer not null default 1, -- How many due instants it covers: more than one after a downtime.
  first_missed timestamptz, -- The oldest of them; null where it covers only its own.
  dag_run_id text not null, -- The request in ops.dag_runs that sees to it.
  joined boolean not null default false, -- True if that request was there already and this one joined it.
  made_at timestamptz not null default clock_timestamp(), -- When it was noticed.
  made_by text not null, -- The process that noticed it.
  primary key (pipeline, does, scheduled_for)
);
create index on ops.ticks (dag_run_id);

create table ops.dag_runs ( -- Requests to run a pipeline, from the moment they were queued to their end. Runs of the command line are only in ops.runs.
  dag_run_id text primary key, -- Key: the run id given by the caller, or made here.
  seq bigint generated always as identity unique, -- Order in which they were queued.
  pipeline text not null, -- The pipeline, or nightly for all of them.
  does text not null check (does in ('sync', 'full', 'reconcile', 'backfill')), -- sync, full, reconcile or backfill.
  streams text[], -- Only these streams; null is all.
  window_from timestamptz, -- A backfill: lower bound, inclusive.
  window_to timestamptz, -- A backfill: upper bound, exclusive.
  params text not null default '', -- As it was asked, e.g. FROM=2024-01-01 TO=2024-02-01.
  trigger text not null check (trigger in ('schedule', 'api')), -- schedule or api (the dashboard asks through the API, too).
  asked_by text not null, -- Who asked: schedule, dashboard, or the address and role of the caller.
  retry_of text, -- The earlier request that this one repeats.
  status text not null default 'queued'
    check (status in ('queued', 'running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'stopped', 'lost', 'needs_attention')), -- queued, running, interrupted (its process was asked to end; waits for a worker), lost (its process died; waits for a worker); and over: succeeded, partly_failed, failed, stopped, needs_attention.
  queued_at timestamptz not null default clock_timestamp(), -- When it was queued.
  not_before timestamptz not null default clock_timestamp(), -- It is not taken up before this moment.
  started_at timestamptz, -- When a worker first took it up.
  finished_at timestamptz, -- When it was over; null before.
  stop_asked_at timestamptz, -- When a person asked to stop it.
  stop_asked_by text, -- Who.
  worker text, -- Host and process of its worker.
  progress_at timestamptz, -- When it last got ahead.
  stuck_since timestamptz, -- Since when it runs without getting ahead; null while it does.
  error_code text, -- Class of the failure.
  error_message text, -- What went wrong, in one line.
  check ((does = 'backfill') = (window_from is not null and window_to is not null)),
  check ((status in ('queued', 'running', 'interrupted', 'lost')) = (finished_at is null))
);
create index on ops.dag_runs (pipeline, queued_at desc, dag_run_id desc);
create index on ops.dag_runs (seq) where status in ('queued', 'running', 'interrupted', 'lost');

create table ops.dag_run_runs ( -- Which runs a request became: several for nightly, and after a worker was lost.
  dag_run_id text not null, -- The request, see ops.dag_runs.
  run_id bigint primary key -- The run, see ops.runs.
);
create index on ops.dag_run_runs (dag_run_id, run_id);

create table ops.run_log ( -- What happened in each request, line by line.
  seq bigint generated always as identity primary key, -- Key; within a request it grows in the order in which lines become visible.
  dag_run_id text not null, -- The request, see ops.dag_runs.
  at timestamptz not null, -- When it happened, by the worker's clock.
  level text not null check (level in ('info', 'warn', 'error')), -- info, warn or error.
  message text not null -- What happened; control characters are written out.
);
create index on ops.run_log (at);
create index on ops.run_log (dag_run_id, seq);

create table ops.audit ( -- Every attempt to change something through the control API, also those that were refused. Never holds a token.
  audit_id bigint generated always as identity primary key, -- Key.
  at timestamptz not null default clock_timestamp(), -- When.
  role text not null check (role in ('operate', 'read', 'local', 'none')), -- operate or read (which token was shown), local (no token is configured), none (no token, or a wrong one).
  address text not null, -- Where the request came from.
  action text not null, -- Method and route, e.g. POST /api/v1/dags/:dagName/start.
  pipeline text, -- Which pipeline was named.
  dag_run_id text, -- The request that came of it, or that was named.
  params text, -- What was asked.
  http_status integer, -- What was answered; null if the process ended before it could answer.
  message text -- Why it was refused.
);
create index on ops.audit (at desc);
