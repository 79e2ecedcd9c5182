/** Issues and the projects that they are in. */

import type { Afterwards, Stream } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { existsAt } from '../account.ts';
import { issueChildren, issues as issuesTable } from '../issue-tables.ts';
import { listing } from '../lists.ts';
import { instantOf, searchEndpoint } from '../search-facts.ts';
import { projects as projectsTable } from '../tables.ts';
import { partRowsBy } from '../transform/issue-parts.ts';
import { entities, type Tracker } from './stream.ts';
import { columnsOf } from './unlisted-sprints.ts';

const said = 'display_name, active, time_zone, account_type';
const saidIn = (alias: string): string => columnsOf(alias, said);

/**
 * People whom the list of users does not show (deleted and app accounts), or of whom it is closed to us: they are
 * as other records name them. A row that a list gave has a hash and stays as it was listed. Not counted, because
 * no record of the stream became these rows.
 */
const unlistedUsers: Afterwards = {
  after: ['users', 'projects'],
  evenInPart: true,
  sql: `
    insert into tracker.users as t (source_id, id, ${said}, _synced_at, _run_id)
    select m.source_id, m.id, ${saidIn('m')}, now(), $2::bigint from tracker.mentioned_users m
    where m.source_id = $1::smallint and $3::timestamptz is not null and not exists (
      select from tracker.users u where u.source_id = m.source_id and u.id = m.id
        and (u._row_hash is not null or u._deleted_at is not null or row(${saidIn('u')}) is not distinct from row(${saidIn('m')})))
    on conflict (source_id, id) do update set (${said}, _synced_at, _run_id) = row(${saidIn('excluded')}, now(), $2::bigint)
    where t._row_hash is null`,
};

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
    afterwards: [unlistedUsers],
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

/**
 * A project that gets another key renames its issues, and the tracker does not count that as a change of
 * them: reading by changes does not show it. These issues are noted, and the next reconciliation reads them
 * again. Looks only at projects that were written since the last good sync.
 */
const rekeyedIssues: Afterwards = {
  sql: `
    with last as (
      select coalesce(max(s.run_id), 0) as run_id from ops.run_streams s join ops.runs r on r.run_id = s.run_id
      where s.source_id = $1::smallint and s.stream = 'projects' and s.status = 'ok' and r.kind = 'sync' and s.run_id < $2::bigint
    ), noted as (
      insert into ops.unseen (source_id, stream, key)
      select i.source_id, 'issues', i.id::text
      from tracker.projects p join tracker.issues i on i.source_id = p.source_id and i.project_id = p.id
      where p.source_id = $1::smallint and p._run_id > (select run_id from last) and p._deleted_at is null
        and i._deleted_at is null and not starts_with(i.key, p.key || '-') and $3::timestamptz is not null
      on conflict do nothing
    )
    select 0::bigint as inserted, 0::bigint as updated`,
};

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
    afterwards: [rekeyedIssues],
  });
