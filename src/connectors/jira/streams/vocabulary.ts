/** The words a site uses: fields, statuses, issue types, priorities. */

import type { Json } from '../../../core/request.ts';
import type { Flow, Stream } from '../../../core/stream.ts';
import { single } from '../../../reading/paginators.ts';
import {
  issueTypesFromIssues,
  prioritiesFromIssues,
  statusesFromIssues,
} from '../fallbacks/names-from-issues.ts';
import { fieldSearch, readFields } from '../fields.ts';
import { listing } from '../lists.ts';
import * as tables from '../tables.ts';
import * as transforms from '../transform/entities.ts';
import { entity, type Tracker } from './stream.ts';

export const fields = ({ http }: Tracker): Flow =>
  entity(
    {
      name: 'fields',
      about: "Fields of issues, the site's own ones and those of single projects included.",
      endpoint: `GET ${fieldSearch}`,
      promised: true,
      read: (_slice, _given, signal) => readFields(http, signal),
    },
    tables.fields,
    transforms.field,
  );

const list = (name: string, about: string, endpoint: string): Stream => ({
  name,
  about,
  endpoint: `GET ${endpoint}`,
  promised: false,
  walk: () => listing(endpoint, single()),
});

export const statuses = (): Flow => ({
  ...entity(
    list('statuses', 'Statuses with their category.', '/rest/api/3/status'),
    tables.statuses,
    transforms.status,
  ),
  fallback: statusesFromIssues,
});

export const issueTypes = (): Flow => ({
  ...entity(
    list('issue_types', 'Types of issues.', '/rest/api/3/issuetype'),
    tables.issueTypes,
    transforms.issueType,
  ),
  fallback: issueTypesFromIssues,
});

/** The vendor states the order of priorities only by that of the list. */
export const priorities = (): Flow => {
  const walk = listing('/rest/api/3/priority', single());
  const ranked = { ...walk, list: (body: Json) => walk.list(body).map(withRank) };
  const stream = list('priorities', 'Priorities in their order.', '/rest/api/3/priority');
  return {
    ...entity({ ...stream, walk: () => ranked }, tables.priorities, transforms.priority),
    fallback: prioritiesFromIssues,
  };
};

const withRank = (priority: Json, place: number): Json =>
  typeof priority === 'object' && priority !== null ? { rank: place + 1, ...priority } : priority;
