import { expect, onTestFinished, test } from 'vitest';
import { github } from '../../../examples/github-issues/github.ts';
import { startGitHub } from '../../../examples/github-issues/server.ts';
import { scriptedServer } from '../../../simulators/testing/index.ts';
import {
  bearer,
  column,
  defineConnector,
  env,
  field,
  get,
  idBy,
  listNamed,
  pipeline,
  type RunOptions,
  readInto,
  records,
  run,
  secret,
  setting,
  single,
} from '../../../src/index.ts';
import { emptyDatabase, testDatabase } from '../../support/postgres.ts';

const hello = pipeline({
  name: 'hello',
  source: github({ repository: 'octocat/hello-world', token: secret('TOKEN'), baseUrl: env('URL') }),
});

/** A local GitHub, a warehouse, and runs of the example between them. */
async function stage(options: Parameters<typeof startGitHub>[0] = {}, open = testDatabase) {
  const server = await startGitHub(options);
  const database = await open();
  onTestFinished(async () => {
    await server.close();
    await database.drop();
  });
  const variables = { DATABASE_URL: database.url, TOKEN: 'github-example', URL: server.url };
  return {
    ...server,
    run: (how: RunOptions = {}) => run(hello, { env: variables, cwd: import.meta.dirname, ...how }),
    rows: async (query: string) =>
      (await database.warehouse.pool.query({ text: query, rowMode: 'array' })).rows.map((row) =>
        row.join(' '),
      ),
  };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** What the warehouse has equals what the server shows. */
async function isEqual({ world, rows }: Stage): Promise<void> {
  const issues = [...world.issues.values()];
  const labels = issues.flatMap(({ number, labels }) =>
    (labels as { name: string }[]).map(({ name }) => `${number} ${name}`),
  );
  const comments = [...world.comments].flatMap(([number, all]) => all.map(({ id }) => `${number} ${id}`));
  const live = 'where _deleted_at is null';
  // What belongs to a deleted issue stays with it.
  const ofLive = 'join github.issues i on i.number = issue_number and i._deleted_at is null';
  expect((await rows(`select number, title, state from github.issues ${live}`)).sort()).toEqual(
    issues.map(({ number, title, state }) => `${number} ${title} ${state}`).sort(),
  );
  expect((await rows(`select issue_number, name from github.issue_labels ${ofLive}`)).sort()).toEqual(
    labels.sort(),
  );
  expect(
    (
      await rows(
        `select issue_number, c.id from github.issue_comments c ${ofLive} where c._deleted_at is null`,
      )
    ).sort(),
  ).toEqual(comments.sort());
}

test('the example reads issues with labels and comments, then what changed, and finds deletions', async () => {
  const at = await stage({ issues: 130 }, emptyDatabase);
  const { world, requests } = at;
  expect(await at.run()).toMatchObject({ status: 'succeeded', counts: { inserted: 130 } });
  await isEqual(at);
  world.advance(3_600_000);
  world.open('A new one');
  world.comment(3, 'A word');
  world.relabel(7, []);
  world.close(9);
  const before = requests.length;
  expect(await at.run()).toMatchObject({ status: 'succeeded', counts: { inserted: 1, updated: 3 } });
  expect(requests.length - before).toBeLessThan(12);
  await isEqual(at);
  world.remove(12);
  expect(await at.run({ does: 'reconcile' })).toMatchObject({ status: 'succeeded' });
  await isEqual(at);
});

test('the example waits for the limits of its source', async () => {
  const at = await stage({ issues: 20, perSecond: 8 });
  expect(await at.run()).toMatchObject({ status: 'succeeded' });
  expect(at.requests.filter(({ status }) => status === 403).length).toBeGreaterThan(0);
  await isEqual(at);
});

test('the example goes on after it was stopped', async () => {
  const at = await stage({ issues: 130 });
  const stop = new AbortController();
  const stopped = at.run({ signal: stop.signal });
  await expect.poll(() => at.requests.length, { interval: 1 }).toBeGreaterThan(3);
  stop.abort();
  expect(await stopped.catch((error: unknown) => error)).not.toMatchObject({ status: 'succeeded' });
  expect(await at.run()).toMatchObject({ status: 'succeeded' });
  await isEqual(at);
});

test.each([
  ['with a count in the record', 'replies'],
  ['without a count', undefined],
])('a list of a record that is empty once is asked for again, %s', async (_, count) => {
  const asked = new Map<string, number>();
  const server = await scriptedServer(({ path }) => {
    const times = (asked.get(path) ?? 0) + 1;
    asked.set(path, times);
    const posts = [1, 2].map((id) => ({ id, replies: 1 }));
    const replies = times === 1 ? [] : [{ id: 7 }];
    const headers = { date: new Date().toUTCString() };
    return { status: 200, headers, body: path.endsWith('/replies') ? replies : posts };
  });
  const database = await testDatabase();
  onTestFinished(async () => {
    await server.close();
    await database.drop();
  });
  const posts = records('blog.posts', 'Posts.', { id: field.id('id', 'Id.').key() });
  const of = { post_id: column.bigint('The post.').key() };
  const replies = records(
    'blog.replies',
    'Replies.',
    { ...of, id: field.id('id', 'Id.').key() },
    { relation: true },
  );
  const blog = defineConnector({
    name: 'blog',
    about: 'A blog.',
    schema: 'blog',
    tables: [posts, replies],
    settings: { baseUrl: setting.url('its address') },
    open({ baseUrl }, tools) {
      const http = tools.http({ baseUrl, auth: bearer({ reveal: () => 'x' }) });
      const list = (path: string) => ({
        first: get(path),
        paging: single(),
        list: listNamed(path),
        id: idBy('id'),
      });
      const part = { table: replies, walk: (post: { id?: unknown }) => list(`/posts/${post.id}/replies`) };
      return {
        http,
        check: async (signal) => ({ clock: (await http.send(get('/posts'), signal)).date }),
        streams: [
          {
            by: 'list',
            name: 'posts',
            about: 'Posts.',
            endpoint: 'GET /posts',
            absent: 'delete',
            pages: () => list('/posts'),
            ...readInto(posts, { replies: { ...part, ...(count && { count }) } }),
          },
        ],
      };
    },
  });
  const source = blog({ baseUrl: server.url });
  const env = { DATABASE_URL: database.url };
  const report = await run(pipeline({ name: 'blog', source }), { env, cwd: import.meta.dirname });
  expect(report).toMatchObject({ status: 'succeeded' });
  const { rows } = await database.warehouse.pool.query('select post_id, id from blog.replies order by 1');
  expect(rows).toEqual([
    { post_id: '1', id: '7' },
    { post_id: '2', id: '7' },
  ]);
});
