/** What the user can set of the workflow engine. */

import { setting, type ValuesOf } from '../../config/settings.ts';
import { baseUrl, sentToken } from '../../config/values.ts';

export const settings = {
  baseUrl: setting.of(
    'the address of the engine, before /api/v1',
    baseUrl.transform((url) => url.replace(/\/api\/v[12]$/, '')),
  ),
  token: setting.secret('a token of the engine, where it asks for one', sentToken).optional(),
  dags: setting.list('DAGs to read, separated by commas; empty: all'),
  concurrency: setting.integer('requests at once', 1, 64).default(4),
};

export type WorkflowConfig = ValuesOf<typeof settings>;
