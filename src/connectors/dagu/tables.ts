/** The tables of schema `workflow`. Instants are UTC; `_extra` is JSON text of the members that no column holds. */
import { bigint, bool, int, jsonb, type RowOf, table, text, texts, timestamptz } from '../../core/table.ts';

export const dags = table('workflow.dags', 'DAGs (named workflows) of the workflow engine, one row each.', {
  name: text('Name of the DAG.').key(),
  file_name: text(
    'Name of its file, by which the engine addresses it; null where the engine has no files.',
  ).nullable(),
  group_name: text('Group the engine files it under.').nullable(),
  description: text('What it is for.').nullable(),
  schedule: jsonb('When it starts by itself, as delivered; null if it does not.').nullable(),
  params: jsonb('Its parameters and their defaults, as delivered.').nullable(),
  tags: texts('Tags (labels).'),
  queue: text('The queue its runs wait in.').nullable(),
  max_active_runs: bigint('How many of its runs may be active at once.').nullable(),
  is_suspended: bool('True where its schedule is switched off.').nullable(),
  errors: jsonb('What is wrong with its definition, as delivered; null if nothing is.').nullable(),
  status: text(
    'Status of its newest run when it was last read, in lower snake case; null if it never ran.',
  ).nullable(),
  state: text('What that status means: active, succeeded, failed, aborted, idle, unknown.').nullable(),
  latest_dag_run_id: text(
    'Its newest run when it was last read, see workflow.dag_runs.dag_run_id.',
  ).nullable(),
});
export type DagRow = RowOf<typeof dags>;

export const dagRuns = table(
  'workflow.dag_runs',
  'Executions of DAGs, one row each. Of an engine that tells only its current status: those that were current when it was read.',
  {
    dag_name: text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: text(
      "The run's id at the source. Where it tells none: started: and the instant of the start. Where it gave an id to a second execution: that id, @ and the instant at which that one began.",
    ).key(),
    told_run_id: text('The id exactly as the source gives it; null if it gives none.').nullable(),
    status: text(
      'Status of the run as the source words it, in lower snake case, e.g. running, succeeded, partially_succeeded.',
    ).nullable(),
    status_code: bigint('The same as a number, where the source gives one.').nullable(),
    state: text(
      'What the status means: active (not over), succeeded, failed, aborted, idle (never started), unknown.',
    ),
    begun_at: timestamptz(
      'What tells two executions of one id apart (UTC): when the run was made, where that is known, else when it started.',
    ).nullable(),
    scheduled_at: timestamptz('The tick of the schedule it belongs to (UTC).').nullable(),
    queued_at: timestamptz('When it was queued (UTC); null if it did not wait.').nullable(),
    started_at: timestamptz('When it started, of a run that was retried: when it last did (UTC).').nullable(),
    finished_at: timestamptz(
      'When it ended (UTC); null while it runs. May lie before started_at where the source says so.',
    ).nullable(),
    gone_at: timestamptz(
      'When the source first did not know the run any more although it had not seen its end (UTC): its status is the last one that was told.',
    ).nullable(),
    trigger_type: text(
      'What started it, e.g. scheduler, manual, retry; null if the source does not tell.',
    ).nullable(),
    params: text('Parameters it ran with, as NAME=value pairs or JSON, as delivered.').nullable(),
    labels: jsonb('Labels (tags) of the run, as delivered: a list as a rule.').nullable(),
    worker_id: text('The worker that ran it; local: the engine itself.').nullable(),
    root_dag_name: text(
      'DAG of the run that all this began with; its own where it began by itself.',
    ).nullable(),
    root_dag_run_id: text('That run.').nullable(),
    parent_dag_name: text('DAG of the run that called it; null if none did.').nullable(),
    parent_dag_run_id: text('That run.').nullable(),
    auto_retry_count: bigint('How often the engine started it again by itself.').nullable(),
    log_path: text('Where the engine keeps its log.').nullable(),
    error: text('Why it failed, where the source tells it of the run as a whole.').nullable(),
  },
  { indexes: ['(source_id, started_at)', '(started_at)'] },
);
export type DagRunRow = RowOf<typeof dagRuns>;

export const dagRunSteps = table(
  'workflow.dag_run_steps',
  'Steps and handlers of the runs of DAGs, one row each, as they were when the run was last read.',
  {
    dag_name: text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: text('The run, see workflow.dag_runs.dag_run_id.').key(),
    step_name: text('Name of the step; of a handler that has none: when it runs, e.g. onFailure.').key(),
    occurrence: int(
      '0; counts on where a run tells several steps of one name, in the order it tells them.',
    ).key(),
    position: int('Place among the steps of its run, from 0; handlers come last.'),
    kind: text('step, or the handler it is: onInit, onSuccess, onFailure, onCancel, onExit.'),
    status: text(
      'Status of the step as the source words it, in lower snake case, e.g. running, succeeded, partially_succeeded.',
    ).nullable(),
    status_code: bigint('The same as a number, where the source gives one.').nullable(),
    state: text(
      'What the status means: active (not over), succeeded, failed, aborted, idle (never started), unknown.',
    ),
    started_at: timestamptz('When it started (UTC); null if it did not.').nullable(),
    finished_at: timestamptz('When it ended (UTC); null if it did not.').nullable(),
    retry_count: bigint('How often it was tried again.').nullable(),
    done_count: bigint('How often it came to its end; more than 1 for steps that repeat.').nullable(),
    error: text('Why it failed.').nullable(),
    depends: texts('Names of the steps it waits for.'),
    sub_runs: jsonb('Runs of other DAGs that it started, as delivered.').nullable(),
    stdout_tail: text(
      'Of a failed step: the end of its output, 65,536 characters at most; NUL is shown as the sign ␀.',
    ).nullable(),
    stderr_tail: text('Of a failed step: the end of its error output, in the same way.').nullable(),
    log_problem: text('Why an end of the log is missing although the step has one.').nullable(),
  },
);
export type DagRunStepRow = RowOf<typeof dagRunSteps>;

/** Steps are delivered with their run and replaced with it. */
export const dagRunChildren = {
  steps: { table: dagRunSteps, parent: ['dag_name', 'dag_run_id'], absent: 'deleted' },
} as const;

/** Every table of the schema. */
export const workflowTables = [dags, dagRuns, dagRunSteps] as const;
