/**
 * A local server that answers as GitHub's REST API does for one repository. Source: docs.github.com/rest
 * (issues, issue comments, pagination, rate limits). As api.github.com does, it pages issues by cursor, without
 * a link to the last page. Its records are those of records.json.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { hash, type Row, World } from './world.ts';

type Answer = { status: number; body: unknown; headers?: Record<string, string> };

const failed = (status: number, message: string, headers = {}): Answer => {
  const body = { message, documentation_url: 'https://docs.github.com/rest', status: String(status) };
  return { status, body, headers };
};

const missing = failed(404, 'Not Found');
const unfit = failed(422, 'Validation Failed');
const found = (body: unknown): Answer => ({ status: 200, body });

/** How a list is ordered. A cursor holds the `key` of a row. Issues come newest first, other lists by id. */
const orderOf = (query: URLSearchParams, byCursor: boolean) => {
  const sort = query.get('sort') === 'updated' ? 'updated_at' : 'created_at';
  const sign = (query.get('direction') ?? (byCursor ? 'desc' : 'asc')) === 'desc' ? -1 : 1;
  return {
    key: (row: Row) => (byCursor || query.has('sort') ? `${row[sort]} ${row.id}` : String(row.id)),
    compare: (one: string, other: string) => (one < other ? -sign : one > other ? sign : 0),
  };
};

/** One page of a list. A cursor names the last row before it, so a change meanwhile shifts no other row. */
const list = (url: URL, all: readonly Row[], paging: 'cursor' | 'number'): Answer => {
  const query = url.searchParams;
  const byCursor = paging === 'cursor';
  const whole = (name: string, otherwise: number) =>
    Math.max(0, Math.floor(Number(query.get(name)))) || otherwise;
  const size = Math.min(100, whole('per_page', 30));
  const page = whole('page', 1);
  const since = Date.parse(query.get('since') ?? '1970-01-01');
  const after = Buffer.from((byCursor && query.get('after')) || '', 'base64').toString();
  if (Number.isNaN(since) || !/^(\d{4}-\S+ \d+)?$/.test(after)) return unfit;

  const { key, compare } = orderOf(query, byCursor);
  const rows = all
    .filter(({ updated_at }) => updated_at === undefined || Date.parse(updated_at) >= since)
    .sort((one, other) => compare(key(one), key(other)));
  const start = after ? rows.filter((row) => compare(key(row), after) <= 0).length : (page - 1) * size;
  const shown = rows.slice(start, start + size);
  const last = shown.at(-1);
  const isLast = last === undefined || last === rows.at(-1);

  const link = (rel: string, to: number, cursor?: string) => {
    const next = new URLSearchParams({ ...Object.fromEntries(query), page: String(to) });
    next.delete('after');
    if (cursor !== undefined) next.set('after', btoa(cursor));
    return `<${url.origin}${url.pathname}?${next}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [link('prev', page - 1)] : []),
    ...(isLast ? [] : [link('next', page + 1, byCursor ? key(last) : undefined)]),
    ...(isLast || byCursor ? [] : [link('last', Math.ceil(rows.length / size))]),
    ...(page > 1 && !byCursor ? [link('first', 1)] : []),
  ];
  return { ...found(shown), headers: links.length > 0 ? { link: links.join(', ') } : {} };
};

const issueList = (world: World, url: URL): Answer => {
  const state = url.searchParams.get('state') ?? 'open';
  const issues = [...world.issues.values()].filter((one) => state === 'all' || one.state === state);
  return ['open', 'closed', 'all'].includes(state) ? list(url, issues, 'cursor') : unfit;
};

const answer = (world: World, url: URL): Answer => {
  if (url.pathname === '/user') return found(world.user('octocat'));
  const moved = world.gone.get(Number(/^\/repositories\/2\/issues\/(\d+)$/.exec(url.pathname)?.[1]));
  if (moved) return found(moved);
  const [path, rest = ''] =
    /^\/(?:repos\/octocat\/hello-world|repositories\/1296269)(\/.*)?$/i.exec(url.pathname) ?? [];
  if (path === undefined) return missing;
  url.pathname = `/repositories/1296269${rest}`;
  if (rest === '') return found(world.record('repository', { owner: world.user('octocat') }));
  if (rest === '/labels') return list(url, [...world.labels.values()], 'number');
  if (rest === '/issues') return issueList(world, url);
  if (rest === '/issues/comments') return list(url, [...world.comments.values()].flat(), 'number');

  const [, digits, below] = /^\/issues\/(\d+)(\/comments)?$/.exec(rest) ?? [];
  const number = Number(digits);
  const issue = world.issues.get(number);
  if (issue) return below ? list(url, world.comments.get(number) ?? [], 'number') : found(issue);
  const gone = world.gone.get(number);
  if (gone === null) return failed(410, 'This issue was deleted');
  if (gone === undefined || below) return missing;
  return failed(301, 'Moved Permanently', { location: `${url.origin}/repositories/2/issues/${number}` });
};

/**
 * Starts the server on a free port, or on `port`. More than `perHour` requests exceed the primary rate limit,
 * more than `perSecond` the secondary one. A 304 and a refusal do not count as one of the hour. `requests` has
 * all answers.
 */
export const startGitHub = async ({
  issues = 250,
  seed = 1,
  token = 'github-example',
  perHour = 5000,
  perSecond = Number.POSITIVE_INFINITY,
  port = 0,
} = {}) => {
  const requests: { path: string; status: number }[] = [];
  const server = http.createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const world = new World(url, issues, seed);
  let used = 0;
  let reset = 0;
  let recent = [] as number[];

  const refusal = (authorization = ''): Answer | undefined => {
    const now = world.now();
    if (now >= reset * 1000) [used, reset] = [0, Math.ceil(now / 1000) + 3600];
    recent = recent.filter((at) => at > now - 1000);
    if (used >= perHour) return failed(403, 'API rate limit exceeded for user ID 583231.');
    const tooFast =
      'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';
    if (recent.length >= perSecond) return failed(403, tooFast, { 'retry-after': '1' });
    recent.push(now);
    if (!/^(bearer|token) /i.test(authorization)) return failed(401, 'Requires authentication');
    return authorization.split(' ')[1] === token ? undefined : failed(401, 'Bad credentials');
  };
  server.on('request', (request, response) => {
    const refused = refusal(request.headers.authorization);
    const asked = new URL(`${url}${request.url}`);
    const { status, body, headers } = refused ?? (request.method === 'GET' ? answer(world, asked) : missing);
    const etag = `W/"${hash(JSON.stringify([body, headers]))}"`;
    const same = status === 200 && request.headers['if-none-match'] === etag;
    if (!refused && !same) used++;
    response.writeHead(same ? 304 : status, {
      date: new Date(world.now()).toUTCString(),
      'content-type': 'application/json; charset=utf-8',
      'x-ratelimit-limit': perHour,
      'x-ratelimit-remaining': perHour - used,
      'x-ratelimit-used': used,
      'x-ratelimit-reset': reset,
      'x-ratelimit-resource': 'core',
      ...(status === 200 && { etag }),
      ...headers,
    });
    response.end(same ? undefined : JSON.stringify(body));
    requests.push({ path: request.url ?? '/', status: same ? 304 : status });
  });
  const close = async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  return { url, world, requests, close };
};

if (import.meta.main) {
  const { url } = await startGitHub({ port: Number(process.argv[2] ?? 4010) });
  console.log(`${url}/repos/octocat/hello-world, token github-example`);
}
