import { type Kysely, sql } from 'kysely';

/** When pipelines run and who asked: schedules, ticks, the queue of requests, their log, and the audit of the control API. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

interface Made {
  readonly about: string;
  readonly ddl: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly indexes?: readonly string[];
}

const tables: Readonly<Record<string, Made>> = {
  schedules: {
    about:
      'What is due when, and up to which moment it has been seen to. One row a pipeline and thing it does.',
    ddl: `
  pipeline text not null,
  does text not null,
  cron text not null,
  time_zone text not null,
  seen_to timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  primary key (pipeline, does)`,
    columns: {
      pipeline: 'The pipeline, or nightly for all of them.',
      does: 'sync, full or reconcile.',
      cron: 'Five cron fields, as its pipeline file has them.',
      time_zone: 'IANA zone in which they are read.',
      seen_to:
        'Every instant up to here is seen to: it has its tick, or it was before anybody knew of the schedule. By the database clock.',
      changed_at: 'When the schedule last became another one.',
    },
  },
  ticks: {
    about: 'Each time a schedule came due, once, however many processes saw it.',
    ddl: `
  pipeline text not null,
  does text not null,
  scheduled_for timestamptz not null,
  covers integer not null default 1,
  first_missed timestamptz,
  dag_run_id text not null,
  joined boolean not null default false,
  made_at timestamptz not null default clock_timestamp(),
  made_by text not null,
  primary key (pipeline, does, scheduled_for)`,
    columns: {
      pipeline: 'The pipeline, or nightly for all of them.',
      does: 'sync, full or reconcile.',
      scheduled_for: 'The instant that was due; of several that were missed, the newest.',
      covers: 'How many due instants it stands for: more than one after nobody was there.',
      first_missed: 'The oldest of them; null where it stands for itself alone.',
      dag_run_id: 'The request in ops.dag_runs that sees to it.',
      joined: 'True if that request was there already and this one joined it.',
      made_at: 'When it was noticed.',
      made_by: 'The process that noticed it.',
    },
    indexes: ['(dag_run_id)'],
  },
  dag_runs: {
    about:
      'Requests to run a pipeline, from the moment they were queued to their end. Runs of the command line are only in ops.runs.',
    ddl: `
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
  status text not null default 'queued' check (status in
    ('queued', 'running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'stopped', 'lost', 'needs_attention')),
  queued_at timestamptz not null default clock_timestamp(),
  not_before timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz,
  stop_asked_at timestamptz,
  stop_asked_by text,
  claim integer not null default 0,
  losses integer not null default 0,
  worker text,
  backend_pid integer,
  backend_start timestamptz,
  heartbeat_at timestamptz,
  expires_at timestamptz,
  progress_at timestamptz,
  stuck_since timestamptz,
  error_code text,
  error_message text,
  check ((does = 'backfill') = (window_from is not null and window_to is not null)),
  check ((status in ('queued', 'running', 'interrupted', 'lost')) = (finished_at is null))`,
    columns: {
      dag_run_id: 'Key: the run id given by the caller, or made here.',
      seq: 'Order in which they were queued.',
      pipeline: 'The pipeline, or nightly for all of them.',
      does: 'sync, full, reconcile or backfill.',
      streams: 'Only these streams; null is all.',
      window_from: 'A backfill: lower bound, inclusive.',
      window_to: 'A backfill: upper bound, exclusive.',
      params: 'As it was asked, e.g. FROM=2024-01-01 TO=2024-02-01.',
      trigger: 'schedule or api (the dashboard asks through the API, too).',
      asked_by: 'Who asked: schedule, dashboard, or the address and role of the caller.',
      retry_of: 'The earlier request that this one repeats.',
      status:
        'queued, running, interrupted (its process was told to end; waits to be taken up), lost (its process died; waits to be taken up); and over: succeeded, partly_failed, failed, stopped, needs_attention.',
      queued_at: 'When it was queued.',
      not_before: 'It is not taken up before this moment.',
      started_at: 'When a worker first took it up.',
      finished_at: 'When it was over; null before.',
      stop_asked_at: 'When somebody asked to stop it.',
      stop_asked_by: 'Who.',
      claim: 'How often it was taken up; a worker whose number is older may write nothing of it.',
      losses: 'How often its worker died; parked as failed after the third time.',
      worker: 'Host and process of its worker.',
      backend_pid: "Postgres backend of the worker's heartbeat; gone means that the worker is dead.",
      backend_start: 'When that backend started: tells a reused pid.',
      heartbeat_at: "The worker's last sign of life, by the database clock.",
      expires_at: 'After this moment another worker may take it up.',
      progress_at: 'When it last got ahead.',
      stuck_since: 'Since when it runs without getting ahead; null while it does.',
      error_code: 'Class of the failure.',
      error_message: 'What went wrong, in one line.',
    },
    indexes: [
      '(pipeline, queued_at desc, dag_run_id desc)',
      "(seq) where status in ('queued', 'running', 'interrupted', 'lost')",
    ],
  },
  dag_run_runs: {
    about: 'Which runs a request became: several for nightly, and after a worker was lost.',
    ddl: `
  dag_run_id text not null,
  run_id bigint not null primary key`,
    columns: {
      dag_run_id: 'The request, see ops.dag_runs.',
      run_id: 'The run, see ops.runs.',
    },
    indexes: ['(dag_run_id, run_id)'],
  },
  run_log: {
    about: 'What happened in each request, line by line.',
    ddl: `
  seq bigint generated always as identity primary key,
  dag_run_id text not null,
  at timestamptz not null,
  level text not null check (level in ('info', 'warn', 'error')),
  message text not null`,
    columns: {
      seq: 'Key; within a request it grows in the order in which lines become visible.',
      dag_run_id: 'The request, see ops.dag_runs.',
      at: "When it happened, by the worker's clock.",
      level: 'info, warn or error.',
      message: 'What happened; control characters are written out.',
    },
    indexes: ['(dag_run_id, seq)', '(at)'],
  },
  audit: {
    about:
      'Every attempt to change something through the control API, also those that were refused. Never holds a token.',
    ddl: `
  audit_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  role text not null check (role in ('operate', 'read', 'local', 'nobody')),
  address text not null,
  action text not null,
  pipeline text,
  dag_run_id text,
  params text,
  http_status integer,
  message text`,
    columns: {
      audit_id: 'Key.',
      at: 'When.',
      role: 'operate or read (which token was shown), local (no token is configured), nobody (none, or a wrong one).',
      address: 'Where the request came from.',
      action: 'Method and route, e.g. POST /api/v1/dags/:dagName/start.',
      pipeline: 'Which pipeline was named.',
      dag_run_id: 'The request that came of it, or that was named.',
      params: 'What was asked.',
      http_status: 'What was answered; null if the process ended before it could answer.',
      message: 'Why it was refused.',
    },
    indexes: ['(at desc)'],
  },
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = Object.entries(tables).flatMap(
  ([name, { about, ddl, columns, indexes = [] }]) => [
    `create table ops.${name} (${ddl})`,
    `comment on table ops.${name} is ${quoted(about)}`,
    ...Object.entries(columns).map(
      ([column, text]) => `comment on column ops.${name}.${column} is ${quoted(text)}`,
    ),
    ...indexes.map((index) => `create index on ops.${name} ${index}`),
  ],
);
