import { expect, onTestFinished, test } from 'vitest';
import { startGitHub } from '../../../examples/github-issues/server.ts';

type Options = Parameters<typeof startGitHub>[0];

/** A server, and `get`, which asks it with its token. */
const github = async (options: Options = {}) => {
  const server = await startGitHub(options);
  onTestFinished(server.close);
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(new URL(path, server.url), {
      headers: { authorization: 'Bearer github-example', ...headers },
      redirect: 'manual',
    });
  return { ...server, get };
};
type GitHub = Awaited<ReturnType<typeof github>>;

const repo = '/repos/octocat/hello-world';

const json = async (answer: Response) => JSON.parse(await answer.text());

/** The URL of `rel` in a Link header. */
const linked = (answer: Response, rel: string) =>
  new RegExp(`<([^>]+)>; rel="${rel}"`).exec(answer.headers.get('link') ?? '')?.[1];

/** All records of a list, and what `meanwhile` does after each page. */
const everything = async (server: GitHub, path: string, meanwhile = () => {}) => {
  const found = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer = await server.get(next);
    found.push(...(await json(answer)));
    next = linked(answer, 'next');
    meanwhile();
  }
  return found;
};
const numbers = (issues: readonly { number: number }[]) => issues.map(({ number }) => number);

test.each(['created', 'updated'])('the links of issues by %s lead to each issue once', async (sort) => {
  const server = await github({ issues: 120 });
  const issues = await everything(server, `${repo}/issues?state=all&sort=${sort}&direction=asc&per_page=50`);
  expect(server.requests).toHaveLength(3);
  expect(numbers(issues).toSorted((one, other) => one - other)).toEqual([...server.world.issues.keys()]);
  const stamps = issues.map((issue) => issue[`${sort}_at`]);
  expect(stamps).toEqual(stamps.toSorted());
});

test('an issue that changes between two pages hides no other one', async () => {
  const server = await github({ issues: 20 });
  const path = `${repo}/issues?state=all&sort=updated&direction=asc&per_page=5`;
  const [first] = await json(await server.get(path));
  let left = 1;
  const issues = await everything(server, path, () => {
    if (left-- > 0) server.world.comment(first.number, 'moves to the end');
  });
  expect(new Set(numbers(issues))).toEqual(new Set(server.world.issues.keys()));
});

test('comments come in numbered pages with four links, and belong to their issue', async () => {
  const server = await github({ issues: 10 });
  const middle = await server.get(`${repo}/issues/7/comments?per_page=50&page=2`);
  const pages = ['prev', 'next', 'last', 'first'].map(
    (rel) => /\bpage=(\d+)/.exec(linked(middle, rel) ?? '')?.[1],
  );
  expect(pages).toEqual(['1', '3', '3', '1']);
  const comments = await everything(server, `${repo}/issues/7/comments?per_page=100`);
  expect(comments).toHaveLength(120);
  expect(new Set(comments.map(({ issue_url }) => issue_url))).toEqual(
    new Set([`${server.url}${repo}/issues/7`]),
  );
  const all = await everything(server, `${repo}/issues/comments?sort=updated&per_page=100`);
  expect(all).toHaveLength([...server.world.comments.values()].flat().length);
});

test('since is inclusive, and every change moves an issue behind it', async () => {
  const server = await github({ issues: 20 });
  const { world } = server;
  const changed = async (since: string) =>
    numbers(await everything(server, `${repo}/issues?state=all&sort=updated&direction=asc&since=${since}`));
  const newest =
    [...world.issues.values()]
      .map((issue) => issue.updated_at)
      .toSorted()
      .at(-1) ?? '';
  expect(await changed(newest)).toHaveLength(1);
  world.advance(3_600_000);
  const now = new Date(world.now()).toISOString();
  world.advance(1000);
  world.comment(3, 'me too');
  world.close(4);
  world.relabel(5, ['new label']);
  const opened = world.open('One more');
  expect(await changed(now)).toEqual([3, 4, 5, opened]);
  const labels = await everything(server, `${repo}/labels?per_page=3`);
  expect(labels.map(({ name }) => name).toSorted()).toEqual([
    'bug',
    'documentation',
    'new label',
    'question',
  ]);
});

test('an ETag is answered with 304 while nothing changed, which costs nothing', async () => {
  const server = await github({ issues: 40 });
  const first = await server.get(`${repo}/issues`);
  const etag = first.headers.get('etag') ?? '';
  expect(etag).toMatch(/^W\/"/);
  const again = await server.get(`${repo}/issues`, { 'if-none-match': etag });
  expect([again.status, await again.text()]).toEqual([304, '']);
  expect(again.headers.get('x-ratelimit-used')).toBe('1');
  server.world.open('One more');
  expect((await server.get(`${repo}/issues`, { 'if-none-match': etag })).status).toBe(200);
});

test('requests above the limit of the hour are refused until it is over', async () => {
  const server = await github({ issues: 1, perHour: 2 });
  const limits = async () => {
    const { status, headers } = await server.get('/user');
    return [status, headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-resource')];
  };
  expect([await limits(), await limits(), await limits()]).toEqual([
    [200, '1', 'core'],
    [200, '0', 'core'],
    [403, '0', 'core'],
  ]);
  const reset = Number((await server.get('/user')).headers.get('x-ratelimit-reset'));
  server.world.advance(reset * 1000 - server.world.now());
  expect(await limits()).toEqual([200, '1', 'core']);
});

test('requests above the limit of a second are refused with retry-after', async () => {
  const server = await github({ issues: 1, perSecond: 0 });
  const { status, headers } = await server.get('/user');
  expect([status, headers.get('retry-after'), headers.get('x-ratelimit-remaining')]).toEqual([
    403,
    '1',
    '5000',
  ]);
});

test('a removed issue answers 410, a transferred one 301, an unknown one 404', async () => {
  const server = await github({ issues: 5 });
  server.world.remove(2);
  server.world.transfer(3);
  const asked = await Promise.all([1, 2, 3, 99].map((number) => server.get(`${repo}/issues/${number}`)));
  expect(asked.map(({ status }) => status)).toEqual([200, 410, 301, 404]);
  const moved = await json(await server.get(asked[2]?.headers.get('location') ?? ''));
  expect(moved.repository_url).toBe(`${server.url}/repos/octocat/archive`);
  expect(numbers(await everything(server, `${repo}/issues?state=all`))).toEqual([5, 4, 1]);
});

test.each([
  ['/user', {}, 200],
  [repo, {}, 200],
  ['/repos/octocat/secret', {}, 404],
  ['/user', { authorization: 'Bearer wrong' }, 401],
  [`${repo}/issues?state=unknown`, {}, 422],
  [`${repo}/issues?since=yesterday`, {}, 422],
  [`${repo}/issues?after=nowhere`, {}, 422],
])('%s with %o answers %i', async (path, headers, status) => {
  const server = await github({ issues: 1 });
  expect((await server.get(path, headers)).status).toBe(status);
});

test('the same seed makes the same repository', async () => {
  const records = async (seed: number) => {
    const server = await github({ issues: 30, seed });
    return JSON.stringify(await everything(server, `${repo}/issues?state=all`)).replaceAll(server.url, '');
  };
  const one = await records(1);
  const other = await records(1);
  const third = await records(2);
  expect(one).toBe(other);
  expect(one).not.toBe(third);
});
