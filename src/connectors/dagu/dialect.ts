/** Which of the three dialects an engine speaks, found out from its answers. */

import * as errors from '../../core/errors.ts';
import { isObject } from '../../core/record-object.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import { type Found, route, some } from './client.ts';
import { currentRun, type Dialect } from './fields.ts';

/** In words, for `check`. */
export const about: Readonly<Record<Dialect, string>> = {
  contract: 'API: status, start and stop of each DAG (contract); no history',
  '1.30': 'API: runs, steps and logs (/api/v2, Dagu 1.17 to 1.30)',
  '2.x': 'API: runs, steps and logs (/api/v1, Dagu 2)',
};

export const prefixOf = (dialect: Dialect): string => (dialect === '1.30' ? '/api/v2' : '/api/v1');

export const statusRequest = (dag: string): Request => route('GET', '/api/v1/dags/{dag}/status', [dag]);

/** The list of DAGs. 100 is Dagu's largest page; the contract's list has no pages. */
export const listRequest = (dialect: Dialect): Request => {
  const query = dialect === 'contract' ? {} : { page: 1, perPage: 100 };
  return route('GET', `${prefixOf(dialect)}/dags`, [], { query });
};

/** Dagu: `{dags, errors, pagination}`; an empty list is null. */
export const daguList = (body: Json): readonly Json[] | undefined => {
  if (!isObject(body) || !isObject(body.pagination)) return undefined;
  return body.dags === null ? [] : Array.isArray(body.dags) ? body.dags : undefined;
};

/**
 * The contract promises no list. Tidemark's own API has one, `{status, data: {dags}}`, which is always complete; a list that
 * says more than that may have pages, so it is none.
 */
export const contractList = (body: Json): readonly Json[] | undefined => {
  if (!isObject(body) || body.status !== 'success' || !isObject(body.data)) return undefined;
  const { dags, ...more } = body.data;
  return Array.isArray(dags) && Object.keys(more).length === 0 ? dags : undefined;
};

interface Probe {
  readonly dialect: Dialect;
  readonly request: Request;
  /** The DAGs that the answer lists (a status: none); undefined where the answer is of another dialect. */
  readonly reads: (body: Json) => readonly Json[] | undefined;
}

/** The contract promises the status of a DAG, so that is asked first where a DAG is named. */
const probesFor = (dags: readonly string[]): readonly Probe[] => {
  const statuses = dags.map(
    (dag): Probe => ({
      dialect: 'contract',
      request: statusRequest(dag),
      reads: (body) => currentRun(body, dag) && [],
    }),
  );
  return [
    ...statuses.slice(0, 1),
    { dialect: '2.x', request: listRequest('2.x'), reads: daguList },
    { dialect: 'contract', request: listRequest('contract'), reads: contractList },
    { dialect: '1.30', request: listRequest('1.30'), reads: daguList },
    ...statuses.slice(1),
  ];
};

/** Whether an error may be about one DAG alone: the contract does not say with which status errors are answered. */
export const isOfOneDag = (cause: unknown): cause is errors.Refused | errors.Transient =>
  cause instanceof errors.Refused ||
  (cause instanceof errors.Transient && !(cause instanceof errors.RateLimited));

/** Whether another probe may be answered all the same. A closed list (403) is none: the contract promises no list. */
const isOfOneProbe = (cause: unknown): cause is errors.TidemarkError =>
  isOfOneDag(cause) ||
  cause instanceof errors.Missing ||
  cause instanceof errors.UnexpectedContent ||
  (cause instanceof errors.AuthFailed && cause.cause instanceof errors.Forbidden);

/**
 * The first probe that is answered in its dialect. Throws `Missing` where all of them are answered with 404 although DAGs are
 * named, `Misconfigured` where there is neither a list nor a name, and otherwise the first other error that was met.
 */
export const findDialect = async (
  http: Http,
  dags: readonly string[],
  signal: AbortSignal,
): Promise<Found> => {
  const met: errors.TidemarkError[] = [];
  for (const { dialect, request, reads } of probesFor(dags)) {
    try {
      const { body, date } = await http.send(request, signal);
      const listed = reads(body);
      if (listed !== undefined) return { dialect, clock: date, hasDags: listed.length > 0 };
      met.push(new errors.UnexpectedContent(`${request.endpoint}: the answer is of no known dialect`));
    } catch (cause) {
      if (!isOfOneProbe(cause)) throw cause;
      met.push(cause);
    }
  }
  const cause = met.find((one) => !(one instanceof errors.Missing)) ?? met[0];
  const hint = 'Check WORKFLOW_BASE_URL and WORKFLOW_DAGS';
  if (cause instanceof errors.Transient || cause instanceof errors.AuthFailed) throw cause;
  if (dags.length === 0)
    throw new errors.Misconfigured(
      `${http.origin} shows no list of its DAGs (${cause?.message}). ${hint}: where an engine has no list, name its DAGs`,
      { cause },
    );
  if (!(cause instanceof errors.Missing)) throw cause;
  throw new errors.Missing(`${http.origin} knows none of the DAGs ${some(dags)}. ${hint}`, 404, { cause });
};
