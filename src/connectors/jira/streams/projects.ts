import type { Stream } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { listing } from '../detail-pages.ts';
import type { Tracker } from '../jira.ts';
import { existsAt } from '../probe.ts';

const endpoint = '/rest/api/3/project/search';

export const projects = (tracker: Tracker): Stream => ({
  name: 'projects',
  about: 'Projects the account may see, archived ones included.',
  endpoint: `GET ${endpoint}`,
  promised: true,
  // The vendor lists archived projects, descriptions and leads only when asked.
  walk: () =>
    listing(endpoint, offset(), {
      maxResults: 100,
      status: ['live', 'archived'],
      expand: 'description,lead,url',
    }),
  exists: existsAt(tracker, '/rest/api/3/project/{id}', (id) => ({
    path: `/rest/api/3/project/${encodeURIComponent(id)}`,
  })),
});
