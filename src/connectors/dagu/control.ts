/** Start and status of a DAG, for hand-offs (src/outbound), in all dialects. */

import type { Engine } from '../../core/dag-engine.ts';
import { Missing } from '../../core/errors.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import * as client from './client.ts';
import { contract } from './dialects/contract.ts';
import { findDialect } from './dialects/find.ts';

/** Sends nothing yet; finds the dialect by `dags` at the first call. Throws `Misconfigured` for an unusable base URL. */
export const openEngine = (
  settings: client.EngineSettings,
  dags: readonly string[],
  deps: client.HttpDeps = {},
): Engine & { close(): Promise<void> } => {
  const http = client.openHttp(settings, deps);
  const found = memoizeAsync(async (signal) => {
    try {
      return (await findDialect(http, dags, signal)).dialect;
    } catch (cause) {
      // The contract promises no list, nor a status of a DAG that never ran: its start shows whether the DAG exists.
      if (cause instanceof Missing) return contract(http, dags);
      throw cause;
    }
  });
  return {
    close: () => http.close(),
    takesRunId: async (signal) => (await found(signal)).takesRunId,
    start: async (dag, how, signal) => (await found(signal)).start(dag, how, signal),
    status: async (dag, runId, signal) => (await found(signal)).status(dag, runId, signal),
  };
};
