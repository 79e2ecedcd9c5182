/** What the user can set of the workflow engine. */

import { baseUrl, isSet, list } from '../../config/parse.ts';
import { shown } from '../../config/tokens.ts';
import type { Names, Variables } from '../../config/variables.ts';
import type { Secret } from '../../core/secret.ts';

export interface WorkflowConfig {
  /** Before `/api/v1`; without a slash at its end. */
  readonly baseUrl: string;
  readonly token?: Secret;
  /** DAGs to read; empty: all. */
  readonly dags: readonly string[];
  /** Streams that are read only where they are named. */
  readonly exclude: readonly string[];
}

export const workflowNames = {
  secrets: ['WORKFLOW_TOKEN'],
  plain: ['WORKFLOW_BASE_URL', 'WORKFLOW_DAGS', 'WORKFLOW_EXCLUDE'],
} as const satisfies Names;

export function readWorkflow(from: Variables): WorkflowConfig | undefined {
  const given = baseUrl(from, 'WORKFLOW_BASE_URL');
  const url = given?.replace(/\/api\/v[12]$/, '');
  if (url !== given) from.warn('WORKFLOW_BASE_URL', `ends before /api/v1: ${url} is taken`);
  const token = shown(from, 'WORKFLOW_TOKEN');
  const dags = list(from, 'WORKFLOW_DAGS');
  if (!isSet(from, 'WORKFLOW_BASE_URL') && (token || dags.length > 0)) {
    from.problem('WORKFLOW_BASE_URL', 'is missing, though other variables of the workflow engine are set');
  }
  return url === undefined
    ? undefined
    : { baseUrl: url, ...(token ? { token } : {}), dags, exclude: list(from, 'WORKFLOW_EXCLUDE') };
}
