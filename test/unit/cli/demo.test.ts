import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { startTracker } from '../../../simulators/jira/server.ts';
import { run, until } from '../../support/processes.ts';
import { start, tidemark } from './command.ts';

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

interface Summary {
  readonly url: string;
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly deleted: number }[];
  readonly compared: readonly {
    readonly what: string;
    readonly source: number | string;
    readonly warehouse: number | string;
  }[];
  readonly changes: readonly { readonly found: string | null }[];
  readonly runs: readonly { readonly report: { readonly status: string } }[];
  readonly answers: readonly { readonly rows: readonly unknown[] }[];
}

test('the demo fills a warehouse of its own, its summary is true by psql, and it works again', async () => {
  const first = await tidemark('demo --issues 150 --json', { env });
  expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: '' });
  const page: Summary = JSON.parse(first.out);
  expect(page.runs.map(({ report }) => report.status)).toEqual(Array(7).fill('succeeded'));
  for (const each of page.compared) expect(each.warehouse).toBe(each.source);
  expect(page.compared.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['issues', 'spend of ads', 'runs of jobs', 'runs that failed', 'seconds of runs']),
  );
  expect(page.changes).toHaveLength(12);
  for (const each of page.changes) expect(each.found).toEqual(expect.any(String));
  for (const answer of page.answers) expect(answer.rows.length).toBeGreaterThan(0);
  // The last command that uses the server stops it.
  expect(await counts(page.url, [])).toBeUndefined();

  const open = start(['warehouse'], { env: { TIDEMARK_HOME: path.join(home, 'demo') } });
  await until('the connection string', () => open.out().includes('psql'), 30_000);
  const url = /^connection +(\S+)$/m.exec(open.out())?.[1] ?? '';
  const names = page.tables.map((each) => each.table);
  expect(await counts(url, names)).toEqual(
    Object.fromEntries(page.tables.map((each) => [each.table, each.rows + each.deleted])),
  );
  open.kill('SIGINT');
  expect((await open.ended).code).toBe(0);
  expect(await counts(url, [])).toBeUndefined();

  const elsewhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nothing' };
  const second = await tidemark('demo --issues 150 --verbose', { env: { ...env, ...elsewhere } });
  expect(second.code).toBe(0);
  expect(second.out).toMatch(/^The warehouse equals the source: [\d,]+ rows in \d+ tables\.$/m);
  // The platform's clock stands at midnight, the warehouse's does not: what depends on the hour may differ between two demos.
  for (const { table, rows } of page.tables)
    expect(second.out).toMatch(
      new RegExp(`^${table.replace('.', '\\.')} +${rows.toLocaleString('en-US')} `, 'm'),
    );
  expect(second.out).toContain(`TIDEMARK_HOME='${path.join(home, 'demo')}' npx tidemark warehouse`);
  expect(second.out).toContain('DATABASE_URL is set');
  expect(first.out).not.toContain('DATABASE_URL');
}, 120_000);

test('the demo prints at most 80 lines of 80 columns', async () => {
  const { code, out, err } = await tidemark('demo --issues 150', { env });
  expect(code).toBe(0);
  // The home of this test is longer than the usual one.
  const lines = `${err}${out}`
    .replaceAll(`'${home}/demo'`, '.tidemark/demo')
    .replaceAll(home, '.tidemark')
    .split('\n');
  expect(lines.length).toBeLessThanOrEqual(80);
  expect(lines.filter((line) => [...line].length > 80)).toEqual([]);
  expect(out).toMatch(/^The warehouse equals the source: /);
}, 120_000);

test('npm start is the demo where nothing is configured, and a sync of everything where something is', async () => {
  const demo = start(['start'], { env });
  await until('the first run', () => demo.err().includes('run 1 (sync) started'), 30_000);
  demo.kill('SIGINT');
  expect((await demo.ended).code).toBe(130);

  const tracker = await startTracker({ issues: 20, projects: 1, users: 5, years: 1 });
  const configured = {
    TRACKER_BASE_URL: tracker.url,
    TRACKER_EMAIL: tracker.email,
    TRACKER_API_TOKEN: tracker.token,
  };
  const { code, out, err } = await tidemark('start', { env: { ...env, ...configured } });
  await tracker.close();
  expect(err).toContain(`made a new warehouse in ${home}\n`);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^tracker: complete\. /) });
}, 120_000);

test('a command that is killed leaves a server, which the tidying process stops', async () => {
  const open = start(['warehouse', '--json'], { env });
  await until('the connection string', () => open.out().includes('url'), 30_000);
  const { url } = JSON.parse(open.out());
  open.kill('SIGKILL');
  await open.ended;
  expect(await counts(url, [])).toEqual({});
  const tidy = run(fileURLToPath(new URL('../../../src/cli/stop-embedded.ts', import.meta.url)), [
    String(open.pid),
    home,
  ]);
  expect(await tidy.ended()).toBe(0);
  expect(await counts(url, [])).toBeUndefined();
}, 60_000);
