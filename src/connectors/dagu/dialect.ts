/** Which of the three dialects an engine speaks, found out from its answers. */

import * as errors from '../../core/errors.ts';
import { isObject } from '../../core/record-object.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import { type Found, firstOf, isOfOneRequest, route } from './client.ts';
import { currentRun, type Dialect } from './fields.ts';

/** In words, for `check`. */
export const about: Readonly<Record<Dialect, string>> = {
  contract: 'API: status, start and stop of each DAG (contract); no history',
  '1.30': 'API: runs, steps and logs (/api/v2, Dagu 1.17 to 1.30)',
  '2.x': 'API: runs, steps and logs (/api/v1, Dagu 2)',
};

export const prefixOf = (dialect: Dialect): string => (dialect === '1.30' ? '/api/v2' : '/api/v1');

export const statusRequest = (dag: string): Request => route('GET', '/api/v1/dags/{dag}/status', [dag]);

/** Dagu's list of DAGs; 100 is its largest page. The contract promises no list. */
export const listRequest = (dialect: Dialect): Request =>
  route('GET', `${prefixOf(dialect)}/dags`, [], { query: { page: 1, perPage: 100 } });

/** Dagu: `{dags, errors, pagination}`; an empty list is null. Undefined for anything else. */
export const daguList = (body: Json): readonly Json[] | undefined => {
  if (!isObject(body) || !isObject(body.pagination)) return undefined;
  return body.dags === null ? [] : Array.isArray(body.dags) ? body.dags : undefined;
};

/** A request, and what its answer says; undefined where the answer is of no known dialect. */
type Probe = readonly [Request, (body: Json) => Omit<Found, 'clock'> | undefined];

const listProbe = (dialect: '1.30' | '2.x'): Probe => [
  listRequest(dialect),
  (body) => {
    const list = daguList(body);
    return list && { dialect, hasDags: list.length > 0 };
  },
];
const statusProbe = (dag: string): Probe => [
  statusRequest(dag),
  (body) => currentRun(body, dag) && { dialect: 'contract', hasDags: true },
];

/** The contract promises the status of a DAG, so that is asked first where a DAG is named. */
const probesFor = ([first, ...others]: readonly string[]): readonly Probe[] => [
  ...(first === undefined ? [] : [statusProbe(first)]),
  ...[listProbe('2.x'), listProbe('1.30')],
  ...others.map(statusProbe),
];

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
  for (const [request, reads] of probesFor(dags)) {
    try {
      const { body, date } = await http.send(request, signal);
      const found = reads(body);
      if (found !== undefined) return { ...found, clock: date };
      met.push(new errors.UnexpectedContent(`${request.endpoint}: the answer is of no known dialect`));
    } catch (cause) {
      if (!isOfOneRequest(cause)) throw cause;
      met.push(cause);
    }
  }
  const cause = met.find((one) => !(one instanceof errors.Missing)) ?? met[0];
  const hint = 'Check WORKFLOW_BASE_URL and WORKFLOW_DAGS';
  if (cause instanceof errors.Transient) throw cause;
  if (dags.length === 0)
    throw new errors.Misconfigured(
      `${http.origin} shows no list of its DAGs (${cause?.message}). ${hint}: where an engine has no list, name its DAGs`,
      { cause },
    );
  if (!(cause instanceof errors.Missing)) throw cause;
  throw new errors.Missing(`${http.origin} knows none of the DAGs ${firstOf(dags)}. ${hint}`, 404, { cause });
};
