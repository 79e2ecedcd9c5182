/** Start and status of a DAG, for hand-offs (src/outbound), in all three dialects. */

import type { Engine, EngineRun } from '../../core/dag-engine.ts';
import { Misconfigured, Missing, Refused, Transient, UnexpectedContent } from '../../core/errors.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import { isObject } from '../../core/record-object.ts';
import type { Http } from '../../core/request.ts';
import type { RunState } from '../../core/run-states.ts';
import { instantToDate, parseInstant } from '../../core/time.ts';
import { at } from '../../reading/offset-list.ts';
import { type EngineSettings, type HttpDeps, openHttp, route, sendOptional } from './client.ts';
import { findDialect, statusRequest } from './dialect.ts';
import type { Run } from './fields.ts';
import * as fields from './fields.ts';
import { type Dagu, daguRoute, readRun } from './history.ts';

type Control = Pick<Engine, 'start' | 'status'> & { readonly takesRunId: boolean };

/** Sends nothing yet; finds the dialect by `dags` at the first call. Throws `Misconfigured` for an unusable base URL. */
export const openEngine = (
  settings: EngineSettings,
  dags: readonly string[],
  deps: HttpDeps = {},
): Engine & { close(): Promise<void> } => {
  const http = openHttp(settings, deps);
  const open = memoizeAsync(async (signal): Promise<Control> => {
    const found = await findDialect(http, dags, signal).catch((cause: unknown) => {
      // The contract promises no list, nor a status of a DAG that never ran: its start shows whether the DAG exists.
      if (cause instanceof Missing) return { dialect: 'contract' as const };
      throw cause;
    });
    return found.dialect === 'contract'
      ? contractControl(http)
      : daguControl({ http, dialect: found.dialect });
  });
  return {
    takesRunId: async (signal) => (await open(signal)).takesRunId,
    start: async (dag, how, signal) => (await open(signal)).start(dag, how, signal),
    status: async (dag, runId, signal) => (await open(signal)).status(dag, runId, signal),
    close: () => http.close(),
  };
};

const contractControl = (http: Http): Control => ({
  takesRunId: false,
  /** Sent once. The contract wants no body where there are no parameters. */
  async start(dag, { params }, signal) {
    const more = { idempotent: false, bodiless: true, ...(params !== '' && { body: { params } }) } as const;
    const request = route('POST', '/api/v1/dags/{dag}/start', [dag], more);
    const { body } = await http.send(request, signal).catch(ifBusy(dag));
    return { runId: fields.textOf(fields.memberOf(fields.payloadOf(body), fields.runNames, 'told_run_id')) };
  },
  async status(dag, _, signal) {
    const { body, date } = await http.send(statusRequest(dag), signal);
    const run = fields.currentRun(body, dag);
    return run.id === '' ? undefined : { ...engineRun(run), ...(date !== undefined && { answeredAt: date }) };
  },
});

/** What Dagu takes as an id (its OpenAPI, DAGRunId). To a longer one 1.30.2 answers 200 and runs nothing (measured). */
const daguRunId = /^[a-zA-Z0-9_-]{1,64}$/;

const daguControl = (dagu: Dagu): Control => ({
  takesRunId: true,
  /** Always with a body: without one 1.30.2 answers 500 (measured). The id makes it safe to send it again. */
  async start(dag, { params, runId }, signal) {
    if (!daguRunId.test(runId))
      throw new Misconfigured(`${JSON.stringify(runId)} cannot be the id of a run at ${dagu.http.origin}`);
    const body = { ...(params !== '' && { params }), dagRunId: runId };
    try {
      await dagu.http.send(daguRoute(dagu, 'POST', '/dags/{fileName}/start', [dag], { body }), signal);
    } catch (cause) {
      const isConflict = cause instanceof Refused && cause.status === 409;
      if (!isConflict || (await runOf(dagu, dag, runId, signal)) === undefined) ifBusy(dag)(cause);
    }
    return { runId };
  },
  async status(dag, runId, signal) {
    const run = await runOf(dagu, dag, runId, signal);
    return run && engineRun(run);
  },
});

/** A start is refused while the DAG runs: 409, and of the contract, which names no status for it, these words. */
const ifBusy =
  (dag: string) =>
  (cause: unknown): never => {
    if (cause instanceof Refused && (cause.status === 409 || /\balready running\b/i.test(cause.message)))
      throw new Transient(`${dag} is not started because it is running (${cause.message})`, { cause });
    throw cause;
  };

/**
 * The run of this id. By the name of the file 1.30.2 answers an id that it does not know with an active run, or with 500
 * (measured), so a run is asked for by the name of its DAG, which the newest run has.
 */
const runOf = async (
  dagu: Dagu,
  dag: string,
  runId: string,
  signal: AbortSignal,
): Promise<Run | undefined> => {
  const request = daguRoute(dagu, 'GET', '/dags/{fileName}/dag-runs/latest', [dag]);
  const answer = await sendOptional(dagu.http, request, signal);
  const record = answer && at(answer.body, 'dagRun');
  if (answer !== undefined && !isObject(record))
    throw new UnexpectedContent(`${request.endpoint}: the answer has no dagRun`);
  const newest = isObject(record) ? fields.daguRun(record) : undefined;
  if (newest?.id === runId) return newest;
  return (await readRun(dagu, newest?.dag || dag, runId, signal))?.run;
};

/** `idle` is a run that was made and has not begun. */
const meaning: Readonly<Record<RunState, EngineRun['state']>> = {
  ...{ active: 'active', idle: 'active', succeeded: 'succeeded', failed: 'failed', aborted: 'failed' },
  unknown: 'unknown',
};

const engineRun = (run: Run): EngineRun => {
  const { word, state } = fields.stateOf(run);
  const [id, params] = ['told_run_id', 'params'].map((column) =>
    fields.memberOf(run.members, fields.runNames, column),
  );
  const started = fields.startOf(run);
  return {
    runId: fields.textOf(id),
    params: fields.textOf(params),
    state: meaning[state],
    label: word ?? 'unknown',
    startedAt: started === undefined ? undefined : instantToDate(parseInstant(started)),
  };
};
