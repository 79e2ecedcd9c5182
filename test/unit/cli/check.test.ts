/** What `check` finds out about the warehouse. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTracker } from '../../../simulators/jira/server.ts';
import { pooler } from '../../support/pooler.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { smallSite } from '../../support/small-site.ts';
import { begin, nowhere, tidemark } from './command.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** What `check` says of a warehouse. */
async function checked(env: Record<string, string>) {
  const { code, out } = await tidemark('check --json', { env });
  const { checks } = JSON.parse(out);
  return { code, ...checks.find(({ what }: { readonly what: string }) => what === 'warehouse') };
}

const behind = async (lends: Parameters<typeof pooler>[1]) => {
  const between = await pooler(database.url, lends);
  onTestFinished(() => between.close());
  return checked({ DATABASE_URL: between.url });
};

test.each(['the last one used', 'each in turn'] as const)(
  'a pooler that lends sessions for a transaction, %s, is refused with what to name instead',
  async (lends) => {
    const { code, error } = await behind(lends);
    expect(code).toBe(2);
    expect(error).toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(/^127\.0\.0\.1:\d+\/.*pooler.*DATABASE_URL.*pool_mode = session/),
    });
  },
);

test('a pooler that lends sessions for as long as a client is there is good', async () => {
  expect(await behind('its own')).toMatchObject({ code: 0, state: 'ok', error: null });
});

test('free space is said of the embedded warehouse, and of no other', async () => {
  const { code, facts } = await checked({});
  expect(code).toBe(0);
  const [, gigabytes, data = ''] = /^([\d.]+) GB free for (.*)$/.exec(facts.at(-1)) ?? [];
  const { blocks, bsize } = fs.statfsSync(data);
  expect(Number(gigabytes)).toBeGreaterThan(0);
  expect(Number(gigabytes)).toBeLessThanOrEqual((blocks * bsize) / 1e9);
  const other = await checked({ DATABASE_URL: database.url });
  expect(other.facts.join()).not.toContain('free');
});

test('check and serve say what to do where the runs of a process may need more connections than Postgres has', async () => {
  const site = await startTracker({ ...smallSite, issues: 5 });
  onTestFinished(() => site.close());
  const folder = fs.mkdtempSync(path.join(nowhere, 'pipelines-'));
  for (const name of ['one', 'two']) {
    const settings = `baseUrl: '${site.url}', email: '${site.email}', apiToken: secret('TOKEN'), concurrency: 64`;
    const text = `import { jira, pipeline, secret } from 'tidemark';
export default pipeline({ name: '${name}', source: jira({ ${settings} }) });\n`;
    fs.writeFileSync(path.join(folder, `${name}.ts`), text);
  }
  const env = { DATABASE_URL: database.url, TIDEMARK_PIPELINES: folder, TOKEN: site.token };
  const said =
    'serve may need 149 connections (70 for each of 2 runs at once, 9 besides), and Postgres allows 97: lower TIDEMARK_JOBS to 1, or raise max_connections';
  const { code, state, facts } = await checked({ ...env, TIDEMARK_JOBS: '8' });
  expect({ code, state }).toEqual({ code: 0, state: 'ok' });
  expect(facts).toContain(said);
  expect((await checked({ ...env, TIDEMARK_JOBS: '1' })).facts.join()).not.toContain('connections');
  const serving = begin(['serve', '--port', '0', '--json'], { env: { ...env, TIDEMARK_JOBS: '8' } });
  await until('it serves', () => serving.out().includes('\n'), 60_000);
  serving.kill('SIGTERM');
  expect((await serving.ended).code, serving.err()).toBe(0);
  expect(serving.err()).toContain(`warning: ${said}`);
});
