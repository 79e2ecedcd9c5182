/** Starting, stopping and asking after DAGs: the way out of a hand-off, in every dialect that the source reads. */

import { Misconfigured, Missing, Refused, Transient, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Http, Json, Request } from '../../core/request.ts';
import { isOver, type RunState } from '../../core/run-states.ts';
import { instantToDate, parseInstant } from '../../core/time.ts';
import { at } from '../../reading/offset-list.ts';
import {
  contract,
  type Dialect,
  findDialect,
  type History,
  segment,
  statusRequest,
  there,
} from './dialect.ts';
import { type EngineSettings, type HttpDeps, openHttp } from './http.ts';
import { isObject, type JsonObject, textOf } from './json-members.ts';
import { dagNameIn, instantText, payloadOf, runIn, standingTold, type ToldRun } from './normalize.ts';
import { askRun } from './one-run.ts';

/** Where a run at the engine stands. `label` is the engine's own word. */
export interface EngineRun {
  readonly runId: string | undefined;
  readonly state: 'active' | 'succeeded' | 'failed' | 'unknown';
  readonly label: string;
  /** The parameters it was started with, where the engine tells them: NAME=value pairs or JSON. */
  readonly params: string | undefined;
  readonly startedAt: Date | undefined;
  /** The engine's own clock when it told this; absent where it tells no time, and where a run is known by its id. */
  readonly toldAt?: Date;
}

/** What one request of a hand-off needs to know. */
export interface At {
  readonly dag: string;
  readonly signal: AbortSignal;
}

/** What the vendor takes as a run's id (its OpenAPI, `DAGRunId`); a longer one 1.30.2 answers with 200 and runs nothing (measured). */
const vendorId = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Starts a DAG. `runId`: where the engine takes one, a run of that id which is there already is the success of an earlier try, and the
 * request may be repeated; everywhere else it is sent once. Gives the run's id where the engine tells it. Throws `Missing` for an unknown DAG,
 * `Transient` where the DAG is running and the engine starts it only once at a time, `Misconfigured` for an id that the engine cannot take.
 */
export const startDag = async (
  http: Http,
  dialect: Dialect,
  how: At & { readonly params: string; readonly runId?: string },
): Promise<{ readonly runId: string | undefined }> => {
  const { dag, params, runId, signal } = how;
  if (dialect.kind === 'status') {
    const path = `/api/v1/dags/${segment(dag)}/start`;
    // Without parameters the contract wants no body.
    const request: Request = {
      method: 'POST',
      path,
      endpoint: '/api/v1/dags/{dag}/start',
      once: true,
      bodiless: true,
    };
    const answer = await http
      .send(params === '' ? request : { ...request, body: { params } }, signal)
      .catch(busy(dag));
    return { runId: idIn(answer) };
  }
  if (runId !== undefined && !vendorId.test(runId))
    throw new Misconfigured(`${JSON.stringify(runId)} cannot be the id of a run at ${http.origin}`);
  const { prefix } = dialect;
  const request: Request = {
    method: 'POST',
    path: `${prefix}/dags/${segment(dag)}/start`,
    endpoint: `${prefix}/dags/{fileName}/start`,
    // Never without a body: 1.30.2 then fails with 500 (measured).
    body: { ...(params !== '' && { params }), ...(runId !== undefined && { dagRunId: runId }) },
    ...(runId === undefined && { once: true as const }),
  };
  try {
    return { runId: idIn(await http.send(request, signal)) ?? runId };
  } catch (cause) {
    const isThere = cause instanceof Refused && cause.status === 409 && runId !== undefined;
    if (isThere && (await statusOf(http, dialect, { dag, runId, signal })) !== undefined) return { runId };
    return busy(dag)(cause);
  }
};

/** A start that is refused because the DAG runs: later it will not. */
const busy =
  (dag: string) =>
  (cause: unknown): never => {
    if (cause instanceof Refused && saysBusy(cause))
      throw new Transient(`${dag} is not started because it is running (${cause.message})`, { cause });
    throw cause;
  };

/** 409, 423, or words to that effect under whatever status: the contract does not say how a DAG that runs already is told. */
const saysBusy = ({ status, message }: Refused): boolean =>
  status === 409 ||
  status === 423 ||
  /\balready (running|active|started|in progress)\b|\bis (still |currently )?(running|busy)\b/i.test(message);

const idIn = ({ body }: Answer): string | undefined => {
  const payload = payloadOf(body);
  if (payload === undefined) return undefined;
  const inside = [payload.run, payload.dagRun, payload].find(
    (one) => typeof one === 'object' && one !== null,
  );
  const names = ['dagRunId', 'runId', 'requestId', 'RequestId', 'run_id', 'request_id'];
  return names.map((name) => textOf(at(inside, name))).find((id) => id !== undefined);
};

/**
 * The run of this id, or the newest one where no id is given or the engine knows none by it; undefined where there is none. Throws `Missing`
 * where the contract's engine does not know the DAG.
 */
export const statusOf = async (
  http: Http,
  dialect: Dialect,
  { dag, runId, signal }: At & { readonly runId?: string },
): Promise<EngineRun | undefined> => {
  if (dialect.kind === 'status') return inStatus(await http.send(statusRequest(dag), signal), dag);
  const told = await runOf(http, dialect, { dag, runId: runId ?? 'latest', signal });
  return told && engineRun(told);
};

/**
 * The run of this id, or the newest one. Runs are addressed by the name of the DAG, which the newest run tells; by that of its file 1.30.2
 * answers for an id that it does not know with a run that is active, or else with 500 (measured).
 */
