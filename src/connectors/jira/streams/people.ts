/** Users, groups and who is in them. */

import { Forbidden, Missing } from '../../../core/errors.ts';
import type { PageWalk } from '../../../core/paging.ts';
import type { Stream } from '../../../core/stream.ts';
import { bareArray, firstThatFits, offset, single } from '../../../reading/paginators.ts';
import { listing } from '../detail-pages.ts';
import type { Tracker } from '../jira.ts';
import { idBy } from '../list-pages.ts';
import { existsAt, firstThere } from '../probe.ts';

const usersSearch = '/rest/api/3/users/search';
const userSearch = '/rest/api/3/user/search';
const groupBulk = '/rest/api/3/group/bulk';
const groupMember = '/rest/api/3/group/member';
/** 409: "if the request takes longer than 10 seconds or is interrupted" (the vendor's OpenAPI, `GET /rest/api/3/users/search`). */
const tooLong = 409;
const person = { id: ['accountId', 'key', 'name'] };

/** What these lists take at the vendor (its OpenAPI, "Permissions required"). */
const browse = 'the global permission "Browse users and groups"';

/** The vendor lists all users at `/users/search` and finds some at `/user/search`; the contract lists all at `/user/search`. */
export const users = (tracker: Tracker): Stream => ({
  name: 'users',
  about: 'Users of the site.',
  endpoint: `GET ${userSearch}`,
  promised: true,
  async walk(_, signal) {
    const walks = [usersSearch, userSearch].map((endpoint) => {
      const walk = listing(endpoint, firstThatFits(offset(), bareArray()), { maxResults: 1000 }, person);
      return { ...walk, first: { ...walk.first, passing: tooLong } };
    });
    try {
      return await firstThere(tracker.http, walks, signal);
    } catch (cause) {
      if (!(cause instanceof Forbidden)) throw cause;
      throw new Forbidden(
        `${cause.message}; listing users takes ${browse}; TRACKER_EXCLUDE=users leaves them out`,
        {
          cause,
        },
      );
    }
  },
  exists: existsAt(tracker, '/rest/api/3/user', (accountId) => ({
    path: '/rest/api/3/user',
    query: { accountId },
  })),
});

/** The contract has no list of groups: where the server has none either, the configured ones are the list. */
export const groups = ({ http, groups: configured }: Tracker): Stream => ({
  name: 'groups',
  about: 'Groups of users: those the server lists, else those named in TRACKER_GROUPS.',
  endpoint: `GET ${groupBulk}`,
  promised: false,
  async walk(_, signal) {
    try {
      return await firstThere(
        http,
        [listing(groupBulk, offset(), { maxResults: 100 }, { id: ['groupId', 'name'] })],
        signal,
      );
    } catch (cause) {
      if (!(cause instanceof Missing || cause instanceof Forbidden)) throw cause;
      if (configured.length > 0) return named(configured);
      const what = 'name the groups to read in TRACKER_GROUPS (comma separated)';
      if (cause instanceof Forbidden)
        throw new Forbidden(
          `these credentials may not list groups: give them ${browse}, or ${what}, or leave them out: TRACKER_EXCLUDE=groups`,
          { cause },
        );
      throw new Missing(`the server has no list of groups, so ${what}`, cause.status, { cause });
    }
  },
});

/** A list of our own: the request only proves that the server lets us in. */
const named = (names: readonly string[]): PageWalk => ({
  first: {
    method: 'GET',
    path: '/rest/api/3/project/search',
    endpoint: '/rest/api/3/project/search',
    query: { maxResults: 1 },
  },
  // The total of that answer counts projects.
  paging: { ...single(), total: () => undefined },
  list: () => [...new Set(names)].map((name) => ({ name })),
  id: idBy('name'),
});

/** The vendor's ids of groups are UUIDs; a group without an id goes by its name. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const groupMembers = (): Stream => ({
  name: 'group_members',
  about: 'Who is in which group, inactive users included.',
  endpoint: `GET ${groupMember}`,
  promised: true,
  after: ['groups'],
  parents: { table: 'tracker.groups', columns: { group_id: 'id' }, where: '_deleted_at is null' },
  walk({ partition }) {
    const group = partition?.group_id ?? '';
    const query = uuid.test(group) ? { groupId: group } : { groupname: group };
    return listing(groupMember, offset(), { ...query, includeInactiveUsers: true, maxResults: 50 }, person);
  },
});
