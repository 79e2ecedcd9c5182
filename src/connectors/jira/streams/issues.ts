/** Issues and the projects that they are in. */

import type { Flow } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { existsAt } from '../account.ts';
import { instantOf, searchEndpoint } from '../dialect.ts';
import { rekeyedIssues } from '../fallbacks/project-keys.ts';
import { issueChildren, issues as issuesTable } from '../issue-tables.ts';
import { listing } from '../lists.ts';
import { projects as projectsTable } from '../tables.ts';
import { entities, type Tracker } from './stream.ts';

export const issues = ({ http, search, mapping, mapIssue }: Tracker): Flow => ({
  ...entities(`POST ${searchEndpoint}`, issuesTable, {
    about: 'Issues with their labels, components, versions, links, sprints, history, comments and worklogs.',
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
  }),
  via: mapIssue,
  children: issueChildren,
});

const projectSearch = '/rest/api/3/project/search';

export const projects = ({ http }: Tracker): Flow =>
  entities(`GET ${projectSearch}`, projectsTable, {
    about: 'Projects the account may see, archived ones included.',
    promised: true,
    // The vendor lists archived projects, descriptions and leads only when asked.
    walk: () =>
      listing(projectSearch, offset(), {
        maxResults: 100,
        status: ['live', 'archived'],
        expand: 'description,lead,url',
      }),
    exists: existsAt(http, '/rest/api/3/project/{id}'),
    afterwards: [rekeyedIssues],
  });
