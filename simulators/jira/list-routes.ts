import type { Call, Route } from '../shared/http.ts';
import type { PageSize } from './dialect.ts';
import type { User } from './model.ts';
import type { Site } from './site.ts';

const fieldPage: PageSize = { standard: 50, max: 50 };

/** `GET /rest/api/3/field/search`: a cursor in the contract; at the vendor offsets, without the fields of single projects. */
const fieldSearch = (site: Site): Route => ({
  method: 'GET',
  path: '/rest/api/3/field/search',
  inContract: true,
  handle: (call) => {
    const { dialect, entities, state, base } = site;
    const fields = call.anonymous ? [] : [...state.fields.values()];
    if (dialect.vendor) {
      const shared = fields.filter(({ scope }) => scope === undefined);
      return dialect.values(call, fieldPage, shared.map(entities.field));
    }
    const { maxResults } = dialect.position(call, fieldPage);
    const cursor = call.query.get('cursor') ?? call.query.get('after');
    // The cursor holds the last field shown, so that fields added meanwhile move nothing.
    const last = cursor === null ? undefined : Buffer.from(cursor, 'base64url').toString();
    const before = last === undefined ? -1 : fields.findIndex((one) => one.id === last);
    if (last !== undefined && before === -1)
      throw dialect.refused(400, `cursor is not one of this list: ${cursor}`);
    const shown = fields.slice(before + 1, before + 1 + maxResults);
    const end = shown.at(-1);
    const isLast = end === undefined || before + 1 + shown.length >= fields.length;
    if (isLast) return dialect.json({ isLast, values: shown.map(entities.field) });
    const next = new URLSearchParams({
      cursor: Buffer.from(end.id).toString('base64url'),
      maxResults: String(maxResults),
    });
    return dialect.json({
      isLast,
      nextPage: `${base}${call.path}?${next}`,
      values: shown.map(entities.field),
    });
  },
});

const matches = (one: User, query: string): boolean =>
  [one.displayName, one.email ?? ''].some((text) =>
    text
      .toLowerCase()
      .split(/[\s@]/)
      .some((word) => word.startsWith(query.toLowerCase())),
  );

/** `GET /rest/api/3/user/search`: an envelope in the contract; at the vendor a bare array that must be asked for somebody. */
const userSearch = (site: Site): Route => ({
  method: 'GET',
  path: '/rest/api/3/user/search',
  inContract: true,
  handle: (call) => {
    const { dialect, entities, state } = site;
    const query = call.query.get('query');
    const accountId = call.query.get('accountId');
    const wanted = [...state.users.values()].filter(
      (one) =>
        (accountId === null || one.accountId === accountId) &&
        (query === null || query === '' || matches(one, query)),
    );
    if (!dialect.vendor) return dialect.values(call, { standard: 50, max: 1000 }, wanted.map(entities.user));
    if (call.anonymous) return dialect.json([]);
    if (query === null && accountId === null && !call.query.has('property'))
      throw dialect.refused(400, 'Either the query, the accountId or the property parameter must be given.');
    const { startAt, maxResults } = dialect.position(call, { standard: 50, max: 1000 });
    return dialect.json(
      wanted
        .slice(0, 1000)
        .slice(startAt, startAt + maxResults)
        .map(entities.user),
    );
  },
});

const groupMember = (site: Site): Route => ({
  method: 'GET',
  path: '/rest/api/3/group/member',
  inContract: true,
  handle: (call) => {
    const { dialect, entities, state } = site;
    const size = { standard: 50, max: 50 };
    const id = call.query.get('groupId');
    const name = call.query.get('groupname');
    if (id === null && name === null)
      throw dialect.refused(400, "Query parameter 'groupname' or 'groupId' must be given.");
    if (call.anonymous) return dialect.values(call, size, []);
    const group = [...state.groups.values()].find((one) =>
      id === null ? one.name === name : one.groupId === id,
    );
    if (group === undefined) throw dialect.refused(404, `The group named '${name ?? id}' does not exist.`);
    const inactive = call.query.get('includeInactiveUsers');
    const all = dialect.vendor ? inactive === 'true' : inactive !== 'false';
    const members = group.members
      .flatMap((one) => state.users.get(one) ?? [])
      .filter((one) => all || one.active);
    return dialect.values(call, size, members.map(entities.user));
  },
});

const projectSearch = (site: Site): Route => ({
  method: 'GET',
  path: '/rest/api/3/project/search',
  inContract: true,
  handle: (call) => {
    const { dialect, entities, state } = site;
    const expand = new Set((call.query.get('expand') ?? '').split(','));
    if (!dialect.vendor) for (const one of ['description', 'lead']) expand.add(one);
    const asked = call.query.getAll('status').flatMap((one) => one.split(','));
    const status = asked.length === 0 ? ['live'] : asked;
    const shown = call.anonymous
      ? []
      : [...state.projects.values()]
          .filter(
            (one) => !one.hidden && (!dialect.vendor || status.includes(one.archived ? 'archived' : 'live')),
          )
          .sort((a, b) => (a.key < b.key ? -1 : 1));
    return dialect.values(
      call,
      { standard: 50, max: 100 },
      shown.map((one) => entities.projectListed(one, expand)),
    );
  },
});

