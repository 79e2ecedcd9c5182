/** The workflow engine as a source, and its control for hand-offs (src/outbound), in all dialects. */

import type { Engine } from '../../core/dag-engine.ts';
import { caught, Misconfigured, Missing } from '../../core/errors.ts';
import { leftOutOf } from '../../core/exclude.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import { closedEndpoints } from '../../http/closed-endpoints.ts';
import type { Opened } from '../connector.ts';
import { contract } from './dialects/contract.ts';
import { findDialect } from './dialects/find.ts';
import { dags, runs } from './runs.ts';
import { type EngineSettings, type HttpDeps, openHttp, type Workflow } from './workflow.ts';

/**
 * Sends nothing yet. The dialect is found out once and kept while the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL that cannot be used.
 */
export const openWorkflow = (
  settings: EngineSettings & Pick<Workflow, 'dags'> & { readonly exclude?: readonly string[] },
  deps: { readonly note?: Workflow['note']; readonly http?: HttpDeps } = {},
): Opened => {
  const own = openHttp(settings, deps.http);
  const leftOut = new Set(leftOutOf(settings.exclude, 'dags'));
  const named = [...new Set(settings.dags)].filter((dag) => !leftOut.has(dag));
  if (named.length === 0 && settings.dags.length > 0)
    throw new Misconfigured('each DAG of WORKFLOW_DAGS is left out by WORKFLOW_EXCLUDE');
  const http = closedEndpoints(own, (signal) => findDialect(own, named, signal));
  const found = memoizeAsync((signal) => findDialect(own, named, signal, http));
  const { note = () => undefined } = deps;
  const workflow: Workflow = { http, dags: named, leftOut, note, found };
  return {
    baseUrl: settings.baseUrl,
    http,
    streams: [dags(workflow), runs(workflow)],
    async check(signal) {
      const { dialect, clock } = await found(signal);
      const which = named.length === 0 ? 'those of its list' : `${named.length} of WORKFLOW_DAGS`;
      return { clock, account: undefined, dialect: [dialect.about, `DAGs: ${which}`], problems: [] };
    },
  };
};

/** Sends nothing yet; finds the dialect by `dags` at the first call. Throws `Misconfigured` for an unusable base URL. */
export const openEngine = (
  settings: EngineSettings,
  dags: readonly string[],
  deps: HttpDeps = {},
): Engine & { close(): Promise<void> } => {
  const http = openHttp(settings, deps);
  const found = memoizeAsync(async (signal) => {
    const answer = await findDialect(http, dags, signal).catch(caught(Missing));
    // The contract promises no list, nor a status of a DAG that never ran: its start shows whether the DAG exists.
    return answer instanceof Missing ? contract(http, dags) : answer.dialect;
  });
  return {
    close: () => http.close(),
    takesRunId: async (signal) => (await found(signal)).takesRunId,
    start: async (dag, how, signal) => (await found(signal)).start(dag, how, signal),
    status: async (dag, runId, signal) => (await found(signal)).status(dag, runId, signal),
  };
};
