/** Users, groups and their members. */

import { Forbidden, Missing } from '../../../core/errors.ts';
import type { Http, PageWalk, Stream } from '../../../core/stream.ts';
import { bareArray, firstThatFits, offset, single } from '../../../reading/paginators.ts';
import { cheapest, existsAt } from '../account.ts';
import { idBy, isNotGiven, listing } from '../lists.ts';
import * as tables from '../tables.ts';
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
const firstAvailable = async (
  http: Http,
  walks: readonly PageWalk[],
  signal: AbortSignal,
): Promise<PageWalk> => {
  let reason: unknown;
  for (const walk of walks) {
    try {
      const query = { ...walk.first.query, maxResults: 1 };
      const { body } = await http.send({ ...walk.first, query }, signal);
      if (!(reason instanceof Forbidden) || walk.list(body).length > 0) return walk;
    } catch (cause) {
      if (!isNotGiven(cause)) throw cause;
      if (reason === undefined || reason instanceof Missing) reason = cause;
    }
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
