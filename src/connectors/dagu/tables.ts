/**
 * The tables of schema `workflow` and the rows they hold. Instants are UTC; `_extra` is JSON text of what no column holds.
 * migrations/0006_workflow.ts makes them, and a test compares the two.
 */
import { type Integer, type JsonText, table } from '../../core/table.ts';
import type { Instant } from '../../core/time.ts';

type Maybe<T> = T | null;
type Extra = { readonly _extra: Maybe<JsonText> };

export type DagRow = Extra & {
  readonly name: string;
  readonly file_name: Maybe<string>;
  readonly group_name: Maybe<string>;
  readonly description: Maybe<string>;
  readonly schedule: Maybe<JsonText>;
  readonly params: Maybe<JsonText>;
  readonly tags: readonly string[];
  readonly queue: Maybe<string>;
  readonly max_active_runs: Maybe<Integer>;
  readonly is_suspended: Maybe<boolean>;
  readonly errors: Maybe<JsonText>;
  readonly status: Maybe<string>;
  readonly state: Maybe<string>;
  readonly latest_dag_run_id: Maybe<string>;
};

export const dags = table<DagRow>({
  schema: 'workflow',
  name: 'dags',
  columns: {
    name: 'text',
    file_name: 'text',
    group_name: 'text',
    description: 'text',
    schedule: 'jsonb',
    params: 'jsonb',
    tags: 'text[]',
    queue: 'text',
    max_active_runs: 'bigint',
    is_suspended: 'bool',
    errors: 'jsonb',
    status: 'text',
    state: 'text',
    latest_dag_run_id: 'text',
    _extra: 'jsonb',
  },
  key: ['name'],
  tombstones: true,
  entity: true,
});

export type DagRunRow = Extra & {
  readonly dag_name: string;
  readonly dag_run_id: string;
  readonly told_run_id: Maybe<string>;
  readonly status: Maybe<string>;
  readonly status_code: Maybe<Integer>;
  readonly state: string;
  readonly begun_at: Maybe<Instant>;
  readonly scheduled_at: Maybe<Instant>;
  readonly queued_at: Maybe<Instant>;
  readonly started_at: Maybe<Instant>;
  readonly finished_at: Maybe<Instant>;
  readonly gone_at: Maybe<Instant>;
  readonly trigger_type: Maybe<string>;
  readonly params: Maybe<string>;
  readonly labels: Maybe<JsonText>;
  readonly worker_id: Maybe<string>;
  readonly root_dag_name: Maybe<string>;
  readonly root_dag_run_id: Maybe<string>;
  readonly parent_dag_name: Maybe<string>;
  readonly parent_dag_run_id: Maybe<string>;
  readonly auto_retry_count: Maybe<Integer>;
  readonly log_path: Maybe<string>;
  readonly error: Maybe<string>;
};

export const dagRuns = table<DagRunRow>({
  schema: 'workflow',
  name: 'dag_runs',
  columns: {
    dag_name: 'text',
    dag_run_id: 'text',
    told_run_id: 'text',
    status: 'text',
    status_code: 'bigint',
    state: 'text',
    begun_at: 'timestamptz',
    scheduled_at: 'timestamptz',
    queued_at: 'timestamptz',
    started_at: 'timestamptz',
    finished_at: 'timestamptz',
    gone_at: 'timestamptz',
    trigger_type: 'text',
    params: 'text',
    labels: 'jsonb',
    worker_id: 'text',
    root_dag_name: 'text',
    root_dag_run_id: 'text',
    parent_dag_name: 'text',
    parent_dag_run_id: 'text',
    auto_retry_count: 'bigint',
    log_path: 'text',
    error: 'text',
    _extra: 'jsonb',
  },
  key: ['dag_name', 'dag_run_id'],
  tombstones: true,
  entity: true,
});

export type DagRunStepRow = Extra & {
  readonly dag_name: string;
  readonly dag_run_id: string;
  readonly step_name: string;
  readonly occurrence: number;
  readonly position: number;
  readonly kind: string;
  readonly status: Maybe<string>;
  readonly status_code: Maybe<Integer>;
  readonly state: string;
  readonly started_at: Maybe<Instant>;
  readonly finished_at: Maybe<Instant>;
  readonly retry_count: Maybe<Integer>;
  readonly done_count: Maybe<Integer>;
  readonly error: Maybe<string>;
  readonly depends: readonly string[];
  readonly sub_runs: Maybe<JsonText>;
  readonly stdout_tail: Maybe<string>;
  readonly stderr_tail: Maybe<string>;
  readonly log_problem: Maybe<string>;
};

export const dagRunSteps = table<DagRunStepRow>({
  schema: 'workflow',
  name: 'dag_run_steps',
  columns: {
    dag_name: 'text',
    dag_run_id: 'text',
    step_name: 'text',
    occurrence: 'int',
    position: 'int',
    kind: 'text',
    status: 'text',
    status_code: 'bigint',
    state: 'text',
    started_at: 'timestamptz',
    finished_at: 'timestamptz',
    retry_count: 'bigint',
    done_count: 'bigint',
    error: 'text',
    depends: 'text[]',
    sub_runs: 'jsonb',
    stdout_tail: 'text',
    stderr_tail: 'text',
    log_problem: 'text',
    _extra: 'jsonb',
  },
  key: ['dag_name', 'dag_run_id', 'step_name', 'occurrence'],
  tombstones: true,
  entity: true,
});

/** Steps are delivered with their run and replaced with it. */
export const dagRunChildren = {
  steps: { table: dagRunSteps, parent: ['dag_name', 'dag_run_id'], absent: 'deleted' },
} as const;

/** Every table of the schema. */
export const workflowTables = [dags, dagRuns, dagRunSteps] as const;
