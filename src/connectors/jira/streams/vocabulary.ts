/** The words a site uses: fields, statuses, issue types, priorities. */

import { Forbidden, Missing, UnexpectedContent } from '../../../core/errors.ts';
import { isObject } from '../../../core/record-object.ts';
import type { Afterwards, Fallback, Http, Json, PageWalk, Paging, Stream } from '../../../core/stream.ts';
import { readingOf } from '../../../reading/open-reading.ts';
import { single, withParameter } from '../../../reading/paginators.ts';
import { sending } from '../client.ts';
import type { Readable } from '../columns.ts';
import {
  issueTypesFromIssues,
  prioritiesFromIssues,
  statusesFromIssues,
} from '../dialects/contract-lists.ts';
import { fieldMapper, fieldSearch, readFields } from '../fields.ts';
import { at, listing, listOf, textAt } from '../lists.ts';
import * as tables from '../tables.ts';
import { entities, type Tracker } from './stream.ts';

/** The site's custom fields become columns of `bi.issues_wide_<source>`. Does nothing where they are as before. */
const issuesWide: Afterwards = {
  sql: `
    select warning from ops.make_issues_wide($1::smallint) warning
    where $2::bigint is not null and $3::timestamptz is not null`,
};

export const fields = ({ http, ownFields }: Tracker): Stream => ({
  ...entities(`GET ${fieldSearch}`, tables.fields, {
    by: 'list',
    about: "Fields of issues, the site's own ones and those of single projects included.",
    read: (_slice, _context, signal) => readFields(http, signal),
    afterwards: [issuesWide],
  }),
  transform: fieldMapper(ownFields),
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
  statusesFromIssues,
);

export const issueTypes = vendorList(
  '/rest/api/3/issuetype',
  tables.issueTypes,
  'Types of issues.',
  issueTypesFromIssues,
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
    fallback: prioritiesFromIssues,
  });
