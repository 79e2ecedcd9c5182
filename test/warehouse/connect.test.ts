import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('a test database holds the migrated schema', async () => {
  const { rows } = await sql<{ n: string }>`select count(*) as n from ops.migrations`.execute(database.warehouse.db);
  expect(Number(rows[0]?.n)).toBeGreaterThan(0);
});
