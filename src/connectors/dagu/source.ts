/** The workflow engine, opened: streams, transforms and tables joined into flows. */

import { once } from '../../core/memoize-async.ts';
import type { Observe } from '../../core/run.ts';
import type { Flow, Preflight, Source } from '../../core/stream.ts';
import type { Workflow } from './dagu.ts';
import { findDialect } from './dialect.ts';
import { type EngineSettings, type HttpDeps, openHttp } from './http.ts';
import { dags } from './streams/dags.ts';
import { dagRuns } from './streams/runs.ts';
import * as tables from './tables.ts';
import * as transforms from './transform.ts';

export { openEngine } from './control.ts';

/** What opening a workflow engine takes; `WorkflowConfig` of src/connectors/dagu/config.ts is one. */
export interface WorkflowSettings extends EngineSettings {
  /** DAGs to read, by name or file name; empty: all that the engine lists. */
  readonly dags: readonly string[];
}

export interface WorkflowDeps {
  /** Told what was found out that a person should know. */
  readonly observe?: Observe;
  /** Further settings of the HTTP client: version, deadlines, retries, its own events. */
  readonly http?: HttpDeps;
}

const name = 'workflow';

/** Runs of one DAG that are asked for at once. */
const concurrency = 4;

/**
 * Asks nothing yet. What the server speaks is found out once and kept as long as the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL that cannot be used.
 */
export const openWorkflow = (settings: WorkflowSettings, deps: WorkflowDeps = {}): Source => {
  const http = openHttp(settings, deps.http);
  const workflow: Workflow = {
    http,
    dags: [...new Set(settings.dags)],
    concurrency: deps.http?.concurrency ?? concurrency,
    note: (message) => deps.observe?.({ type: 'note', pipeline: name, level: 'warn', message }),
    found: once((signal) => findDialect(http, settings.dags, signal)),
    heard: new Map(),
  };
  return {
    name,
    kind: 'workflow',
    baseUrl: settings.baseUrl,
    http,
    flows: workflowFlows(workflow),
    preflight: (signal) => preflight(workflow, signal),
    close: () => http.close(),
  };
};

/** A DAG that the engine's whole list no longer shows is gone; one that is no longer named here is not. */
const workflowFlows = (workflow: Workflow): readonly Flow[] => [
  {
    stream: dags(workflow),
    table: tables.dags,
    children: {},
    via: transforms.dag,
    absent: workflow.dags.length === 0 ? 'replaced' : 'kept',
  },
  {
    stream: dagRuns(workflow),
    table: tables.dagRuns,
    children: tables.dagRunChildren,
    via: transforms.dagRun,
    absent: 'kept',
  },
];

const preflight = async (workflow: Workflow, signal: AbortSignal): Promise<Preflight> => {
  const { dialect, answer } = await workflow.found(signal);
  const which = workflow.dags.length === 0 ? 'those of its list' : `${workflow.dags.length} of WORKFLOW_DAGS`;
  return { clock: answer.date, account: undefined, dialect: [dialect.words, `DAGs: ${which}`], problems: [] };
};
