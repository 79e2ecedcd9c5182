import { expect, inject, onTestFinished, test } from 'vitest';
import { testDatabase } from './postgres.ts';
import { testRig } from './rig.ts';
import { isEmptied } from './spares.ts';

test('a warehouse that was synced is emptied of rows, sequences and statistics, and serves once more', async () => {
  const rig = await testRig({ issues: 20 });
  await rig.sync();
  await rig.rows('analyze');
  const held = (): Promise<readonly unknown[]> =>
    rig.rows(
      `select relname from pg_class c where relkind = 'r' and relnamespace in ('ops'::regnamespace, 'tracker'::regnamespace)
         and relname not in ('definitions', 'calendar_days') and (pg_relation_size(c.oid) > 0 or reltuples > 0)
       union all select sequencename from pg_sequences where last_value is not null
       union all select attname from pg_stats where schemaname = 'tracker'`,
    );
  expect((await held()).length).toBeGreaterThan(50);
  expect(await isEmptied(rig.database.name)).toBe(true);
  expect(await held()).toEqual([]);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', runId: '1' });
});

test('a warehouse that differs from the template is recognized', async () => {
  const { warehouse, drop } = await testDatabase();
  onTestFinished(drop);
  const { look, digest } = inject('postgres').pristine;
  const client = await warehouse.pool.connect();
  onTestFinished(() => client.release());
  const digestAfter = async (statement: string): Promise<unknown> => {
    await client.query(`begin; ${statement}`);
    const { rows } = await client.query<{ digest: string }>(look);
    await client.query('rollback');
    return rows[0]?.digest;
  };
  expect(await digestAfter('select 1')).toBe(digest);
  for (const statement of [
    'alter table tracker.issues add column odd text',
    'create index on tracker.issues (summary)',
    'drop table ops.rejects cascade',
    "comment on column tracker.issues.id is 'odd'",
    'create schema odd',
    'grant select on tracker.issues to pg_monitor',
    'insert into ops.definitions (kind, name, hash, version) select kind, name || 1, hash, version from ops.definitions limit 1',
    'update ops.definitions set hash = hash',
    "do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$",
  ])
    expect([statement, (await digestAfter(statement)) === digest]).toEqual([statement, false]);
});
