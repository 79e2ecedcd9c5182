import { type Answer, type Call, pieces, Refusal, type Route } from '../shared/http.ts';
import type { Projection } from './issue-json.ts';
import { bodyOf, stringsOf, wantsChangelog } from './search-routes.ts';
import type { Site } from './site.ts';

type Body = Readonly<Record<string, unknown>>;

const known = new Set([
  'jql',
  'nextPageToken',
  'maxResults',
  'fields',
  'expand',
  'properties',
  'fieldsByKeys',
  'reconcileIssues',
]);

const unbounded =
  'Unbounded JQL queries are not allowed here. Please add a search restriction to your query.';

/** The one refusal that comes without `errors`. */
const invalid = (site: Site): Refusal =>
  new Refusal(
    site.dialect.json(
      { errorMessages: ['Invalid request payload. Refer to the REST API documentation and try again.'] },
      400,
    ),
  );

interface Token {
  /** The position of the last issue of the page before. */
  readonly position: string;
  /** When it was given out, epoch ms. */
  readonly at: number;
  /** It is good for this query only. */
  readonly jql: string;
}

const written = (token: Token): string => Buffer.from(`\n${JSON.stringify(token)}`).toString('base64');

const read = (text: string): Token | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    const { position, at, jql }: { position?: unknown; at?: unknown; jql?: unknown } = value;
    return typeof position === 'string' && typeof at === 'number' && typeof jql === 'string'
      ? { position, at, jql }
      : undefined;
  } catch {
    // Not one of ours: the caller refuses it.
    return undefined;
  }
};

const pageSize = (site: Site, body: Body): number => {
  if (!Object.hasOwn(body, 'maxResults')) return 50;
  const { maxResults } = body;
  const value =
    typeof maxResults === 'string' && /^-?\d+$/.test(maxResults) ? Number(maxResults) : maxResults;
  if (value !== null && typeof value !== 'number') throw invalid(site);
  const whole = value === null ? 0 : Math.trunc(value);
  if (whole < 1 || whole > 5000)
    throw site.dialect.refused(400, 'The maxResults parameter must be between 1 and 5,000.');
  return whole;
};

/** One page of the vendor's search: page tokens, no total, its checks in their order (vendor-facts 1.1). */
const search = (site: Site, call: Call, body: Body): Answer => {
  const { dialect, clock, state } = site;
  const {
    jql = '',
    nextPageToken,
    expand = '',
    fields = ['id'],
    properties = [],
    reconcileIssues = [],
  } = body;
  const wanted = stringsOf(fields);
  if (typeof jql !== 'string' || typeof expand !== 'string' || wanted === undefined) throw invalid(site);
  if (!Array.isArray(properties) || properties.length > 5) throw invalid(site);
  if (!Array.isArray(reconcileIssues) || reconcileIssues.length > 50) throw invalid(site);

  const token = typeof nextPageToken === 'string' && nextPageToken !== '' ? read(nextPageToken) : undefined;
  if (nextPageToken !== undefined && nextPageToken !== null && nextPageToken !== '') {
    if (token === undefined || token.jql !== jql)
      throw dialect.refused(400, 'The provided next page token is invalid.');
    if (clock.now().getTime() - token.at > site.tokens.lifetimeMs)
      throw dialect.refused(site.tokens.expired, 'The provided next page token has expired.');
  }
  const asked = pageSize(site, body);
  const fresh = reconcileIssues.map((id) => state.store.find(String(id)) ?? -1);
  const found = site.find(jql, fresh);
  if (!found.bounded) throw dialect.refused(400, unbounded);

  const expands = new Set(expand.split(',').map((one) => one.trim()));
  const projection: Projection = {
    fields: wanted,
    changelog: wantsChangelog(expand),
    agile: false,
    sparse: true,
  };
  const small = !projection.changelog && wanted.every((one) => one === 'id' || one === 'key');
  const size = Math.min(asked, small ? 5000 : 100, call.cap ?? 5000);
  const start = token === undefined ? 0 : found.after(token.position);
  const hits = call.anonymous ? [] : found.hits.slice(start, start + size);
  const last = hits.at(-1);
  const more = last !== undefined && start + hits.length < found.hits.length;
  const next = more
    ? `"nextPageToken":${JSON.stringify(written({ position: found.position(last), at: clock.now().getTime(), jql }))},`
    : '';
  const named =
    expands.has('names') || expands.has('schema')
      ? site.writer.names(projection).flatMap((name) => state.fields.get(name) ?? [])
      : [];
  const names = expands.has('names')
    ? `,"names":${JSON.stringify(Object.fromEntries(named.map((one) => [one.id, one.name])))}`
    : '';
  const schema = expands.has('schema')
    ? `,"schema":${JSON.stringify(Object.fromEntries(named.map((one) => [one.id, one.schema])))}`
    : '';
  const head = `{${next}"isLast":${!more},"issues":`;
  return dialect.written(pieces(head, site.fragments.list(hits, projection), `${names}${schema}}`));
};

/** The vendor's search in both its methods, its count, and the search it has removed. */
export const vendorSearch = (site: Site): readonly Route[] => {
  const { dialect } = site;
  const gone = (): Answer =>
    dialect.refused(
      410,
      'The requested API has been removed. Please migrate to the /rest/api/3/search/jql API. A full migration guideline is available at https://developer.atlassian.com/changelog/#CHANGE-2046',
    ).answer;
  return [
    {
      method: 'POST',
      path: '/rest/api/3/search/jql',
      inContract: true,
      handle: (call) => {
        const body = bodyOf(site, call);
        if (Object.keys(body).some((name) => !known.has(name))) throw invalid(site);
        return search(site, call, body);
      },
    },
    {
      method: 'GET',
      path: '/rest/api/3/search/jql',
      inContract: true,
      // Unlike the body, the query string may hold anything: `startAt` and other unknown names are ignored.
      handle: (call) => {
        const body: Record<string, unknown> = {};
        for (const name of ['jql', 'nextPageToken', 'maxResults', 'expand']) {
          const value = call.query.get(name);
          if (value !== null) body[name] = value;
        }
        for (const name of ['fields', 'properties', 'reconcileIssues'])
          if (call.query.has(name)) body[name] = call.query.getAll(name).flatMap((one) => one.split(','));
        return search(site, call, body);
      },
    },
    {
      method: 'POST',
      path: '/rest/api/3/search/approximate-count',
      inContract: false,
      handle: (call) => {
        const { jql = '' } = bodyOf(site, call);
        if (typeof jql !== 'string') throw invalid(site);
        const found = site.find(jql);
        if (!found.bounded) throw dialect.refused(400, unbounded);
        return dialect.json({ count: call.anonymous ? 0 : found.hits.length });
      },
    },
    { method: 'GET', path: '/rest/api/3/search', inContract: false, handle: gone },
    { method: 'POST', path: '/rest/api/3/search', inContract: false, handle: gone },
  ];
};
