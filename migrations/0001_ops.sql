-- Schemas, and the bookkeeping of runs: sources, leases, slices, checkpoints, rejects, report jobs.
-- A comment behind a table or a column is the one that the warehouse shows (`withComments`, src/warehouse/tables.ts).

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

create table ops.sources ( -- The systems that are read. source_id leads every key of the synced tables.
  source_id smallint generated always as identity primary key, -- Key.
  name text not null unique, -- The pipeline that reads it, e.g. tracker.
  kind text not null, -- The schema of its tables, e.g. tracker.
  base_url text not null, -- Where it was last read from; no credentials.
  created_at timestamptz not null default now(), -- When it was first configured here.
  token_ends_at timestamptz -- When the token ends that the last run signed in with; null where that is not known.
);

create table ops.leases ( -- One row a pipeline: who may write now. The epoch fences out a holder that lost it.
  pipeline text primary key, -- Key: the pipeline that is guarded.
  epoch bigint not null default 0, -- Grows by one with every holder; each data transaction checks it last.
  run_id bigint, -- The run that holds it; null when free.
  holder text, -- Host and process of the holder, for people.
  backend_pid integer, -- Postgres backend of the holder's heartbeat session; gone from pg_stat_activity means the holder is dead.
  backend_start timestamptz, -- When that backend started: tells a reused pid.
  acquired_at timestamptz, -- When the lease was taken.
  heartbeat_at timestamptz, -- Last sign of life.
  expires_at timestamptz, -- By the database clock: after this moment the lease may be taken over.
  commits bigint not null default 0 -- How many data transactions of the pipeline were ever committed. A holder that finds fewer than were confirmed to it ends its run: the warehouse has gone back in time.
);

