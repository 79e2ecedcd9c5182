/** The tables of schema `workflow`. Instants are UTC; `_extra` is JSON text of the members that no column holds. */
import { bigint, bool, int, jsonb, table, text, texts, timestamptz } from '../../core/table.ts';

const states = 'active (not over), succeeded, failed, aborted, idle (never started), unknown';

export const dags = table('workflow.dags', 'DAGs (named workflows) of the workflow engine, one row each.', {
  name: text('Name of the DAG.').key(),
  file_name: text('Name of its file, by which the engine addresses it; null without a file.').nullable(),
  group_name: text('Group of the DAG at the engine.').nullable(),
  description: text('What it is for.').nullable(),
  schedule: jsonb('Its schedule, as delivered; null without one.').nullable(),
  params: jsonb('Its parameters and their defaults, as delivered.').nullable(),
  tags: texts('Tags (labels).'),
  queue: text('The queue its runs wait in.').nullable(),
  max_active_runs: bigint('How many of its runs may be active at once.').nullable(),
  is_suspended: bool('True where its schedule is switched off.').nullable(),
  errors: jsonb('Errors in its definition, as delivered; null if there are none.').nullable(),
  status: text('Status of its newest run, in lower snake case; null if it never ran.').nullable(),
  state: text(`Meaning of that status: ${states}.`).nullable(),
  latest_dag_run_id: text('Its newest run, see workflow.dag_runs.dag_run_id.').nullable(),
});

const runsAbout = 'Executions of DAGs, one row each; without a history those that were current when read.';
export const dagRuns = table(
  'workflow.dag_runs',
  runsAbout,
  {
    dag_name: text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: text('Id, else "started:" and the start; a reused id has "@" and its begin.').key(),
    told_run_id: text('The id exactly as the source gives it; null if it gives none.').nullable(),
    status: text("The source's status, in lower snake case, e.g. running, partially_succeeded.").nullable(),
    status_code: bigint('The same as a number, where the source gives one.').nullable(),
    state: text(`Meaning of the status: ${states}.`),
    begun_at: timestamptz('When it was made, where known, else when it started (UTC).').nullable(),
    scheduled_at: timestamptz('The tick of the schedule it belongs to (UTC).').nullable(),
    queued_at: timestamptz('When it was queued (UTC); null if it did not wait.').nullable(),
    started_at: timestamptz('When it started; of a retried run the last start (UTC).').nullable(),
    finished_at: timestamptz('When it ended (UTC); null while it runs.').nullable(),
    gone_at: timestamptz('When the source first did not know an unfinished run any more (UTC).').nullable(),
    trigger_type: text('What started it, e.g. scheduler, manual, retry.').nullable(),
    params: text('Parameters it ran with, as NAME=value pairs or JSON, as delivered.').nullable(),
    labels: jsonb('Labels (tags) of the run, as delivered: usually a list.').nullable(),
    worker_id: text('The worker that ran it; local: the engine itself.').nullable(),
    root_dag_name: text('DAG of the run at the root of its sub-runs; may be its own.').nullable(),
    root_dag_run_id: text('That run.').nullable(),
    parent_dag_name: text('DAG of the run that called it; null if none did.').nullable(),
    parent_dag_run_id: text('That run.').nullable(),
    auto_retry_count: bigint('How often the engine retried it by itself.').nullable(),
    log_path: text('Where the engine keeps its log.').nullable(),
    error: text('Why it failed, where the source gives a reason for the whole run.').nullable(),
  },
  { indexes: ['(source_id, started_at)', '(started_at)'] },
);

export const dagRunSteps = table(
  'workflow.dag_run_steps',
  'Steps and handlers of the runs of DAGs, one row each, as they were when the run was last read.',
  {
    dag_name: text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: text('The run, see workflow.dag_runs.dag_run_id.').key(),
    step_name: text('Name of the step; of a handler without one its kind, e.g. onFailure.').key(),
    occurrence: int('0; counts on where a run has several steps of one name, in their order.').key(),
    position: int('Place among the steps of its run, from 0; handlers come last.'),
    kind: text('step, or the handler it is: onInit, onSuccess, onFailure, onCancel, onExit.'),
    status: text("The source's status, in lower snake case, e.g. running, partially_succeeded.").nullable(),
    status_code: bigint('The same as a number, where the source gives one.').nullable(),
    state: text(`Meaning of the status: ${states}.`),
    started_at: timestamptz('When it started (UTC); null if it did not.').nullable(),
    finished_at: timestamptz('When it ended (UTC); null if it did not.').nullable(),
    retry_count: bigint('How often it was tried again.').nullable(),
    done_count: bigint('How often it ended; more than 1 for steps that repeat.').nullable(),
    error: text('Why it failed.').nullable(),
    depends: texts('Names of the steps it waits for.'),
    sub_runs: jsonb('Runs of other DAGs that it started, as delivered.').nullable(),
    stdout_tail: text('Of a failed step: the last 65,536 characters of its output.').nullable(),
    stderr_tail: text('Of a failed step: the end of its error output, in the same way.').nullable(),
    log_problem: text('Why an end of the log is missing although the step has one.').nullable(),
  },
);

/** Steps are delivered with their run and replaced with it. */
export const dagRunChildren = {
  steps: { table: dagRunSteps, parent: ['dag_name', 'dag_run_id'], absent: 'deleted' },
} as const;

/** Every table of the schema. */
export const workflowTables = [dags, dagRuns, dagRunSteps] as const;
