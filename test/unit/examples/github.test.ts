import { expect, onTestFinished, test } from 'vitest';
import { github } from '../../../examples/github-issues/github.ts';
import { startGitHub } from '../../../examples/github-issues/server.ts';
import { env, pipeline, type RunOptions, run, secret } from '../../../src/index.ts';
import { emptyDatabase } from '../../support/postgres.ts';

const hello = pipeline({
  name: 'hello',
  source: github({ repository: 'octocat/hello-world', token: secret('TOKEN'), baseUrl: env('URL') }),
});

/** A local GitHub, an empty warehouse, and runs of the example between them. */
async function stage(options: Parameters<typeof startGitHub>[0] = {}) {
  const server = await startGitHub(options);
  const database = await emptyDatabase();
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
  const at = await stage({ issues: 130 });
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
