import { type Kysely, sql } from 'kysely';

/** The workflow engine's tables (DAGs, their runs, the steps of those) and the reading schema's views over them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

type Columns = Readonly<Record<string, readonly [type: string, about: string]>>;

interface Made {
  readonly about: string;
  /** Key columns behind source_id. */
  readonly key: string;
  readonly columns: Columns;
  readonly indexes?: readonly string[];
}

const status = (of: string): Columns => ({
  status: [
    'text',
    `Status of the ${of} as the source words it, in lower snake case, e.g. running, succeeded, partially_succeeded.`,
  ],
  status_code: ['bigint', 'The same as a number, where the source gives one.'],
  state: [
    'text not null',
    'What the status means: active (not over), succeeded, failed, aborted, idle (never started), unknown.',
  ],
});
const dagName = ['text not null', 'The DAG, see workflow.dags.name.'] as const;
const runId = ['text not null', 'The run, see workflow.dag_runs.dag_run_id.'] as const;

const tables: Readonly<Record<string, Made>> = {
  dags: {
    about: 'DAGs (named workflows) of the workflow engine, one row each.',
    key: 'name',
    columns: {
      name: ['text not null', 'Name of the DAG.'],
      file_name: [
        'text',
        'Name of its file, by which the engine addresses it; null where the engine has no files.',
      ],
      group_name: ['text', 'Group the engine files it under.'],
      description: ['text', 'What it is for.'],
      schedule: ['jsonb', 'When it starts by itself, as delivered; null if it does not.'],
      params: ['jsonb', 'Its parameters and their defaults, as delivered.'],
      tags: ["text[] not null default '{}'", 'Tags (labels).'],
      queue: ['text', 'The queue its runs wait in.'],
      max_active_runs: ['bigint', 'How many of its runs may be active at once.'],
      is_suspended: ['boolean', 'True where its schedule is switched off.'],
      errors: ['jsonb', 'What is wrong with its definition, as delivered; null if nothing is.'],
      status: [
        'text',
        'Status of its newest run when it was last read, in lower snake case; null if it never ran.',
      ],
      state: ['text', 'What that status means: active, succeeded, failed, aborted, idle, unknown.'],
      latest_dag_run_id: ['text', 'Its newest run when it was last read, see workflow.dag_runs.dag_run_id.'],
    },
  },
  dag_runs: {
    about:
      'Executions of DAGs, one row each. Of an engine that tells only its current status: those that were current when it was read.',
    key: 'dag_name, dag_run_id',
    columns: {
      dag_name: dagName,
      dag_run_id: [
        'text not null',
        "The run's id at the source. Where it tells none: started: and the instant of the start. Where it gave an id to a second execution: that id, @ and the instant at which that one began.",
      ],
      told_run_id: ['text', 'The id exactly as the source gives it; null if it gives none.'],
      ...status('run'),
      begun_at: [
        'timestamptz',
        'What tells two executions of one id apart (UTC): when the run was made, where that is known, else when it started.',
      ],
      scheduled_at: ['timestamptz', 'The tick of the schedule it belongs to (UTC).'],
      queued_at: ['timestamptz', 'When it was queued (UTC); null if it did not wait.'],
      started_at: ['timestamptz', 'When it started, of a run that was retried: when it last did (UTC).'],
      finished_at: [
        'timestamptz',
        'When it ended (UTC); null while it runs. May lie before started_at where the source says so.',
      ],
      gone_at: [
        'timestamptz',
        'When the source first did not know the run any more although it had not seen its end (UTC): its status is the last one that was told.',
      ],
      trigger_type: [
        'text',
        'What started it, e.g. scheduler, manual, retry; null if the source does not tell.',
      ],
      params: ['text', 'Parameters it ran with, as NAME=value pairs or JSON, as delivered.'],
      labels: ['jsonb', 'Labels (tags) of the run, as delivered: a list as a rule.'],
      worker_id: ['text', 'The worker that ran it; local: the engine itself.'],
      root_dag_name: ['text', 'DAG of the run that all this began with; its own where it began by itself.'],
      root_dag_run_id: ['text', 'That run.'],
      parent_dag_name: ['text', 'DAG of the run that called it; null if none did.'],
      parent_dag_run_id: ['text', 'That run.'],
      auto_retry_count: ['bigint', 'How often the engine started it again by itself.'],
      log_path: ['text', 'Where the engine keeps its log.'],
      error: ['text', 'Why it failed, where the source tells it of the run as a whole.'],
    },
    indexes: ['(source_id, started_at)', '(started_at)'],
  },
  dag_run_steps: {
    about: 'Steps and handlers of the runs of DAGs, one row each, as they were when the run was last read.',
    key: 'dag_name, dag_run_id, step_name, occurrence',
    columns: {
      dag_name: dagName,
      dag_run_id: runId,
      step_name: [
        'text not null',
        'Name of the step; of a handler that has none: when it runs, e.g. onFailure.',
      ],
      occurrence: [
        'integer not null',
        '0; counts on where a run tells several steps of one name, in the order it tells them.',
      ],
      position: ['integer not null', 'Place among the steps of its run, from 0; handlers come last.'],
      kind: ['text not null', 'step, or the handler it is: onInit, onSuccess, onFailure, onCancel, onExit.'],
      ...status('step'),
      started_at: ['timestamptz', 'When it started (UTC); null if it did not.'],
      finished_at: ['timestamptz', 'When it ended (UTC); null if it did not.'],
      retry_count: ['bigint', 'How often it was tried again.'],
      done_count: ['bigint', 'How often it came to its end; more than 1 for steps that repeat.'],
      error: ['text', 'Why it failed.'],
      depends: ["text[] not null default '{}'", 'Names of the steps it waits for.'],
      sub_runs: ['jsonb', 'Runs of other DAGs that it started, as delivered.'],
      stdout_tail: [
        'text',
        'Of a failed step: the end of its output, 65,536 characters at most; NUL is shown as the sign ␀.',
      ],
      stderr_tail: ['text', 'Of a failed step: the end of its error output, in the same way.'],
      log_problem: ['text', 'Why an end of the log is missing although the step has one.'],
    },
  },
};

