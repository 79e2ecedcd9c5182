/** `Control` over the queue in the warehouse: whatever process asks, the answer is the same. */

import crypto from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { Misconfigured } from '../core/errors.ts';
import type { AnyDatabase, Warehouse } from '../warehouse/connect.ts';
import type { Ask, Control, Dag, DagRun, DagStatus } from './control.ts';
import { type Due, due } from './cron.ts';
import { type Catalogue, checkAsk, dagOf, type KnownDag } from './pipelines.ts';
import type { Queue } from './queue.ts';
import { AlreadyActive, NothingActive, RunIdTaken, UnknownRun } from './request-errors.ts';
import { append, readLog } from './request-log.ts';
import { activeRun, anyDagRun, askRow, dagRun, dagRuns } from './request-records.ts';
import { enqueue, lockPipeline } from './requests.ts';
import { dropLater, giveUpLater } from './retry.ts';
import { type AskRow, askOf, paramsOf, rowOf, sameAsk } from './run-request.ts';
import { stepsOf } from './steps.ts';
import { databaseNow } from './worker.ts';

export interface ControlDeps {
  readonly warehouse: Warehouse;
  readonly catalogue: Catalogue;
  /** Plans a backfill; makes requests to the source. */
  readonly preview: Control['plan'];
  readonly queue: Pick<Queue, 'prepare' | 'offer' | 'wake'>;
}

