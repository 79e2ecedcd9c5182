/** The connection to one workflow engine: its requests, and which of the three dialects it speaks. */

import * as errors from '../../core/errors.ts';
import { isObject } from '../../core/record-object.ts';
import type { Answer, Http, Json, Request } from '../../core/request.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { currentRun, type Dialect } from './fields.ts';

/** What is needed to reach an engine; `WorkflowConfig` of config.ts is one. */
export interface EngineSettings {
  /** Before `/api/v1`; without a slash at its end. */
  readonly baseUrl: string;
  readonly token?: { reveal(): string };
}

export type HttpDeps = Partial<Omit<HttpOptions, 'baseUrl' | 'authorize'>>;

/** Throws `Misconfigured` for a base URL that cannot be used. */
export const openHttp = ({ baseUrl, token }: EngineSettings, deps: HttpDeps = {}): Http => {
  const authorize = () => (token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` });
  return createHttp({ ...deps, baseUrl, authorize });
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

/** Dagu: `{dags, errors, pagination}`; an empty list is null. Throws `UnexpectedContent` for anything else. */
export const daguList = (body: Json): readonly Json[] => {
  const { dags, pagination } = isObject(body) ? body : {};
  if (isObject(pagination) && (dags === null || Array.isArray(dags))) return dags ?? [];
  throw new errors.UnexpectedContent('the answer is no list of DAGs');
};

/** The answer; undefined for a 404. */
export const sendOptional = (
  http: Http,
  request: Request,
  signal: AbortSignal,
): Promise<Answer | undefined> =>
  http.send(request, signal).catch((cause: unknown) => {
    if (cause instanceof errors.Missing) return undefined;
    throw cause;
  });

/** One 404 may be a deployment or a cache, so it is confirmed by a second request. */
export const confirmed = async <T>(ask: () => Promise<T | undefined>): Promise<T | undefined> =>
  (await ask()) ?? (await ask());

/** About the engine or the run as a whole. */
const general = [
  errors.AuthFailed,
  errors.Interrupted,
  errors.OutOfTime,
  errors.RateLimited,
  errors.Unreachable,
];

/** The error, where it is about one request alone (one DAG, one log) and the engine may still answer others. Else throws it. */
export const ofOneRequest = (error: unknown): errors.TidemarkError => {
  if (error instanceof errors.TidemarkError && !general.some((one) => error instanceof one)) return error;
  throw error;
};

/** The first five names, and how many more there are. */
export const firstOf = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;

/** The dialect of an engine, and its clock where it sends one. */
export interface Found {
  readonly dialect: Dialect;
  readonly clock: Date | undefined;
}

/**
 * The dialect of the first request that is answered in it: the status of a named DAG (the contract promises that
 * alone), else Dagu's list. Throws `Missing` where all are answered with 404 although DAGs are named, `Misconfigured`
 * where there is neither a list nor a name, and otherwise the first other error that was met.
 */
export const findDialect = async (
  http: Http,
  dags: readonly string[],
  signal: AbortSignal,
): Promise<Found> => {
  const statuses = dags.map((dag) => ({
    dialect: 'contract' as const,
    request: statusRequest(dag),
    check: (body: Json): unknown => currentRun(body, dag),
  }));
  const lists = (['2.x', '1.30'] as const).map((dialect) => ({
    ...{ dialect, request: listRequest(dialect), check: daguList },
  }));
  let failure: errors.TidemarkError | undefined;
  for (const { dialect, request, check } of [...statuses.slice(0, 1), ...lists, ...statuses.slice(1)])
    try {
      const { body, date } = await http.send(request, signal);
      check(body);
      return { dialect, clock: date };
    } catch (error) {
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