const own: Columns = { source_id: ['smallint not null', 'The source, see ops.sources.'] };
const bookkeeping: Columns = {
  _synced_at: [
    'timestamptz not null default now()',
    "When this row's content last changed here (not: last seen).",
  ],
  _run_id: ['bigint', 'The run that wrote this content, see ops.runs.'],
  _deleted_at: ['timestamptz', 'When it was found to be gone at the source; null while it lives.'],
  _row_hash: ['bigint', '64-bit hash of the content; an equal hash means that nothing is written.'],
  _extra: [
    'jsonb',
    'What the source gives and no column holds, and raw values of an unexpected type with the reason.',
  ],
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const makeTable = ([table, made]: readonly [string, Made]): readonly string[] => {
  const columns = Object.entries({ ...own, ...made.columns, ...bookkeeping });
  const lines = columns.map(([column, [type]]) => `${column} ${type}`);
  return [
    `create table workflow.${table} (\n  ${[...lines, `primary key (source_id, ${made.key})`].join(',\n  ')}\n)`,
    `comment on table workflow.${table} is ${quoted(made.about)}`,
    ...(made.indexes ?? []).map((on) => `create index on workflow.${table} ${on}`),
    ...columns.map(
      ([column, [, about]]) => `comment on column workflow.${table}.${column} is ${quoted(about)}`,
    ),
  ];
};

type Column = readonly [expression: string, about: string];

interface View {
  readonly about: string;
  /** In the order of the view; later migrations may only add at the end. */
  readonly columns: Readonly<Record<string, Column>>;
  readonly from: string;
}

const sourceOf = (row: string): string => `join ops.sources s on s.source_id = ${row}.source_id`;
const source: Column = [
  's.name',
  'The source, see ops.sources.name; names and ids are unique within one source.',
];
const syncedAt = (row: string): Column => [
  `${row}._synced_at`,
  'When this content last changed in the warehouse (UTC); not when it was last seen.',
];
/** Null where either end is missing, and where the source tells an end before its beginning: a duration is never negative. */
const lasted = (from: string, to: string): string =>
  `(case when ${to} >= ${from} then extract(epoch from ${to} - ${from}) end)::numeric(18,3)`;
const isOver = (row: string): string => `${row}.state in ('succeeded', 'failed', 'aborted')`;
const begun = 'coalesce(r.started_at, r.queued_at, r.scheduled_at, r.begun_at)';
const duration = lasted('r.started_at', 'r.finished_at');

const runColumns: Readonly<Record<string, Column>> = {
  source,
  dag_name: ['r.dag_name', 'Name of the DAG.'],
  dag_run_id: ['r.dag_run_id', 'Id of the run; unique within its DAG.'],
};

const views: Readonly<Record<string, View>> = {
  workflow_runs: {
    about: 'Runs of DAGs, one row each.',
    columns: {
      ...runColumns,
      dag_group: ['d.group_name', 'Group of the DAG.'],
      status: ['r.status', 'Status in the words of the engine, e.g. succeeded, failed, aborted, running.'],
      state: ['r.state', 'What it means: active, succeeded, failed, aborted, idle, unknown.'],
      is_over: [isOver('r'), 'True once the run has ended.'],
      is_success: [
        `case when ${isOver('r')} then r.state = 'succeeded' end`,
        'Null until the run has ended.',
      ],
      is_gone: ['r.gone_at is not null', 'True where the engine lost the run before its end was seen.'],
      trigger_type: ['r.trigger_type', 'What started it, where the engine tells.'],
      params: ['r.params', 'Parameters it ran with, as delivered.'],
      labels: [
        `case jsonb_typeof(r.labels)
          when 'array' then (select string_agg(one, ', ' order by place) from jsonb_array_elements_text(r.labels) with ordinality l (one, place))
          else r.labels #>> '{}' end`,
        'Labels, separated by commas.',
      ],
      worker_id: ['r.worker_id', 'The worker that ran it.'],
      scheduled_at: ['r.scheduled_at', 'The tick of the schedule it belongs to (UTC).'],
      queued_at: ['r.queued_at', 'When it was queued (UTC).'],
      started_at: ['r.started_at', 'When it (last) started (UTC).'],
      finished_at: ['r.finished_at', 'When it ended (UTC).'],
      duration_seconds: [
        duration,
        'From start to end; null while it runs, or if the end is told before the start.',
      ],
      queue_seconds: [lasted('r.queued_at', 'r.started_at'), 'From being queued to the start.'],
      auto_retry_count: ['r.auto_retry_count', 'How often the engine started it again by itself.'],
      steps: ['coalesce(n.steps, 0)', 'Steps, handlers not counted.'],
      failed_steps: ['coalesce(n.failed, 0)', 'Steps and handlers that failed.'],
      first_failed_step: ['n.first_failed', 'The first of them.'],
      error: ['coalesce(r.error, n.error)', 'Why it failed: of the run, else of its first failed step.'],
      synced_at: syncedAt('r'),
    },
    from: `workflow.dag_runs r
      ${sourceOf('r')}
      left join workflow.dags d on d.source_id = r.source_id and d.name = r.dag_name
      left join lateral (
        select count(*) filter (where t.kind = 'step') as steps, count(*) filter (where t.state = 'failed') as failed,
          (array_agg(t.step_name order by t.position) filter (where t.state = 'failed'))[1] as first_failed,
          (array_agg(t.error order by t.position) filter (where t.state = 'failed'))[1] as error
        from workflow.dag_run_steps t
        where t.source_id = r.source_id and t.dag_name = r.dag_name and t.dag_run_id = r.dag_run_id and t._deleted_at is null
      ) n on true
      where r._deleted_at is null`,
  },
  workflow_steps: {
    about: 'Steps and handlers of the runs of DAGs, one row each.',
    columns: {
      ...runColumns,
      step_name: ['t.step_name', 'Name of the step or handler.'],
      occurrence: ['t.occurrence', '0; counts on where a run has several steps of one name.'],
      step_position: ['t.position', 'Place among the steps of its run, from 0; handlers come last.'],
      kind: ['t.kind', 'step, or which handler it is.'],
      status: ['t.status', 'Status in the words of the engine.'],
      state: ['t.state', 'What it means: active, succeeded, failed, aborted, idle, unknown.'],
      is_success: [
        `case when ${isOver('t')} then t.state = 'succeeded' end`,
        'Null until the step has ended.',
      ],
      started_at: ['t.started_at', 'When it started (UTC).'],
      finished_at: ['t.finished_at', 'When it ended (UTC).'],
      duration_seconds: [lasted('t.started_at', 't.finished_at'), 'From start to end.'],
      retries: ['t.retry_count', 'How often it was tried again.'],
      error: ['t.error', 'Why it failed.'],
      run_status: ['r.status', 'Status of the run it belongs to.'],
      run_started_at: ['r.started_at', 'When that run started (UTC).'],
      synced_at: syncedAt('t'),
    },
    from: `workflow.dag_run_steps t
      join workflow.dag_runs r on r.source_id = t.source_id and r.dag_name = t.dag_name and r.dag_run_id = t.dag_run_id
      ${sourceOf('t')}
      where t._deleted_at is null and r._deleted_at is null`,
  },
  workflow_daily: {
    about: 'How reliable each DAG was, day by day; one row per DAG and day with runs. Days are days of UTC.',
    columns: {
      source,
      dag_name: ['g.dag_name', 'Name of the DAG.'],
      date_day: [
        'g.date_day',
        'Day in UTC on which the runs started (or were queued, if they did not start).',
      ],
      runs: ['g.runs', 'Runs.'],
      succeeded: ['g.succeeded', 'Runs that succeeded.'],
      failed: ['g.failed', 'Runs that failed.'],
      aborted: ['g.aborted', 'Runs that were stopped.'],
      unfinished: [
        'g.runs - g.succeeded - g.failed - g.aborted',
        'Runs that have not ended, or whose end is unknown.',
      ],
      success_ratio: [
        'round(g.succeeded::numeric / nullif(g.succeeded + g.failed + g.aborted, 0), 4)::numeric(5,4)',
        'Succeeded by all that ended, 0 to 1; null if none did.',
      ],
      p50_duration_seconds: ['g.p50::numeric(18,3)', 'Median duration of those with a start and an end.'],
      p95_duration_seconds: ['g.p95::numeric(18,3)', '95 of 100 took no longer.'],
      total_duration_seconds: ['g.total::numeric(18,3)', 'All durations together.'],
    },
    from: `(
      select r.source_id, r.dag_name, (${begun} at time zone 'UTC')::date as date_day, count(*) as runs,
        count(*) filter (where r.state = 'succeeded') as succeeded, count(*) filter (where r.state = 'failed') as failed,
        count(*) filter (where r.state = 'aborted') as aborted,
        percentile_cont(0.5) within group (order by ${duration}) as p50,
        percentile_cont(0.95) within group (order by ${duration}) as p95, sum(${duration}) as total
      from workflow.dag_runs r
      where r._deleted_at is null and ${begun} is not null
      group by 1, 2, 3
    ) g ${sourceOf('g')}`,
  },
};

const makeView = ([name, { about, columns, from }]: readonly [string, View]): readonly string[] => [
  `create view bi.${name} as select ${Object.entries(columns)
    .map(([column, [expression]]) => `${expression} as ${column}`)
    .join(', ')} from ${from}`,
  `comment on view bi.${name} is ${quoted(about)}`,
  ...Object.entries(columns).map(
    ([column, [, comment]]) => `comment on column bi.${name}.${column} is ${quoted(comment)}`,
  ),
];

const statements: readonly string[] = [
  ...Object.entries(tables).flatMap(makeTable),
  ...Object.entries(views).flatMap(makeView),
];
