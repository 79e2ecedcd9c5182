/**
 * The vendor's API: DAGs, runs and steps. Shapes and statuses as measured on its release 1.30.2, where it is under /api/v2; since 2.0 the
 * same is under /api/v1, with pages by cursor and without a log's path in summaries.
 */
import { type Answer, type Call, Refusal, type Route } from '../shared/http.ts';
import { type Dag, type Run, type Step, statuses, type WorkflowState } from './state.ts';
import { json } from './status-routes.ts';

export interface VendorRules {
  readonly prefix: '/api/v1' | '/api/v2';
  /** More runs than that are cut off a list (1.x), or put on its next page (2.x). */
  readonly most: number;
}

export const vendorRoutes = (state: WorkflowState, { prefix, most }: VendorRules): readonly Route[] => {
  const paged = prefix === '/api/v1';
  const byFile = ({ params }: Call): Dag => {
    const dag = state.dags.get(params.fileName ?? '');
    if (dag === undefined || dag.unfiled) throw refusal(404, 'not_found', `DAG ${params.fileName} not found`);
    return dag;
  };
  const runsOf = (name: string | undefined): readonly Run[] =>
    [...state.dags.values()].filter((dag) => dag.name === name).flatMap((dag) => dag.runs);
  const runOf = ({ params }: Call, runs: readonly Run[]): Run => {
    const { dagRunId, name = params.fileName } = params;
    const found = dagRunId === 'latest' ? runs.at(-1) : runs.findLast((run) => run.id === dagRunId);
    if (found === undefined)
      throw refusal(404, 'not_found', `dag-run ID ${dagRunId} not found for DAG ${name}`);
    return found;
  };
  const route = (method: 'GET' | 'POST', path: string, handle: (call: Call) => Answer): Route => ({
    method,
    path: prefix + path,
    inContract: true,
    handle,
  });
  return [
    route('GET', '/dags', ({ query }) => {
      const all = [...state.dags.values()]
        .filter(({ unfiled }) => !unfiled)
        .sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
      const page = Number(query.get('page') ?? 1);
      const perPage = Math.min(100, Number(query.get('perPage') ?? 50));
      const totalPages = Math.max(1, Math.ceil(all.length / perPage));
      const shown = all.slice((page - 1) * perPage, page * perPage).map((dag) => fileOf(dag, paged));
      const next = page < totalPages ? page + 1 : 1;
      return json({
        dags: shown.length === 0 ? null : shown,
        errors: null,
        pagination: { currentPage: page, nextPage: next, prevPage: 1, totalPages, totalRecords: all.length },
      });
    }),
    route('POST', '/dags/{fileName}/start', (call) => {
      // The vendor fails on a body that is missing or no JSON.
      const reported = bodyOf(call);
      if (reported === undefined) return { status: 500, headers: {}, body: [] };
      const { dagRunId, params } = reported;
      const dag = byFile(call);
      if (typeof dagRunId === 'string' && dag.runs.some((run) => run.id === dagRunId))
        throw refusal(409, 'already_exists', `dag-run ID ${dagRunId} already exists for DAG ${dag.name}`);
      const run = state.start(dag.fileName, {
        ...(typeof dagRunId === 'string' && { id: dagRunId }),
        params: typeof params === 'string' ? params : '',
      });
      return json({ dagRunId: run.id });
    }),
    route('GET', '/dags/{fileName}/dag-runs/{dagRunId}', (call) => {
      const dag = byFile(call);
      const newest = dag.runs.at(-1);
      const { dagRunId } = call.params;
      if (paged || dag.runs.some(({ id }) => id === dagRunId))
        return json({ dagRun: detailsOf(dag, runOf(call, dag.runs), paged) });
      // An id that it does not know 1.30.2 answers with a run that is active, else with 500; the latest of none with an empty one (measured).
      if (dagRunId === 'latest')
        return json({ dagRun: newest === undefined ? noRun(dag) : detailsOf(dag, newest, paged) });
      if (newest === undefined || newest.finishedAt !== undefined)
        throw refusal(500, 'not_found', 'dag-run ID not found');
      return json({ dagRun: detailsOf(dag, newest, paged) });
    }),
    ...['/dag-runs', '/dag-runs/{name}'].map((path) =>
      route('GET', path, ({ query, params }) => {
        const from = Number(query.get('fromDate') ?? 0);
        const to = Number(query.get('toDate') ?? Number.POSITIVE_INFINITY);
        const within = [...state.dags.values()]
          .filter(({ name }) => params.name === undefined || name === params.name)
          .flatMap(({ name, runs }) => runs.map((run) => ({ name, run })))
          .filter(({ run }) => secondsOf(run.madeAt) >= from && secondsOf(run.madeAt) < to)
          .sort((a, b) => b.run.madeAt.getTime() - a.run.madeAt.getTime());
        const at = Number(query.get('cursor') ?? 0);
        const limit = paged ? Math.min(most, Number(query.get('limit') ?? 100)) : most;
        const runs = within.slice(at, at + limit).map(({ name, run }) => summaryOf(name, run, paged));
        const more = paged && at + limit < within.length;
        return json({
          dagRuns: runs.length === 0 ? null : runs,
          ...(more && { nextCursor: String(at + limit) }),
        });
      }),
    ),
    route('GET', '/dag-runs/{name}/{dagRunId}', (call) => {
      const { name = '' } = call.params;
      const run = runOf(call, runsOf(name));
      return json({ dagRunDetails: detailsOf({ name }, run, paged) });
    }),
    route('POST', '/dag-runs/{name}/{dagRunId}/stop', (call) => {
      const { name = '' } = call.params;
      const run = runOf(call, runsOf(name));
      if (run.finishedAt !== undefined) throw refusal(400, 'not_running', 'DAG is not running');
      const dag = [...state.dags.values()].find((one) => one.runs.includes(run));
      state.finish(dag?.fileName ?? '', run.id, 'aborted');
      return { status: 200, headers: {}, body: [] };
    }),
  ];
};

