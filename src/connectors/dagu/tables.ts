/**
 * The tables of schema `workflow`. Instants are UTC; `_extra` is JSON text of the members that no column holds. A column
 * that names members of a record is read from the first of them that is filled: those of Dagu's OpenAPI (1.30.2, 2.6.5
 * and 2.15), and for the contract, which shows no fields, those that its engines use (vendor-facts 3.3). The other columns
 * are made in transform.ts.
 */

import * as core from '../../core/table.ts';

/** A nullable column of this type, read from the first of the members `a|b` that is filled. */
const named =
  <V extends core.Value>(build: (about: string) => core.Column<V>) =>
  (members: string, about: string) => ({ ...build(about).nullable(), members: members.split('|') });
const text = named(core.text);
const count = named(core.bigint);
const instant = named(core.timestamptz);
const json = named(core.jsonb);
/** The same for a list of texts; empty where the source gives none. */
const texts = (members: string, about: string) => ({ ...core.texts(about), members: members.split('|') });

const states = 'active (not over), succeeded, failed, aborted, idle (never started), unknown';
const standing = {
  status: core.text('Its status in lower snake case, e.g. running, partially_succeeded.').nullable(),
  status_code: core.bigint('The same as a number, where the source gives one.').nullable(),
  state: core.text(`Meaning of the status: ${states}.`),
};

export const dags = core.table('workflow.dags', 'DAGs (named workflows) of the engine, one row each.', {
  name: core.text('Name of the DAG.').key(),
  file_name: text('fileName', 'Name of its file, by which the engine addresses it; null without a file.'),
  group_name: text('group', 'Group of the DAG at the engine.'),
  description: text('description', 'What it is for.'),
  schedule: json('schedule', 'Its schedule, as delivered; null without one.'),
  params: json('params', 'Its parameters and their defaults, as delivered.'),
  tags: texts('tags|labels', 'Tags (labels).'),
  queue: text('queue', 'The queue its runs wait in.'),
  max_active_runs: count('maxActiveRuns', 'How many of its runs may be active at once.'),
  workspace: text('workspace', 'Its workspace; null: none, or the engine has no workspaces.'),
  next_run_at: instant('nextRun', 'When its schedule starts it next (UTC), where the engine says it.'),
  is_suspended: named(core.bool)('suspended', 'True where its schedule is switched off.'),
  errors: json('errors', 'Errors in its definition, as delivered; null if there are none.'),
  status: core.text('Status of its newest run, in lower snake case; null if it never ran.').nullable(),
  state: core.text(`Meaning of that status: ${states}.`).nullable(),
});

export const dagRuns = core.table(
  'workflow.dag_runs',
  'Executions of DAGs, one row each; without a history those that were current when read.',
  {
    dag_name: core.text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: core.text('Id, else "started:" and the start; a reused id has "@" and its begin.').key(),
    told_run_id: text('dagRunId', 'The id as the source gives it; null if it gives none.'),
    ...standing,
    earlier_tries: core
      .jsonb(
        'Tries of the run before this one that were seen, the first one first, with columns of this table; null if there were none.',
      )
      .nullable(),
    begun_at: core.timestamptz('When it was made, where known, else when it started (UTC).').nullable(),
    scheduled_at: instant('scheduleTime', 'The tick of the schedule it belongs to (UTC).'),
    queued_at: instant('queuedAt', 'When it was queued (UTC); null if it did not wait.'),
    started_at: instant('startedAt', 'When it started; of a retried run the last start (UTC).'),
    finished_at: instant('finishedAt', 'When it ended (UTC); null while it runs.'),
    gone_at: core.timestamptz('When the source first no longer knew the unfinished run (UTC).').nullable(),
    trigger_type: text('triggerType', 'What started it, e.g. scheduler, manual, retry.'),
    trigger_actor: text('triggerActor', 'Who started it, where known: a user, or apikey: and its name.'),
    params: text('params', 'Parameters it ran with, as NAME=value pairs or JSON, as delivered.'),
    labels: json('labels|tags', 'Labels (tags) of the run, as delivered: usually a list.'),
    worker_id: text('workerId', 'The worker that ran it; local: the engine itself.'),
    root_dag_name: text('rootDAGRunName', 'DAG of the run at the root of its sub-runs; may be its own.'),
    root_dag_run_id: text('rootDAGRunId', 'That run.'),
    parent_dag_name: text('parentDAGRunName', 'DAG of the run that called it; null if none did.'),
    parent_dag_run_id: text('parentDAGRunId', 'That run.'),
    auto_retry_count: count('autoRetryCount', 'How often the engine retried it by itself.'),
    auto_retry_limit: count('autoRetryLimit', 'How often it may do so.'),
    workspace: text('workspace', 'The workspace of its DAG; null: none, or the engine has no workspaces.'),
    profile_name: text('profileName', 'The profile of variables and secrets it ran with.'),
    log_path: text('log', 'Where the engine keeps its log.'),
    error: text('error', 'Why it failed, where the source gives a reason for the whole run.'),
  },
  { indexes: ['(source_id, started_at)', '(started_at)'] },
);

export const dagRunSteps = core.table(
  'workflow.dag_run_steps',
  'Steps and handlers of the runs of DAGs, one row each, as they were when the run was last read.',
  {
    dag_name: core.text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: core.text('The run, see workflow.dag_runs.dag_run_id.').key(),
    step_name: core.text('Name of the step; of a handler without one its kind, e.g. onFailure.').key(),
    occurrence: core.int('0; counts on where a run has several steps of one name, in their order.').key(),
    position: core.int('Place among the steps of its run, from 0; handlers come last.'),
    kind: core.text('step, or the handler it is: onInit, onSuccess, onWait, onFailure, onCancel, onExit.'),
    ...standing,
    started_at: instant('startedAt', 'When it started (UTC); null if it did not.'),
    finished_at: instant('finishedAt', 'When it ended (UTC); null if it did not.'),
    retry_count: count('retryCount', 'How often it was tried again.'),
    done_count: count('doneCount', 'How often it ended; more than 1 for steps that repeat.'),
    error: text('error', 'Why it failed.'),
    answered_by: text(
      'humanTaskCompletedBy|approvedBy|rejectedBy',
      'Who completed, approved or rejected it, where it waited for a person.',
    ),
    answered_at: instant('approvedAt|rejectedAt', 'When it was approved or rejected (UTC).'),
    rejection_reason: text('rejectionReason', 'Why it was rejected.'),
    depends: texts('depends', 'Names of the steps it waits for.'),
    sub_runs: json('subRuns', 'Runs of other DAGs that it started, as delivered.'),
  },
);

/** Steps are delivered with their run and replaced with it. */
export const dagRunChildren = {
  steps: { table: dagRunSteps, parent: ['dag_name', 'dag_run_id'], absent: 'deleted' },
} as const;

/** Every table of the schema. */
export const workflowTables = [dags, dagRuns, dagRunSteps] as const;
