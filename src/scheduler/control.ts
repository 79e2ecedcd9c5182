/** What the API, the dashboard and the command line may ask of the pipelines. The warehouse answers: any process gives the same answer. */

import crypto from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Misconfigured } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Catalogue, checkAsk, dagOf, type KnownDag } from './pipelines.ts';
import type { Queue } from './queue.ts';
import { readLog } from './request-log.ts';
import * as store from './requests.ts';
import {
  type Ask,
  Conflict,
  type DagRun,
  NotFound,
  normalized,
  paramsOf,
  type Runner,
} from './run-request.ts';
import { due } from './schedule.ts';

export type * from './run-request.ts';

export type Control = ReturnType<typeof openControl>;

export type DagStatus = Awaited<ReturnType<Control['status']>>;
export type Dag = DagStatus['dag'];

/** Run ids that callers may give. Those of the command line's runs are not among them. */
const ids = /^(?!manual-)[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

/** What ended so may not be retried. */
const fine: readonly DagRun['status'][] = ['succeeded', 'needs_attention'];

/** `preview` plans a backfill; it makes requests to the source. */
export function openControl(
  { db }: Pick<Warehouse, 'db'>,
  catalogue: Catalogue,
  queue: Queue,
  preview: Runner['preview'],
) {
  /** The DAG with its next tick over all its schedules and its newest request (null if there is none). */
  const shown = async ({ name, about, configured, timed }: KnownDag) => {
    const now = new Date(await store.databaseNow(db));
    const next = configured ? timed.map((each) => due(each).next(now).getTime()) : [];
    const schedule = timed.map(({ does, cron, timeZone }) => ({ does, cron, timeZone }));
    const nextAt = next.length === 0 ? null : new Date(Math.min(...next));
    const [last = null] = await store.dagRuns(db, name, { limit: 1 });
    return { name, about, configured, schedule, nextAt, last };
  };

  /** Throws NotFound. */
  const known = async (name: string, runId: string): Promise<DagRun> => {
    dagOf(catalogue, name);
    return found(await store.dagRun(db, runId, name), runId);
  };

  /** Queues a request unless the pipeline is busy. With `isRepeatable` the same ask under the same id is the same run. */
  const add = async (request: store.NewRequest, isRepeatable = false): Promise<DagRun> => {
    const { id, ask } = request;
    const { pipeline } = ask;
    const queued = await db.transaction().execute(async (trx) => {
      await store.lockPipeline(trx, pipeline);
      const before = isRepeatable ? await store.askOfRun(trx, id) : undefined;
      const active = before === undefined ? await store.activeRun(trx, pipeline) : undefined;
      if (active !== undefined) throw new Conflict(inTheWay(pipeline, active), active);
      // The id is taken also where another pipeline takes it in this moment.
      const isOurs = before ? isDeepStrictEqual(before, ask) : await store.enqueue(trx, queue, request);
      if (!isOurs) throw new Conflict(`run id ${id} was used for something else before`);
      return found(await store.dagRun(trx, id), id);
    });
    queue.wake(pipeline);
    return queued;
  };

  return {
    list: () => Promise.all(catalogue.dags.map(shown)),

    /** Throws `NotFound`. */
    async status(name: string) {
      const dag = await shown(dagOf(catalogue, name));
      const run = (await store.activeRun(db, name)) ?? dag.last;
      return { dag, run, steps: run === null ? [] : await store.stepsOf(db, run.runs) };
    },

    /** Queues durably. Throws `NotFound`, `Conflict` (with the active run) or `Misconfigured` (what is wrong with the ask). */
    async start(
      asked: Ask,
      { runId, params, by }: { readonly runId?: string; readonly params?: string; readonly by: string },
    ): Promise<DagRun> {
      checkAsk(catalogue, asked);
      if (runId !== undefined && !ids.test(runId))
        throw new Misconfigured(
          'runId: give 1 to 100 letters, digits, dots, colons, hyphens or underscores, a letter or digit first',
        );
      const ask = normalized(asked);
      const request = { id: runId ?? newId(ask), ask, params: params ?? paramsOf(asked), by };
      return add({ ...request, trigger: 'api' }, runId !== undefined);
    },

    /**
     * Asks the active run to stop, or cancels a retry that waits; the answer is that run. Stopping one that is stopping or over is no error.
     * Throws `NotFound`, `Conflict`.
     */
    async stop(name: string, { by }: { readonly by: string }): Promise<DagRun> {
      dagOf(catalogue, name);
      const active = await store.activeRun(db, name);
      if (active === undefined) {
        await store.cancelRetries(db, { pipeline: name }, `stop requested by ${by}`);
        const [last] = await store.dagRuns(db, name, { limit: 1 });
        if (last !== undefined) return last;
        throw new Conflict(`${name} has never run: there is nothing to stop`);
      }
      const { runId, pipeline, trigger } = active;
      if (trigger === 'manual')
        throw new Conflict(`${name}: ${runId} was started from a command line; stop it there (Ctrl-C)`);
      if (pipeline !== name)
        throw new Conflict(`${name} runs as a part of ${pipeline} (${runId}); stop that`);
      await store.stopRequest(db, runId, by);
      return found(await store.dagRun(db, runId), runId);
    },

    /** Queues the same ask again. Throws `NotFound`, and `Conflict` if it did not fail or the pipeline is busy. */
    async retry(name: string, runId: string, { by }: { readonly by: string }): Promise<DagRun> {
      const { does, pipeline, status, params } = await known(name, runId);
      if (does === 'replay')
        throw new Conflict(`${runId} was a replay of rejects; use \`tidemark rejects replay\``);
      if (pipeline !== name)
        throw new Conflict(`${runId} is a run of ${pipeline}, which includes ${name}; retry it there`);
      if (fine.includes(status))
        throw new Conflict(
          `${runId} ${status.replaceAll('_', ' ')}: there is nothing to retry; start a new run`,
        );
      const ask = normalized(found(await store.askOfRun(db, runId), runId));
      checkAsk(catalogue, ask);
      return add({ id: newId(ask), ask, params, trigger: 'api', by, retryOf: runId });
    },

    /** Newest first. `before`: continue after this run. */
    async history(name: string, page: { readonly limit: number; readonly before?: string }) {
      dagOf(catalogue, name);
      if (page.before !== undefined) await known(name, page.before);
      return store.dagRuns(db, name, page);
    },

    run: known,

    async log(name: string, runId: string, from: { readonly after?: number; readonly tail?: number }) {
      await known(name, runId);
      return readLog(db, runId, from);
    },

    /** What a backfill would do. Throws as `start`. */
    async plan(ask: Ask, signal: AbortSignal) {
      checkAsk(catalogue, ask);
      return preview(ask, signal);
    },
  };
}

const newId = ({ pipeline, does }: Ask): string => `${pipeline}-${does}-${crypto.randomUUID()}`;

/** Throws NotFound. An id is repeated only where it has the form of one. */
function found<T>(value: T | undefined, id: string): T {
  if (value !== undefined) return value;
  throw new NotFound(`there is no run ${ids.test(id) ? id : 'of that id'} here`);
}

function inTheWay(name: string, { pipeline, runId, stopping, status }: DagRun): string {
  const state = stopping ? 'stopping' : status === 'queued' ? 'queued' : 'active';
  return pipeline === name
    ? `${name} is ${state} already: ${runId}`
    : `${name} is being run by ${pipeline}: ${runId}`;
}
