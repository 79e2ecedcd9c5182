/** What the API, the dashboard and the command line may ask of the pipelines. The warehouse answers: any process gives the same answer. */

import crypto from 'node:crypto';
import { Misconfigured } from '../core/errors.ts';
import type { Ask, Runner } from '../runs/ask.ts';
import { due } from '../runs/schedule.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Queue } from './queue.ts';
import { type LogPart, readLog } from './request-log.ts';
import * as store from './requests.ts';
import * as request from './run-request.ts';
import { Conflict, type DagRun, type KnownDag } from './run-request.ts';

export type * from '../runs/ask.ts';
export type * from './run-request.ts';

export type Control = ReturnType<typeof openControl>;

export type DagStatus = Awaited<ReturnType<Control['status']>>;
export type Dag = DagStatus['dag'];

/** `preview` plans a backfill; it makes requests to the source. */
export function openControl(
  { db }: Pick<Warehouse, 'db'>,
  catalogue: request.DagCatalogue,
  queue: Queue,
  preview: Runner['preview'],
) {
  /** The DAG with its next tick over all its schedules and its newest request (null if there is none). */
  const shown = ({ name, about, configured, timed }: KnownDag, now: Date, last: DagRun | null = null) => {
    const next = configured ? timed.map((each) => due(each)(now).next().value.getTime()) : [];
    const schedule = timed.map(({ does, cron, timeZone }) => ({ does, cron, timeZone }));
    const nextAt = next.length === 0 ? null : new Date(Math.min(...next));
    return { name, about, configured, schedule, nextAt, last };
  };

  /** Throws NotFound. */
  const run = async (name: string, runId: string): Promise<DagRun> => {
    request.dagOf(catalogue, name);
    return store.dagRun(db, runId, name);
  };

  /** Queues a request unless the pipeline is busy. The same ask under the same id is the same run. */
  const add = async (added: store.NewRequest): Promise<DagRun> => {
    const { pipeline } = added.ask;
    return db.transaction().execute(async (trx) => {
      await store.lockQueue(trx);
      const isNew = await store.enqueue(trx, queue, added);
      const active = isNew ? await store.activeRun(trx, pipeline, added.id) : undefined;
      if (active !== undefined) throw new Conflict(inTheWay(pipeline, active), active);
      return store.dagRun(trx, added.id);
    });
  };

  return {
    async list() {
      const names = catalogue.map(({ name }) => name);
      const [now, newest] = await Promise.all([store.databaseNow(db), store.newestOf(db, names)]);
      const last = new Map(newest.map((run) => [run.pipeline, run]));
      return catalogue.map((dag) => shown(dag, now, last.get(dag.name)));
    },

    /** Throws `NotFound`. */
    async status(name: string) {
      const [last] = await store.dagRuns(db, name, { limit: 1 });
      const dag = shown(request.dagOf(catalogue, name), await store.databaseNow(db), last);
      const run = (await store.activeRun(db, name)) ?? dag.last;
      return { dag, run, steps: run === null ? [] : await store.stepsOf(db, run.runs) };
    },

    /** Queues durably. Throws `NotFound`, `Conflict` (with the active run) or `Misconfigured` (what is wrong with the ask). */
    async start(
      asked: Ask,
      { runId, params = request.paramsOf(asked), by }: RequestOptions,
    ): Promise<DagRun> {
      const ask = request.checked(catalogue, asked);
      if (runId !== undefined && !request.runIds.test(runId))
        throw new Misconfigured(
          'runId: give 1 to 100 letters, digits, dots, colons, hyphens or underscores, a letter or digit first',
        );
      return add({ id: runId ?? newId(ask), ask, params, trigger: 'api', by });
    },

    /**
     * Asks the active run to stop, or cancels a retry that waits; the answer is that run. Stopping one that is stopping or over is no error.
     * Throws `NotFound`, `Conflict`.
     */
    async stop(name: string, { by }: { readonly by: string }): Promise<DagRun> {
      request.dagOf(catalogue, name);
      const active = await store.activeRun(db, name);
      if (active === undefined) {
        await store.cancelRetries(db, { pipeline: name }, `stop requested by ${by}`);
        const [last] = await store.dagRuns(db, name, { limit: 1 });
        if (last !== undefined) return last;
        throw new Conflict(`${name} has never run: there is nothing to stop`);
      }
      const { runId, trigger } = active;
      if (trigger === 'manual')
        throw new Conflict(`${name}: ${runId} was started from a command line; stop it there (Ctrl-C)`);
      await store.stopRequest(db, runId, by);
      return store.dagRun(db, runId);
    },

    /** Queues the same ask again. Throws `NotFound`, and `Conflict` if it did not fail or the pipeline is busy. */
    async retry(name: string, runId: string, { by }: { readonly by: string }): Promise<DagRun> {
      const { does, status, params } = await run(name, runId);
      if (does === 'replay')
        throw new Conflict(`${runId} was a replay of rejects; use \`tidemark rejects replay\``);
      if (status === 'succeeded' || status === 'needs_attention')
        throw new Conflict(`${runId} ${status.replace('_', ' ')}: nothing to retry; start a new run`);
      const ask = request.checked(catalogue, await store.askOfRun(db, runId));
      return add({ id: newId(ask), ask, params, trigger: 'api', by, retryOf: runId });
    },

    /** When the DAG does what, and the next instants of each. Throws `NotFound`. */
    async times(name: string, count: number) {
      const now = await store.databaseNow(db);
      return request
        .dagOf(catalogue, name)
        .timed.map((each) => ({ ...each, next: [...due(each)(now).take(count)] }));
    },

    /** Newest first. `before`: continue after this run. */
    async history(name: string, page: store.RunsPage) {
      request.dagOf(catalogue, name);
      if (page.before !== undefined) await run(name, page.before);
      return store.dagRuns(db, name, page);
    },

    run,

    async log(name: string, runId: string, part: LogPart) {
      await run(name, runId);
      return readLog(db, runId, part);
    },

    /** What a backfill would do. Throws as `start`. */
    async plan(ask: Ask, signal: AbortSignal) {
      return preview(request.checked(catalogue, ask), signal);
    },
  };
}

/** Who asks; `params`: the ask in their words. */
interface RequestOptions {
  readonly by: string;
  readonly runId?: string | undefined;
  readonly params?: string | undefined;
}

const newId = ({ pipeline, does }: Ask): string => `${pipeline}-${does}-${crypto.randomUUID()}`;

function inTheWay(name: string, { runId, stopping, status }: DagRun): string {
  const state = stopping ? 'stopping' : status === 'queued' ? 'queued' : 'active';
  return `${name} is ${state} already: ${runId}`;
}
