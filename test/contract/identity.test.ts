import { afterAll, beforeAll, expect, test } from 'vitest';
import { openQueue } from '../../src/scheduler/queue.ts';
import { fillDemoWarehouse } from '../support/demo-warehouse.ts';
import { staleFacts } from '../support/facts.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';

let database: TestDatabase;
const rows = async <R extends object>(query: string): Promise<readonly R[]> =>
  (await database.warehouse.pool.query<R>(query)).rows;

beforeAll(async () => {
  database = await testDatabase();
  // Debezium makes one like this by default. Postgres then refuses to update and delete rows that subscribers could not tell apart.
  await database.warehouse.pool.query('create publication cdc for all tables');
});
afterAll(() => database.drop());

const tables = `
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

const withoutIdentity = `
  select c.oid::regclass::text as name ${tables} and c.relpersistence = 'p' and c.relreplident <> 'f'
    and not exists (select from pg_index i where i.indrelid = c.oid and (i.indisprimary or i.indisreplident))
  order by c.oid::regclass::text collate "C"`;

/**
 * A publication leaves them out: limits start afresh after a crash, notes never outlive their transaction, and the other tables are locked and
 * never written.
 */
const unpublished = /^(ops\.(budgets|looks_in_turn)|tracker\.touched|tracker\.(facts|names)_lock_[0-7])$/;

test('the lint finds a table without a replica identity', async () => {
  await rows('create table public.bare (a int); create table public.keyed (a int primary key)');
  expect(await rows(withoutIdentity)).toEqual([{ name: 'public.bare' }]);
  await rows('drop table public.bare, public.keyed');
});

test('two syncs of each source succeed in a warehouse that publishes all tables', async () => {
  await fillDemoWarehouse(database.warehouse, 100);
  expect(await rows(`select kind, status from ops.runs where status <> 'succeeded'`)).toEqual([]);
  expect(await rows('select from tracker.issue_value_intervals limit 1')).toHaveLength(1);
  expect(await staleFacts(rows)).toEqual([]);
});

test('the queue of runs works in a warehouse that publishes all tables', async () => {
  const queue = await openQueue(database.warehouse, (error) => expect.fail(String(error)));
  await queue.offer(database.warehouse.db, 'tracker', { requestId: 'a', failures: 0 });
  const done = Promise.withResolvers<void>();
  await queue.work(1, 500, async (job) => {
    expect(await queue.complete(database.warehouse.db, job)).toBe(true);
    done.resolve();
  });
  await done.promise;
  await queue.reap();
  await queue.end();
});

test('every table has a replica identity, partitions and tables that were made meanwhile included', async () => {
  expect(await rows(withoutIdentity)).toEqual([]);
  const left = await rows<{ name: string }>(
    `select c.oid::regclass::text as name ${tables} and c.relpersistence <> 'p' order by c.oid::regclass::text collate "C"`,
  );
  expect(left.filter(({ name }) => !unpublished.test(name))).toEqual([]);
});
