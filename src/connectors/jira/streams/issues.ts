/** Issues and the projects that they are in. */

import type { Stream } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { existsAt } from '../account.ts';
import { issueChildren, issues as issuesTable } from '../issue-tables.ts';
import { listing } from '../lists.ts';
import { instantOf, searchEndpoint } from '../search-facts.ts';
import { projects as projectsTable } from '../tables.ts';
import { partRowsBy } from '../transform/issue-parts.ts';
import { afterwards, calling, entities, type Tracker } from './stream.ts';

/** The condition that an issue `t` is of a project that is left out. */
const ofProjects = (projects: readonly string[]): string => {
  const list = projects.map((project) => `'${project.replaceAll("'", "''")}'`).join(', ') || 'null';
  return `regexp_replace(t.key, '-[0-9]+$', '') in (${list}) or t.project_id::text in (${list})`;
};

export const issues = ({ http, search, mapping, mapIssue, leftOut }: Tracker): Stream => ({
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
    afterwards: [
      afterwards(calling('add_unlisted_users'), { after: ['users', 'projects'], evenInPart: true }),
    ],
    // A project that was made again under its key has another id, and issues of its own. Projects are reconciled
    // before issues.
    replaced: `exists (
      select from tracker.projects p join tracker.projects o on o.source_id = p.source_id and o.key = p.key
      where p.source_id = t.source_id and p.id = t.project_id and p._deleted_at is not null and o._deleted_at is null)`,
    leftOut: ofProjects(leftOut),
  }),
  transform: mapIssue,
  partRows: partRowsBy(mapIssue),
  children: issueChildren,
});

const projectSearch = '/rest/api/3/project/search';

export const projects = ({ http }: Tracker): Stream =>
  entities(`GET ${projectSearch}`, projectsTable, {
    by: 'list',
    about: 'Projects the account may see, archived ones included.',
    canLeaveOut: true,
    // The vendor lists archived projects, descriptions and leads only when asked.
    pages: () =>
      listing(projectSearch, offset(), {
        maxResults: 100,
        status: ['live', 'archived'],
        expand: 'description,lead,url',
      }),
    exists: existsAt(http, '/rest/api/3/project/{id}'),
    afterwards: [afterwards(calling('note_rekeyed_issues'))],
  });
