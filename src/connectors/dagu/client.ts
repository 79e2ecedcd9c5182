/** The connection to one workflow engine: which of the three dialects it speaks, and what is asked of it. */

import * as errors from '../../core/errors.ts';
import type { Paging } from '../../core/paging.ts';
import { isObject, type JsonObject } from '../../core/record-object.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import { pages } from '../../reading/pages.ts';
import { authOf, type Login, type WorkflowConfig } from './config.ts';
import { beganAt, currentRun, type Dialect, type Run, runIn } from './transform.ts';

/** What is needed to reach an engine. */
export type EngineSettings = Pick<WorkflowConfig, 'baseUrl'> &
  Login & { readonly remoteNode?: string | undefined };
export type HttpDeps = Partial<Omit<HttpOptions, 'baseUrl' | 'auth'>>;

/** Throws `Misconfigured` for a base URL that cannot be used. */
export const openHttp = ({ baseUrl, remoteNode, ...login }: EngineSettings, deps: HttpDeps = {}): Http => {
  const http = createHttp({ ...deps, baseUrl, auth: authOf(login) });
  if (remoteNode === undefined) return http;
  // The engine passes a request with this parameter on to the node (its OpenAPI, RemoteNode).
  const send: Http['send'] = (request, signal) =>
    http.send({ ...request, query: { ...request.query, remoteNode } }, signal);
  return { ...http, send };
};

/**
 * A request of a route below the prefix of the dialect; the route's `{…}` are filled in their order. Throws
 * `Misconfigured` for a name that would change the path.
 */
export const route = (
  dialect: Dialect,
  method: Request['method'],
  path: string,
  names: readonly string[] = [],
  more: Partial<Request> = {},
): Request => {
  const bad = names.find((name) => /^\.{0,2}$/.test(name));
  if (bad !== undefined) throw new errors.Misconfigured(`"${bad}" cannot be part of an address`);
  const endpoint = `${dialect === '1.30' ? '/api/v2' : '/api/v1'}${path}`;
  const left = names.map(encodeURIComponent);
  return { method, path: endpoint.replaceAll(/\{\w+\}/g, () => left.shift() ?? ''), endpoint, ...more };
};

export const statusRequest = (dag: string): Request => route('contract', 'GET', '/dags/{dag}/status', [dag]);

/** Dagu's list of DAGs; 100 is its largest page. The contract promises no list. */
export const listRequest = (dialect: Dialect): Request =>
  route(dialect, 'GET', '/dags', [], { query: { page: 1, perPage: 100 } });

/** A list in an answer of Dagu; an empty one is null. Throws `UnexpectedContent` for anything else. */
export const listIn =
  (name: 'dags' | 'dagRuns') =>
  (body: Json): readonly Json[] => {
    const list = at(body, name);
    if (list === null || Array.isArray(list)) return list ?? [];
    throw new errors.UnexpectedContent(`the answer of the engine has no list ${name}`);
  };

/** The answer; undefined where two requests get a 404: a single one may be a deployment or a cache. */
export const sendOptional = async ({ http, signal }: Pick<Dagu, 'http' | 'signal'>, request: Request) => {
  const ask = () =>
    http.send(request, signal).catch((cause: unknown) => {
      if (cause instanceof errors.Missing) return undefined;
      throw cause;
    });
  return (await ask()) ?? (await ask());
};

const { AuthFailed, Interrupted, OutOfTime, RateLimited, Unreachable } = errors;
/** About the engine or the run as a whole. */
const general = [AuthFailed, Interrupted, OutOfTime, RateLimited, Unreachable];

/** The error, where it is about one request alone (one DAG, one run) and the engine may still answer others. Else throws it. */
export const ofOneRequest = (error: unknown): errors.TidemarkError => {
  if (error instanceof errors.TidemarkError && !general.some((one) => error instanceof one)) return error;
  throw error;
};

/** The first five names, and how many more there are. */
export const firstOf = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;

/** By Dagu's `auth.mode`, which is basic or builtin; 1.x has Basic and one token. */
const loginHint =
  'Where Dagu has Basic authentication, set WORKFLOW_USERNAME and WORKFLOW_PASSWORD; where it has users of its own, set WORKFLOW_TOKEN to an API key.';

/** What is asked, and what throws where the answer is not of the dialect. */
type Probe = readonly [dialect: Dialect, request: Request, check: (body: Json) => unknown];

/**
 * The dialect of the first request that is answered in it, and the engine's clock where it sends one: the status of a named DAG (the contract promises that
 * alone), else Dagu's list. Throws `Missing` where all are answered with 404 although DAGs are named, `Misconfigured`
 * where there is neither a list nor a name, and otherwise the first other error that was met.
 */