/** Run ids that callers may give. Those of the command line's runs are not among them. */
const ids = /^(?!manual-)[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

export function openControl({ warehouse, catalogue, preview, queue }: ControlDeps): Control {
  const { db } = warehouse;
  const dags = catalogue.dags.map(
    (dag): Shown => ({ ...dag, due: dag.configured ? dag.timed.map(due) : [] }),
  );
  const shown = (name: string): Shown => {
    const { name: known } = dagOf(catalogue, name);
    return found(
      dags.find((each) => each.name === known),
      known,
    );
  };
  const check = async (ask: Ask): Promise<void> => checkAsk(catalogue, ask, new Date(await databaseNow(db)));

  const add = async (
    row: AskRow,
    how: {
      readonly id: string;
      readonly given: boolean;
      readonly params: string;
      readonly by: string;
      readonly retryOf?: string;
    },
  ): Promise<DagRun> => {
    await queue.prepare(row.pipeline);
    const queued = await db.transaction().execute(async (trx) => {
      await lockPipeline(trx, row.pipeline);
      const repeated = how.given ? await repetition(trx, row, how.id) : undefined;
      if (repeated !== undefined) return repeated;
      const active = await activeRun(trx, row.pipeline);
      if (active !== undefined) throw new AlreadyActive(inTheWay(row.pipeline, active), active);
      const retryOf = how.retryOf === undefined ? {} : { retryOf: how.retryOf };
      const isNew = await enqueue(trx, queue, {
        id: how.id,
        ask: row,
        params: how.params,
        trigger: 'api',
        by: how.by,
        ...retryOf,
      });
      // Another pipeline took the id in this very moment.
      if (!isNew) throw taken(how.id);
      if (row.streams === null) await dropLater(trx, row, how.id);
      return found(await anyDagRun(trx, how.id), how.id);
    });
    queue.wake(row.pipeline);
    return queued;
  };

  const known = async (name: string, runId: string): Promise<DagRun> => {
    dagOf(catalogue, name);
    return found(await dagRun(db, name, runId), runId);
  };

  return {
    async list() {
      const now = await databaseNow(db);
      return Promise.all(dags.map((dag) => tell(db, dag, now)));
    },

    async status(name) {
      const dag = await tell(db, shown(name), await databaseNow(db));
      const run = (await activeRun(db, name)) ?? dag.last;
      return { dag, run, steps: run === null ? [] : await stepsOf(db, run.runs) } satisfies DagStatus;
    },

    async start(ask, { runId, params, by }) {
      await check(ask);
      if (runId !== undefined && !ids.test(runId))
        throw new Misconfigured(
          'runId: give 1 to 100 letters, digits, dots, colons, hyphens or underscores, a letter or digit first',
        );
      const id = runId ?? `${ask.pipeline}-${ask.does}-${crypto.randomUUID()}`;
      return add(rowOf(ask), { id, given: runId !== undefined, params: params ?? paramsOf(ask), by });
    },

    async stop(name, { by }) {
      dagOf(catalogue, name);
      const active = await activeRun(db, name);
      if (active === undefined) {
        await db.transaction().execute((trx) => giveUpLater(trx, name, by));
        const [last] = await dagRuns(db, name, { limit: 1 });
        if (last === undefined) throw new NothingActive(`${name} has never run: there is nothing to stop`);
        return last;
      }
      if (active.trigger === 'manual')
        throw new NothingActive(
          `${name}: ${active.runId} was started from a command line; stop it there (Ctrl-C)`,
        );
      if (active.pipeline !== name)
        throw new NothingActive(`${name} runs as a part of ${active.pipeline} (${active.runId}); stop that`);
      await stop(db, active.runId, by);
      return found(await anyDagRun(db, active.runId), active.runId);
    },

    async retry(name, runId, { by }) {
      const before = await known(name, runId);
      if (before.does === 'replay')
        throw new NothingActive(
          `${runId} was a replay of rejects; try them again with \`tidemark rejects replay\``,
        );
      const row = await askRow(db, runId);
      if (row === undefined) throw unknown(runId);
      if (before.pipeline !== name)
        throw new NothingActive(
          `${runId} is a run of ${before.pipeline}, of which ${name} is a part; retry it there`,
        );
      if (before.finishedAt !== null && !again.includes(before.status))
        throw new NothingActive(
          `${runId} ${before.status.replaceAll('_', ' ')}: there is nothing to retry; start it anew`,
        );
      const ask = askOf(row);
      await check(ask);
      const id = `${name}-${row.does}-${crypto.randomUUID()}`;
      return add(rowOf(ask), { id, given: false, params: before.params, by, retryOf: runId });
    },

    async history(name, { limit, before }) {
      dagOf(catalogue, name);
      if (before !== undefined) await known(name, before);
      return dagRuns(db, name, { limit, ...(before === undefined ? {} : { before }) });
    },

    run: known,

    async log(name, runId, from) {
      await known(name, runId);
      return readLog(db, runId, from);
    },

    async plan(ask, signal) {
      await check(ask);
      return preview(ask, signal);
    },
  };
}

/** Requests that may be asked for again. */
const again: readonly DagRun['status'][] = ['failed', 'partly_failed', 'stopped', 'lost', 'interrupted'];

const unknown = (id: string): UnknownRun =>
  new UnknownRun(`there is no run ${ids.test(id) ? id : 'of that id'} here`);
const taken = (id: string): RunIdTaken => new RunIdTaken(`run id ${id} was used for something else before`);

function found<T>(thing: T | undefined, id: string): T {
  if (thing === undefined) throw unknown(id);
  return thing;
}

/** The request of that id, if the same was asked before. Throws RunIdTaken if it was something else. */
async function repetition(trx: Kysely<AnyDatabase>, row: AskRow, id: string): Promise<DagRun | undefined> {
  const before = await askRow(trx, id);
  if (before === undefined) return undefined;
  if (!sameAsk(before, row)) throw taken(id);
  return found(await anyDagRun(trx, id), id);
}

const inTheWay = (name: string, active: DagRun): string =>
  active.pipeline === name
    ? `${name} is ${active.stopping ? 'stopping' : active.status === 'queued' ? 'queued' : 'active'} already: ${active.runId}`
    : `${name} is being run by ${active.pipeline}: ${active.runId}`;

/** Asks a worker to stop the request; one that waits is over at once. Asking again changes nothing. */
async function stop(db: Kysely<AnyDatabase>, id: string, by: string): Promise<void> {
  const { rows } = await sql<{
    status: string;
  }>`update ops.dag_runs set stop_asked_at = clock_timestamp(), stop_asked_by = ${by},
      status = case when status = 'running' then status else 'stopped' end,
      finished_at = case when status = 'running' then null else clock_timestamp() end
    where dag_run_id = ${id} and stop_asked_at is null and status in ('queued', 'running', 'interrupted', 'lost')
    returning status`.execute(db);
  const [stopped] = rows;
  if (stopped === undefined) return;
  const message = `stop asked for by ${by}${stopped.status === 'stopped' ? '; it had not been taken up' : ''}`;
  await append(db, id, [{ at: new Date(), level: 'info', message }]);
}

/** A DAG with its schedules, read once. */
interface Shown extends KnownDag {
  readonly due: readonly Due[];
}

async function tell(db: Kysely<AnyDatabase>, dag: Shown, now: number): Promise<Dag> {
  const [last] = await dagRuns(db, dag.name, { limit: 1 });
  const next = dag.due.map((each) => each.next(new Date(now)).getTime());
  return {
    name: dag.name,
    about: dag.about,
    configured: dag.configured,
    schedule: dag.timed.map(({ does, cron, timeZone }) => ({ does, cron, timeZone })),
    nextAt: next.length === 0 ? null : new Date(Math.min(...next)),
    last: last ?? null,
  };
}
