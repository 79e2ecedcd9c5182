import type { Stream } from '../../../core/stream.ts';
import type { Tracker } from '../jira.ts';
import { existsAt } from '../probe.ts';
import { instantOf, searchEndpoint } from '../search-requests.ts';

export const issues = (tracker: Tracker): Stream => ({
  name: 'issues',
  about: 'Issues with their labels, components, versions, links, sprints, history, comments and worklogs.',
  endpoint: `POST ${searchEndpoint}`,
  promised: true,
  after: ['fields'],
  windows: {
    scope: tracker.search.scope,
    reading: tracker.reading,
    count: tracker.search.count,
    changes: tracker.search.changes,
    instant: instantOf,
  },
  walk: tracker.search.walk,
  ids: tracker.search.ids,
  exists: existsAt(tracker, '/rest/api/3/issue/{id}', (id) => ({
    path: `/rest/api/3/issue/${encodeURIComponent(id)}`,
    query: { fields: 'id' },
  })),
  canaryBy: 'project_id',
});
