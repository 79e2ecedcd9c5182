import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { delay } from '../../../simulators/shared/faults.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { ask, operate, post } from '../server/api/api.ts';
import { begin, nowhere, tidemark } from './command.ts';

/** Three pipelines of one site, which is slow, and one of another. */
const sites = { north: 'shared', south: 'shared', west: 'shared', alone: 'own' } as const;

let database: TestDatabase;
let servers: Record<'shared' | 'own', TrackerSimulator>;
let env: Record<string, string>;

beforeAll(async () => {
  const site = { projects: 1, users: 5, years: 1, issues: 20, now: new Date('2026-03-02T00:00:00Z') };
  const [shared, own, made] = await Promise.all([
    startTracker({ ...site, seed: 3 }),
    startTracker({ ...site, seed: 4 }),
    testDatabase(),
  ]);
  servers = { shared, own };
  database = made;
  const folder = fs.mkdtempSync(path.join(nowhere, 'pipelines-'));
  for (const [name, site] of Object.entries(sites)) {
    const { url, email } = servers[site];
    const settings = `baseUrl: '${url}', email: '${email}', apiToken: secret('${site.toUpperCase()}_TOKEN')`;
    const text = `import { jira, pipeline, secret } from 'tidemark';
export default pipeline({ name: '${name}', source: jira({ ${settings} }) });\n`;
    fs.writeFileSync(path.join(folder, `${name}.ts`), text);
  }
  env = {
    DATABASE_URL: database.url,
    TIDEMARK_API_TOKEN: operate,
    TIDEMARK_JOBS: '3',
    TIDEMARK_PIPELINES: folder,
    SHARED_TOKEN: shared.token,
    OWN_TOKEN: own.token,
  };
});
afterAll(async () => {
  await Promise.all(Object.values(servers).map((server) => server.close()));
  await database.drop();
});

test('two pipelines of a slow site run, the third waits, and that of another site has the place that is left', async () => {
  const slow = servers.shared.script.at({ times: Number.POSITIVE_INFINITY }, delay(2_000));
  const serving = ['first', 'second'].map(() => begin(['serve', '--port', '0', '--json'], { env }));
  const addresses = serving.map(async ({ out }) => {
    await until('it serves', () => out().includes('\n'), 60_000);
    return JSON.parse(out().split('\n')[0] ?? '').url as string;
  });
  const [base] = await Promise.all(addresses);
  expect((await post(`${base}/api/v1/dags/nightly/start`)).code).toBe(202);
  const parts = async (): Promise<Record<string, string>> => {
    const { rows } = await database.warehouse.pool.query(
      `select pipeline, status from ops.dag_runs where part_of is not null`,
    );
    return Object.fromEntries(rows.map(({ pipeline, status }) => [pipeline, status]));
  };
  await until('the other site is read', async () => (await parts()).alone === 'succeeded', 60_000);
  const { alone: _, ...ofSite } = await parts();
  expect(Object.values(ofSite).sort()).toEqual(['queued', 'running', 'running']);
  expect(slow.fired).toBeGreaterThan(0);
  slow.cancel();
  const night = async () => (await ask(`${base}/api/v1/dags/nightly/status`)).body.data.run;
  await until('the night is over', async () => (await night()).finishedAt !== null, 120_000);
  expect(await night()).toMatchObject({ status: 'succeeded', parts: { succeeded: 4 } });
  for (const { kill } of serving) kill('SIGTERM');
  for (const { ended, err } of serving) expect((await ended).code, err()).toBe(0);
});

test('sync runs two pipelines of a site at once, whatever --jobs says, and leaves the other places to other sites', async () => {
  const slow = servers.shared.script.at({ times: Number.POSITIVE_INFINITY }, delay(500));
  const { code, out } = await tidemark('sync --jobs 4 --json', { env });
  slow.cancel();
  expect([code, slow.fired > 0]).toEqual([0, true]);
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const runs = events.filter(({ type }) => type === 'run.started' || type === 'run.finished');
  let running = 0;
  const counts = runs.map(({ type, pipeline }) => {
    if (pipeline !== 'alone') running += type === 'run.started' ? 1 : -1;
    return running;
  });
  expect({ most: Math.max(...counts), left: running }).toEqual({ most: 2, left: 0 });
  const at = (type: string, wanted: string) =>
    runs.findIndex((run) => run.type === type && run.pipeline === wanted);
  const begun = Object.keys(sites).map((name) => at('run.started', name));
  expect(at('run.finished', 'alone')).toBeLessThan(Math.max(...begun));
});
