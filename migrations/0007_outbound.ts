import { type Kysely, sql } from 'kysely';

/** What is told to the outside: hand-offs to another engine, the state of each pipeline as people know it, and the outbox of messages. */
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
  handoffs: {
    about: 'What a pipeline triggers at the workflow engine when a run of it succeeded; one row a run.',
    ddl: `
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
  unique (pipeline, run_key, dag)`,
    columns: {
      handoff_id: 'Key.',
      pipeline: 'The pipeline that succeeded.',
      run_key: 'Its run: the number in ops.runs, or the id of a nightly run.',
      dag: 'The DAG that is started.',
      params: 'What it is given: RUN_ID, FROM, TO and what the pipeline adds.',
      remote_run_id:
        'The run id we ask the engine to use: the same run is never started twice where the engine takes one.',
      wait: 'Whether its end is waited for.',
      status:
        'pending, starting (asked for, the answer is not known), started, succeeded, failed, or unknown (it cannot be told whether it was started: nothing is started blindly).',
      engine_status: "The engine's own word for the state of its run.",
      attempts: 'How often the start was tried.',
      error: 'Why it is not started, in one line.',
      created_at: 'When the run succeeded.',
      starting_at: 'When the start was last asked for.',
      next_at: 'When it is looked at again.',
      changed_at: 'When its state last changed.',
    },
    indexes: ["(next_at) where status in ('pending', 'starting', 'started')"],
  },
  health: {
    about: 'The state of each pipeline as it was last told to people.',
    ddl: `
  pipeline text primary key,
  state text not null,
  since timestamptz not null default clock_timestamp(),
  run_key text,
  told_at timestamptz`,
    columns: {
      pipeline: 'Key.',
      state:
        'ok, failed, partly_failed, needs_attention, stale (a promise of freshness is broken) or stuck (runs without progress).',
      since: 'Since when.',
      run_key: 'The run that brought it about.',
      told_at: 'When it was last told, reminders included.',
    },
  },
  notifications: {
    about:
      'The outbox of messages: each is delivered at least once, with an id by which a receiver knows a repetition.',
    ddl: `
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
  sent_at timestamptz`,
    columns: {
      notification_id: 'Key, and the webhook-id header: the same in every try.',
      channel: 'webhook or slack.',
      pipeline: 'Which pipeline it is about.',
      event: 'failed, partly_failed, needs_attention, stale, stuck, recovered or reminder.',
      message: 'What is told: facts, no secret.',
      status: 'pending, sent or given_up (tried for a day).',
      attempts: 'How often it was tried.',
      error: 'Why the last try failed, in one line.',
      created_at: 'When the state changed.',
      next_at: 'When it is tried next.',
      sent_at: 'When it arrived.',
    },
    indexes: ["(next_at) where status = 'pending'"],
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