export const findDialect = async (http: Http, dags: readonly string[], signal: AbortSignal) => {
  const statusOf = (dag: string): Probe => ['contract', statusRequest(dag), (body) => currentRun(body, dag)];
  const lists = (['2.x', '1.30'] as const).map((one): Probe => [one, listRequest(one), listIn('dags')]);
  const probes = [...dags.slice(0, 1).map(statusOf), ...lists, ...dags.slice(1).map(statusOf)];
  let failure: errors.TidemarkError | undefined;
  for (const [dialect, request, check] of probes)
    try {
      const { body, date } = await http.send(request, signal);
      check(body);
      return { dialect, clock: date };
    } catch (error) {
      if (error instanceof AuthFailed)
        throw new AuthFailed(`${error.message} ${loginHint}`, { cause: error });
      const met = ofOneRequest(error);
      if (failure === undefined || failure instanceof errors.Missing) failure = met;
    }
  const hint = 'Check WORKFLOW_BASE_URL and WORKFLOW_DAGS';
  if (dags.length > 0 && failure instanceof errors.Missing)
    throw new errors.Missing(`${http.origin} has none of the DAGs ${firstOf(dags)}. ${hint}`, 404);
  if (dags.length > 0 || failure instanceof errors.Transient) throw failure;
  const why = `shows no list of its DAGs (${failure?.message})`;
  throw new errors.Misconfigured(`${http.origin} ${why}. ${hint}: an engine without a list needs names`);
};

/** An engine of Dagu, and the signal that ends the requests to it. */
export interface Dagu {
  readonly http: Http;
  readonly dialect: Exclude<Dialect, 'contract'>;
  readonly signal: AbortSignal;
}

/** When runs were made: whole seconds since 1970 UTC, `from <= made < to` (measured on 1.30.2; 0 would mean today). */
type Span = { readonly from: number; readonly to: number };

/** 2.x pages by `nextCursor`; 1.30 has no pages. */
const byCursor: Paging = {
  next(body, sent) {
    const cursor = textAt(body, 'nextCursor');
    return cursor ? { request: { ...sent, query: { ...sent.query, cursor } }, overlap: 0 } : undefined;
  },
  total: () => undefined,
};

const summaryId = (run: Json): string =>
  JSON.stringify(['name', 'dagRunId', 'log', 'startedAt'].map((key) => at(run, key)));

/**
 * The runs of all DAGs, the newest first. 1.30 cuts its list silently (measured: at 1000 of 1206), so a list that is
 * as long as a limit is divided at a second and read again. 500 is the largest page of 2.x. Throws
 * `UnexpectedContent` for a run without an id or the name of its DAG, and where a list is cut that cannot be divided.
 */
export async function* historyOf(dagu: Dagu, span: Span): AsyncGenerator<readonly Run[], void, void> {
  const isPaged = dagu.dialect === '2.x';
  const query = { fromDate: span.from, toDate: span.to, limit: isPaged ? 500 : undefined };
  const first = route(dagu.dialect, 'GET', '/dag-runs', [], { query });
  const walk = { first, paging: byCursor, list: listIn('dagRuns'), id: summaryId };
  for await (const { records } of pages(dagu.http, walk, dagu.signal)) {
    const runs = records.map(daguRun);
    if (isPaged || runs.length === 0 || runs.length % 100 !== 0) yield runs;
    else {
      const second = divide(runs, span);
      yield* historyOf(dagu, { ...span, from: second });
      yield* historyOf(dagu, { ...span, to: second });
    }
  }
}

/** A second within the span with runs on both sides of it, where possible. */
const divide = (runs: readonly Run[], { from, to }: Span): number => {
  const made = runs.flatMap((run) => beganAt(run) ?? []).sort((a, b) => Number(a - b));
  const median = Number((made[Math.floor(made.length / 2)] ?? 0n) / 1_000_000n);
  const second = [median, Math.floor((from + to) / 2)].find((one) => one > from && one < to);
  if (second !== undefined) return second;
  throw new errors.UnexpectedContent(`the engine cuts its list of the runs of a single second (${from})`);
};

/** A summary or the details of a run. */
const daguRun = (record: Json): Run => {
  const run = runIn(isObject(record) ? record : {});
  if (run.dag_run_id !== '' && run.dag_name !== '') return run;
  throw new errors.UnexpectedContent('a run of the engine has no dagRunId, or no name of its DAG');
};

/** The run of `{dagRunDetails}`, with the members that a newer release may write beside it. */
export const detailsIn = (body: Json): JsonObject => {
  const { dagRunDetails, ...beside } = isObject(body) ? body : {};
  return { ...beside, ...(isObject(dagRunDetails) && dagRunDetails) };
};

/** One run with its steps; undefined where the engine answers 404. `dag`: its name, not its file. */
export const readRun = async (dagu: Dagu, dag: string, id: string): Promise<Run | undefined> => {
  const request = route(dagu.dialect, 'GET', '/dag-runs/{name}/{dagRunId}', [dag, id]);
  const answer = await sendOptional(dagu, request);
  const run = answer && daguRun(detailsIn(answer.body));
  if (run === undefined || (run.dag_run_id === id && run.dag_name === dag)) return run;
  const other = `${run.dag_run_id} of ${run.dag_name}`;
  throw new errors.UnexpectedContent(`asked for the run ${id} of ${dag}, the answer is ${other}`);
};
