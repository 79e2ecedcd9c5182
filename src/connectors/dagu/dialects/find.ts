/** Which dialect an engine speaks. */

import * as errors from '../../../core/errors.ts';
import type { Http, Json, Request } from '../../../core/stream.ts';
import { refusalIn } from '../../../http/closed-endpoints.ts';
import { firstOf, ofOneRequest } from '../workflow.ts';
import { contract, recordOf, statusRequest } from './contract.ts';
import type { DaguDialect } from './dialect.ts';
import { listIn, listRequest, v1_30, v2 } from './v2.ts';

/** What is asked, and what throws where the answer is not of the dialect. */
type Probe = readonly [dialect: DaguDialect, request: Request, check: (body: Json) => unknown];

/**
 * The dialect of the first request that is answered in it, and the engine's clock where it sends one: the status of a
 * named DAG (the contract promises that alone), else Dagu's list. Throws `Missing` where all are answered with 404
 * although DAGs are named, `Misconfigured` where there is neither a list nor a name, `AuthFailed` where it is closed to the
 * credentials, and otherwise the first other error that was met. The dialect asks `over`.
 */
export const findDialect = async (http: Http, dags: readonly string[], signal: AbortSignal, over = http) => {
  const named = contract(over, dags);
  const statusOf = (dag: string): Probe => [named, statusRequest(dag), (body) => recordOf(body, dag)];
  const lists: readonly Probe[] = [
    [v2(over), listRequest('/api/v1'), listIn('dags')],
    [v1_30(over), listRequest('/api/v2'), listIn('dags')],
  ];
  const probes = [...dags.slice(0, 1).map(statusOf), ...lists, ...dags.slice(1).map(statusOf)];
  let failure: errors.TidemarkError | undefined;
  for (const [dialect, request, check] of probes)
    try {
      const { body, date } = await http.send(request, signal);
      check(body);
      return { dialect, clock: date };
    } catch (error) {
      const met = refusalIn(error) ?? ofOneRequest(error);
      if (failure === undefined || failure instanceof errors.Missing || met instanceof errors.Forbidden)
        failure = met;
    }
  if (failure instanceof errors.Forbidden) throw new errors.AuthFailed(failure.message, { cause: failure });
  const hint = 'Check WORKFLOW_BASE_URL and WORKFLOW_DAGS';
  if (dags.length > 0 && failure instanceof errors.Missing)
    throw new errors.Missing(`${http.origin} has none of the DAGs ${firstOf(dags)}. ${hint}`, 404);
  if (dags.length > 0 || failure instanceof errors.Transient) throw failure;
  const why = `shows no list of its DAGs (${failure?.message})`;
  throw new errors.Misconfigured(`${http.origin} ${why}. ${hint}: an engine without a list needs names`);
};
