/** The words a site uses: fields, statuses, issue types, priorities. */

import type { Json } from '../../../core/request.ts';
import type { Listed, Stream } from '../../../core/stream.ts';
import { cursor, firstThatFits, offset, single } from '../../paging.ts';
import { firstThere } from '../there.ts';
import type { Tracker } from '../tracker.ts';
import { listing } from '../walks.ts';

const fieldSearch = '/rest/api/3/field/search';
const fieldList = '/rest/api/3/field';

/** By cursor; where the search of fields is closed to the account (the vendor gives it to administrators), the plain list. */
export const fields = ({ http }: Tracker): Listed => ({
  name: 'fields',
  about: "Fields of issues, the site's own ones included.",
  endpoint: `GET ${fieldSearch}`,
  promised: true,
  walk: (_, signal) =>
    firstThere(
      http,
      [listing(fieldSearch, firstThatFits(cursor(), offset()), { maxResults: 100 }), listing(fieldList, single())],
      signal,
    ),
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