create table ops.runs ( -- One execution of a pipeline.
  run_id bigint generated always as identity primary key, -- Key; the _run_id of the rows it wrote.
  pipeline text not null, -- Which pipeline.
  source_id smallint not null, -- Which source, see ops.sources.
  kind text not null check (kind in ('sync', 'full', 'backfill', 'reconcile', 'replay')), -- sync (incremental), full, backfill (one window, never moves a watermark), reconcile (id walk for deletions) or replay (rejects that were tried again).
  trigger text not null default 'manual', -- manual, schedule or api.
  status text not null
    check (status in ('running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'lost', 'needs_attention')), -- running, succeeded (every receipt matched), partly_failed, failed, interrupted (asked to stop), lost (its process died), needs_attention (the deletion brake held).
  params jsonb not null default '{}', -- What was asked: streams, window.
  app_version text, -- Version of tidemark.
  epoch bigint not null, -- Epoch of the lease under which it wrote.
  started_at timestamptz not null default now(), -- When it began.
  finished_at timestamptz, -- When it ended; null while running.
  received bigint not null default 0, -- Records given to the transform; equals inserted + updated + unchanged + deduplicated + superseded + rejected.
  inserted bigint not null default 0, -- Records whose row is new.
  updated bigint not null default 0, -- Records whose row changed.
  unchanged bigint not null default 0, -- Records whose row was already equal; nothing was written.
  deduplicated bigint not null default 0, -- Records that repeated a key within one batch; the newer one was taken.
  superseded bigint not null default 0, -- Records older than what the warehouse holds; not written.
  rejected bigint not null default 0, -- Records that could not become rows; see ops.rejects.
  deleted bigint not null default 0, -- Rows removed or tombstoned.
  requests bigint not null default 0, -- HTTP requests sent to the source.
  retries bigint not null default 0, -- Of these, repeated ones.
  throttled_ms bigint not null default 0, -- Milliseconds spent waiting for the rate limit, summed over concurrent requests.
  error_code text, -- Class of the failure, if it failed.
  error_message text, -- What went wrong, in one line.
  throttled bigint not null default 0, -- Requests that the source answered with a wish for patience (429); they were sent again later.
  quiet tstzmultirange not null default '{}', -- When no request left because the source had asked for quiet.
  settles text generated always as (
    case
      when coalesce(params -> 'streams', '[]') not in ('[]', 'null') then null
      when kind in ('sync', 'full') then 'freshness'
      when kind = 'reconcile' then 'deletions'
    end
  ) stored -- What the run tells of its whole pipeline when it succeeds: freshness (a sync or full run of every stream) or deletions (a reconciliation of every stream); null: nothing, it was of some streams, of a window or of rejects.
);
create index on ops.runs (pipeline, started_at desc);
create index on ops.runs (started_at desc);

create table ops.run_streams ( -- What one run did for one stream, with its receipt.
  run_id bigint not null, -- The run.
  source_id smallint not null, -- The source.
  stream text not null, -- The stream.
  status text not null, -- ok, unavailable, forbidden, partial (a receipt does not match), failed, interrupted, skipped, running.
  reason text, -- Why it is not ok.
  started_at timestamptz not null default now(), -- When the stream began in this run.
  finished_at timestamptz, -- When it ended.
  slices integer not null default 0, -- Slices read to their end in this run.
  expected bigint, -- Sum of the totals that the source stated; null where it states none.
  fetched bigint not null default 0, -- Distinct records of the walks.
  landed bigint not null default 0, -- Records accounted for in the warehouse (written, already equal, superseded or in ops.rejects).
  received bigint not null default 0, -- Records given to the transform; equals inserted + updated + unchanged + deduplicated + superseded + rejected.
  inserted bigint not null default 0, -- Records whose row is new.
  updated bigint not null default 0, -- Records whose row changed.
  unchanged bigint not null default 0, -- Records whose row was already equal; nothing was written.
  deduplicated bigint not null default 0, -- Records that repeated a key within one batch; the newer one was taken.
  superseded bigint not null default 0, -- Records older than what the warehouse holds; not written.
  rejected bigint not null default 0, -- Records that could not become rows; see ops.rejects.
  deleted bigint not null default 0, -- Rows removed or tombstoned.
  rows bigint, -- Live rows of the stream's table when the run was done with it; beyond a million by the planner's estimate; null where it was not counted.
  primary key (run_id, stream)
);
create index on ops.run_streams (source_id, stream, finished_at desc);

create table ops.streams ( -- Each stream of each source: where it lands and whether the server has it.
  source_id smallint not null, -- The source.
  stream text not null, -- Name of the stream.
  target text not null, -- schema.table of its rows.
  about text not null, -- What it is, in one sentence.
  endpoint text not null, -- The route it is read from.
  state text not null default 'unknown'
    check (state in ('unknown', 'available', 'unavailable', 'forbidden')), -- available, unavailable (the server has no such endpoint), forbidden (these credentials may not), unknown (never asked).
  reason text, -- Why it is not available.
  checked_at timestamptz, -- When that was last found out.
  freshness_seconds bigint not null default 93600, -- The promise: older than this is stale. Default 26 hours.
  excluded boolean not null default false, -- True where runs leave it out by configuration (TRACKER_EXCLUDE, ADS_EXCLUDE, WORKFLOW_EXCLUDE); as of the newest run.
  primary key (source_id, stream)
);

create table ops.walks ( -- One walk over a stream: an open one is resumed by the next run, slice by slice.
  walk_id bigint generated always as identity primary key, -- Key.
  source_id smallint not null, -- The source.
  stream text not null, -- The stream.
  kind text not null check (kind in ('full', 'incremental', 'backfill')), -- full (everything), incremental (changes since the watermark) or backfill (one given window).
  words text not null, -- What makes a walk the same walk: a backfill of the same window resumes, another one does not.
  status text not null default 'open' check (status in ('open', 'done', 'abandoned')), -- open, done (every slice done) or abandoned (what it was for has changed).
  source_clock timestamptz, -- The source's clock (its Date header) at the start: becomes the watermark; null if it sends none.
  field text, -- The field by which the walk is bounded: created or updated; null for lists without one.
  window_from timestamptz, -- Lower bound, inclusive; null is open.
  window_to timestamptz, -- Upper bound, exclusive; null is open.
  run_id bigint not null, -- The run that opened it.
  opened_at timestamptz not null default now(), -- When it was opened.
  closed_at timestamptz, -- When it was closed.
  fields text[] -- Custom fields that the walk asks for by name, by their ids; null: all that there are.
);
create index on ops.walks (source_id, stream) where status = 'open';
create index on ops.walks (source_id, stream, opened_at) where status = 'done' and kind <> 'backfill';

create table ops.slices ( -- The unit of reading and resuming: one partition and window of a walk, with its receipt.
  slice_id bigint generated always as identity primary key, -- Key.
  walk_id bigint not null, -- The walk it belongs to.
  partition jsonb, -- The owner, e.g. {"board_id": "7"}; null where the stream has none.
  window_from timestamptz, -- Lower bound, inclusive.
  window_to timestamptz, -- Upper bound, exclusive.
  status text not null default 'pending'
    check (status in ('pending', 'done', 'split', 'partial', 'failed', 'absent')), -- pending, done, split (into two halves), partial (its receipt does not match: the next run reads it again), failed, absent (its owner is gone).
  expected bigint, -- The total the source stated at the end; null where it states none.
  fetched bigint, -- Distinct records of the last complete pass.
  landed bigint, -- Records accounted for in the warehouse.
  passes integer, -- How often the list had to be walked until nothing had moved behind the walk.
  run_id bigint, -- The run that last worked on it.
  started_at timestamptz, -- When work on it last began.
  finished_at timestamptz, -- When it was finished.
  error_code text, -- Class of the last failure.
  error_message text -- The last failure in one line.
);
create index on ops.slices (partition, slice_id);
create index on ops.slices (run_id);
create index on ops.slices (walk_id, status);

create table ops.checkpoints ( -- The stored watermark of each stream: everything before it is in the warehouse or in ops.rejects.
  source_id smallint not null, -- The source.
  stream text not null, -- The stream.
  watermark timestamptz not null, -- The source's clock at the start of the last complete walk; never moves back.
  full_at timestamptz, -- The source's clock at the start of the last complete full walk.
  scope text not null default '', -- What the walks were restricted to (extra filter, start of history): another scope means a new full walk.
  run_id bigint not null, -- The run that set it.
  updated_at timestamptz not null default now(), -- When it was set.
  fields text[], -- Custom fields that were asked for by name when the checkpoint was last moved; null: all that there are, or not known. Where one of them was hidden then and is not any more, everything is read again.
  primary key (source_id, stream)
);

create table ops.rejects ( -- Dead letters: records, and parts of records, that could not become rows, with their exact bytes. Nothing is dropped silently.
  reject_id bigint generated always as identity primary key, -- Key.
  source_id smallint not null, -- The source.
  stream text not null, -- The stream.
  record_key text not null default '', -- The key of the record, also of the one that a part belongs to, if it could be read; else empty.
  sha256 bytea not null, -- Digest of the payload: the same record rejected again is the same row.
  payload bytea not null, -- The record or part exactly as received.
  truncated boolean not null default false, -- True if the payload was too large to keep whole; sha256 is of the whole.
  stage text not null, -- transform or encode.
  code text not null, -- Class of the reason, e.g. bad_instant.
  field text, -- The field that was at fault, if one was.
  message text not null, -- The reason in one line.
  slice jsonb, -- Where it was met: partition and window.
  first_run_id bigint not null, -- The run that met it first.
  last_run_id bigint not null, -- The run that met it last.
  first_seen_at timestamptz not null default now(), -- When it was met first.
  last_seen_at timestamptz not null default now(), -- When it was met last.
  attempts integer not null default 1, -- In how many runs it was met.
  status text not null default 'open' check (status in ('open', 'resolved', 'replayed')), -- open, resolved (a good version landed, another bad one took its place, or a complete listing shows it no more) or replayed (landed from here).
  resolved_at timestamptz, -- When it stopped being open.
  part text not null default '', -- Which part of the record this is, e.g. comments: the record itself was loaded. Empty: the record itself.
  given jsonb, -- What a part needs besides its bytes to be tried again, e.g. the key of its record.
  unique (source_id, stream, part, record_key, sha256)
);
create index on ops.rejects (last_seen_at desc);
create index on ops.rejects (source_id, stream, record_key) where status = 'open';

create table ops.schema_changes ( -- What changed in the shape of the source: new fields, changed types. Nothing is altered automatically.
  change_id bigint generated always as identity primary key, -- Key.
  source_id smallint not null, -- The source.
  stream text not null, -- The stream.
  note text not null, -- What was seen, e.g. field votes changed from number to object.
  run_id bigint not null, -- The run that saw it first.
  detected_at timestamptz not null default now(), -- When it was first seen.
  unique (source_id, stream, note)
);

create table ops.jobs ( -- Report jobs at a source: created there, polled, fetched; a crash in between takes them up again.
  job_id bigint generated always as identity primary key, -- Key.
  source_id smallint not null, -- The source.
  stream text not null, -- The stream that needs it.
  slice_id bigint not null, -- The slice that it is read for, see ops.slices: only a job of the same slice is ever taken up again.
  attempt integer not null, -- The how-manieth job of its slice.
  request text not null, -- What was asked for, in words.
  remote_id text, -- The source's id of the job; null while its answer to the creation is not known.
  status text not null
    check (status in ('creating', 'submitted', 'ready', 'failed', 'expired', 'abandoned')), -- creating (asked for, the answer is not known), submitted, ready, failed, expired or abandoned (a newer one took its place).
  reason text, -- Why it failed, in one line.
  run_id bigint not null, -- The run that last worked on it.
  created_at timestamptz not null default clock_timestamp(), -- When it was first asked for.
  submitted_at timestamptz, -- When the source gave its id.
  changed_at timestamptz not null default clock_timestamp(), -- When its status last changed.
  unique (slice_id, attempt)
);

create table ops.commits ( -- One row a transaction of the loader, kept for a day. Its number alone does not tell whether it was committed: a server that crashed may give the number to another one.
  token uuid primary key, -- Made up by the loader for this one transaction.
  committed_at timestamptz not null default now() -- When the transaction began.
);

create table ops.unseen ( -- One row a record that a reconciliation could not see though it may well be there: its project was hidden from the account. It is read again when a reconciliation sees it.
  source_id smallint not null references ops.sources, -- ops.sources.
  stream text not null, -- The stream, as in ops.streams.
  key text not null, -- The key of the row in the table of the stream, as text.
  since timestamptz not null default now(), -- When a reconciliation first missed it (UTC).
  primary key (source_id, stream, key)
);

-- Unlogged: written many times a second, and nothing in it is worth the WAL. A crash of the server empties it: limits start afresh, and a
-- pause that was forgotten is asked for again by the source.
create unlogged table ops.budgets ( -- Rate limits and pauses of the sources, shared by all processes. Requests are taken from the future (GCRA): each take moves free_at on. Unlogged: a crash of the server empties it.
  key text primary key, -- Key. A rate limit: its name and the base URL of the source. A pause: the base URL, followed by method and endpoint where only they pause.
  free_at timestamptz not null -- By the database clock: when the next request may leave.
);

-- Which slice wrote a row: `_run_id` and `_synced_at` of a row lead to the batch that it came with.
create table ops.batches ( -- Records of a slice that were committed together; kept as long as the slice. It says which slice wrote a row.
  batch_id bigint generated always as identity primary key, -- Key.
  slice_id bigint not null, -- The slice, see ops.slices.
  run_id bigint not null, -- The run that committed it, as in _run_id of its rows.
  moments timestamptz[] not null -- What its rows have as _synced_at: when each of its pages was read, and last the moment of the commit, which rows removed by it and parts of records have.
);
create index on ops.batches (run_id);

-- What a source renews and must find again, such as a refresh token, sealed with TIDEMARK_SECRET_KEY.
create table ops.kept_secrets ( -- Refresh tokens that a source renewed, encrypted with TIDEMARK_SECRET_KEY. No reader sees them.
  name text primary key, -- The pipeline.
  sealed bytea, -- AES-256-GCM: nonce of 12 bytes, tag of 16, then the text. Null until a first token was kept.
  kept_at timestamptz not null default now() -- When it was last renewed.
);
revoke all on ops.kept_secrets from public;
