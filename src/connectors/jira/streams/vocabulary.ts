/** The words a site uses: fields, statuses, issue types, priorities. */

import type { Json } from '../../../core/request.ts';
import type { Stream } from '../../../core/stream.ts';
import { single } from '../../../reading/paginators.ts';
import { listing } from '../detail-pages.ts';
import { fieldSearch, readFields } from '../field-lists.ts';
import type { Tracker } from '../jira.ts';

export const fields = ({ http }: Tracker): Stream => ({
  name: 'fields',
  about: "Fields of issues, the site's own ones and those of single projects included.",
  endpoint: `GET ${fieldSearch}`,
  promised: true,
  read: (_slice, _given, signal) => readFields(http, signal),
});

const list = (name: string, about: string, endpoint: string) => (): Stream => ({
  name,
  about,
  endpoint: `GET ${endpoint}`,
  promised: false,
  walk: () => listing(endpoint, single()),
});

export const statuses = list('statuses', 'Statuses with their category.', '/rest/api/3/status');
export const issueTypes = list('issue_types', 'Types of issues.', '/rest/api/3/issuetype');

/** The vendor states the order of priorities only by that of the list. */
export const priorities = (): Stream => ({
  ...list('priorities', 'Priorities in their order.', '/rest/api/3/priority')(),
  walk() {
    const walk = listing('/rest/api/3/priority', single());
    return { ...walk, list: (body) => walk.list(body).map(ranked) };
  },
});

const ranked = (priority: Json, place: number): Json =>
  typeof priority === 'object' && priority !== null ? { rank: place + 1, ...priority } : priority;
