/** The contract's three routes, and what it names without a path: list, retry, history, a run by id. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Misconfigured } from '../../../core/errors.ts';
import { handoffsOf } from '../../../queries/handoff-list.ts';
import type { DagRun, DagStatus } from '../../../scheduler/control.ts';
import { callerOf } from '../authenticate.ts';
import type { ServerDeps } from '../deps.ts';
import { success } from '../envelope.ts';
import { askOfParams } from '../params.ts';
import { receiptsOf } from '../receipts.ts';
import { dagName, enveloped, refusals, runId } from '../schemas.ts';

const named = { type: 'object', required: ['dagName'], properties: { dagName } } as const;
const namedRun = { type: 'object', required: ['dagName', 'runId'], properties: { dagName, runId } } as const;

const startBody = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {
    params: {
      type: 'string',
      maxLength: 4096,
      description:
        'NAME=value pairs with spaces between them; values may stand in quotes. FROM and TO (a backfill, half open, UTC), STREAMS (names with commas), FULL=true, DOES=sync|full|reconcile|backfill.',
      examples: ['FROM=2024-01-01 TO=2024-02-01 STREAMS=issues,projects'],
    },
    runId: {
      ...runId,
      description: 'Makes the start idempotent: the same id with the same ask gives the same run.',
    },
  },
} as const;

const retryBody = {
  type: 'object',
  required: ['runId'],
  additionalProperties: false,
  properties: { runId },
} as const;

/** Names are given as text and read by hand: a number that is malformed is named in the answer. */
const historyQuery = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'string', description: 'At most so many, 1 to 200; 50 if absent.' },
    before: { ...runId, description: 'Go on behind this run: `next` of the page before.' },
  },
} as const;

const runData = enveloped({ $ref: 'Run#' }, 'The run.');
const accepted = enveloped(
  { $ref: 'Run#' },
  'Accepted: the run is durably queued, or known already under this id.',
);

const historyData = enveloped(
  {
    type: 'object',
    required: ['runs', 'next'],
    properties: {
      runs: { type: 'array', items: { $ref: 'Run#' } },
      next: { type: ['string', 'null'], description: '`before` of the next page; null: this is the last.' },
    },
  },
  'Runs, newest first.',
);

