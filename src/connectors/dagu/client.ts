/** The connection to one workflow engine, and what all dialects of it do with requests. */

import * as errors from '../../core/errors.ts';
import type { Http, Request } from '../../core/stream.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { advice } from './advice.ts';
import { authOf, type DaguLogin, type WorkflowConfig } from './config.ts';

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
