/** The words a site uses: fields, statuses, issue types, priorities. */

import { isObject } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import type { Afterwards, Fallback, Stream } from '../../../core/stream.ts';
import { single } from '../../../reading/paginators.ts';
import type { Readable } from '../columns.ts';
import {
  issueTypesFromIssues,
  prioritiesFromIssues,
  statusesFromIssues,
} from '../fallbacks/names-from-issues.ts';
import { fieldMapper, fieldSearch, readFields } from '../fields.ts';
import { listing } from '../lists.ts';
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

/**
 * A list in one answer, which only the vendor promises. `finish` completes a record by its index in the list.
 */
const vendorList = (
  path: string,
  table: Readable,
  about: string,
  fallback: Fallback,
  finish: (record: Json, index: number) => Json = (record) => record,
): Stream => {
  const walk = listing(path, single());
  return entities(`GET ${path}`, table, {
    by: 'list',
    about,
    optional: true,
    pages: () => ({ ...walk, list: (body) => walk.list(body).map(finish) }),
    fallback,
  });
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

/** The vendor states the order of priorities only by that of the list. */
export const priorities = vendorList(
  '/rest/api/3/priority',
  tables.priorities,
  'Priorities in their order.',
  prioritiesFromIssues,
  (priority, index) => (isObject(priority) ? { rank: index + 1, ...priority } : priority),
);
