-- Schemas, and the bookkeeping of runs: sources, leases, slices, checkpoints, rejects, report jobs.

create schema if not exists ops;
comment on schema ops is 'Bookkeeping of the sync: sources, runs, leases, walks and slices, checkpoints, rejects, schema changes.';
create schema if not exists tracker;
comment on schema tracker is 'Issue tracker, one row per source object, source-shaped. Written by the sync; read bi.* unless you need raw detail.';
create schema if not exists ads;
comment on schema ads is 'Advertising platform, one row per source object or per entity and day.';
create schema if not exists workflow;
comment on schema workflow is 'Workflow engine: DAGs, their runs and steps.';
create schema if not exists bi;
comment on schema bi is 'Reporting views: the only schema BI tools need. Columns are only added, never renamed, within one major version.';

-- The table itself is made before the first step.
comment on table ops.definitions is 'What tidemark migrate has applied: steps of migrations/, synced tables and views.';
comment on column ops.definitions.kind is 'step (applied once), table or view (applied again when its hash differs).';
comment on column ops.definitions.name is 'Key: name of the step, or schema and name of the table or view.';
comment on column ops.definitions.hash is 'SHA-256 of its SQL.';
comment on column ops.definitions.version is 'Version of tidemark that applied it; an older one refuses to change it.';
comment on column ops.definitions.applied_at is 'When it was applied last (UTC).';

create table ops.sources (
  source_id smallint generated always as identity primary key,
  name text not null unique,
  kind text not null,
  base_url text not null,
  created_at timestamptz not null default now(),
  token_ends_at timestamptz
);
comment on table ops.sources is 'The systems that are read. source_id leads every key of the synced tables.';
comment on column ops.sources.source_id is 'Key.';
comment on column ops.sources.name is 'The pipeline that reads it, e.g. tracker.';
comment on column ops.sources.kind is 'The schema of its tables, e.g. tracker.';
comment on column ops.sources.base_url is 'Where it was last read from; no credentials.';
comment on column ops.sources.created_at is 'When it was first configured here.';
comment on column ops.sources.token_ends_at is 'When the token ends that the last run signed in with; null where that is not known.';

create table ops.leases (
  pipeline text primary key,
  epoch bigint not null default 0,
  run_id bigint,
  holder text,
  backend_pid integer,
  backend_start timestamptz,
  acquired_at timestamptz,
  heartbeat_at timestamptz,
  expires_at timestamptz,
  commits bigint not null default 0
);
comment on table ops.leases is 'One row a pipeline: who may write now. The epoch fences out a holder that lost it.';
comment on column ops.leases.pipeline is 'Key: the pipeline that is guarded.';
comment on column ops.leases.epoch is 'Grows by one with every holder; each data transaction checks it last.';
comment on column ops.leases.run_id is 'The run that holds it; null when free.';
comment on column ops.leases.holder is 'Host and process of the holder, for people.';
comment on column ops.leases.backend_pid is 'Postgres backend of the holder''s heartbeat session; gone from pg_stat_activity means the holder is dead.';
comment on column ops.leases.backend_start is 'When that backend started: tells a reused pid.';
comment on column ops.leases.acquired_at is 'When the lease was taken.';
comment on column ops.leases.heartbeat_at is 'Last sign of life.';
comment on column ops.leases.expires_at is 'By the database clock: after this moment the lease may be taken over.';
comment on column ops.leases.commits is 'How many data transactions of the pipeline were ever committed. A holder that finds fewer than were confirmed to it ends its run: the warehouse has gone back in time.';

