/** Start, status and stop of a DAG, for hand-offs (src/outbound), in all three dialects. */

import { Misconfigured, Missing, Refused, Transient, UnexpectedContent } from '../../core/errors.ts';
import { once } from '../../core/memoize-async.ts';
import { isObject } from '../../core/record-object.ts';
import type { Http } from '../../core/request.ts';
import { isOver, type RunState } from '../../core/run-states.ts';
import { instantToDate, parseInstant } from '../../core/time.ts';
import { at } from '../../reading/offset-list.ts';
import { type EngineSettings, type HttpDeps, ifThere, openHttp, route } from './client.ts';
import { askRun, type Dagu, daguRoute } from './dagu.ts';
import { findDialect, statusRequest } from './dialect.ts';
import { currentRun, instantText, payloadOf, type Run, runIn, standingIn, textOf } from './fields.ts';

/** State of a run at the engine. `label` is the engine's own word. */
export interface EngineRun {
  readonly runId: string | undefined;
  readonly state: 'active' | 'succeeded' | 'failed' | 'unknown';
  readonly label: string;
  /** The parameters it was started with, as text, where the engine gives them. */
  readonly params: string | undefined;
  readonly startedAt: Date | undefined;
  /** The engine's clock at its answer; absent where it sends none, and for a run known by its id. */
  readonly toldAt?: Date;
}

/** An engine as a hand-off sees it. Errors are the classes of core/errors.ts. */
export interface OpenEngine {
  /** Whether a start can carry a run id, so that repeating it is harmless. */
  takesRunId(signal: AbortSignal): Promise<boolean>;
  /**
   * Starts the DAG. Where the engine takes ids, a run of this id that exists is the success of an earlier try; elsewhere the
   * request is sent once. Throws `Missing` for an unknown DAG, `Transient` where the DAG is running already.
   */
  start(
    dag: string,
    how: { readonly params: string; readonly runId: string },
    signal: AbortSignal,
  ): Promise<{ readonly runId: string | undefined }>;
  /** The run of this id, or the newest one of an engine without ids; undefined where there is none. */
  status(dag: string, runId: string, signal: AbortSignal): Promise<EngineRun | undefined>;
  /** Stops the run of this id, or the newest. A run that is over is no error; `Missing` for an unknown DAG or run. */
  stop(dag: string, runId: string | undefined, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

type Control = Pick<OpenEngine, 'start' | 'status' | 'stop'> & { readonly takesRunId: boolean };

/** Sends nothing yet; finds the dialect by `dags` at the first call. Throws `Misconfigured` for an unusable base URL. */
export const openEngine = (
  settings: EngineSettings,
  dags: readonly string[],
  deps: HttpDeps = {},
): OpenEngine => {
  const http = openHttp(settings, deps);
  const open = once(async (signal): Promise<Control> => {
    const dialect = await findDialect(http, dags, signal).then(
      (found) => found.dialect,
      (cause: unknown) => {
        // The contract promises no list, nor a status of a DAG that never ran: its start shows whether the DAG exists.
        if (cause instanceof Missing) return 'contract' as const;
        throw cause;
      },
    );
    return dialect === 'contract' ? contractControl(http) : daguControl({ http, dialect });
  });
  return {
    takesRunId: async (signal) => (await open(signal)).takesRunId,
    start: async (dag, how, signal) => (await open(signal)).start(dag, how, signal),
    status: async (dag, runId, signal) => (await open(signal)).status(dag, runId, signal),
    stop: async (dag, runId, signal) => (await open(signal)).stop(dag, runId, signal),
    close: () => http.close(),
  };
};

/** A request that changes something is sent once; its answer may be empty. */
const change = { once: true, bodiless: true } as const;

const contractControl = (http: Http): Control => ({
  takesRunId: false,
  /** The contract wants no body where there are no parameters. */
  async start(dag, { params }, signal) {
    const more = params === '' ? change : { ...change, body: { params } };
    const request = route('POST', '/api/v1/dags/{dag}/start', [dag], more);
    const payload = payloadOf((await http.send(request, signal).catch(ifBusy(dag))).body);
    return { runId: payload && textOf(runIn(payload, 'contract', dag).known.told_run_id) };
  },
  async status(dag, _, signal) {
    const { body, date } = await http.send(statusRequest(dag), signal);
    const run = currentRun(body, dag);
    if (run === undefined) throw new UnexpectedContent(`the status of ${dag} has no word for its state`);
    return run.id === '' ? undefined : { ...engineRun(run), ...(date !== undefined && { toldAt: date }) };
  },
  async stop(dag, _, signal) {
    await http.send(route('POST', '/api/v1/dags/{dag}/stop', [dag], change), signal);
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
  async stop(dag, runId = 'latest', signal) {
    const run = await runOf(dagu, dag, runId, signal);
    if (run === undefined) throw new Missing(`${dagu.http.origin} knows no run ${runId} of ${dag}`, 404);
    if (hasEnded(run)) return;
    const request = daguRoute(dagu, 'POST', '/dag-runs/{name}/{dagRunId}/stop', [run.dag, run.id], change);
    await dagu.http.send(request, signal).catch(async (cause: unknown) => {
      // It may have ended between the two requests.
      const now = cause instanceof Refused && (await runOf(dagu, dag, run.id, signal));
      if (!now || !hasEnded(now)) throw cause;
    });
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
 * The run of this id, or the newest for 'latest'. By the name of the file 1.30.2 answers an id that it does not know with an
 * active run, or with 500 (measured), so a run is asked for by the name of its DAG, which the newest run has.
 */
const runOf = async (
  dagu: Dagu,
  dag: string,
  runId: string,
  signal: AbortSignal,
): Promise<Run | undefined> => {
  const request = daguRoute(dagu, 'GET', '/dags/{fileName}/dag-runs/latest', [dag]);
  const answer = await ifThere(dagu.http, request, signal);
  const record = answer && at(answer.body, 'dagRun');
  if (answer !== undefined && !isObject(record))
    throw new UnexpectedContent(`${request.endpoint}: the answer has no dagRun`);
  const newest = isObject(record) ? runIn(record, dagu.dialect) : undefined;
  if (runId === 'latest' || newest?.id === runId) return newest?.id === '' ? undefined : newest;
  return (await askRun(dagu, newest?.dag || dag, runId, signal))?.run;
};

const hasEnded = ({ known }: Run): boolean => isOver(standingIn(known, 'run').state);

/** `idle` is a run that was made and has not begun. */
const meaning: Readonly<Record<RunState, EngineRun['state']>> = {
  ...{ active: 'active', idle: 'active', succeeded: 'succeeded', failed: 'failed', aborted: 'failed' },
  unknown: 'unknown',
};

const engineRun = ({ known }: Run): EngineRun => {
  const { word, state } = standingIn(known, 'run');
  const started = instantText(known.started_at);
  return {
    runId: textOf(known.told_run_id),
    state: meaning[state],
    label: word ?? 'unknown',
    params: textOf(known.params),
    startedAt: started === undefined ? undefined : instantToDate(parseInstant(started)),
  };
};
