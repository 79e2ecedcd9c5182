/**
 * Jira Data Center over the same state: REST API v2, people by key and name, text instead of documents, sprints as
 * Java writes them, histories whole and without field ids (docs.atlassian.com/software/jira/docs/api/REST/9.12.0).
 */
import { type Answer, type Call, type Route, wholeOf } from '../shared/http.ts';
import type { Company } from './company.ts';
import { text } from './issue-json.ts';
import { EPIC, type Issue, SPRINT, type Sprint, type User } from './model.ts';
import { bodyOf, stringsOf, wantsChangelog } from './search-routes.ts';
import type { Site } from './site.ts';

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const nameOf = ({ accountId, email }: Pick<User, 'accountId' | 'email'>): string =>
  email?.split('@')[0] ?? accountId.toLowerCase();

/** The name of a changed field in a history, where that is not the cloud's. */
const fieldNames: Readonly<Record<string, string>> = { issuekey: 'Key', fixVersions: 'Fix Version' };

/** What the cloud's records have besides. */
const cloudOnly = new Set([
  'jsdPublic',
  'groupId',
  'style',
  'simplified',
  'isPrivate',
  'properties',
  'hierarchyLevel',
  'accountType',
  'statuscategorychangedate',
  'screensCount',
  'lastUsed',
  'isLocked',
]);

/** The same people with keys instead of account ids; groups go by their names. */
export const dataCenterCompany = (company: Company): Company => {
  const keys = new Map(company.users.map(({ accountId }, index) => [accountId, `JIRAUSER${10000 + index}`]));
  const keyOf = (accountId: string): string => keys.get(accountId) ?? accountId;
  return {
    ...company,
    users: company.users.map((one) => ({ ...one, accountId: keyOf(one.accountId) })),
    projects: company.projects.map((one) => ({ ...one, leadId: keyOf(one.leadId) })),
    fields: company.fields.filter(({ id }) => !cloudOnly.has(id)),
    groups: company.groups.map((one) => ({ ...one, groupId: one.name, members: one.members.map(keyOf) })),
  };
};

const agileDates = new Set(['startDate', 'endDate', 'completeDate']);

/** Records of the cloud as the server writes them. */
const writerOf = ({ state, base, entities, writer }: Site) => {
  /** With a colon in the offset, as Java writes it. */
  const stamp = (at: number | undefined): string =>
    at === undefined ? '<null>' : entities.stamp(at).replace(/(\d\d)$/, ':$1');
  const sprintText = (one: Sprint): string =>
    `com.atlassian.greenhopper.service.sprint.Sprint@${one.id.toString(16)}[id=${one.id},rapidViewId=${one.boardId},state=${one.state.toUpperCase()},name=${one.name},startDate=${stamp(one.start)},endDate=${stamp(one.end)},completeDate=${stamp(one.complete)},sequence=${one.id},goal=${one.goal}]`;

  const person = ({ accountId, accountType: _, self: __, ...more }: Members): Members => {
    const key = String(accountId);
    const { email } = state.users.get(key) ?? {};
    const name = nameOf({ accountId: key, ...(email !== undefined && { email }) });
    return { self: `${base}/rest/api/2/user?username=${encodeURIComponent(name)}`, key, name, ...more };
  };
  const written = (value: unknown, isAgile: boolean): unknown => {
    if (typeof value === 'string') return value.replace(`${base}/rest/api/3/`, `${base}/rest/api/2/`);
    if (Array.isArray(value)) return value.map((one) => written(one, isAgile));
    if (!isMembers(value)) return value;
    if (value.type === 'doc') return text(value);
    if (typeof value.accountId === 'string') return written(person(value), isAgile);
    const isChange = typeof value.fieldId === 'string' && Object.hasOwn(value, 'fieldtype');
    const named = isChange ? changeOf(value) : value;
    return Object.fromEntries(
      Object.entries(named)
        .filter(([key]) => !cloudOnly.has(key))
        .map(([key, one]) => [
          key,
          isAgile && agileDates.has(key) ? stamp(Date.parse(String(one))) : written(one, isAgile),
        ]),
    );
  };
  const changeOf = ({ fieldId, ...item }: Members): Members => ({
    ...item,
    field: fieldNames[String(fieldId)] ?? item.field,
  });

  const fieldsOf = (fields: Members, issue: Issue): Members => {
    const isSubtask = state.issueTypes.get(issue.typeId)?.hierarchyLevel === -1;
    const position = issue.parentId === null ? undefined : state.store.find(issue.parentId);
    const epic = isSubtask || position === undefined ? null : state.store.keyOf(position);
    const sprints = issue.sprintIds.flatMap((id) => state.sprints.get(id) ?? []).map(sprintText);
    const own: Members = {
      ...(!isSubtask && { parent: undefined }),
      [EPIC]: epic,
      [SPRINT]: sprints.length === 0 ? null : sprints,
    };
    return { ...fields, ...Object.fromEntries(Object.entries(own).filter(([key]) => key in fields)) };
  };
  const issue = (record: unknown, isAgile: boolean): unknown => {
    if (!isMembers(record)) return record;
    const position = state.store.find(String(record.id));
    if (position === undefined) return written(record, isAgile);
    const found = state.store.at(position);
    const histories = writer.changes(found.history).map((one): unknown => JSON.parse(one));
    const total = histories.length;
    return written(
      {
        ...record,
        ...(isMembers(record.fields) && { fields: fieldsOf(record.fields, found) }),
        ...('changelog' in record && { changelog: { startAt: 0, maxResults: total, total, histories } }),
      },
      isAgile,
    );
  };
  return { written, issue, person: (one: User) => written(entities.user(one), false) };
};

