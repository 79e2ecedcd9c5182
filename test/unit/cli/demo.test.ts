import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { checks } from '../../../docs/bi/checks.ts';
import { committed } from '../../../docs/bi/schema.ts';
import type { Facts } from '../../../simulators/demo/facts.ts';
import type { Ran } from '../../../simulators/demo/story.ts';
import { lastPage } from '../../../simulators/demo/summary.ts';
import { startTracker } from '../../../simulators/jira/server.ts';
import { count } from '../../../src/core/format.ts';
import { run, until } from '../../support/processes.ts';
import { begin, start, tidemark } from './command.ts';

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark demo-'));
// As root the server runs as another user, which must be able to pass through.
fs.chmodSync(home, 0o711);
const env = { TIDEMARK_HOME: home };
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

/** The rows of every table, over a connection of the test's own; undefined if no server answers. */
async function counts(url: string, tables: readonly string[]): Promise<Record<string, number> | undefined> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
  } catch {
    return undefined;
  }
  try {
    const found: Record<string, number> = {};
    for (const table of tables)
      found[table] = Number((await client.query(`select count(*) as n from ${table}`)).rows[0].n);
    return found;
  } finally {
    await client.end();
  }
}

/** The rows of each query. */
async function rowsOf(url: string, queries: readonly string[]): Promise<readonly unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found: unknown[][] = [];
  for (const query of queries) found.push((await client.query({ text: query, rowMode: 'array' })).rows);
  await client.end();
  return found;
}

/** What does not hold of the keys and relations that the contract of `bi` names. */
async function brokenChecks(url: string): Promise<readonly string[]> {
  const all = checks(committed());
  const found = await rowsOf(
    url,
    all.map(({ query }) => query),
  );
  return all.filter((_, place) => (found[place] ?? []).length > 0).map(({ says }) => says);
}

/** How the parts of the company belong together. */
const across = [
  `select from_kind, to_kind from bi.cross_links where from_kind <> 'issue' group by 1, 2 order by 1, 2`,
  'select sum(deployments) > 5 from bi.dora_weekly',
  'select source, status, is_late from bi.late_nights order by 1',
  `select source, check_name from bi.quality_checks where severity = 'error' and not is_ok`,
  'select distinct currency from bi.ad_accounts order by 1',
];

type Page = Facts & { readonly url: string; readonly runs: readonly Ran[] };

test('the demo fills a warehouse of its own, its summary is true by psql, and it works again', async () => {
  const first = await tidemark('demo --issues 150 --json', { env });
  expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: '' });
  const page: Page = JSON.parse(first.out);
  const { tables } = page;
  expect(page.runs.map(({ report }) => report.status)).toEqual(Array(7).fill('succeeded'));
  for (const each of page.compared) expect(each.warehouse).toBe(each.source);
  expect(page.compared.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['issues', 'runs of jobs', 'runs that failed', 'seconds of runs']),
  );
  expect(page.changes).toHaveLength(12);
  for (const each of page.changes) expect(each.found).toEqual(expect.any(String));
  for (const answer of page.answers) expect(answer.rows.length).toBeGreaterThan(0);
  // The last command that uses the server stops it.
  expect(await counts(page.url, [])).toBeUndefined();

  const open = begin(['warehouse'], { env: { TIDEMARK_HOME: path.join(home, 'demo') } });
  await until('the connection string', () => open.out().includes('psql'));
  const url = /^connection +(\S+)$/m.exec(open.out())?.[1] ?? '';
  const kept = Object.fromEntries(tables.map((each) => [each.table, each.rows + each.deleted]));
  expect(await counts(url, Object.keys(kept))).toEqual(kept);
  expect(await brokenChecks(url)).toEqual([]);
  const [links, deployments, nights, errors, currencies] = await rowsOf(url, across);
  expect(links).toEqual([
    ['campaign', 'issue'],
    ['dag_run', 'campaign'],
    ['dag_run', 'issue'],
  ]);
  expect(deployments).toEqual([[true]]);
  expect(nights).toEqual(['ads', 'tracker', 'workflow'].map((source) => [source, 'succeeded', false]));
  expect(errors).toEqual([]);
  // Each amount is in one currency.
  const spends = page.compared.filter(({ what }) => what.startsWith('spend'));
  expect(spends).toHaveLength(2);
  expect(spends.map(({ what }) => [what.replace('spend of ads, ', '')])).toEqual(currencies);
  open.kill('SIGINT');
  expect((await open.ended).code).toBe(0);
  expect(await counts(url, [])).toBeUndefined();

  const elsewhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nothing' };
  const second = await tidemark('demo --issues 150', { env: { ...env, ...elsewhere } });
  expect(second.code).toBe(0);
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  const verdict = `The warehouse equals the source: ${count(rows)} rows in ${tables.length} tables.\n`;
  expect(second.out.startsWith(verdict)).toBe(true);
  expect(second.out).toContain(`TIDEMARK_HOME='${path.join(home, 'demo')}' npx tidemark warehouse`);
  expect(second.out).toContain('DATABASE_URL is set');
  expect(first.out).not.toContain('DATABASE_URL');
  // At most 80 lines of 80 columns; the home of this test is longer than the usual one.
  const usual = `${second.err}${second.out}`.replaceAll(`'${home}/demo'`, '.tidemark/demo');
  const lines = usual.replaceAll(home, '.tidemark').split('\n');
  expect(lines.length).toBeLessThanOrEqual(80);
  expect(lines.filter((line) => [...line].length > 80)).toEqual([]);
  // With --verbose every table has its line.
  const draw = (_: unknown, all: readonly (readonly unknown[])[]) => all.map((cells) => cells.join(' '));
  const paper = { verbose: true, quiet: false, home, url: undefined, hasOther: false, draw };
  const verbose = lastPage(page, page.runs, { ...paper, paint: (_, text) => text, outcomeOf: () => '' });
  for (const each of tables) expect(verbose.join('\n')).toContain(`\n${each.table} ${each.rows} `);
});

test('npm start is the demo where nothing is configured, and a sync of everything where something is', async () => {
  const demo = begin(['start'], { env });
  await until('the first run', () => demo.err().includes('run 1 (sync) started'));
  demo.kill('SIGINT');
  expect((await demo.ended).code).toBe(130);

  const tracker = await startTracker({ issues: 20, projects: 1, users: 5, years: 1 });
  const { url, email, token } = tracker;
  const configured = { TRACKER_BASE_URL: url, TRACKER_EMAIL: email, TRACKER_API_TOKEN: token };
  const { code, out, err } = await tidemark('start', { env: { ...env, ...configured } });
  await tracker.close();
  expect(err).toContain(`made a new warehouse in ${home}\n`);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^tracker: complete\. /) });
});

test('a command that is killed leaves a server, which the tidying process stops', async () => {
  const open = start(['warehouse', '--json'], { env });
  await until('the connection string', () => open.out().includes('url'));
  const { url } = JSON.parse(open.out());
  open.kill('SIGKILL');
  await open.ended;
  expect(await counts(url, [])).toEqual({});
  const tidying = fileURLToPath(new URL('../../../src/cli/stop-embedded.ts', import.meta.url));
  expect(await run(tidying, [String(open.pid), home]).ended()).toBe(0);
  expect(await counts(url, [])).toBeUndefined();
});
