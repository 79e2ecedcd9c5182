/** What the platform has besides boards: users, groups and their members; words and projects; issues. */

import { Forbidden, Missing, UnexpectedContent } from '../../../core/errors.ts';
import { isObject } from '../../../core/record.ts';
import type { Afterwards, Fallback, Http, Json, PageWalk, Paging, Stream } from '../../../core/stream.ts';
import { readingOf } from '../../../reading/pages.ts';
import { bareArray, firstThatFits, offset, single, withParameter } from '../../../reading/paginators.ts';
import { cheapest, existsAt, sending } from '../account.ts';
import type { Readable } from '../columns.ts';
import { fieldMapper, fieldSearch, readFields } from '../fields.ts';
import { issueChildren, issues as issuesTable } from '../issue-tables.ts';
import { at, idBy, ifNotGiven, listing, listOf, textAt } from '../lists.ts';
import { instantOf, searchEndpoint } from '../search.ts';
import * as tables from '../tables.ts';
import { partRowsBy } from '../transform/issue-parts.ts';
import { afterwards, calling, entities, relations, type Tracker } from './stream.ts';

const userSearch = '/rest/api/3/user/search';
const groupBulk = '/rest/api/3/group/bulk';
const groupMember = '/rest/api/3/group/member';

/**
 * 409: "if the request takes longer than 10 seconds or is interrupted" (the vendor's OpenAPI, `GET
 * /rest/api/3/users/search`).
 */
const tooLong = 409;
const person = { id: ['accountId', 'key', 'name'] };

/** What these lists take at the vendor (its OpenAPI, "Permissions required"). */
const browse = 'the global permission "Browse users and groups"';

/**
 * The vendor lists all users at `/users/search` and finds some at `/user/search`; the contract lists all at
 * `/user/search`.
 */
export const users = ({ http }: Tracker): Stream =>
  entities(`GET ${userSearch}`, tables.users, {
    by: 'list',
    about: 'Users of the site.',
    async pages(_, signal) {
      const walks = ['/rest/api/3/users/search', userSearch].map((endpoint) => {
        const walk = listing(endpoint, firstThatFits(offset(), bareArray()), { maxResults: 1000 }, person);
        return { ...walk, first: { ...walk.first, passing: tooLong } };
      });
      return firstAvailable(http, walks, signal).catch((cause: unknown) => {
        if (!(cause instanceof Forbidden)) throw cause;
        throw new Forbidden(`${cause.message}; listing users takes ${browse}`, { cause });
      });
    },
    exists: existsAt(http, '/rest/api/3/user', (accountId) => ({ accountId })),
  });

/**
 * The first of these walks whose endpoint answers a request for one record. After one that is closed to us an
 * empty list proves nothing: without the permission to see users the vendor finds none (its OpenAPI, `GET
 * /rest/api/3/user/search`). Where none answers, throws the first reason that is no 404.
 */
const firstAvailable = async (http: Http, walks: readonly PageWalk[], signal: AbortSignal) => {
  let reason: unknown;
  for (const walk of walks) {
    const least = { ...walk.first, query: { ...walk.first.query, maxResults: 1 } };
    const answer = await http.send(least, signal).catch(ifNotGiven);
    if (answer instanceof Error) reason = reason === undefined || reason instanceof Missing ? answer : reason;
    else if (!(reason instanceof Forbidden) || walk.list(answer.body).length > 0) return walk;
  }
  throw reason;
};

/** The contract has no list of groups: where the server has none either, the configured ones are the list. */
export const groups = ({ http, groups: configured }: Tracker): Stream =>
  entities(`GET ${groupBulk}`, tables.groups, {
    by: 'list',
    about: 'Groups of users: those the server lists, else those named in TRACKER_GROUPS.',
    optional: true,
    async pages(_, signal) {
      try {
        const walk = listing(groupBulk, offset(), { maxResults: 100 }, { id: ['groupId', 'name'] });
        return await firstAvailable(http, [walk], signal);
      } catch (cause) {
        if (!(cause instanceof Missing || cause instanceof Forbidden)) throw cause;
        if (configured.length > 0) return named(configured);
        const what = 'name the groups to read in TRACKER_GROUPS (comma separated)';
        const lacks = `the server has no list of all groups, so ${what}: ${cause.message}`;
        if (cause instanceof Missing) throw new Missing(lacks, cause.status, { cause });
        const closed = `these credentials may not list groups: give them ${browse}, or ${what}`;
        throw new Forbidden(closed, { cause });
      }
    },
    afterwards: [afterwards(calling('remove_doubled_groups'))],
  });

/**
 * A list from the configuration: the request only proves that the server lets us in, and its total counts
 * projects.
 */
const named = (groupNames: readonly string[]): PageWalk => ({
  first: cheapest,
  paging: { ...single(), total: () => undefined },
  list: () => [...new Set(groupNames)].map((name) => ({ name })),
  id: idBy('name'),
});

