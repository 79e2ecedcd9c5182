/** Issues and the projects that they are in. */

import type { Stream } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { existsAt } from '../account.ts';
import { instantOf, searchEndpoint } from '../dialect.ts';
import { rekeyedIssues } from '../fallbacks/project-keys.ts';
import { issueChildren, issues as issuesTable } from '../issue-tables.ts';
import { listing } from '../lists.ts';
import { projects as projectsTable } from '../tables.ts';
import { entities, type Tracker } from './stream.ts';

export const issues = ({ http, search, mapping, mapIssue }: Tracker): Stream => ({
  ...entities(`POST ${searchEndpoint}`, issuesTable, {
    by: 'changes',
    about: 'Issues with their labels, components, versions, links, sprints, history, comments and worklogs.',
    after: ['fields'],
    windows: {
      scope: search.scope,
      reading: mapping,
      count: search.count,
      changes: search.changes,
      instant: instantOf,
    },
    pages: search.walk,
    ids: search.ids,
    exists: existsAt(http, '/rest/api/3/issue/{id}', () => ({ fields: 'id' })),
    canaryBy: 'project_id',
  }),
  transform: mapIssue,
  children: issueChildren,
});

const projectSearch = '/rest/api/3/project/search';

export const projects = ({ http }: Tracker): Stream =>
  entities(`GET ${projectSearch}`, projectsTable, {
    by: 'list',
    about: 'Projects the account may see, archived ones included.',
    // The vendor lists archived projects, descriptions and leads only when asked.
    pages: () =>
      listing(projectSearch, offset(), {
        maxResults: 100,
        status: ['live', 'archived'],
        expand: 'description,lead,url',
      }),
    exists: existsAt(http, '/rest/api/3/project/{id}'),
    afterwards: [rekeyedIssues],
  });
