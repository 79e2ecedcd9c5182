/** One opened engine: the connection to it, and what its dialects and streams share. */

import * as errors from '../../core/errors.ts';
import type { Http, Json, Page, Request, SliceReading, WalkEnd } from '../../core/stream.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { advice } from './advice.ts';
import { authOf, type DaguLogin, type WorkflowConfig } from './config.ts';
import type { DaguDialect } from './dialects/dialect.ts';

/** What is needed to reach an engine. */
export type EngineSettings = Pick<WorkflowConfig, 'baseUrl'> &
  DaguLogin & { readonly remoteNode?: string | undefined };
export type HttpDeps = Partial<Omit<HttpOptions, 'baseUrl' | 'auth'>>;

/** Throws `Misconfigured` for a base URL that cannot be used. */
export const openHttp = ({ baseUrl, remoteNode, ...login }: EngineSettings, deps: HttpDeps = {}): Http => {
  const http = createHttp({ ...deps, baseUrl, advice, auth: authOf(login) });
  if (remoteNode === undefined) return http;
  // The engine passes a request with this parameter on to the node (its OpenAPI, RemoteNode).
  const send: Http['send'] = (request, signal) =>
    http.send({ ...request, query: { ...request.query, remoteNode } }, signal);
  return { ...http, send };
};

export type Prefix = '/api/v1' | '/api/v2';

/**
 * A request of a route below the prefix of the API; the route's `{…}` are filled in their order. Throws `Misconfigured`
 * for a name that would change the path.
 */
export const route = (
  prefix: Prefix,
  method: Request['method'],
  path: string,
  names: readonly string[] = [],
  more: Partial<Request> = {},
): Request => {
  const bad = names.find((name) => /^\.{0,2}$/.test(name));
  if (bad !== undefined) throw new errors.Misconfigured(`"${bad}" cannot be part of an address`);
  const endpoint = `${prefix}${path}`;
  const left = names.map(encodeURIComponent);
  return { method, path: endpoint.replaceAll(/\{\w+\}/g, () => left.shift() ?? ''), endpoint, ...more };
};

/** The answer; undefined where two requests get a 404: a single one may be a deployment or a cache. */
export const sendOptional = async (http: Http, request: Request, signal: AbortSignal) => {
  const ask = () => http.send(request, signal).catch(errors.caught(errors.Missing));
  const first = await ask();
  const answer = first instanceof Error ? await ask() : first;
  return answer instanceof Error ? undefined : answer;
};

/** A start is refused while the DAG runs: 409, and of the contract, which names no status for it, these words. */
export const ifBusy =
  (dag: string) =>
  (cause: unknown): never => {
    const isBusy =
      cause instanceof errors.Refused && (cause.status === 409 || /\balready running\b/i.test(cause.message));
    if (!isBusy) throw cause;
    throw new errors.Transient(`${dag} is not started because it is running (${cause.message})`, { cause });
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

export interface Workflow {
  readonly http: Http;
  /** DAGs to read, by name or file name; empty: all that the engine has. */
  readonly dags: readonly string[];
  /** Names of DAGs whose runs are not read. */
  readonly leftOut?: ReadonlySet<string>;
  /** Reports a warning of the run. */
  readonly note: (message: string) => void;
  /** The dialect, and the engine's clock where it sends one; the engine is asked once. */
  readonly found: (signal: AbortSignal) => Promise<{ dialect: DaguDialect; clock: Date | undefined }>;
}

/** Records are made of several answers, so a reject keeps the record as it was made: a replay maps the same. */
export const readingOf = (pages: SliceReading['pages'], id: SliceReading['id']): SliceReading => ({
  pages,
  id,
  bytes: (record) => Buffer.from(JSON.stringify(record)),
});

/** A page for each record. */
export async function* pagesOf(records: AsyncIterable<Json>): AsyncGenerator<Page, WalkEnd, void> {
  const raw = Buffer.alloc(0);
  let count = 0;
  for await (const record of records) {
    yield { records: [record], raw };
    count += 1;
  }
  return { expected: count, read: count, matched: true, passes: 1 };
}

/**
 * The results of `work`, four at once. An item whose work fails keeps no other out: the first failure is thrown at the
 * end, with the name of the item.
 */
export async function* each<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  nameOf: (item: T) => string,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R, void, void> {
  const settled = (item: T, until: AbortSignal): Promise<R | errors.TidemarkError> =>
    work(item, until).catch((error: unknown) => {
      const cause = ofOneRequest(error);
      const message = `${nameOf(item)}: ${cause.message}`;
      const next = `or add dags:${nameOf(item).split('/')[0]} to WORKFLOW_EXCLUDE`;
      // A DAG that is closed stays closed: no retry, and no second reading of everything.
      if (cause instanceof errors.Forbidden) return new errors.Refused(`${message}; ${next}`, 403, []);
      return new errors.UnexpectedContent(message, { cause });
    });
  let failure: errors.TidemarkError | undefined;
  for await (const result of mapConcurrent(items, 4, settled, signal))
    if (result instanceof errors.TidemarkError) failure ??= result;
    else yield result;
  if (failure !== undefined) throw failure;
}
