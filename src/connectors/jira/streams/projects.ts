import type { Flow } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { existsAt } from '../account.ts';
import { rekeyedIssues } from '../fallbacks/project-keys.ts';
import { listing } from '../lists.ts';
import * as tables from '../tables.ts';
import { project } from '../transform/entities.ts';
import { entity, type Tracker } from './stream.ts';

const endpoint = '/rest/api/3/project/search';

export const projects = ({ http }: Tracker): Flow => ({
  ...entity(
    {
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
      exists: existsAt(http, '/rest/api/3/project/{id}'),
    },
    tables.projects,
    project,
  ),
  afterwards: [rekeyedIssues],
});