export function dagRoutes(app: FastifyInstance, { control, db }: ServerDeps): void {
  const whole = async (run: DagRun) => ({ ...run, handoffs: await handoffsOf(db, [run.runId, ...run.runs]) });
  app.get(
    '/dags',
    {
      schema: {
        summary: 'List the DAGs',
        operationId: 'listDags',
        response: {
          200: enveloped(
            {
              type: 'object',
              required: ['dags'],
              properties: { dags: { type: 'array', items: { $ref: 'Dag#' } } },
            },
            'All DAGs.',
          ),
          ...refusals,
        },
      },
    },
    async () => success({ dags: await control.list() }),
  );

  app.get(
    '/dags/:dagName',
    {
      schema: {
        summary: 'One DAG',
        operationId: 'getDag',
        params: named,
        response: { 200: enveloped({ $ref: 'Dag#' }, 'The DAG.'), ...refusals },
      },
    },
    async (request) => success((await control.status(nameOf(request))).dag),
  );

  app.get(
    '/dags/:dagName/status',
    {
      schema: {
        summary: 'Current status, running steps and execution details',
        operationId: 'getDagStatus',
        params: named,
        response: { 200: enveloped({ $ref: 'Status#' }, 'The status.'), ...refusals },
      },
    },
    async (request) => {
      const status = await control.status(nameOf(request));
      const run = status.run && (await whole(status.run));
      return success(statusData({ ...status, run }, await receiptsOf(db, run?.runs ?? [])));
    },
  );

  app.post(
    '/dags/:dagName/start',
    {
      schema: {
        summary: 'Start a DAG',
        operationId: 'startDag',
        description: 'Answers when the run is durably queued. 409 with the active run if there is one.',
        params: named,
        body: startBody,
        response: { 202: accepted, ...refusals },
      },
    },
    async (request, reply) => {
      const { params, runId: id } = bodyOf(request);
      const ask = askOfParams(nameOf(request), params ?? '');
      const run = await control.start(ask, {
        by: callerOf(request),
        ...(id === undefined ? {} : { runId: id }),
        ...(params === undefined ? {} : { params: params.trim() }),
      });
      return reply.code(202).send(success(run));
    },
  );

  app.post(
    '/dags/:dagName/stop',
    {
      schema: {
        summary: 'Stop the currently running execution',
        operationId: 'stopDag',
        description: 'Asking again, or when it is over, is no error: the answer is the run as it is.',
        params: named,
        response: {
          200: runData,
          202: enveloped({ $ref: 'Run#' }, 'The run is being stopped.'),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const run = await control.stop(nameOf(request), { by: callerOf(request) });
      return reply.code(run.stopping ? 202 : 200).send(success(run));
    },
  );

  const retry = (request: FastifyRequest, id: string): Promise<DagRun> =>
    control.retry(nameOf(request), id, { by: callerOf(request) });
  app.post(
    '/dags/:dagName/runs/:runId/retry',
    {
      schema: {
        summary: 'Queue the same ask again',
        operationId: 'retryRun',
        params: namedRun,
        response: { 202: accepted, ...refusals },
      },
    },
    async (request, reply) => reply.code(202).send(success(await retry(request, runIdOf(request)))),
  );
  app.post(
    '/dags/:dagName/retry',
    {
      schema: {
        summary: 'Queue the same ask again, the run in the body',
        operationId: 'retryDag',
        params: named,
        body: retryBody,
        response: { 202: accepted, ...refusals },
      },
    },
    async (request, reply) =>
      reply.code(202).send(success(await retry(request, bodyOf(request).runId ?? ''))),
  );

  for (const [path, operationId] of [
    ['/dags/:dagName/runs', 'listRuns'],
    ['/dags/:dagName/history', 'getHistory'],
  ] as const)
    app.get(
      path,
      {
        schema: {
          summary: 'Runs of a DAG, newest first',
          operationId,
          params: named,
          querystring: historyQuery,
          response: { 200: historyData, ...refusals },
        },
      },
      async (request) => {
        const { limit: text = '50', before } = textsOf(request.query);
        const limit = Number(text);
        if (!/^[0-9]{1,3}$/.test(text) || limit < 1 || limit > 200)
          throw new Misconfigured('limit: a whole number from 1 to 200');
        const runs = await control.history(nameOf(request), {
          limit: limit + 1,
          ...(before === undefined ? {} : { before }),
        });
        const page = runs.slice(0, limit);
        return success({ runs: page, next: runs.length > limit ? (page.at(-1)?.runId ?? null) : null });
      },
    );

  app.get(
    '/dags/:dagName/runs/:runId',
    {
      schema: {
        summary: 'One run',
        operationId: 'getRun',
        params: namedRun,
        response: { 200: runData, ...refusals },
      },
    },
    async (request) => success(await whole(await control.run(nameOf(request), runIdOf(request)))),
  );
}

/** What a poller looks at lies flat beside the whole. */
const statusData = ({ dag, run, steps }: DagStatus, receipts: Awaited<ReturnType<typeof receiptsOf>>) => ({
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

/** The fields of a checked object that are text. */
export const textsOf = (value: unknown): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).flatMap(([name, each]) =>
      typeof each === 'string' ? [[name, each]] : [],
    ),
  );

export const nameOf = (request: FastifyRequest): string => textsOf(request.params).dagName ?? '';
export const runIdOf = (request: FastifyRequest): string => textsOf(request.params).runId ?? '';
const bodyOf = (
  request: FastifyRequest,
): { readonly params?: string | undefined; readonly runId?: string | undefined } => textsOf(request.body);
