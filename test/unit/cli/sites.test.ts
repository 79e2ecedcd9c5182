import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { delay, status } from '../../../simulators/shared/faults.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { ask, operate, post } from '../server/api/api.ts';
import { begin, type Ended, nowhere, tidemark } from './command.ts';

/** Two sites in the vendor's cloud and a server of the company's own, in one warehouse. */
const names = ['erp', 'plant', 'web'] as const;
type Name = (typeof names)[number];

let database: TestDatabase;
let sites: Record<Name, TrackerSimulator>;
let env: Record<string, string>;

beforeAll(async () => {
  const now = new Date('2026-03-02T00:00:00Z');
  const site = { projects: 2, users: 8, years: 1, now };
  const [erp, plant, web, made] = await Promise.all([
    startTracker({ ...site, seed: 3, issues: 40, dialect: 'vendor' }),
    startTracker({ ...site, seed: 4, issues: 50 }),
    startTracker({ ...site, seed: 5, issues: 60, dialect: 'vendor' }),
    testDatabase(),
  ]);
  sites = { erp, plant, web };
  database = made;
  const addresses = names.map((name) => [`${name.toUpperCase()}_URL`, sites[name].url]);
  const tokens = names.map((name) => [`${name.toUpperCase()}_TOKEN`, sites[name].token]);
  env = {
    DATABASE_URL: database.url,
    TIDEMARK_API_TOKEN: operate,
    TIDEMARK_PIPELINES: folder(),
    ...Object.fromEntries([...addresses, ...tokens]),
  };
});
afterAll(async () => {
  await Promise.all(names.map((name) => sites[name].close()));
  await database.drop();
});

/** The pipeline files of the three sites, and of one night for all of them. */
function folder(): string {
  const made = fs.mkdtempSync(path.join(nowhere, 'pipelines-'));
  const head = `import { env, jira, nightly, pipeline, secret } from 'tidemark';\nexport default `;
  for (const name of names) {
    const auth = name === 'plant' ? `auth: 'bearer'` : `email: '${sites[name].email}'`;
    const upper = name.toUpperCase();
    const settings = `baseUrl: env('${upper}_URL'), ${auth}, apiToken: secret('${upper}_TOKEN')`;
    fs.writeFileSync(
      path.join(made, `${name}.ts`),
      `${head}pipeline({ name: '${name}', source: jira({ ${settings} }) });`,
    );
  }
  fs.writeFileSync(path.join(made, 'nightly.ts'), `${head}nightly({ pipelines: ['web', 'plant', 'erp'] });`);
  return made;
}

const run = (words: string, more: Record<string, string> = {}): Promise<Ended> =>
  tidemark(words, { env: { ...env, ...more } });
const rows = async (query: string) => (await database.warehouse.pool.query(query)).rows;

/** The issues of a site that are not deleted, as `bi.issues` has them. */
const issuesOf = (name: Name) =>
  [...sites[name].oracle().issues.values()]
    .filter(({ deleted }) => !deleted)
    .map(({ id, key, updated }) => `${name} ${id} ${key} ${new Date(updated).toISOString()}`);
const stored = async () =>
  (await rows('select source, issue_id, issue_key, updated_at from bi.issues')).map(
    ({ source, issue_id, issue_key, updated_at }) =>
      `${source} ${issue_id} ${issue_key} ${updated_at.toISOString()}`,
  );
const expectAll = async () => expect((await stored()).sort()).toEqual(names.flatMap(issuesOf).sort());

// One story: each test finds what the ones before it left.
test('one nightly reads three sites into one warehouse, each with its own state; one that answers slowly delays no other', async () => {
  const slow = sites.web.script.at({ times: Number.POSITIVE_INFINITY }, delay(3_000));
  const serving = begin(['serve', '--port', '0', '--json'], { env: { ...env, TIDEMARK_JOBS: '2' } });
  await until('it serves', () => serving.out().includes('\n'), 60_000);
  const base = `${JSON.parse(serving.out().split('\n')[0] ?? '').url}/api/v1/dags/nightly`;
  expect((await post(`${base}/start`)).code).toBe(202);
  const status = async () => (await ask(`${base}/status`)).body.data;
  const parts = () =>
    rows(`select pipeline, status from ops.dag_runs where pipeline <> 'nightly' order by pipeline`);
  const isOver = (name: Name) => async () =>
    (await parts()).some(({ pipeline, status }) => pipeline === name && status === 'succeeded');
  await until('erp is read', isOver('erp'), 120_000);
  await until('plant is read', isOver('plant'), 120_000);
  expect(await parts()).toContainEqual({ pipeline: 'web', status: 'running' });
  expect(slow.fired).toBeGreaterThan(0);
  const { night } = JSON.parse((await run('status --json')).out);
  expect(night).toMatchObject({ status: 'running', parts: (await status()).run.parts, timing: 'on time' });
  expect(night.parts).toEqual({ running: 1, succeeded: 2 });
  slow.cancel();
  await until('nightly is over', async () => (await status()).finishedAt !== null, 120_000);
  const { run: request, receipts, steps } = await status();
  serving.kill('SIGTERM');
  expect((await serving.ended).code, serving.err()).toBe(0);

  expect(request).toMatchObject({ status: 'succeeded', error: null });
  const counted = receipts.filter(({ stream }: { stream: string }) => stream === 'issues');
  expect(counted).toHaveLength(3);
  for (const [pipeline, read] of [
    ['web', 60],
    ['plant', 50],
    ['erp', 40],
  ])
    expect(counted).toContainEqual(expect.objectContaining({ pipeline, read, stored: read }));
  expect(new Set(steps.map(({ pipeline }: { pipeline: string }) => pipeline))).toEqual(new Set(names));
  await expectAll();
  const { streams } = JSON.parse((await run('streams --json')).out);
  const issues = streams.filter(({ stream }: { stream: string }) => stream === 'issues');
  const counts = issues.map((each: { pipeline: Name; rows: { live: number } }) => [
    each.pipeline,
    each.rows.live,
  ]);
  expect(Object.fromEntries(counts)).toEqual({ web: 60, plant: 50, erp: 40 });
  const own = { kind: 'tracker', leases: 1, isFresh: true };
  const each = await rows(`select s.name, s.base_url, s.kind, c.watermark is not null as has_watermark,
      (select count(*)::int from ops.leases l where l.pipeline = s.name) as leases,
      (select bool_and(freshness in ('fresh', 'unavailable')) from bi.data_freshness f where f.source = s.name) as "isFresh"
    from ops.sources s join ops.checkpoints c using (source_id) where c.stream = 'issues' order by 1`);
  expect(each).toEqual(
    names.map((name) => ({ name, base_url: sites[name].url, has_watermark: true, ...own })),
  );
});

