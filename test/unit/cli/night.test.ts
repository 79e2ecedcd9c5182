import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { status } from '../../../simulators/shared/faults.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Ended, nowhere, tidemark } from './command.ts';

/** Two sites that are parts of the night, and one with a schedule of its own. */
const names = ['berlin', 'lyon', 'apart'] as const;
type Name = (typeof names)[number];

let database: TestDatabase;
let sites: Record<Name, TrackerSimulator>;
let env: Record<string, string>;

beforeAll(async () => {
  const site = { projects: 1, users: 5, years: 1, issues: 30, now: new Date('2026-03-02T00:00:00Z') };
  const [berlin, lyon, apart, made] = await Promise.all([
    startTracker({ ...site, seed: 3 }),
    startTracker({ ...site, seed: 4 }),
    startTracker({ ...site, seed: 5 }),
    testDatabase(),
  ]);
  sites = { berlin, lyon, apart };
  database = made;
  const folder = fs.mkdtempSync(path.join(nowhere, 'pipelines-'));
  const write = (name: string, declared: string) =>
    fs.writeFileSync(
      path.join(folder, `${name}.ts`),
      `import { env, jira, nightly, pipeline, secret } from 'tidemark';\nexport default ${declared};\n`,
    );
  const more = {
    berlin: '',
    lyon: `onSuccess: { dag: 'lyon_report' }`,
    apart: `schedule: { sync: '0 5 * * *' }`,
  };
  for (const name of names) {
    const { url, email } = sites[name];
    const source = `jira({ baseUrl: '${url}', email: '${email}', apiToken: secret('${name.toUpperCase()}_TOKEN') })`;
    write(name, `pipeline({ name: '${name}', source: ${source}, ${more[name]} })`);
  }
  write('nightly', `nightly({ pipelines: ['berlin', 'lyon'], onSuccess: { dag: 'night_report' } })`);
  const tokens = names.map((name) => [`${name.toUpperCase()}_TOKEN`, sites[name].token]);
  env = { DATABASE_URL: database.url, TIDEMARK_PIPELINES: folder, ...Object.fromEntries(tokens) };
});
afterAll(async () => {
  await Promise.all(names.map((name) => sites[name].close()));
  await database.drop();
});

const query = async (text: string) => (await database.warehouse.pool.query(text)).rows;
const live = 'select s.name, count(*)::int as n from tracker.issues i join ops.sources s using (source_id)';

/** Runs `sync`; with its end what ran since the last month, in the order of the beginnings, and which DAGs are to be started. */
async function sync(words = '') {
  const ended: Ended = await tidemark(`sync ${words}`.trim(), { env });
  const runs = await query(`select pipeline || ' ' || kind || ' ' || status as run from ops.runs
    where started_at > now() - interval '20 days' order by run_id`);
  const handoffs = await query('select dag, run_key from ops.handoffs order by dag');
  return { ...ended, runs: runs.map(({ run }) => run), handoffs: handoffs.map(({ dag }) => dag) };
}

/** What ran is old then, and a reconcile is due. */
async function aMonthPasses(): Promise<void> {
  await query(`update ops.runs set started_at = started_at - interval '30 days',
    finished_at = finished_at - interval '30 days'`);
  await query('delete from ops.handoffs');
}

/** Deletes the first issues of a site that are left. */
function remove(name: Name, count: number): void {
  const { state, clock } = sites[name];
  clock.advance(60_000);
  const left = [...sites[name].oracle().issues.values()].filter(({ deleted }) => !deleted);
  for (const { id } of left.slice(0, count)) state.delete(id);
}

// One story: each test finds what the ones before it left.
test('sync without names reads every pipeline; the night is handed over when all of its parts have succeeded', async () => {
  const { code, runs, handoffs, err } = await sync();
  expect([code, err.includes('warning')]).toEqual([0, false]);
  expect(runs.toSorted()).toEqual(['apart sync succeeded', 'berlin sync succeeded', 'lyon sync succeeded']);
  expect(handoffs).toEqual(['lyon_report', 'night_report']);
  const [night] = await query(
    `select pipeline, run_key, params from ops.handoffs where dag = 'night_report'`,
  );
  expect(night).toMatchObject({ pipeline: 'nightly', run_key: expect.stringMatching(/^nightly-sync-/) });
  const [{ first }] = await query(
    `select to_char(min(started_at), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as first from ops.runs`,
  );
  expect(night.params).toContain(`FROM=${first} TO=`);
});

