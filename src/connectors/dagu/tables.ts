/**
 * The tables of schema `workflow`. Instants are UTC; `_extra` is JSON text of the members that no column holds. The members are those of Dagu's
 * OpenAPI (1.30.2, 2.6.5 and 2.15), with those that transform.ts makes under the names of their columns.
 */

import { isObject } from '../../core/record.ts';
import { field, from, records } from '../../core/record-table.ts';
import * as core from '../../core/table.ts';
import { instant, standingIn, stateIn, text } from './fields.ts';

const states = 'active (not over), succeeded, failed, aborted, idle (never started), unknown';
const standing = (of: 'run' | 'step') => ({
  status: from(
    core.text('Its status in lower snake case, e.g. running, partially_succeeded.').nullable(),
    'statusLabel',
    (_, record) => standingIn(of, record).word,
  ),
  status_code: field.id('status?', 'The same as a number, where the source gives one.'),
  state: from(core.text(`Meaning of the status: ${states}.`), '', (r, record) => stateIn(r, of, record)),
});

export const dags = records(
  'workflow.dags',
  'DAGs (named workflows) of the engine, one row each.',
  {
    name: field.keyText('name', 'Name of the DAG.').key(),
    file_name: text('fileName?', 'Name of its file, by which the engine addresses it; null without a file.'),
    group_name: text('group?', 'Group of the DAG at the engine.'),
    description: text('description?', 'What it is for.'),
    schedule: field.json('schedule?', 'Its schedule, as delivered; null without one.'),
    params: field.json('params?', 'Its parameters and their defaults, as delivered.'),
    tags: field.texts('tags', 'Tags (labels).'),
    queue: text('queue?', 'The queue its runs wait in.'),
    max_active_runs: field.id('maxActiveRuns?', 'How many of its runs may be active at once.'),
    workspace: text('workspace?', 'Its workspace; null: none, or the engine has no workspaces.'),
    next_run_at: instant('nextRun?', 'When its schedule starts it next (UTC), where the engine says it.'),
    is_suspended: field.bool('suspended?', 'True where its schedule is switched off.'),
    errors: field.json('errors?', 'Errors in its definition, as delivered; null if there are none.'),
    status: from(
      core.text('Status of its newest run, in lower snake case; null if it never ran.').nullable(),
      'latestDAGRun',
      (_, { latestDAGRun: run }) => (isObject(run) ? standingIn('run', run).word : null),
    ),
    state: from(
      core.text(`Meaning of that status: ${states}.`).nullable(),
      'latestDAGRun',
      (r, { latestDAGRun: run }) => (isObject(run) ? stateIn(r, 'run', run) : null),
    ),
  },
  { noun: 'DAG' },
);

export const dagRuns = records(
  'workflow.dag_runs',
  'Executions of DAGs, one row each; without a history those that were current when read.',
  {
    dag_name: field.keyText('dag_name', 'The DAG, see workflow.dags.name.').key(),
    dag_run_id: field
      .keyText('dag_run_id', 'Id, else "started:" and the start; a reused id has "@" and its begin.')
      .key(),
    told_run_id: text('dagRunId?', 'The id as the source gives it; null if it gives none.'),
    ...standing('run'),
    earlier_tries: field.json('earlier_tries?', 'Earlier tries that were seen, oldest first; else null.'),
    begun_at: instant('begun_at?', 'When it was made, where known, else when it started (UTC).'),
    scheduled_at: instant('scheduleTime?', 'The tick of the schedule it belongs to (UTC).'),
    queued_at: instant('queuedAt?', 'When it was queued (UTC); null if it did not wait.'),
    started_at: instant('startedAt?', 'When it started; of a retried run the last start (UTC).'),
    finished_at: instant('finishedAt?', 'When it ended (UTC); null while it runs.'),
    gone_at: instant('gone_at?', 'When the source first no longer knew the unfinished run (UTC).'),
    trigger_type: text('triggerType?', 'What started it, e.g. scheduler, manual, retry.'),
    trigger_actor: text('triggerActor?', 'Who started it, where known: a user, or apikey: and its name.'),
    params: text('params?', 'Parameters it ran with, as NAME=value pairs or JSON, as delivered.'),
    labels: field.json('labels?', 'Labels (tags) of the run, as delivered: usually a list.'),
    worker_id: text('workerId?', 'The worker that ran it; local: the engine itself.'),
    root_dag_name: text('rootDAGRunName?', 'DAG of the run at the root of its sub-runs; may be its own.'),
    root_dag_run_id: text('rootDAGRunId?', 'That run.'),
    parent_dag_name: text('parentDAGRunName?', 'DAG of the run that called it; null if none did.'),
    parent_dag_run_id: text('parentDAGRunId?', 'That run.'),
    auto_retry_count: field.id('autoRetryCount?', 'How often the engine retried it by itself.'),
    auto_retry_limit: field.id('autoRetryLimit?', 'How often it may do so.'),
    workspace: text('workspace?', 'The workspace of its DAG; null: none, or the engine has no workspaces.'),
    profile_name: text('profileName?', 'The profile of variables and secrets it ran with.'),
    log_path: text('log?', 'Where the engine keeps its log.'),
    error: text('error?', 'Why it failed, where the source gives a reason for the whole run.'),
  },
  { indexes: ['(source_id, started_at)', '(started_at)'] },
);

export const dagRunSteps = records(
  'workflow.dag_run_steps',
  'Steps and handlers of the runs of DAGs, one row each, as they were when the run was last read.',
  {
    dag_name: core.text('The DAG, see workflow.dags.name.').key(),
    dag_run_id: core.text('The run, see workflow.dag_runs.dag_run_id.').key(),
    step_name: core.text('Name of the step; of a handler without one its kind, e.g. onFailure.').key(),
    occurrence: core.int('0; counts on where a run has several steps of one name, in their order.').key(),
    position: core.int('Place among the steps of its run, from 0; handlers come last.'),
    kind: core.text('step, or the handler it is: onInit, onSuccess, onWait, onFailure, onCancel, onExit.'),
    ...standing('step'),
    started_at: instant('startedAt?', 'When it started (UTC); null if it did not.'),
    finished_at: instant('finishedAt?', 'When it ended (UTC); null if it did not.'),
    retry_count: field.id('retryCount?', 'How often it was tried again.'),
    done_count: field.id('doneCount?', 'How often it ended; more than 1 for steps that repeat.'),
    error: text('error?', 'Why it failed.'),
    answered_by: text('humanTaskCompletedBy?', 'The person who completed, approved or rejected it.'),
    answered_at: instant('approvedAt?', 'When it was approved or rejected (UTC).'),
    rejection_reason: text('rejectionReason?', 'Why it was rejected.'),
    depends: field.texts('depends', 'Names of the steps it waits for.'),
    sub_runs: field.json('subRuns?', 'Runs of other DAGs that it started, as delivered.'),
  },
);

/** Steps are delivered with their run and replaced with it. */
export const dagRunChildren = {
  steps: { table: dagRunSteps, parent: ['dag_name', 'dag_run_id'], absent: 'deleted' },
} as const;

/** Every table of the schema. */
export const workflowTables = [dags, dagRuns, dagRunSteps] as const;