/** Endpoints of version 3 that version 2 has in the same shape. */
const alike = new Set([
  'field',
  'status',
  'issuetype',
  'myself',
  'project/{projectIdOrKey}',
  'group/member',
  'issue/{issueIdOrKey}',
  'issue/{issueIdOrKey}/comment',
  'issue/{issueIdOrKey}/worklog',
  'worklog/updated',
  'worklog/deleted',
  'worklog/list',
]);

/** The routes of the server; `cloud`: those of version 3 and of the agile API. */
export const dataCenterRoutes = (site: Site, cloud: readonly Route[]): readonly Route[] => {
  const { dialect, entities, state, clock, base } = site;
  const { written, issue, person } = writerOf(site);
  const rewritten = (answer: Answer, isAgile: boolean): Answer => {
    const body: unknown = JSON.parse(wholeOf(answer.body).toString());
    const issues = isMembers(body) && Array.isArray(body.issues) ? body.issues : undefined;
    const isIssue = isMembers(body) && isMembers(body.fields) && 'key' in body;
    const shown =
      issues === undefined ? body : { ...Object(body), issues: issues.map((one) => issue(one, isAgile)) };
    return dialect.json(
      isIssue ? issue(body, isAgile) : issues === undefined ? written(body, isAgile) : shown,
    );
  };
  const kept = cloud.flatMap((route): readonly Route[] => {
    const isAgile = route.path.startsWith('/rest/agile/');
    if (!isAgile && !alike.has(route.path.replace('/rest/api/3/', ''))) return [];
    const path = route.path.replace('/rest/api/3/', '/rest/api/2/');
    return [{ ...route, path, handle: (call) => rewritten(route.handle(call), isAgile) }];
  });
  const get = (path: string, handle: (call: Call) => Answer): Route => ({
    method: 'GET',
    path: `/rest/api/2/${path}`,
    inContract: false,
    handle,
  });

  const search = (body: Members, call: Call): Answer => {
    const { jql = '', fields = ['*navigable'], expand = [], startAt = 0, maxResults = 50 } = body;
    const wanted = stringsOf(fields);
    const expanded = stringsOf(expand);
    if (wanted === undefined || expanded === undefined)
      throw dialect.refused(
        400,
        'Can not deserialize instance of java.util.ArrayList out of VALUE_STRING token',
      );
    const { hits } = site.find(String(jql));
    const size = Math.min(Number(maxResults), 1000, call.cap ?? 1000);
    const projection = { fields: wanted, changelog: wantsChangelog(expanded), agile: false, sparse: false };
    const list = site.fragments.list(hits.slice(Number(startAt), Number(startAt) + size), projection);
    const found: readonly unknown[] = JSON.parse(wholeOf(list).toString());
    const issues = found.map((one) => issue(one, false));
    return dialect.json({ expand: 'schema,names', startAt, maxResults: size, total: hits.length, issues });
  };
  const listed = (call: Call, name: string): readonly string[] =>
    (call.query.get(name) ?? '').split(',').filter((one) => one !== '');

  return [
    ...kept,
    {
      method: 'POST',
      path: '/rest/api/2/search',
      inContract: true,
      handle: (call) => search(bodyOf(site, call), call),
    },
    get('search', (call) => {
      const fields = listed(call, 'fields');
      const query = Object.fromEntries(
        [...call.query].filter(([name]) => name !== 'expand' && name !== 'fields'),
      );
      return search({ ...query, ...(fields.length > 0 && { fields }), expand: listed(call, 'expand') }, call);
    }),
    get('serverInfo', () =>
      dialect.json({
        baseUrl: base,
        version: '9.12.4',
        versionNumbers: [9, 12, 4],
        deploymentType: 'Server',
        buildNumber: 9_120_004,
        buildDate: '2024-02-01T00:00:00.000+0000',
        databaseBuildNumber: 9_120_004,
        serverTime: entities.stamp(clock.now().getTime()),
        scmInfo: 'simulated',
        serverTitle: 'Jira',
      }),
    ),
    get('priority', () =>
      dialect.json(
        [...state.priorities.values()].map((one) => written(entities.priorityDetails(one), false)),
      ),
    ),
    get('project', (call) => {
      const expand = new Set(listed(call, 'expand'));
      const shown = [...state.projects.values()].filter(
        (one) => !one.hidden && (!one.archived || call.query.get('includeArchived') === 'true'),
      );
      return dialect.json(shown.map((one) => written(entities.projectListed(one, expand), false)));
    }),
    get('user', (call) => {
      const key = call.query.get('key');
      const username = call.query.get('username');
      const found = [...state.users.values()].find(
        (one) => one.accountId === key || nameOf(one) === username,
      );
      if (found === undefined)
        throw dialect.refused(404, `The user with the key '${key ?? username}' does not exist`);
      return dialect.json(person(found));
    }),
    get('user/search', (call) => {
      const wanted = (call.query.get('username') ?? '').toLowerCase();
      if (wanted === '') throw dialect.refused(400, 'The username query parameter was not provided');
      const { startAt, maxResults } = dialect.position(call, { standard: 50, max: 1000 });
      const found = [...state.users.values()].filter(
        (one) =>
          (one.active || call.query.get('includeInactive') === 'true') &&
          (wanted === '.' || nameOf(one).toLowerCase().startsWith(wanted)),
      );
      return dialect.json(found.slice(startAt, startAt + maxResults).map(person));
    }),
    get('groups/picker', (call) => {
      const all = [...state.groups.values()];
      const { maxResults } = dialect.position(call, { standard: 20, max: 1000 });
      const shown = all.slice(0, maxResults).map(({ name }) => ({ name, html: name, labels: [] }));
      const header = `Showing ${shown.length} of ${all.length} matching groups`;
      return dialect.json({ header, total: all.length, groups: shown });
    }),
  ];
};
