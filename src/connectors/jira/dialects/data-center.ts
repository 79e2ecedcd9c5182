/**
 * Jira Data Center and Server: REST API v2 (docs.atlassian.com/software/jira/docs/api/REST/9.12.0). Its agile
 * API is the cloud's.
 */

import { caught, Forbidden, Missing } from '../../../core/errors.ts';
import { isObject } from '../../../core/record.ts';
import type { Http, Json, Request } from '../../../core/stream.ts';
import { instantToDate } from '../../../core/time.ts';
import { get, instantAt } from '../../../reading/requests.ts';
import { sending } from '../account.ts';
import { epochMillis } from '../jql.ts';
import { at, listOf } from '../lists.ts';
import { answers, type JiraDialect } from './dialect.ts';
import { historiesOf, issueOf } from './server-records.ts';

/** `version`: as the server states it. */
export const dataCenter = (version?: string): JiraDialect => ({
  title: ['Jira Data Center', ...(version === undefined ? [] : [version])].join(' '),
  adapt,
  issue: issueOf,
  dates: epochMillis,
  tokenEnds,
});

/**
 * The end of the account's token: of several, which the list does not tell apart, the one that was used last. Only
 * newer versions list them (confluence.atlassian.com, "Using personal access tokens").
 */
const tokenEnds = async (http: Http, signal: AbortSignal): Promise<Date | undefined> => {
  const path = '/rest/pat/latest/tokens';
  const tokens = await http
    .send(get(path), signal)
    .then(({ body }) => listOf(path)(body))
    .catch(caught(...answers));
  const used = (token: Json): number => Number(instantAt(token, 'lastAccessed') ?? 0);
  const [last] = tokens instanceof Error ? [] : tokens.toSorted((a, b) => used(b) - used(a));
  const ends = instantAt(last, 'expiringAt');
  return ends === undefined ? undefined : instantToDate(ends);
};

const adapt = (http: Http): Http => {
  const send = searchingByGet(http);
  return sending(http, async (request, signal) => {
    const { to, request: more = same, body = same } = adapters[request.endpoint] ?? {};
    const sent = more(inVersion2(request, to));
    const answer = await send(sent, signal);
    return { ...answer, body: body(answer.body, sent) };
  });
};

/**
 * Searches by GET once POST is closed and GET is not: some gateways let nothing else through
 * (jira-node/node-jira-client#368). POST comes first, because an address cannot hold the fields of every site.
 */
const searchingByGet = (http: Http): Http['send'] => {
  let isReadOnly = false;
  return async (request, signal) => {
    if (request.method === 'GET') return http.send(request, signal);
    if (isReadOnly) return http.send(byGet(request), signal);
    try {
      return await http.send(request, signal);
    } catch (cause) {
      if (!(cause instanceof Forbidden || cause instanceof Missing)) throw cause;
      const answer = await http.send(byGet(request), signal);
      isReadOnly = true;
      return answer;
    }
  };
};

const byGet = ({ body = {}, ...request }: Request): Request => ({
  ...request,
  method: 'GET',
  query: Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)])),
});

const same = <T>(value: T): T => value;

const v2 = '/rest/api/2/';
const v3 = '/rest/api/3/';

/** The same endpoint of version 2, or the one that does its work. */
const inVersion2 = (request: Request, to?: string): Request => {
  const renamed = (path: string): string => (path.startsWith(v3) ? v2 + path.slice(v3.length) : path);
  const [path, endpoint] = to === undefined ? [request.path, request.endpoint] : [v3 + to, v3 + to];
  return { ...request, path: renamed(path), endpoint: renamed(endpoint) };
};

/** How an endpoint of the cloud is asked for and read, where more than the version differs. */
interface Adapter {
  /** Another endpoint, below the version. */
  readonly to?: string;
  readonly request?: (request: Request) => Request;
  readonly body?: (body: Json, sent: Request) => Json;
}

/** A list that comes whole, as the only page of one. */
const onlyPage = (values: Json): Json =>
  Array.isArray(values)
    ? { startAt: 0, maxResults: values.length, total: values.length, isLast: true, values }
    : values;

const withQuery =
  (more: NonNullable<Request['query']>) =>
  (request: Request): Request => ({ ...request, query: { ...request.query, ...more } });

/** `.` is in every e-mail address and finds all users; there is no list of them. Deactivated ones only if asked. */
const everybody: Adapter = {
  to: 'user/search',
  request: withQuery({ username: '.', includeInactive: true }),
};

/**
 * The list of groups has no pages, and the property `jira.ajax.autocomplete.limit` may cut it: what it leaves
 * out cannot be asked for. It is empty for users who may not browse others.
 */
const allGroups: Adapter = {
  to: 'groups/picker',
  request: withQuery({ maxResults: 10_000 }),
  body(body, { endpoint }) {
    const groups = at(body, 'groups');
    const total = at(body, 'total');
    const shown = Array.isArray(groups) ? groups.length : 0;
    if (shown === 0 || (typeof total === 'number' && shown < total))
      throw new Missing(`${endpoint} shows ${shown} of ${total} groups`, 404);
    return onlyPage(groups);
  },
};

const absent = (request: Request): never => {
  throw new Missing(`${request.endpoint} is not part of Jira Data Center`, 404);
};

const adapters: Readonly<Record<string, Adapter>> = {
  '/rest/api/3/search/jql': {
    to: 'search',
    request: ({ body: { expand, ...body } = {}, ...request }) => ({
      ...request,
      body: { ...body, ...(typeof expand === 'string' && { expand: expand.split(',') }) },
    }),
  },
  '/rest/api/3/changelog/bulkfetch': { request: absent },
  '/rest/api/3/field/search': { request: absent },
  '/rest/api/3/project/search': {
    to: 'project',
    request: withQuery({ status: undefined, maxResults: undefined, includeArchived: true }),
    body: onlyPage,
  },
  // Every priority is in the order of the site, as in one scheme.
  '/rest/api/3/priorityscheme': {
    to: 'priority',
    request: withQuery({ maxResults: undefined, expand: undefined }),
    body: (values) => onlyPage([{ name: 'all', priorities: onlyPage(values) }]),
  },
  '/rest/api/3/users/search': everybody,
  '/rest/api/3/user/search': everybody,
  '/rest/api/3/user': {
    request: ({ query: { accountId, ...query } = {}, ...request }) => ({
      ...request,
      query: { ...query, key: accountId },
    }),
  },
  '/rest/api/3/group/bulk': allGroups,
  // The changes of an issue have no list of their own; all come with the issue.
  '/rest/api/3/issue/{id}/changelog': {
    request: (request) => ({
      ...request,
      path: request.path.replace(/\/changelog$/, ''),
      endpoint: `${v2}issue/{id}`,
      query: { expand: 'changelog', fields: 'id' },
    }),
    body(body) {
      const changelog = at(body, 'changelog');
      const values = historiesOf(at(changelog, 'histories'));
      return isObject(changelog) ? { ...changelog, values, histories: undefined } : body;
    },
  },
};