create table ops.runs (
  run_id bigint generated always as identity primary key,
  pipeline text not null,
  source_id smallint not null,
  kind text not null check (kind in ('sync', 'full', 'backfill', 'reconcile', 'replay')),
  trigger text not null default 'manual',
  status text not null
    check (status in ('running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'lost', 'needs_attention')),
  params jsonb not null default '{}',
  app_version text,
  epoch bigint not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  received bigint not null default 0,
  inserted bigint not null default 0,
  updated bigint not null default 0,
  unchanged bigint not null default 0,
  deduplicated bigint not null default 0,
  superseded bigint not null default 0,
  rejected bigint not null default 0,
  deleted bigint not null default 0,
  requests bigint not null default 0,
  retries bigint not null default 0,
  throttled_ms bigint not null default 0,
  error_code text,
  error_message text,
  throttled bigint not null default 0,
  quiet tstzmultirange not null default '{}',
  settles text generated always as (
    case
      when coalesce(params -> 'streams', '[]') not in ('[]', 'null') then null
      when kind in ('sync', 'full') then 'freshness'
      when kind = 'reconcile' then 'deletions'
    end
  ) stored
);
create index on ops.runs (pipeline, started_at desc);
create index on ops.runs (started_at desc);
comment on table ops.runs is 'One execution of a pipeline.';
comment on column ops.runs.run_id is 'Key; the _run_id of the rows it wrote.';
comment on column ops.runs.pipeline is 'Which pipeline.';
comment on column ops.runs.source_id is 'Which source, see ops.sources.';
comment on column ops.runs.kind is 'sync (incremental), full, backfill (one window, never moves a watermark), reconcile (id walk for deletions) or replay (rejects that were tried again).';
comment on column ops.runs.trigger is 'manual, schedule or api.';
comment on column ops.runs.status is 'running, succeeded (every receipt matched), partly_failed, failed, interrupted (asked to stop), lost (its process died), needs_attention (the deletion brake held).';
comment on column ops.runs.params is 'What was asked: streams, window.';
comment on column ops.runs.app_version is 'Version of tidemark.';
comment on column ops.runs.epoch is 'Epoch of the lease under which it wrote.';
comment on column ops.runs.started_at is 'When it began.';
comment on column ops.runs.finished_at is 'When it ended; null while running.';
comment on column ops.runs.received is 'Records given to the transform; equals inserted + updated + unchanged + deduplicated + superseded + rejected.';
comment on column ops.runs.inserted is 'Records whose row is new.';
comment on column ops.runs.updated is 'Records whose row changed.';
comment on column ops.runs.unchanged is 'Records whose row was already equal; nothing was written.';
comment on column ops.runs.deduplicated is 'Records that repeated a key within one batch; the newer one was taken.';
comment on column ops.runs.superseded is 'Records older than what the warehouse holds; not written.';
comment on column ops.runs.rejected is 'Records that could not become rows; see ops.rejects.';
comment on column ops.runs.deleted is 'Rows removed or tombstoned.';
comment on column ops.runs.requests is 'HTTP requests sent to the source.';
comment on column ops.runs.retries is 'Of these, repeated ones.';
comment on column ops.runs.throttled_ms is 'Milliseconds spent waiting for the rate limit, summed over concurrent requests.';
comment on column ops.runs.error_code is 'Class of the failure, if it failed.';
comment on column ops.runs.error_message is 'What went wrong, in one line.';
comment on column ops.runs.throttled is 'Requests that the source answered with a wish for patience (429); they were sent again later.';
comment on column ops.runs.quiet is 'When no request left because the source had asked for quiet.';
comment on column ops.runs.settles is 'What the run tells of its whole pipeline when it succeeds: freshness (a sync or full run of every stream) or deletions (a reconciliation of every stream); null: nothing, it was of some streams, of a window or of rejects.';

create table ops.run_streams (
  run_id bigint not null,
  source_id smallint not null,
  stream text not null,
  status text not null,
  reason text,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  slices integer not null default 0,
  expected bigint,
  fetched bigint not null default 0,
  landed bigint not null default 0,
  received bigint not null default 0,
  inserted bigint not null default 0,
  updated bigint not null default 0,
  unchanged bigint not null default 0,
  deduplicated bigint not null default 0,
  superseded bigint not null default 0,
  rejected bigint not null default 0,
  deleted bigint not null default 0,
  rows bigint,
  primary key (run_id, stream)
);
create index on ops.run_streams (source_id, stream, finished_at desc);
comment on table ops.run_streams is 'What one run did for one stream, with its receipt.';
comment on column ops.run_streams.run_id is 'The run.';
comment on column ops.run_streams.source_id is 'The source.';
comment on column ops.run_streams.stream is 'The stream.';
comment on column ops.run_streams.status is 'ok, unavailable, forbidden, partial (a receipt does not match), failed, interrupted, skipped, running.';
comment on column ops.run_streams.reason is 'Why it is not ok.';
comment on column ops.run_streams.started_at is 'When the stream began in this run.';
comment on column ops.run_streams.finished_at is 'When it ended.';
comment on column ops.run_streams.slices is 'Slices read to their end in this run.';
comment on column ops.run_streams.expected is 'Sum of the totals that the source stated; null where it states none.';
comment on column ops.run_streams.fetched is 'Distinct records of the walks.';
comment on column ops.run_streams.landed is 'Records accounted for in the warehouse (written, already equal, superseded or in ops.rejects).';
comment on column ops.run_streams.received is 'Records given to the transform; equals inserted + updated + unchanged + deduplicated + superseded + rejected.';
comment on column ops.run_streams.inserted is 'Records whose row is new.';
comment on column ops.run_streams.updated is 'Records whose row changed.';
comment on column ops.run_streams.unchanged is 'Records whose row was already equal; nothing was written.';
comment on column ops.run_streams.deduplicated is 'Records that repeated a key within one batch; the newer one was taken.';
comment on column ops.run_streams.superseded is 'Records older than what the warehouse holds; not written.';
comment on column ops.run_streams.rejected is 'Records that could not become rows; see ops.rejects.';
comment on column ops.run_streams.deleted is 'Rows removed or tombstoned.';
comment on column ops.run_streams.rows is 'Live rows of the stream''s table when the run was done with it; beyond a million by the planner''s estimate; null where it was not counted.';

create table ops.streams (
  source_id smallint not null,
  stream text not null,
  target text not null,
  about text not null,
  endpoint text not null,
  state text not null default 'unknown'
    check (state in ('unknown', 'available', 'unavailable', 'forbidden')),
  reason text,
  checked_at timestamptz,
  freshness_seconds bigint not null default 93600,
  excluded boolean not null default false,
  primary key (source_id, stream)
);
comment on table ops.streams is 'Each stream of each source: where it lands and whether the server has it.';
comment on column ops.streams.source_id is 'The source.';
comment on column ops.streams.stream is 'Name of the stream.';
comment on column ops.streams.target is 'schema.table of its rows.';
comment on column ops.streams.about is 'What it is, in one sentence.';
comment on column ops.streams.endpoint is 'The route it is read from.';
comment on column ops.streams.state is 'available, unavailable (the server has no such endpoint), forbidden (these credentials may not), unknown (never asked).';
comment on column ops.streams.reason is 'Why it is not available.';
comment on column ops.streams.checked_at is 'When that was last found out.';
comment on column ops.streams.freshness_seconds is 'The promise: older than this is stale. Default 26 hours.';
comment on column ops.streams.excluded is 'True where runs leave it out by configuration (TRACKER_EXCLUDE, ADS_EXCLUDE, WORKFLOW_EXCLUDE); as of the newest run.';

create table ops.walks (
  walk_id bigint generated always as identity primary key,
  source_id smallint not null,
  stream text not null,
  kind text not null check (kind in ('full', 'incremental', 'backfill')),
  words text not null,
  status text not null default 'open' check (status in ('open', 'done', 'abandoned')),
  source_clock timestamptz,
  field text,
  window_from timestamptz,
  window_to timestamptz,
  run_id bigint not null,
  opened_at timestamptz not null default now(),
  closed_at timestamptz,
  fields text[]
);
create index on ops.walks (source_id, stream) where status = 'open';
create index on ops.walks (source_id, stream, opened_at) where status = 'done' and kind <> 'backfill';
comment on table ops.walks is 'One walk over a stream: an open one is resumed by the next run, slice by slice.';
comment on column ops.walks.walk_id is 'Key.';
comment on column ops.walks.source_id is 'The source.';
comment on column ops.walks.stream is 'The stream.';
comment on column ops.walks.kind is 'full (everything), incremental (changes since the watermark) or backfill (one given window).';
comment on column ops.walks.words is 'What makes a walk the same walk: a backfill of the same window resumes, another one does not.';
comment on column ops.walks.status is 'open, done (every slice done) or abandoned (what it was for has changed).';
comment on column ops.walks.source_clock is 'The source''s clock (its Date header) at the start: becomes the watermark; null if it sends none.';
comment on column ops.walks.field is 'The field by which the walk is bounded: created or updated; null for lists without one.';
comment on column ops.walks.window_from is 'Lower bound, inclusive; null is open.';
comment on column ops.walks.window_to is 'Upper bound, exclusive; null is open.';
comment on column ops.walks.run_id is 'The run that opened it.';
comment on column ops.walks.opened_at is 'When it was opened.';
comment on column ops.walks.closed_at is 'When it was closed.';
comment on column ops.walks.fields is 'Custom fields that the walk asks for by name, by their ids; null: all that there are.';

create table ops.slices (
  slice_id bigint generated always as identity primary key,
  walk_id bigint not null,
  partition jsonb,
  window_from timestamptz,
  window_to timestamptz,
  status text not null default 'pending'
    check (status in ('pending', 'done', 'split', 'partial', 'failed', 'absent')),
  expected bigint,
  fetched bigint,
  landed bigint,
  passes integer,
  run_id bigint,
  started_at timestamptz,
  finished_at timestamptz,
  error_code text,
  error_message text
);
create index on ops.slices (partition, slice_id);
create index on ops.slices (run_id);
create index on ops.slices (walk_id, status);
comment on table ops.slices is 'The unit of reading and resuming: one partition and window of a walk, with its receipt.';
comment on column ops.slices.slice_id is 'Key.';
comment on column ops.slices.walk_id is 'The walk it belongs to.';
comment on column ops.slices.partition is 'The owner, e.g. {"board_id": "7"}; null where the stream has none.';
comment on column ops.slices.window_from is 'Lower bound, inclusive.';
comment on column ops.slices.window_to is 'Upper bound, exclusive.';
comment on column ops.slices.status is 'pending, done, split (into two halves), partial (its receipt does not match: the next run reads it again), failed, absent (its owner is gone).';
comment on column ops.slices.expected is 'The total the source stated at the end; null where it states none.';
comment on column ops.slices.fetched is 'Distinct records of the last complete pass.';
comment on column ops.slices.landed is 'Records accounted for in the warehouse.';
comment on column ops.slices.passes is 'How often the list had to be walked until nothing had moved behind the walk.';
comment on column ops.slices.run_id is 'The run that last worked on it.';
comment on column ops.slices.started_at is 'When work on it last began.';
comment on column ops.slices.finished_at is 'When it was finished.';
comment on column ops.slices.error_code is 'Class of the last failure.';
comment on column ops.slices.error_message is 'The last failure in one line.';

create table ops.checkpoints (
  source_id smallint not null,
  stream text not null,
  watermark timestamptz not null,
  full_at timestamptz,
  scope text not null default '',
  run_id bigint not null,
  updated_at timestamptz not null default now(),
  fields text[],
  primary key (source_id, stream)
);
comment on table ops.checkpoints is 'The stored watermark of each stream: everything before it is in the warehouse or in ops.rejects.';
comment on column ops.checkpoints.source_id is 'The source.';
comment on column ops.checkpoints.stream is 'The stream.';
comment on column ops.checkpoints.watermark is 'The source''s clock at the start of the last complete walk; never moves back.';
comment on column ops.checkpoints.full_at is 'The source''s clock at the start of the last complete full walk.';
comment on column ops.checkpoints.scope is 'What the walks were restricted to (extra filter, start of history): another scope means a new full walk.';
comment on column ops.checkpoints.run_id is 'The run that set it.';
comment on column ops.checkpoints.updated_at is 'When it was set.';
comment on column ops.checkpoints.fields is 'Custom fields that were asked for by name when the checkpoint was last moved; null: all that there are, or not known. Where one of them was hidden then and is not any more, everything is read again.';

create table ops.rejects (
  reject_id bigint generated always as identity primary key,
  source_id smallint not null,
  stream text not null,
  record_key text not null default '',
  sha256 bytea not null,
  payload bytea not null,
  truncated boolean not null default false,
  stage text not null,
  code text not null,
  field text,
  message text not null,
  slice jsonb,
  first_run_id bigint not null,
  last_run_id bigint not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts integer not null default 1,
  status text not null default 'open' check (status in ('open', 'resolved', 'replayed')),
  resolved_at timestamptz,
  part text not null default '',
  given jsonb,
  unique (source_id, stream, part, record_key, sha256)
);
create index on ops.rejects (last_seen_at desc);
create index on ops.rejects (source_id, stream, record_key) where status = 'open';
comment on table ops.rejects is 'Dead letters: records, and parts of records, that could not become rows, with their exact bytes. Nothing is dropped silently.';
comment on column ops.rejects.reject_id is 'Key.';
comment on column ops.rejects.source_id is 'The source.';
comment on column ops.rejects.stream is 'The stream.';
comment on column ops.rejects.record_key is 'The key of the record, also of the one that a part belongs to, if it could be read; else empty.';
comment on column ops.rejects.sha256 is 'Digest of the payload: the same record rejected again is the same row.';
comment on column ops.rejects.payload is 'The record or part exactly as received.';
comment on column ops.rejects.truncated is 'True if the payload was too large to keep whole; sha256 is of the whole.';
comment on column ops.rejects.stage is 'transform or encode.';
comment on column ops.rejects.code is 'Class of the reason, e.g. bad_instant.';
comment on column ops.rejects.field is 'The field that was at fault, if one was.';
comment on column ops.rejects.message is 'The reason in one line.';
comment on column ops.rejects.slice is 'Where it was met: partition and window.';
comment on column ops.rejects.first_run_id is 'The run that met it first.';
comment on column ops.rejects.last_run_id is 'The run that met it last.';
comment on column ops.rejects.first_seen_at is 'When it was met first.';
comment on column ops.rejects.last_seen_at is 'When it was met last.';
comment on column ops.rejects.attempts is 'In how many runs it was met.';
comment on column ops.rejects.status is 'open, resolved (a good version landed, another bad one took its place, or a complete listing shows it no more) or replayed (landed from here).';
comment on column ops.rejects.resolved_at is 'When it stopped being open.';
comment on column ops.rejects.part is 'Which part of the record this is, e.g. comments: the record itself was loaded. Empty: the record itself.';
comment on column ops.rejects.given is 'What a part needs besides its bytes to be tried again, e.g. the key of its record.';

create table ops.schema_changes (
  change_id bigint generated always as identity primary key,
  source_id smallint not null,
  stream text not null,
  note text not null,
  run_id bigint not null,
  detected_at timestamptz not null default now(),
  unique (source_id, stream, note)
);
comment on table ops.schema_changes is 'What changed in the shape of the source: new fields, changed types. Nothing is altered automatically.';
comment on column ops.schema_changes.change_id is 'Key.';
comment on column ops.schema_changes.source_id is 'The source.';
comment on column ops.schema_changes.stream is 'The stream.';
comment on column ops.schema_changes.note is 'What was seen, e.g. field votes changed from number to object.';
comment on column ops.schema_changes.run_id is 'The run that saw it first.';
comment on column ops.schema_changes.detected_at is 'When it was first seen.';

create table ops.jobs (
  job_id bigint generated always as identity primary key,
  source_id smallint not null,
  stream text not null,
  slice_id bigint not null,
  attempt integer not null,
  request text not null,
  remote_id text,
  status text not null
    check (status in ('creating', 'submitted', 'ready', 'failed', 'expired', 'abandoned')),
  reason text,
  run_id bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  submitted_at timestamptz,
  changed_at timestamptz not null default clock_timestamp(),
  unique (slice_id, attempt)
);
comment on table ops.jobs is 'Report jobs at a source: created there, polled, fetched; a crash in between takes them up again.';
comment on column ops.jobs.job_id is 'Key.';
comment on column ops.jobs.source_id is 'The source.';
comment on column ops.jobs.stream is 'The stream that needs it.';
comment on column ops.jobs.slice_id is 'The slice that it is read for, see ops.slices: only a job of the same slice is ever taken up again.';
comment on column ops.jobs.attempt is 'The how-manieth job of its slice.';
comment on column ops.jobs.request is 'What was asked for, in words.';
comment on column ops.jobs.remote_id is 'The source''s id of the job; null while its answer to the creation is not known.';
comment on column ops.jobs.status is 'creating (asked for, the answer is not known), submitted, ready, failed, expired or abandoned (a newer one took its place).';
comment on column ops.jobs.reason is 'Why it failed, in one line.';
comment on column ops.jobs.run_id is 'The run that last worked on it.';
comment on column ops.jobs.created_at is 'When it was first asked for.';
comment on column ops.jobs.submitted_at is 'When the source gave its id.';
comment on column ops.jobs.changed_at is 'When its status last changed.';

create table ops.commits (
  token uuid primary key,
  committed_at timestamptz not null default now()
);
comment on table ops.commits is 'One row a transaction of the loader, kept for a day. Its number alone does not tell whether it was committed: a server that crashed may give the number to another one.';
comment on column ops.commits.token is 'Made up by the loader for this one transaction.';
comment on column ops.commits.committed_at is 'When the transaction began.';

create table ops.unseen (
  source_id smallint not null references ops.sources,
  stream text not null,
  key text not null,
  since timestamptz not null default now(),
  primary key (source_id, stream, key)
);
comment on table ops.unseen is 'One row a record that a reconciliation could not see though it may well be there: its project was hidden from the account. It is read again when a reconciliation sees it.';
comment on column ops.unseen.source_id is 'ops.sources.';
comment on column ops.unseen.stream is 'The stream, as in ops.streams.';
comment on column ops.unseen.key is 'The key of the row in the table of the stream, as text.';
comment on column ops.unseen.since is 'When a reconciliation first missed it (UTC).';

-- Unlogged: written many times a second, and nothing in it is worth the WAL. A crash of the server empties it: limits start afresh, and a
-- pause that was forgotten is asked for again by the source.
create unlogged table ops.budgets (
  key text primary key,
  free_at timestamptz not null
);
comment on table ops.budgets is 'Rate limits and pauses of the sources, shared by all processes. Requests are taken from the future (GCRA): each take moves free_at on. Unlogged: a crash of the server empties it.';
comment on column ops.budgets.key is 'Key. A rate limit: its name and the base URL of the source. A pause: the base URL, followed by method and endpoint where only they pause.';
comment on column ops.budgets.free_at is 'By the database clock: when the next request may leave.';

-- Which slice wrote a row: `_run_id` and `_synced_at` of a row lead to the batch that it came with.
create table ops.batches (
  batch_id bigint generated always as identity primary key,
  slice_id bigint not null,
  run_id bigint not null,
  moments timestamptz[] not null
);
create index on ops.batches (run_id);
comment on table ops.batches is 'Records of a slice that were committed together; kept as long as the slice. It says which slice wrote a row.';
comment on column ops.batches.batch_id is 'Key.';
comment on column ops.batches.slice_id is 'The slice, see ops.slices.';
comment on column ops.batches.run_id is 'The run that committed it, as in _run_id of its rows.';
comment on column ops.batches.moments is 'What its rows have as _synced_at: when each of its pages was read, and last the moment of the commit, which rows removed by it and parts of records have.';

-- What a source renews and must find again, such as a refresh token, sealed with TIDEMARK_SECRET_KEY.
create table ops.kept_secrets (
  name text primary key,
  sealed bytea,
  kept_at timestamptz not null default now()
);
comment on table ops.kept_secrets is 'Refresh tokens that a source renewed, encrypted with TIDEMARK_SECRET_KEY. No reader sees them.';
comment on column ops.kept_secrets.name is 'The pipeline.';
comment on column ops.kept_secrets.sealed is 'AES-256-GCM: nonce of 12 bytes, tag of 16, then the text. Null until a first token was kept.';
comment on column ops.kept_secrets.kept_at is 'When it was last renewed.';
revoke all on ops.kept_secrets from public;
