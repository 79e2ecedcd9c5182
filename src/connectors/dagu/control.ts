/** Start and status of a DAG, for hand-offs (src/outbound), in all three dialects. */

import type { Engine, EngineRun } from '../../core/dag-engine.ts';
import { Misconfigured, Missing, Refused, Transient } from '../../core/errors.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import { isObject } from '../../core/record-object.ts';
import { at } from '../../reading/offset-list.ts';
import * as client from './client.ts';
import { type Dagu, readRun } from './client.ts';
import { currentRun, type Dialect, instantText, payloadOf, type Run, runIn, textOf } from './transform.ts';

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
    async start(dag, { params, runId }, signal) {
      const dialect = await dialectOf(signal);
      const given = params !== '' && { params };
      if (dialect !== 'contract')
        return startById({ http, dialect, signal }, dag, { ...given, dagRunId: runId });
      // Sent once; without parameters it has no body.
      const more = { idempotent: false, bodiless: true, ...(given && { body: given }) } as const;
      const request = client.route(dialect, 'POST', '/dags/{dag}/start', [dag], more);
      const started = http.send(request, signal).then(({ body }) => runIn(payloadOf(body)).dag_run_id);
      return { runId: (await started.catch(ifBusy(dag))) || undefined };
    },
    async status(dag, runId, signal) {
      const dialect = await dialectOf(signal);
      if (dialect !== 'contract') {
        const found = await runOf({ http, dialect, signal }, dag, runId);
        return found && engineRun(found);
      }
      const { body, date } = await http.send(client.statusRequest(dag), signal);
      const run = currentRun(body, dag);
      const answered = date !== undefined && { answeredAt: date };
      return run.dag_run_id === '' ? undefined : { ...engineRun(run), ...answered };
    },
  };
};

/** What Dagu takes as an id (its OpenAPI, DAGRunId). To a longer one 1.30.2 answers 200 and runs nothing (measured). */
const daguRunId = /^[a-zA-Z0-9_-]{1,64}$/;

/** Always with a body: without one 1.30.2 answers 500 (measured). The id makes it safe to send it again. */
const startById = async (dagu: Dagu, dag: string, body: { readonly dagRunId: string }) => {
  const { dagRunId: runId } = body;
  if (!daguRunId.test(runId))
    throw new Misconfigured(`${JSON.stringify(runId)} cannot be the id of a run at ${dagu.http.origin}`);
  const request = client.route(dagu.dialect, 'POST', '/dags/{fileName}/start', [dag], { body });
  await dagu.http.send(request, dagu.signal).catch(async (cause: unknown) => {
    const isConflict = cause instanceof Refused && cause.status === 409;
    if (!isConflict || (await runOf(dagu, dag, runId)) === undefined) ifBusy(dag)(cause);
  });
  return { runId };
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
const runOf = async (dagu: Dagu, file: string, runId: string): Promise<Run | undefined> => {
  const request = client.route(dagu.dialect, 'GET', '/dags/{fileName}/dag-runs/latest', [file]);
  const answer = await client.sendOptional(dagu, request);
  const record = at(answer?.body, 'dagRun');
  const newest = isObject(record) ? runIn(record) : undefined;
  return newest?.dag_run_id === runId ? newest : readRun(dagu, newest?.dag_name || file, runId);
};

/** What a state means for a hand-off: an idle run was made and has not begun. */
const meanings: Readonly<Record<string, EngineRun['state']>> = {
  ...{ active: 'active', idle: 'active', succeeded: 'succeeded', failed: 'failed', aborted: 'failed' },
};

const engineRun = (run: Run): EngineRun => {
  const started = instantText(run.started_at);
  return {
    runId: textOf(run.told_run_id),
    params: textOf(run.params),
    state: meanings[String(run.state)] ?? 'unknown',
    label: textOf(run.status) ?? 'unknown',
    startedAt: started === undefined ? undefined : new Date(started),
  };
};