/** A list the contract does not promise, whole. */
const whole = (site: Site, path: string, items: (call: Call) => readonly unknown[]): Route => ({
  method: 'GET',
  path,
  inContract: false,
  handle: (call) => site.dialect.json(call.anonymous ? [] : items(call)),
});

/** `GET /rest/api/3/priorityscheme`: the default scheme has all priorities, another one some of them. */
const prioritySchemes = (site: Site): Route => ({
  method: 'GET',
  path: '/rest/api/3/priorityscheme',
  inContract: false,
  handle: (call) => {
    const { dialect, entities, state } = site;
    const all = [...state.priorities.values()].map((one, index) => ({
      ...entities.priorityDetails(one),
      sequence: String(index + 1),
    }));
    const scheme = (id: string, name: string, values: typeof all) => ({
      id,
      name,
      isDefault: id === '1',
      ...(call.query.get('expand') === 'priorities' && {
        priorities: { isLast: true, maxResults: 50, startAt: 0, total: values.length, values },
      }),
    });
    const schemes = [scheme('1', 'Default', all), scheme('2', 'Support', all.slice(1))];
    return dialect.values(call, { standard: 50, max: 50 }, call.anonymous ? [] : schemes);
  },
});

/** The lists of the site: fields, people, groups, projects, and the words that issues use. */
export const listRoutes = (site: Site): readonly Route[] => {
  const { dialect, entities, state, clock, base } = site;
  return [
    fieldSearch(site),
    userSearch(site),
    groupMember(site),
    projectSearch(site),
    whole(site, '/rest/api/3/field', () => [...state.fields.values()].map(entities.fieldDetails)),
    whole(site, '/rest/api/3/status', () => [...state.statuses.values()].map(entities.status)),
    whole(site, '/rest/api/3/issuetype', () => [...state.issueTypes.values()].map(entities.issueType)),
    prioritySchemes(site),
    whole(site, '/rest/api/3/users/search', (call) => {
      const { startAt, maxResults } = dialect.position(call, { standard: 50, max: 1000 });
      return [...state.users.values()].slice(startAt, startAt + maxResults).map(entities.user);
    }),
    {
      method: 'GET',
      path: '/rest/api/3/group/bulk',
      inContract: false,
      handle: (call) =>
        dialect.values(
          call,
          { standard: 50, max: 50 },
          call.anonymous ? [] : [...state.groups.values()].map(entities.group),
        ),
    },
    {
      method: 'GET',
      path: '/rest/api/3/myself',
      inContract: false,
      handle: (call) => {
        if (!call.anonymous)
          return dialect.json({
            ...entities.userOf(state.accountId),
            timeZone: state.timeZone,
            locale: 'en_US',
          });
        const body = [Buffer.from('Client must be authenticated to access this resource.')];
        return { status: 401, headers: { 'content-type': 'text/html;charset=UTF-8' }, body };
      },
    },
    {
      method: 'GET',
      path: '/rest/api/3/serverInfo',
      inContract: false,
      handle: () =>
        dialect.json({
          baseUrl: base,
          version: '1001.0.0-SNAPSHOT',
          versionNumbers: [1001, 0, 0],
          deploymentType: 'Cloud',
          buildNumber: 100_300,
          buildDate: '2025-12-01T00:00:00.000+0000',
          serverTime: entities.stamp(clock.now().getTime()),
          scmInfo: 'simulated',
          serverTitle: 'Tidemark tracker simulator',
        }),
    },
    {
      method: 'GET',
      path: '/rest/api/3/user',
      inContract: false,
      handle: (call) => {
        const id = call.query.get('accountId');
        const found = id === null || call.anonymous ? undefined : entities.userOf(id);
        if (found === undefined)
          throw dialect.refused(404, 'Specified user does not exist or you do not have required permissions');
        return dialect.json(found);
      },
    },
    {
      method: 'GET',
      path: '/rest/api/3/project/{projectIdOrKey}',
      inContract: false,
      handle: (call) => {
        const wanted = call.params.projectIdOrKey;
        const found = [...state.projects.values()].find((one) => one.key === wanted || one.id === wanted);
        if (found === undefined || found.hidden || call.anonymous)
          throw dialect.refused(404, `No project could be found with key '${wanted}'.`);
        return dialect.json(entities.projectDetails(found));
      },
    },
  ];
};