const refusal = (status: number, code: string, message: string): Refusal =>
  new Refusal(json({ code, message }, status));

const bodyOf = ({ body }: Call): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
};

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1000);
const stamp = (at: Date | undefined): string =>
  at === undefined ? '' : at.toISOString().replace(/\.\d+Z$/, 'Z');
const numberOf = (word: string, unknown = 42): number => {
  const position = statuses.indexOf(word);
  return position < 0 ? unknown : position;
};

const fileOf = (dag: Dag, paged: boolean): unknown => {
  const latest = dag.runs.at(-1);
  return {
    dag: {
      name: dag.name,
      description: dag.description,
      params: ['LIMIT=5'],
      defaultParams: 'LIMIT="5"',
      tags: dag.tags,
      ...(dag.group !== undefined && { group: dag.group }),
      ...(dag.schedule !== undefined && { schedule: [{ expression: dag.schedule }] }),
      ...dag.more.dag,
    },
    ...dag.more.file,
    errors: null,
    fileName: dag.fileName,
    latestDAGRun: latest === undefined ? noRun(dag) : summaryOf(dag.name, latest, paged),
    suspended: dag.suspended,
  };
};

const noRun = ({ name }: Dag): object => {
  const never = { status: 0, statusLabel: 'not_started', startedAt: '', finishedAt: '' };
  return { dagRunId: '', name, ...never, log: '' };
};

const logOf = (name: string, { id, madeAt }: Run): string =>
  `/logs/${name}/dag-run_${stamp(madeAt).replaceAll(/[-:]/g, '').replace('T', '_')}_${id}/dag-run.log`;

const summaryOf = (name: string, run: Run, paged: boolean) => ({
  dagRunId: run.id,
  name,
  status: numberOf(run.status),
  statusLabel: run.status,
  ...(run.queuedAt !== undefined && { queuedAt: stamp(run.queuedAt) }),
  startedAt: stamp(run.startedAt),
  finishedAt: stamp(run.finishedAt),
  ...(run.params !== '' && { params: run.params }),
  workerId: 'local',
  ...(paged
    ? {
        triggerType: run.triggerType,
        autoRetryCount: 0,
        artifactsAvailable: false,
        ...(run.triggerActor !== undefined && { triggerActor: run.triggerActor }),
        ...run.more,
      }
    : { log: logOf(name, run) }),
});

const detailsOf = ({ name }: Pick<Dag, 'name'>, run: Run, paged: boolean): unknown => ({
  ...summaryOf(name, run, paged),
  log: logOf(name, run),
  rootDAGRunName: name,
  rootDAGRunId: run.id,
  preconditions: [],
  nodes: run.steps.map(nodeOf),
});

const nodeOf = (step: Step): unknown => ({
  step: { name: step.name, commands: [{ command: 'true' }] },
  status: step.status === 'aborted' ? 3 : numberOf(step.status),
  statusLabel: step.status,
  startedAt: stamp(step.startedAt),
  finishedAt: stamp(step.finishedAt),
  retryCount: step.retries,
  doneCount: step.finishedAt === undefined ? 0 : 1,
  stdout: step.stdout === undefined ? '' : `/logs/${step.name}.out`,
  stderr: step.stderr === undefined ? '' : `/logs/${step.name}.err`,
  ...(step.error !== undefined && { error: step.error }),
  ...step.more,
});
