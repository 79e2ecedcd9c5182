/**
 * The routes of the control API: those of the contract (start, stop, status), lists, retry, one run and its
 * log.
 */

import type { z } from 'zod';
import { type Db, query } from '../../queries/db.ts';
import { handoffsOf } from '../../queries/run-history.ts';
import type { DagRun, DagStatus } from '../../scheduler/control.ts';
import type { ServerDeps } from './deps.ts';
import { streamAbout, streamLog } from './log-stream.ts';
import { askOfParams } from './params.ts';
import { type ApiRoute, type HttpExchange, route } from './route.ts';
import * as shape from './schemas.ts';

/** Who asked, for the log of a run. */
const by = ({ request }: HttpExchange) => ({ by: `api ${request.ip}` });

const withHandoffs = async ({ db }: ServerDeps, run: DagRun) => ({
  ...run,
  handoffs: await handoffsOf(db, [run.runId, ...run.runs]),
});

const history = (path: string, operationId: string): ApiRoute =>
  route(
    `${operationId} GET /dags/:dagName/${path}`,
    'Runs of a DAG, newest first',
    { input: shape.history, data: shape.runPage },
    async ({ control }, { params, query: { limit, before } }) => {
      const runs = await control.history(params.dagName, { limit: limit + 1, before });
      const page = runs.slice(0, limit);
      return { runs: page, next: runs.length > limit ? (page.at(-1)?.runId ?? null) : null };
    },
  );

export const routes: readonly ApiRoute[] = [
  route('listDags GET /dags', 'List the DAGs', { data: shape.dagList }, async ({ control }) => ({
    dags: await control.list(),
  })),
  route(
    'getDag GET /dags/:dagName',
    'One DAG',
    { input: shape.ofDag, data: shape.dag },
    async ({ control }, { params }) => (await control.status(params.dagName)).dag,
  ),
  route(
    'getDagStatus GET /dags/:dagName/status',
    'Current status, running steps and execution details',
    { input: shape.ofDag, data: shape.status },
    async (deps, { params }) => {
      const status = await deps.control.status(params.dagName);
      const run = status.run && (await withHandoffs(deps, status.run));
      return statusData({ ...status, run }, await receiptsOf(deps.db, run?.runs ?? []));
    },
  ),
  route(
    'startDag POST /dags/:dagName/start',
    'Start a DAG. Answers when the run is durably queued; 409 with the active run if there is one',
    { input: shape.start, data: shape.run },
    async ({ control }, { params: { dagName }, body }, http) => {
      const { params, runId } = body ?? {};
      const asking = { ...by(http), runId, params: params?.trim() };
      return control.start(askOfParams(dagName, params ?? ''), asking);
    },
  ),
  route(
    'stopDag POST /dags/:dagName/stop',
    'Stop the active run. 202: it is being stopped; 200: it is over already',
    { input: shape.ofDag, data: shape.run, codes: [200, 202] },
    async ({ control }, { params }, http) => {
      const run = await control.stop(params.dagName, by(http));
      if (!run.stopping) http.reply.code(200);
      return run;
    },
  ),
  route(
    'retryRun POST /dags/:dagName/runs/:runId/retry',
    'Queue the same request again',
    { input: shape.ofRun, data: shape.run },
    async ({ control }, { params }, http) => control.retry(params.dagName, params.runId, by(http)),
  ),
  route(
    'retryDag POST /dags/:dagName/retry',
    'Queue the same request again, with the run in the body',
    { input: shape.retry, data: shape.run },
    async ({ control }, { params, body }, http) => control.retry(params.dagName, body.runId, by(http)),
  ),
  history('runs', 'listRuns'),
  history('history', 'getHistory'),
  route(
    'getRun GET /dags/:dagName/runs/:runId',
    'One run',
    { input: shape.ofRun, data: shape.run },
    async (deps, { params }) => withHandoffs(deps, await deps.control.run(params.dagName, params.runId)),
  ),
  route(
    'getLog GET /dags/:dagName/runs/:runId/log',
    'Lines of the log of a run, oldest first, at most 1000',
    { input: shape.log, data: shape.logPage },
    async ({ control }, { params, query }) => {
      const lines = await control.log(params.dagName, params.runId, query);
      return { lines, next: lines.at(-1)?.seq ?? query.after ?? 0 };
    },
  ),
  route(
    'streamLog GET /dags/:dagName/runs/:runId/log/stream',
    'The log of a run as it is written, until the run is over',
    { input: shape.logStream, description: streamAbout },
    streamLog,
  ),
];

/** The status with the fields that a poller needs at the top. */
const statusData = ({ dag, run, steps }: DagStatus, receipts: readonly StreamReceipt[]) => ({
  name: dag.name,
  status: run?.status ?? 'never_run',
  runId: run?.runId ?? null,
  trigger: run?.trigger ?? null,
  params: run?.params ?? '',
  startedAt: run?.startedAt ?? null,
  finishedAt: run?.finishedAt ?? null,
  steps: steps.map((step) => ({
    name: step.slice === null ? step.stream : `${step.stream} (${step.slice})`,
    ...step,
  })),
  receipts,
  run,
  dag,
});

type StreamReceipt = z.infer<typeof shape.receipt>;

/** Receipts of the finished streams of these runs; of a stream in several runs, the newest. */
const receiptsOf = (db: Db, runs: readonly string[]) =>
  query(db)<StreamReceipt>`
    select distinct on (s.source_id, stream) pipeline, stream, expected::float8, read::float8, stored::float8
    from ops.run_streams s join ops.runs r using (run_id)
    where run_id = any (${[...runs]}::bigint[]) and s.finished_at is not null
    order by s.source_id, stream, run_id desc`;
