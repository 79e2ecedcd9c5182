import { afterAll, beforeAll, expect, test } from 'vitest';
import { rowCount } from '../../../src/queries/stream-history.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => database?.drop());

test('every table with tombstones finds them by an index', async () => {
  const { rows } = await database.warehouse.pool.query<{ name: string; found: boolean }>(
    `select c.oid::regclass::text as name, exists (
       select from pg_index i where i.indrelid = c.oid and pg_get_expr(i.indpred, i.indrelid) = '(_deleted_at IS NOT NULL)') as found
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = '_deleted_at' and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition`,
  );
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(({ found }) => !found).map(({ name }) => name)).toEqual([]);
});

test('rows are counted alive and dead, of tables with and without tombstones', async () => {
  const { db, pool } = database.warehouse;
  await pool.query(
    `insert into tracker.priorities (source_id, id, name, _deleted_at) values (1, 1, 'a', null), (1, 2, 'b', now()), (2, 1, 'c', null)`,
  );
  await pool.query(
    `insert into tracker.issue_labels (source_id, issue_id, label) values (1, 1, 'x'), (1, 1, 'y')`,
  );
  const count = (name: string) => rowCount(db, { schema: 'tracker', name });
  expect(await count('priorities')).toEqual({ live: 2, deleted: 1, exact: true });
  expect(await count('issue_labels')).toEqual({ live: 2, deleted: 0, exact: true });
  expect(await count('nothing')).toBeUndefined();
});