test('a reconcile that is due follows its pipeline and settles what was deleted; a pipeline with a schedule of its own has none', async () => {
  await aMonthPasses();
  for (const name of names) remove(name, 1);
  const { code, runs, handoffs } = await sync('--jobs 2');
  expect(code).toBe(0);
  expect(runs).toHaveLength(5);
  for (const name of ['berlin', 'lyon'])
    expect(runs.indexOf(`${name} reconcile succeeded`)).toBeGreaterThan(
      runs.indexOf(`${name} sync succeeded`),
    );
  expect(await query(`${live} where _deleted_at is not null group by 1 order by 1`)).toEqual([
    { name: 'berlin', n: 1 },
    { name: 'lyon', n: 1 },
  ]);
  expect(handoffs).toEqual(['lyon_report', 'night_report']);
});

test('what waited longest goes first, and a plan names the reconciles that would follow', async () => {
  const order = async (words: string): Promise<readonly string[]> => {
    const { out } = await tidemark(words, { env });
    return JSON.parse(out).plan.map(({ pipeline }: { pipeline: string }) => pipeline);
  };
  // lyon succeeded two days before the others, berlin a day.
  for (const [name, days] of [
    ['berlin', 1],
    ['lyon', 2],
  ])
    await query(
      `update ops.runs set finished_at = finished_at - interval '${days} days' where pipeline = '${name}'`,
    );
  expect(await order('sync --dry-run --json')).toEqual(['lyon', 'berlin', 'apart']);
  expect(await order('sync berlin lyon --dry-run --json')).toEqual(['berlin', 'lyon']);
  const ran = async () => (await sync('--jobs 1')).runs.slice(-3).map((run) => run.split(' ')[0]);
  expect(await ran()).toEqual(['lyon', 'berlin', 'apart']);
  await aMonthPasses();
  const { out } = await tidemark('sync --dry-run', { env });
  for (const name of ['berlin', 'lyon'])
    expect(out).toContain(`${name}: its reconcile is due and would follow\n`);
  expect(out).not.toContain('apart: its');
  expect((await sync('berlin --dry-run')).out).not.toContain('would follow');
  expect((await sync()).runs).toHaveLength(5);
});

test('where no reconcile is due none runs; named pipelines and streams are no night', async () => {
  await query('delete from ops.handoffs');
  const before = (await query('select run_id from ops.runs')).length;
  await sync();
  expect(await query('select run_id from ops.runs')).toHaveLength(before + 3);
  await aMonthPasses();
  expect(await sync('berlin')).toMatchObject({ code: 0, runs: ['berlin sync succeeded'], handoffs: [] });
  const ofStream = await sync('--stream issues');
  expect(ofStream).toMatchObject({ code: 0, handoffs: [] });
  expect(ofStream.runs.filter((run) => run.includes('reconcile'))).toEqual([]);
});

test('a pipeline that fails keeps no other from its parts, and the night is not handed over', async () => {
  await aMonthPasses();
  const down = sites.berlin.script.at({ times: Number.POSITIVE_INFINITY }, status(401));
  const { code, runs, handoffs } = await sync('--jobs 2');
  down.cancel();
  expect([code, down.fired > 0]).toEqual([3, true]);
  expect(runs).toEqual(expect.arrayContaining(['lyon sync succeeded', 'lyon reconcile succeeded']));
  expect(runs.filter((run) => run.startsWith('berlin') && run.endsWith('succeeded'))).toEqual([]);
  expect(handoffs).toEqual(['lyon_report']);
});

test('the exit code counts the reconcile that followed; a pipeline that is no part does not keep the night from being handed over', async () => {
  await aMonthPasses();
  remove('berlin', 25);
  const held = await sync();
  expect(held.runs).toContain('berlin reconcile needs_attention');
  expect(held).toMatchObject({ code: 3, handoffs: ['lyon_report'] });
  await query('delete from ops.handoffs');
  const down = sites.apart.script.at({ times: Number.POSITIVE_INFINITY }, status(401));
  const { code, handoffs } = await sync();
  down.cancel();
  expect([code, down.fired > 0]).toEqual([3, true]);
  expect(handoffs).toEqual(['lyon_report', 'night_report']);
});
