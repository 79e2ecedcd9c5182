import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { budgetsOf } from '../../../src/warehouse/budgets.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { smallSite } from '../../support/small-site.ts';
import { tidemark } from './command.ts';

let database: TestDatabase;
let tracker: TrackerSimulator;
beforeAll(async () => {
  database = await testDatabase();
  tracker = await startTracker({ ...smallSite, dialect: 'vendor' });
});
afterAll(async () => {
  await tracker.close();
  await database.drop();
});

test('a run shares the rate limit and the pauses of its source through its warehouse', async () => {
  const { url, email, token } = tracker;
  const until = performance.now() + 4000;
  await budgetsOf(database.warehouse.db).pause(url, 4000);
  const source = { TRACKER_BASE_URL: url, TRACKER_EMAIL: email, TRACKER_API_TOKEN: token };
  const env = { DATABASE_URL: database.url, ...source, TRACKER_REQUESTS_PER_SECOND: '100' };
  const run = tidemark('sync --stream projects', { env });
  await expect.poll(() => tracker.log.length, { timeout: 60_000 }).toBeGreaterThan(0);
  expect(performance.now()).toBeGreaterThan(until - 50);
  expect((await run).code).toBe(0);
  const { rows } = await database.warehouse.pool.query('select key from ops.budgets order by key');
  expect(rows).toEqual([{ key: `all ${url}` }, { key: url }]);
});