/** The vendor's ids of groups are UUIDs; a group without an id goes by its name. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const groupMembers = relations(`GET ${groupMember}`, tables.groupMembers, {
  by: 'list',
  about: 'Who is in which group, inactive users included.',
  after: ['groups'],
  partitions: { table: 'tracker.groups', columns: { group_id: 'id' }, where: '_deleted_at is null' },
  pages({ partition }) {
    const group = partition?.group_id ?? '';
    const owner = uuid.test(group) ? { groupId: group } : { groupname: group };
    const query = { ...owner, includeInactiveUsers: true, maxResults: 50 };
    return listing(groupMember, offset(), query, person);
  },
});

// The words a site uses: fields, statuses, issue types, priorities.

/** The site's custom fields become columns of `bi.issues_wide_<source>`. Does nothing where they are as before. */
const issuesWide: Afterwards = {
  sql: `
    select warning from ops.make_issues_wide($1::smallint) warning
    where $2::bigint is not null and $3::timestamptz is not null`,
};

export const fields = ({ handing, ownFields }: Tracker): Stream => ({
  ...entities(`GET ${fieldSearch}`, tables.fields, {
    by: 'list',
    about: "Fields of issues, the site's own ones and those of single projects included.",
    // The stream of issues has asked for them.
    read: (_slice, _context, signal) => readFields(handing.second, signal),
    afterwards: [issuesWide],
  }),
  transform: fieldMapper(ownFields),
});

/** The contract does not list the words of a site. */
const fromIssues = (what: string, name: string): Fallback => ({
  reason: `the server does not list its ${what}; they are taken from the issues that are in one now`,
  after: ['issues'],
  sql: calling(name),
});

/** A list in one answer that only the vendor promises. */
const vendorList = (path: string, table: Readable, about: string, fallback: Fallback): Stream => {
  const walk = listing(path, single());
  return entities(`GET ${path}`, table, { by: 'list', about, optional: true, pages: () => walk, fallback });
};

export const statuses = vendorList(
  '/rest/api/3/status',
  tables.statuses,
  'Statuses with their category.',
  fromIssues('statuses', 'statuses_of_issues'),
);

export const issueTypes = vendorList(
  '/rest/api/3/issuetype',
  tables.issueTypes,
  'Types of issues.',
  fromIssues('types of issues', 'issue_types_of_issues'),
);

const prioritySchemes = '/rest/api/3/priorityscheme';
const schemesIn = listOf(prioritySchemes);

/** Pages of schemes: what is in them is not what the page counts. */
const bySchemes: Paging = {
  next(body, sent) {
    if (at(body, 'isLast') !== false) return undefined;
    const startAt = Number(at(body, 'startAt') ?? 0) + schemesIn(body).length;
    return { request: withParameter(sent, 'startAt', startAt), overlap: 0 };
  },
  total: () => undefined,
};

/** The priorities of a scheme, each with its place in the order of the site. */
const prioritiesOf = (scheme: Json): readonly Json[] => {
  const shown = at(scheme, 'priorities');
  if (at(shown, 'isLast') === false)
    throw new UnexpectedContent(
      `${prioritySchemes} does not show all priorities of ${textAt(scheme, 'name')}`,
    );
  return schemesIn(shown).map((priority, index) => {
    const rank = Number(at(priority, 'sequence') ?? index + 1);
    return isObject(priority) ? { rank, ...priority } : priority;
  });
};

const schemes: PageWalk = {
  ...listing(prioritySchemes, bySchemes, { maxResults: 50, expand: 'priorities' }),
  list: (body) => schemesIn(body).flatMap(prioritiesOf),
};

/** The list has an administrator's scope (OpenAPI: `manage:jira-configuration`). Closed to a token that only reads, it is as good as missing. */
const closedIsMissing = (http: Http): Http =>
  sending(http, (request, signal) =>
    http.send(request, signal).catch((cause: unknown) => {
      throw cause instanceof Forbidden ? new Missing(cause.message, 403, { cause }) : cause;
    }),
  );

/**
 * The priorities of all schemes; one that is in several counts once. The vendor has deprecated both plain lists,
 * `/priority` and `/priority/search` (its OpenAPI).
 */
export const priorities = ({ http }: Tracker): Stream =>
  entities(`GET ${prioritySchemes}`, tables.priorities, {
    by: 'list',
    about: 'Priorities in their order, of all priority schemes.',
    optional: true,
    read: (_slice, _context, signal) => readingOf(closedIsMissing(http), schemes, signal),
    fallback: fromIssues('priorities', 'priorities_of_issues'),
  });

// Issues and the projects that they are in.

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
  entities(`GET ${projectSearch}`, tables.projects, {
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
