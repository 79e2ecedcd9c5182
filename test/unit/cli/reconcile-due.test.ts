import { afterAll, beforeAll, expect, test } from 'vitest';
import { reconcileDue } from '../../../src/cli/reconcile-due.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** A reconciliation that came to a verdict now, in a pipeline that has run for a month. */
const due = async (params: object): Promise<boolean> => {
  await database.warehouse.pool.query('truncate ops.runs cascade');
  await database.warehouse.pool.query(
    `insert into ops.runs (pipeline, source_id, kind, status, params, epoch, started_at) values
      ('tracker', 1, 'sync', 'succeeded', '{}', 1, now() - interval '30 days'),
      ('tracker', 1, 'reconcile', 'succeeded', $1, 1, now())`,
    [params],
  );
  return reconcileDue(database.warehouse.db, 'tracker');
};

test('a reconciliation of some streams does not stand for the one that is due', async () => {
  expect(await due({ streams: null })).toBe(false);
  expect(await due({ streams: ['issues'] })).toBe(true);
});
