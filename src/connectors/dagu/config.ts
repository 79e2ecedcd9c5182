/** What the user can set of the workflow engine. */

import { baseUrl, list, sentToken } from '../../config/values.ts';
import { part } from '../../config/variables.ts';

export interface WorkflowConfig {
  /** Before `/api/v1`; without a slash at its end. */
  readonly baseUrl: string;
  readonly token?: { reveal(): string };
  /** DAGs to read; empty: all. */
  readonly dags: readonly string[];
  /** Streams that are read only where they are named. */
  readonly exclude: readonly string[];
}

export const workflowPart = part({
  secrets: { WORKFLOW_TOKEN: sentToken },
  plain: { WORKFLOW_BASE_URL: baseUrl.optional(), WORKFLOW_DAGS: list, WORKFLOW_EXCLUDE: list },
  build: (v, from): WorkflowConfig | undefined => {
    const others = ['WORKFLOW_TOKEN', 'WORKFLOW_DAGS'];
    from.hasSource('workflow engine', 'WORKFLOW_BASE_URL', others);
    const given = v.WORKFLOW_BASE_URL;
    if (given === undefined) return undefined;
    const url = given.replace(/\/api\/v[12]$/, '');
    if (url !== given) from.warn('WORKFLOW_BASE_URL', `ends before /api/v1: ${url} is taken`);
    const token = v.WORKFLOW_TOKEN;
    return { baseUrl: url, ...(token && { token }), dags: v.WORKFLOW_DAGS, exclude: v.WORKFLOW_EXCLUDE };
  },
});
