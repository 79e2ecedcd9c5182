/** The workflow engine as a source. */

import { memoizeAsync } from '../../core/memoize-async.ts';
import type { Opened } from '../connector.ts';
import { type EngineSettings, type HttpDeps, openHttp } from './client.ts';
import { dags } from './dags.ts';
import { findDialect } from './dialects/find.ts';
import { runs } from './runs.ts';
import type { Workflow } from './workflow.ts';

export { openEngine } from './control.ts';

/**
 * Sends nothing yet. The dialect is found out once and kept while the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL that cannot be used.
 */
export const openWorkflow = (
  settings: EngineSettings & Pick<Workflow, 'dags'>,
  deps: { readonly note?: Workflow['note']; readonly http?: HttpDeps } = {},
): Opened => {
  const http = openHttp(settings, deps.http);
  const named = [...new Set(settings.dags)];
  const found = memoizeAsync((signal) => findDialect(http, named, signal));
  const { note = () => undefined } = deps;
  const workflow: Workflow = { http, dags: named, note, found };
  return {
    ...{ baseUrl: settings.baseUrl, http },
    streams: [dags(workflow), runs(workflow)],
    async check(signal) {
      const { dialect, clock } = await found(signal);
      const which = named.length === 0 ? 'those of its list' : `${named.length} of WORKFLOW_DAGS`;
      return { clock, account: undefined, dialect: [dialect.about, `DAGs: ${which}`], problems: [] };
    },
  };
};
