import type { Flow } from '../../../core/stream.ts';
import { existsAt } from '../account.ts';
import { instantOf, searchEndpoint } from '../search-requests.ts';
import * as tables from '../tables.ts';
import { entity, type Tracker } from './stream.ts';

export const issues = ({ http, search, mapping, mapIssue }: Tracker): Flow => ({
  ...entity(
    {
      name: 'issues',
      about:
        'Issues with their labels, components, versions, links, sprints, history, comments and worklogs.',
      endpoint: `POST ${searchEndpoint}`,
      promised: true,
      after: ['fields'],
      windows: {
        scope: search.scope,
        reading: mapping,
        count: search.count,
        changes: search.changes,
        instant: instantOf,
      },
      walk: search.walk,
      ids: search.ids,
      exists: existsAt(http, '/rest/api/3/issue/{id}', () => ({ fields: 'id' })),
      canaryBy: 'project_id',
    },
    tables.issues,
    mapIssue,
  ),
  children: tables.issueChildren,
});
