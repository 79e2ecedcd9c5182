import { type Kysely, sql } from 'kysely';

/** The ledger of report jobs: what was asked of a source and is fetched later. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const columns: Readonly<Record<string, string>> = {
  job_id: 'Key.',
  source_id: 'The source.',
  stream: 'The stream that needs it.',
  slice_id:
    'The slice that it is read for, see ops.slices: only a job of the same slice is ever taken up again.',
  attempt: 'The how-manieth job of its slice.',
  request: 'What was asked for, in words.',
  remote_id: "The source's id of the job; null while its answer to the creation is not known.",
  status:
    'creating (asked for, the answer is not known), submitted, ready, failed, expired or abandoned (a newer one took its place).',
  reason: 'Why it failed, in one line.',
  run_id: 'The run that last worked on it.',
  created_at: 'When it was first asked for.',
  submitted_at: 'When the source gave its id.',
  changed_at: 'When its status last changed.',
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = [
  `create table ops.jobs (
    job_id bigint generated always as identity primary key,
    source_id smallint not null,
    stream text not null,
    slice_id bigint not null,
    attempt integer not null,
    request text not null,
    remote_id text,
    status text not null check (status in ('creating', 'submitted', 'ready', 'failed', 'expired', 'abandoned')),
    reason text,
    run_id bigint not null,
    created_at timestamptz not null default clock_timestamp(),
    submitted_at timestamptz,
    changed_at timestamptz not null default clock_timestamp(),
    unique (slice_id, attempt)
  )`,
  `comment on table ops.jobs is ${quoted('Report jobs at a source: created there, polled, fetched; a crash in between takes them up again.')}`,
  ...Object.entries(columns).map(([name, about]) => `comment on column ops.jobs.${name} is ${quoted(about)}`),
];
