import { type Kysely, sql } from 'kysely';

/** Schemas and the bookkeeping: sources, runs, leases, walks, slices, checkpoints, rejects, schema changes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const schemas: Readonly<Record<string, string>> = {
  ops: 'Bookkeeping of the sync: sources, runs, leases, walks and slices, checkpoints, rejects, schema changes.',
  tracker:
    'Issue tracker, one row per source object, source-shaped. Written by the sync; read bi.* unless you need raw detail.',
  ads: 'Advertising platform, one row per source object or per entity and day.',
  workflow: 'Workflow engine: DAGs, their runs and steps.',
  bi: 'Reporting views: the only schema BI tools need. Columns are only added, never renamed, within one major version.',
};

const counts = `
  received bigint not null default 0,
  inserted bigint not null default 0,
  updated bigint not null default 0,
  unchanged bigint not null default 0,
  deduplicated bigint not null default 0,
  superseded bigint not null default 0,
  rejected bigint not null default 0`;

const countComments: Readonly<Record<string, string>> = {
  received:
    'Records given to the transform; equals inserted + updated + unchanged + deduplicated + superseded + rejected.',
  inserted: 'Records whose row is new.',
  updated: 'Records whose row changed.',
  unchanged: 'Records whose row was already equal; nothing was written.',
  deduplicated: 'Records that repeated a key within one batch; the newer one was taken.',
  superseded: 'Records older than what the warehouse holds; not written.',
  rejected: 'Records that could not become rows; see ops.rejects.',
};

interface Made {
  readonly about: string;
  readonly ddl: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly indexes?: readonly string[];
}

const tables: Readonly<Record<string, Made>> = {
  sources: {
    about: 'The systems that are read. source_id leads every key of the synced tables.',
    ddl: `
  source_id smallint generated always as identity primary key,
  name text not null unique,
  kind text not null check (kind in ('tracker', 'ads', 'workflow')),
  base_url text not null,
  created_at timestamptz not null default now()`,
    columns: {
      source_id: 'Key.',
      name: 'The pipeline that reads it, e.g. tracker.',
      kind: 'tracker, ads or workflow.',
      base_url: 'Where it was last read from; no credentials.',
      created_at: 'When it was first configured here.',
    },
  },
  leases: {
    about: 'One row a pipeline: who may write now. The epoch fences out a holder that lost it.',
    ddl: `
  pipeline text primary key,
  epoch bigint not null default 0,
  run_id bigint,
  holder text,
  backend_pid integer,
  backend_start timestamptz,
  acquired_at timestamptz,
  heartbeat_at timestamptz,
  expires_at timestamptz`,
    columns: {
      pipeline: 'Key: the pipeline that is guarded.',
      epoch: 'Grows by one with every holder; each data transaction checks it last.',
      run_id: 'The run that holds it; null when free.',
      holder: 'Host and process of the holder, for people.',
      backend_pid:
        "Postgres backend of the holder's heartbeat session; gone from pg_stat_activity means the holder is dead.",
      backend_start: 'When that backend started: tells a reused pid.',
      acquired_at: 'When the lease was taken.',
      heartbeat_at: 'Last sign of life.',
      expires_at: 'By the database clock: after this moment the lease may be taken over.',
    },
  },
  runs: {
    about: 'One execution of a pipeline.',
    ddl: `
  run_id bigint generated always as identity primary key,
  pipeline text not null,
  source_id smallint not null,
  kind text not null check (kind in ('sync', 'full', 'backfill', 'reconcile')),
  trigger text not null default 'manual',
  status text not null check (status in ('running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'lost', 'needs_attention')),
  params jsonb not null default '{}',
  app_version text,
  epoch bigint not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,${counts},
  deleted bigint not null default 0,
  requests bigint not null default 0,
  retries bigint not null default 0,
  throttled_ms bigint not null default 0,
  error_code text,
  error_message text`,
    columns: {
      run_id: 'Key; the _run_id of the rows it wrote.',
      pipeline: 'Which pipeline.',
      source_id: 'Which source, see ops.sources.',
      kind: 'sync (incremental), full, backfill (one window, never moves a watermark) or reconcile (id walk for deletions).',
      trigger: 'manual, schedule or api.',
      status:
        'running, succeeded (every receipt matched), partly_failed, failed, interrupted (asked to stop), lost (its process died), needs_attention (the deletion brake held).',
      params: 'What was asked: streams, window.',
      app_version: 'Version of tidemark.',
      epoch: 'Epoch of the lease under which it wrote.',
      started_at: 'When it began.',
      finished_at: 'When it ended; null while running.',
      ...countComments,
      deleted: 'Rows removed or tombstoned.',
      requests: 'HTTP requests sent to the source.',
      retries: 'Of these, repeated ones.',
      throttled_ms: 'Milliseconds spent waiting for the rate limit, summed over concurrent requests.',
      error_code: 'Class of the failure, if it failed.',
      error_message: 'What went wrong, in one line.',
    },
    indexes: ['(pipeline, started_at desc)', '(started_at desc)'],
  },
  run_streams: {
    about: 'What one run did for one stream, with its receipt.',
    ddl: `
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
  landed bigint not null default 0,${counts},
  deleted bigint not null default 0,
  primary key (run_id, stream)`,
    columns: {
      run_id: 'The run.',
      source_id: 'The source.',
      stream: 'The stream.',
      status:
        'ok, unavailable, forbidden, partial (a receipt does not match), failed, interrupted, skipped, running.',
      reason: 'Why it is not ok.',
      started_at: 'When the stream began in this run.',
      finished_at: 'When it ended.',
      slices: 'Slices read to their end in this run.',
      expected: 'Sum of the totals that the source stated; null where it states none.',
      fetched: 'Distinct records of the walks.',
      landed:
        'Records accounted for in the warehouse (written, already equal, superseded or in ops.rejects).',
      ...countComments,
      deleted: 'Rows removed or tombstoned.',
    },
    indexes: ['(source_id, stream, finished_at desc)'],
  },
  streams: {
    about: 'Each stream of each source: where it lands and whether the server has it.',
    ddl: `
  source_id smallint not null,
  stream text not null,
  target text not null,
  about text not null,
  endpoint text not null,
  state text not null default 'unknown' check (state in ('unknown', 'available', 'unavailable', 'forbidden')),
  reason text,
  checked_at timestamptz,
  freshness_seconds bigint not null default 93600,
  primary key (source_id, stream)`,
    columns: {
      source_id: 'The source.',
      stream: 'Name of the stream.',
      target: 'schema.table of its rows.',
      about: 'What it is, in one sentence.',
      endpoint: 'The route it is read from.',
      state:
        'available, unavailable (the server has no such endpoint), forbidden (these credentials may not), unknown (never asked).',
      reason: 'Why it is not available.',
      checked_at: 'When that was last found out.',
      freshness_seconds: 'The promise: older than this is stale. Default 26 hours.',
    },
  },
  walks: {
    about: 'One walk over a stream: an open one is resumed by the next run, slice by slice.',
    ddl: `
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
  closed_at timestamptz`,
    columns: {
      walk_id: 'Key.',
      source_id: 'The source.',
      stream: 'The stream.',
      kind: 'full (everything), incremental (changes since the watermark) or backfill (one given window).',
      words: 'What makes a walk the same walk: a backfill of the same window resumes, another one does not.',
      status: 'open, done (every slice done) or abandoned (what it was for has changed).',
      source_clock:
        "The source's clock (its Date header) at the start: becomes the watermark; null if it sends none.",
      field: 'The field by which the walk is bounded: created or updated; null for lists without one.',
      window_from: 'Lower bound, inclusive; null is open.',
      window_to: 'Upper bound, exclusive; null is open.',
      run_id: 'The run that opened it.',
      opened_at: 'When it was opened.',
      closed_at: 'When it was closed.',
    },
    indexes: ["(source_id, stream) where status = 'open'"],
  },
  slices: {
    about: 'The unit of reading and resuming: one partition and window of a walk, with its receipt.',
    ddl: `
  slice_id bigint generated always as identity primary key,
  walk_id bigint not null,
  partition jsonb,
  window_from timestamptz,
  window_to timestamptz,
  status text not null default 'pending' check (status in ('pending', 'done', 'split', 'partial', 'failed', 'absent')),
  expected bigint,
  fetched bigint,
  landed bigint,
  passes integer,
  run_id bigint,
  started_at timestamptz,
  finished_at timestamptz,
  error_code text,
  error_message text`,
    columns: {
      slice_id: 'Key.',
      walk_id: 'The walk it belongs to.',
      partition: 'The owner, e.g. {"board_id": "7"}; null where the stream has none.',
      window_from: 'Lower bound, inclusive.',
      window_to: 'Upper bound, exclusive.',
      status:
        'pending, done, split (into two halves), partial (its receipt does not match: the next run reads it again), failed, absent (its owner is gone).',
      expected: 'The total the source stated at the end; null where it states none.',
      fetched: 'Distinct records of the last complete pass.',
      landed: 'Records accounted for in the warehouse.',
      passes: 'How often the list had to be walked until nothing had moved behind the walk.',
      run_id: 'The run that last worked on it.',
      started_at: 'When work on it last began.',
      finished_at: 'When it was finished.',
      error_code: 'Class of the last failure.',
      error_message: 'The last failure in one line.',
    },
    indexes: ['(walk_id, status)'],
  },
  checkpoints: {
    about: 'The stored watermark of each stream: everything before it is in the warehouse or in ops.rejects.',
    ddl: `
  source_id smallint not null,
  stream text not null,
  watermark timestamptz not null,
  full_at timestamptz,
  scope text not null default '',
  run_id bigint not null,
  updated_at timestamptz not null default now(),
  primary key (source_id, stream)`,
    columns: {
      source_id: 'The source.',
      stream: 'The stream.',
      watermark: "The source's clock at the start of the last complete walk; never moves back.",
      full_at: "The source's clock at the start of the last complete full walk.",
      scope:
        'What the walks were restricted to (extra filter, start of history): another scope means a new full walk.',
      run_id: 'The run that set it.',
      updated_at: 'When it was set.',
    },
  },
  rejects: {
    about:
      'Dead letters: records that could not become rows, with their exact bytes. Nothing is dropped silently.',
    ddl: `
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
  unique (source_id, stream, record_key, sha256)`,
    columns: {
      reject_id: 'Key.',
      source_id: 'The source.',
      stream: 'The stream.',
      record_key: "The record's key, if it could be read; else empty.",
      sha256: 'Digest of the payload: the same record rejected again is the same row.',
      payload: 'The record exactly as received.',
      truncated: 'True if the payload was too large to keep whole; sha256 is of the whole.',
      stage: 'transform or encode.',
      code: 'Class of the reason, e.g. bad_instant.',
      field: 'The field that was at fault, if one was.',
      message: 'The reason in one line.',
      slice: 'Where it was met: partition and window.',
      first_run_id: 'The run that met it first.',
      last_run_id: 'The run that met it last.',
      first_seen_at: 'When it was met first.',
      last_seen_at: 'When it was met last.',
      attempts: 'In how many runs it was met.',
      status: 'open, resolved (a good later version landed) or replayed (landed from here).',
      resolved_at: 'When it stopped being open.',
    },
    indexes: ["(source_id, stream, record_key) where status = 'open'", '(last_seen_at desc)'],
  },
  schema_changes: {
    about:
      'What changed in the shape of the source: new fields, changed types. Nothing is altered automatically.',
    ddl: `
  change_id bigint generated always as identity primary key,
  source_id smallint not null,
  stream text not null,
  note text not null,
  run_id bigint not null,
  detected_at timestamptz not null default now(),
  unique (source_id, stream, note)`,
    columns: {
      change_id: 'Key.',
      source_id: 'The source.',
      stream: 'The stream.',
      note: 'What was seen, e.g. field votes changed from number to object.',
      run_id: 'The run that saw it first.',
      detected_at: 'When it was first seen.',
    },
  },
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = [
  ...Object.entries(schemas).flatMap(([name, about]) => [
    `create schema if not exists ${name}`,
    `comment on schema ${name} is ${quoted(about)}`,
  ]),
  ...Object.entries(tables).flatMap(([name, made]) => [
    `create table ops.${name} (${made.ddl}\n)`,
    `comment on table ops.${name} is ${quoted(made.about)}`,
    ...(made.indexes ?? []).map((on) => `create index on ops.${name} ${on}`),
    ...Object.entries(made.columns).map(
      ([column, about]) => `comment on column ops.${name}.${column} is ${quoted(about)}`,
    ),
  ]),
];