const runOf = async (
  http: Http,
  history: History,
  { dag, runId, signal }: At & { readonly runId: string },
): Promise<ToldRun | undefined> => {
  const newest = await newestOf(http, history, dag, signal);
  const latest = newest && runIn(newest, dag, 'making');
  if (latest?.id === runId || runId === 'latest') return latest;
  return (await askRun(http, history, (newest && dagNameIn(newest)) ?? dag, runId, signal))?.told;
};

const newestOf = async (
  http: Http,
  { prefix }: History,
  dag: string,
  signal: AbortSignal,
): Promise<JsonObject | undefined> => {
  const endpoint = `${prefix}/dags/{fileName}/dag-runs/latest`;
  const path = `${prefix}/dags/${segment(dag)}/dag-runs/latest`;
  const answer = await there(http, { method: 'GET', path, endpoint }, signal);
  const payload = answer && payloadOf(answer.body);
  if (answer !== undefined && payload === undefined)
    throw new UnexpectedContent(`${endpoint}: the answer is no object`);
  return payload;
};

const inStatus = ({ body, date }: Answer, dag: string): EngineRun | undefined => {
  const payload = payloadOf(body);
  if (payload === undefined) throw new UnexpectedContent(`the status of ${dag} is no object`);
  const told = runIn(payload, dag, 'start');
  return told && { ...engineRun(told), ...(date !== undefined && { toldAt: date }) };
};

const meaning: Readonly<Record<RunState, EngineRun['state']>> = {
  active: 'active',
  // Made and not begun: it will.
  idle: 'active',
  succeeded: 'succeeded',
  failed: 'failed',
  aborted: 'failed',
  unknown: 'unknown',
};

const engineRun = (told: ToldRun): EngineRun => {
  const { word, state } = standingTold(told.run);
  const started = instantText(told.run.startedAt);
  return {
    runId: textOf(told.run.runId),
    state: meaning[state],
    label: word ?? 'unknown',
    params: paramsIn(told.run.params),
    startedAt: started === undefined ? undefined : instantToDate(parseInstant(started)),
  };
};

/** Parameters as text; as JSON where they are told as a list of texts or by their names. Other shapes do not say which they are. */
const paramsIn = (params: Json): string | undefined => {
  const values = Array.isArray(params) ? params : isObject(params) ? Object.values(params) : [];
  const areTold = values.length > 0 && values.every((value) => value === null || typeof value !== 'object');
  return areTold ? JSON.stringify(params) : textOf(params);
};

/**
 * Asks the DAG's run to stop: that of the id, or the newest. Stopping what is over is no error. Throws `Missing` where there is no such DAG
 * or run.
 */
export const stopDag = async (
  http: Http,
  dialect: Dialect,
  { dag, runId, signal }: At & { readonly runId?: string },
): Promise<void> => {
  const post = (path: string, endpoint: string): Promise<Answer> =>
    http.send({ method: 'POST', path, endpoint, bodiless: true, once: true }, signal);
  if (dialect.kind === 'status') {
    await post(`/api/v1/dags/${segment(dag)}/stop`, '/api/v1/dags/{dag}/stop');
    return;
  }
  const told = await runOf(http, dialect, { dag, runId: runId ?? 'latest', signal });
  if (told === undefined) throw new Missing(`${http.origin} knows no run ${runId ?? ''} of ${dag}`, 404);
  if (isOver(standingTold(told.run).state)) return;
  const root = `${dialect.prefix}/dag-runs`;
  // Runs are addressed by the name of the DAG, DAGs by that of their file.
  const name = textOf(told.run.name) ?? dag;
  try {
    await post(`${root}/${segment(name)}/${segment(told.id)}/stop`, `${root}/{name}/{dagRunId}/stop`);
  } catch (cause) {
    // It may have ended between the two questions.
    const now = cause instanceof Refused && (await runOf(http, dialect, { dag, runId: told.id, signal }));
    if (!now || !isOver(standingTold(now.run).state)) throw cause;
  }
};

/** An engine as a hand-off sees it. */
export interface OpenEngine {
  takesRunId(signal: AbortSignal): Promise<boolean>;
  start(
    dag: string,
    how: { readonly params: string; readonly runId: string },
    signal: AbortSignal,
  ): Promise<{ readonly runId: string | undefined }>;
  status(dag: string, runId: string, signal: AbortSignal): Promise<EngineRun | undefined>;
  stop(dag: string, runId: string | undefined, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Asks nothing yet; the dialect is found out at the first question, by `dags` (those the engine is handed to), and kept. Throws
 * `Misconfigured` for a base URL that cannot be used.
 */
export const openEngine = (
  settings: EngineSettings,
  dags: readonly string[],
  deps: HttpDeps = {},
): OpenEngine => {
  const http = openHttp(settings, deps);
  let kept: Dialect | undefined;
  const dialectFor = async (names: readonly string[], signal: AbortSignal): Promise<Dialect> => {
    kept ??= await findDialect(http, names, signal).then(
      ({ dialect }) => dialect,
      (cause: unknown) => {
        // The contract promises a start, no list, and no status of a DAG that never ran: whether there is such a DAG is told by its start.
        if (cause instanceof Missing && cause.cause instanceof Missing) return contract;
        throw cause;
      },
    );
    return kept;
  };
  return {
    takesRunId: async (signal) => (await dialectFor(dags, signal)).kind === 'history',
    start: async (dag, how, signal) =>
      startDag(http, await dialectFor([dag], signal), { dag, ...how, signal }),
    status: async (dag, runId, signal) =>
      statusOf(http, await dialectFor([dag], signal), { dag, runId, signal }),
    stop: async (dag, runId, signal) =>
      stopDag(http, await dialectFor([dag], signal), { dag, ...(runId !== undefined && { runId }), signal }),
    close: () => http.close(),
  };
};
