/** Start and status of a DAG, for hand-offs (src/outbound), in all three dialects. */

import type { Engine, EngineRun } from '../../core/dag-engine.ts';
import { Misconfigured, Missing, Refused, Transient } from '../../core/errors.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import { isObject } from '../../core/record-object.ts';
import type { Http } from '../../core/request.ts';
import { at } from '../../reading/offset-list.ts';
import * as client from './client.ts';
import { currentRun, type Dialect, instantText, payloadOf, type Run, runIn, textOf } from './fields.ts';
import { type Dagu, readRun } from './history.ts';

/** Sends nothing yet; finds the dialect by `dags` at the first call. Throws `Misconfigured` for an unusable base URL. */
export const openEngine = (
  settings: client.EngineSettings,
  dags: readonly string[],
  deps: client.HttpDeps = {},
): Engine & { close(): Promise<void> } => {
  const http = client.openHttp(settings, deps);
  const dialectOf = memoizeAsync(async (signal): Promise<Dialect> => {
    try {
      return (await client.findDialect(http, dags, signal)).dialect;
    } catch (cause) {
      // The contract promises no list, nor a status of a DAG that never ran: its start shows whether the DAG exists.
      if (cause instanceof Missing) return 'contract';
      throw cause;
    }
  });
  return {
    close: () => http.close(),
    takesRunId: async (signal) => (await dialectOf(signal)) !== 'contract',
    async start(dag, how, signal) {
      const dialect = await dialectOf(signal);
      if (dialect === 'contract') return { runId: await startOnce(http, dag, how.params, signal) };
      await startById({ http, dialect }, dag, how, signal);
      return { runId: how.runId };
    },
    async status(dag, runId, signal) {
      const dialect = await dialectOf(signal);
      if (dialect === 'contract') return currentOf(http, dag, signal);
      const run = await runOf({ http, dialect }, dag, runId, signal);
      return run && engineRun(run);
    },
  };
};

/** A start by the contract, sent once; without parameters it has no body. The id of the run, where the answer has one. */
const startOnce = async (
  http: Http,
  dag: string,
  params: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const more = { idempotent: false, bodiless: true, ...(params !== '' && { body: { params } }) } as const;
  const request = client.route('contract', 'POST', '/dags/{dag}/start', [dag], more);
  const started = http.send(request, signal).then(({ body }) => runIn(payloadOf(body)).id || undefined);
  return started.catch(ifBusy(dag));
};

const currentOf = async (http: Http, dag: string, signal: AbortSignal): Promise<EngineRun | undefined> => {
  const { body, date } = await http.send(client.statusRequest(dag), signal);
  const run = currentRun(body, dag);
  return run.id === '' ? undefined : { ...engineRun(run), ...(date !== undefined && { answeredAt: date }) };
};

/** What Dagu takes as an id (its OpenAPI, DAGRunId). To a longer one 1.30.2 answers 200 and runs nothing (measured). */
const daguRunId = /^[a-zA-Z0-9_-]{1,64}$/;

/** Always with a body: without one 1.30.2 answers 500 (measured). The id makes it safe to send it again. */
const startById = async (
  dagu: Dagu,
  dag: string,
  { params, runId }: { readonly params: string; readonly runId: string },
  signal: AbortSignal,
): Promise<void> => {
  if (!daguRunId.test(runId))
    throw new Misconfigured(`${JSON.stringify(runId)} cannot be the id of a run at ${dagu.http.origin}`);
  const body = { ...(params !== '' && { params }), dagRunId: runId };
  const request = client.route(dagu.dialect, 'POST', '/dags/{fileName}/start', [dag], { body });
  await dagu.http.send(request, signal).catch(async (cause: unknown) => {
    const isConflict = cause instanceof Refused && cause.status === 409;
    if (!isConflict || (await runOf(dagu, dag, runId, signal)) === undefined) ifBusy(dag)(cause);
  });
};

/** A start is refused while the DAG runs: 409, and of the contract, which names no status for it, these words. */
const ifBusy =
  (dag: string) =>
  (cause: unknown): never => {
    if (cause instanceof Refused && (cause.status === 409 || /\balready running\b/i.test(cause.message)))
      throw new Transient(`${dag} is not started because it is running (${cause.message})`, { cause });
    throw cause;
  };

/**
 * The run of this id. By the name of the file 1.30.2 answers an id that it does not know with an active run, or with
 * 500 (measured), so a run is asked for by the name of its DAG, which the newest run has.
 */
const runOf = async (
  dagu: Dagu,
  file: string,
  runId: string,
  signal: AbortSignal,
): Promise<Run | undefined> => {
  const request = client.route(dagu.dialect, 'GET', '/dags/{fileName}/dag-runs/latest', [file]);
  const answer = await client.sendOptional(dagu.http, request, signal);
  const record = at(answer?.body, 'dagRun');
  const newest = isObject(record) ? runIn(record, 'dagu') : undefined;
  if (newest?.id === runId) return newest;
  return (await readRun(dagu, newest?.dag || file, runId, signal))?.run;
};

/** What a state means for a hand-off: an idle run was made and has not begun. */
const meanings: Readonly<Record<string, EngineRun['state']>> = {
  ...{ active: 'active', idle: 'active', succeeded: 'succeeded', failed: 'failed', aborted: 'failed' },
};

const engineRun = ({ values }: Run): EngineRun => {
  const started = instantText(values.started_at);
  return {
    runId: textOf(values.told_run_id),
    params: textOf(values.params),
    state: meanings[String(values.state)] ?? 'unknown',
    label: textOf(values.status) ?? 'unknown',
    startedAt: started === undefined ? undefined : new Date(started),
  };
};
