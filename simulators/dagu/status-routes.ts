/** The contract: start, status and stop of a DAG, and nothing else. The contract does not show what a status holds; two shapes are served. */
import { type Answer, type Call, Refusal, type Route } from '../shared/http.ts';
import type { Dag, Run, Step, WorkflowState } from './state.ts';
import { statuses } from './state.ts';

export interface StatusRules {
  /** pascal: `Status: {Name, Status, StatusText, Nodes, RequestId, …}`, as engines of this kind had it first. */
  readonly shape: 'camel' | 'pascal';
  /** `{status: "success", data}` around everything, as the contract has it. */
  readonly envelope: boolean;
  /** Whether a status tells the run's id. */
  readonly ids: boolean;
}

export const json = (body: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: [Buffer.from(JSON.stringify(body))],
});

export const statusRoutes = (state: WorkflowState, rules: StatusRules): readonly Route[] => {
  const good = (data: unknown): Answer => json(rules.envelope ? { status: 'success', data } : data);
  const bad = (status: number, message: string): Refusal =>
    new Refusal(json(rules.envelope ? { status: 'error', message } : { error: message }, status));
  const dagOf = ({ params }: Call): Dag => {
    const dag = state.dags.get(params.dagName ?? '');
    if (dag === undefined) throw bad(404, `DAG ${params.dagName} not found`);
    return dag;
  };
  const route = (method: 'GET' | 'POST', verb: string, handle: (call: Call, dag: Dag) => Answer): Route => ({
    method,
    path: `/api/v1/dags/{dagName}/${verb}`,
    promised: true,
    handle: (call) => handle(call, dagOf(call)),
  });
  const told = rules.shape === 'pascal' ? pascal : camel;
  return [
    route('GET', 'status', (_, dag) => good(told(dag, dag.runs.at(-1), rules.ids))),
    route('POST', 'start', (call, dag) => {
      if (dag.runs.at(-1)?.status === 'running') throw bad(409, `${dag.name} is already running`);
      const run = state.start(dag.fileName, { params: paramsOf(call, bad) });
      return good(rules.ids ? { [rules.shape === 'pascal' ? 'RequestId' : 'runId']: run.id } : {});
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

const camel = (dag: Dag, run: Run | undefined, ids: boolean): unknown => {
  if (run === undefined) return { name: dag.name, status: 'not_started', runningSteps: [] };
  return {
    name: dag.name,
    status: run.status,
    runningSteps: run.steps.filter(({ status }) => status !== 'not_started').map(camelStep),
    details: {
      ...(ids && { runId: run.id }),
      params: run.params,
      startedAt: run.startedAt?.toISOString() ?? null,
      finishedAt: run.finishedAt?.toISOString() ?? null,
      host: 'engine-1',
    },
  };
};

const camelStep = ({ name, status, startedAt, finishedAt, error }: Step): unknown => ({
  ...{ name, status, error: error ?? null },
  startedAt: startedAt?.toISOString() ?? null,
  finishedAt: finishedAt?.toISOString() ?? null,
});

const numberOf = (word: string): number => statuses.indexOf(word);
/** Local time of the engine without fractions, `-` for none. */
const stamp = (at: Date | undefined): string => at?.toISOString().replace('.000', '') ?? '-';

const pascal = (dag: Dag, run: Run | undefined, ids: boolean): unknown => ({
  Status: {
    Name: dag.name,
    Status: run === undefined ? 0 : numberOf(run.status),
    StatusText: run?.status ?? 'not started',
    RequestId: ids ? (run?.id ?? '') : '',
    Params: run?.params ?? '',
    StartedAt: stamp(run?.startedAt),
    FinishedAt: stamp(run?.finishedAt),
    Pid: 4711,
    Nodes: (run?.steps ?? []).map((step) => ({
      Step: { Name: step.name, Command: 'true', Depends: [] },
      Status: numberOf(step.status),
      StatusText: step.status,
      StartedAt: stamp(step.startedAt),
      FinishedAt: stamp(step.finishedAt),
      RetryCount: step.retries,
      DoneCount: step.finishedAt === undefined ? 0 : 1,
      Error: step.error ?? '',
      Log: `/logs/${step.name}.log`,
    })),
  },
});
