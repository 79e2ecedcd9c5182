import fs from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTracker } from '../../simulators/jira/server.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';
import { until } from '../support/processes.ts';
import { environment } from '../support/tidemark.ts';
import { tidemark } from '../unit/cli/command.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const rows = async (query: string): Promise<readonly unknown[]> =>
  (await database.warehouse.pool.query({ text: query, rowMode: 'array' })).rows.flat();

test('a sync goes on where a reader keeps a view that is to be replaced, and says so; other readers are answered', async () => {
  const tracker = await startTracker({ seed: 7, issues: 20, projects: 1 });
  onTestFinished(() => tracker.close());
  const reader = new pg.Client({ connectionString: database.url, application_name: 'a BI tool' });
  await reader.connect();
  onTestFinished(() => reader.end());
  await reader.query('begin; select count(*) from bi.campaigns');
  // As an earlier version made it.
  const isOld = `hash = 'of an earlier version'`;
  await rows(`update ops.definitions set ${isOld} where name = 'bi.campaigns'`);

  const env = environment(tracker, database.url, {});
  const going = tidemark('sync tracker', { env });
  const waiting = `select pid from pg_locks where relation = 'bi.campaigns'::regclass and not granted`;
  await until('the migration waits for the view', async () => (await rows(waiting)).length > 0);
  const began = performance.now();
  expect(await rows('select count(*) from bi.campaigns')).toEqual(['0']);
  expect(performance.now() - began).toBeLessThan(10_000);

  const { code, err } = await going;
  expect([code, err]).toEqual([0, expect.stringMatching(/views of bi stay as they were: .*\(a BI tool\)/)]);
  expect(await rows('select count(*) from tracker.issues')).toEqual(['20']);
  await reader.query('commit');
  expect((await tidemark('sync tracker', { env })).code).toBe(0);
  expect(await rows(`select name from ops.definitions where ${isOld}`)).toEqual([]);
});

test('no lock that every role can take keeps facts or requests from being written', () => {
  const root = new URL('../../', import.meta.url);
  const files = ['src', 'migrations'].flatMap((folder) =>
    fs
      .readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|sql)$/.test(file))
      .map((file) => `${folder}/${file}`),
  );
  const locking = files.filter((file) =>
    /pg_(try_)?advisory/.test(fs.readFileSync(new URL(file, root), 'utf8')),
  );
  // The demo's warehouse is its own; a first migration has no table yet, and no reader.
  expect(locking.sort()).toEqual(['src/cli/demo.ts', 'src/warehouse/migrate.ts']);
});