test('runs and status show the night once, as the sum of its parts, and runs the parts of a night or of a pipeline by name', async () => {
  const runsOf = async (words: string) => JSON.parse((await run(`runs --json ${words}`.trim())).out).runs;
  const [night, ...others] = await runsOf('');
  expect(others).toEqual([]);
  const [{ received }] = await rows('select sum(received)::int as received from ops.runs');
  expect(night).toMatchObject({
    pipeline: 'nightly',
    kind: 'sync',
    status: 'succeeded',
    counts: { received },
  });
  const summed = { ...night, parts: { succeeded: 3 }, timing: 'on time' };
  expect(JSON.parse((await run('status --json')).out).night).toEqual(summed);
  expect((await run('status')).out).toMatch(
    /\nLast night\nRUN +STATUS +PARTS +STARTED +DURATION +TIMING +ERROR\nnightly-sync-\S+ +succeeded +succeeded 3 +\S.* on time\n/,
  );
  const parts = await runsOf(night.runId);
  expect(new Set(parts.map(({ pipeline }: { pipeline: string }) => pipeline))).toEqual(new Set(names));
  expect(await runsOf('--pipeline web')).toMatchObject([{ pipeline: 'web', status: 'succeeded' }]);
  expect((await run('runs none')).code).toBe(2);
});

test('sync reads several sites at once, each with its own progress; a slow one delays no other, and one that fails keeps none from running', async () => {
  const slow = sites.web.script.at({ times: Number.POSITIVE_INFINITY }, delay(1_000));
  const down = sites.plant.script.at({ times: Number.POSITIVE_INFINITY }, status(401));
  const { code, out } = await run('sync --jobs 2 --json');
  slow.cancel();
  down.cancel();
  expect([code, slow.fired > 0, down.fired > 0]).toEqual([3, true, true]);
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const of = (type: string) => events.filter((event) => event.type === type);
  const ended = of('run.finished').map(({ pipeline, report }) => `${pipeline} ${report.status}`);
  expect(ended.at(-1)).toBe('web succeeded');
  expect(ended.slice(0, -1).sort()).toEqual(['erp succeeded', 'plant failed']);
  const beganAt = events.findIndex(({ type, pipeline }) => type === 'run.started' && pipeline === 'web');
  const erpAt = events.findIndex(({ type, pipeline }) => type === 'run.finished' && pipeline === 'erp');
  expect(erpAt).toBeGreaterThan(beganAt);
  await expectAll();
});

test('of a key that several sites have, why asks for the pipeline', async () => {
  const id = sites.web.state.store.at(5).id;
  const shared = `tracker.issues has a row with key “${id}” of each of`;
  const { code, err } = await run(`why issues ${id}`);
  expect(code).toBe(2);
  for (const name of names) expect(err.slice(err.indexOf(shared))).toContain(name);
  expect(err).toContain('--pipeline NAME');
  for (const name of names) {
    const { out } = await run(`why issues ${id} --pipeline ${name} --json`);
    const key = sites[name].state.keyOf(id);
    const source = { name, baseUrl: sites[name].url };
    expect(JSON.parse(out)).toMatchObject({ row: { key }, source, run: { pipeline: name } });
  }
  const none = `tracker.issues has no row with key “${id}” in other\n`;
  expect(await run(`why issues ${id} --pipeline other`)).toMatchObject({ code: 1, out: none });
});

test('a site that is down fails alone, and what one site deletes stays at the others', async () => {
  const { web, plant } = sites;
  const gone = web.state.store.at(7).id;
  for (const { clock } of [web, plant]) clock.advance(60_000);
  web.state.delete(gone);
  plant.state.update(plant.state.keyOf(gone), { summary: 'still here' });
  const { code, out, err } = await run('sync', { ERP_URL: 'http://127.0.0.1:9' });
  expect(code).toBe(3);
  expect(err).toMatch(/erp: .*127\.0\.0\.1:9/);
  for (const name of ['plant', 'web']) expect(out).toMatch(new RegExp(`^${name}: complete\\.`, 'm'));

  const deleted = await run('reconcile web');
  expect(deleted).toMatchObject({ code: 0, out: expect.stringMatching(/^web: complete\. .*1 deleted\./) });
  const tombstones = `select s.name, i.id::text from tracker.issues i join ops.sources s using (source_id)
    where _deleted_at is not null`;
  expect(await rows(tombstones)).toEqual([{ name: 'web', id: gone }]);
  await expectAll();
  const summary = `select summary from bi.issues where source = 'plant' and issue_id = '${gone}'`;
  expect(await rows(summary)).toEqual([{ summary: 'still here' }]);
});
