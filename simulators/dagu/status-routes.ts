/** The contract: start, status and stop of a DAG, and nothing else. The contract does not show what a status holds. */
import { type Answer, type Call, Refusal, type Route } from '../shared/http.ts';
import type { Dag, Run, Step, WorkflowState } from './state.ts';

export interface StatusRules {
  /** Whether a status tells the run's id. */
  readonly ids: boolean;
}

export const json = (body: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: [Buffer.from(JSON.stringify(body))],
});

export const statusRoutes = (state: WorkflowState, rules: StatusRules): readonly Route[] => {
  const good = (data: unknown): Answer => json({ status: 'success', data });
  const bad = (status: number, message: string): Refusal =>
    new Refusal(json({ status: 'error', message }, status));
  const dagOf = ({ params }: Call): Dag => {
    const dag = state.dags.get(params.dagName ?? '');
    if (dag === undefined) throw bad(404, `DAG ${params.dagName} not found`);
    return dag;
  };
  const route = (method: 'GET' | 'POST', verb: string, handle: (call: Call, dag: Dag) => Answer): Route => ({
    method,
    path: `/api/v1/dags/{dagName}/${verb}`,
    inContract: true,
    handle: (call) => handle(call, dagOf(call)),
  });
  return [
    route('GET', 'status', (_, dag) => good(statusOf(dag, dag.runs.at(-1), rules.ids))),
    route('POST', 'start', (call, dag) => {
      if (dag.runs.at(-1)?.status === 'running') throw bad(409, `${dag.name} is already running`);
      const run = state.start(dag.fileName, { params: paramsOf(call, bad) });
      return good(rules.ids ? { runId: run.id } : {});
    }),
    route('POST', 'stop', (_, dag) => {
      const run = dag.runs.at(-1);
      if (run === undefined || run.finishedAt !== undefined) throw bad(400, `${dag.name} is not running`);
      state.finish(dag.fileName, run.id, 'aborted');
      return good({});
    }),
  ];
};

const paramsOf = ({ body, headers }: Call, bad: (status: number, message: string) => Refusal): string => {
  if (body.length === 0) return '';
  if (!/^application\/json/.test(headers['content-type'] ?? ''))
    throw bad(415, 'a body needs application/json');
  const value: unknown = JSON.parse(body.toString());
  const params = typeof value === 'object' && value !== null && 'params' in value ? value.params : '';
  if (typeof params !== 'string') throw bad(400, 'params must be a string');
  return params;
};

const statusOf = (dag: Dag, run: Run | undefined, ids: boolean): unknown => {
  if (run === undefined) return { name: dag.name, status: 'not_started', runningSteps: [] };
  return {
    name: dag.name,
    status: run.status,
    runningSteps: run.steps.filter(({ status }) => status !== 'not_started').map(stepOf),
    details: {
      ...(ids && { runId: run.id }),
      params: run.params,
      startedAt: run.startedAt?.toISOString() ?? null,
      finishedAt: run.finishedAt?.toISOString() ?? null,
      host: 'engine-1',
    },
  };
};

const stepOf = ({ name, status, startedAt, finishedAt, error }: Step): unknown => ({
  name,
  status,
  error: error ?? null,
  startedAt: startedAt?.toISOString() ?? null,
  finishedAt: finishedAt?.toISOString() ?? null,
});
