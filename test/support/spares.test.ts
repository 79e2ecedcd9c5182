import { expect, inject, onTestFinished, test } from 'vitest';
import { testDatabase } from './postgres.ts';
import { testRig } from './rig.ts';
import { isEmptied, isRenewed, settingsOf } from './spares.ts';

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

test('a warehouse is emptied in its open sessions, unless one is in use or set to something else', async () => {
  const { warehouse, drop } = await testDatabase({});
  onTestFinished(drop);
  const { pool } = warehouse;
  const usual = await settingsOf(pool);
  const state = async () =>
    (
      await pool.query(`select pg_backend_pid() as pid, array(select pg_listening_channels()) as channels,
        to_regclass('pg_temp.odd') as made, (select count(*)::int from ops.sources) as sources`)
    ).rows;
  const [{ pid }] = (await pool.query('select pg_backend_pid() as pid')).rows;
  await pool.query('begin; listen odd; create temporary table odd (); commit; begin');
  await pool.query(`insert into ops.sources (name, kind, base_url) values ('odd', 'tracker', '')`);
  expect(await isRenewed(warehouse, usual)).toBe(true);
  expect(await state()).toEqual([{ pid, channels: [], made: null, sources: 0 }]);
  const client = await pool.connect();
  expect(await isRenewed(warehouse, usual)).toBe(false);
  await client.query(`set work_mem = '1MB'`);
  client.release();
  expect(await isRenewed(warehouse, usual)).toBe(false);
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
