import crypto from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { grantReader } from '../../../src/bi/grant-reader.ts';
import { shippedTables } from '../../../src/connectors/index.ts';
import { connect, type Warehouse } from '../../../src/warehouse/connect.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { asOwner, databaseUrl, testDatabase } from '../../support/postgres.ts';

const tag = crypto.randomBytes(6).toString('hex');
const database = `test_${tag}`;
/** Owns the warehouse and may make roles; is no superuser. */
const owner = `owner_${tag}`;
const reader = (name: string): string => `${name}_${tag}`;
let warehouse: Warehouse;

beforeAll(async () => {
  await asOwner(async (client) => {
    await client.query(`create role ${owner} login createrole password 'owner'`);
    await client.query(`create database ${database} owner ${owner}`);
  });
  const url = new URL(databaseUrl(database));
  Object.assign(url, { username: owner, password: 'owner' });
  warehouse = await connect(url.href, { max: 2 });
  await migrate(warehouse, shippedTables);
});
afterAll(async () => {
  await warehouse.close();
  await asOwner(async (client) => {
    await client.query(`drop database ${database}`);
    const { rows } = await client.query(`select rolname from pg_roles where rolname like '%\\_${tag}'`);
    for (const { rolname } of rows.reverse()) await client.query(`drop role ${rolname}`);
  });
});

/** A connection as a BI tool makes it: with no settings of ours. */
async function as(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

const relations = async (where: string): Promise<readonly string[]> => {
  const { rows } = await warehouse.pool.query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name from pg_class c join pg_namespace n on n.oid = relnamespace
      where relkind in ('r', 'v', 'm', 'p') and nspname !~ '^(pg_|information_schema)' and ${where} order by 1`,
  );
  return rows.map(({ name }) => name);
};

test('a reader runs every view of bi, and nothing else', async () => {
  const made = await grantReader(warehouse, reader('one'));
  expect(made).toMatchObject({ isNew: true, exists: true, left: [] });
  expect(made.done).toContain('revoke usage on schema public from public');
  await warehouse.pool.query('create view bi.of_a_later_version as select 1 as one');
  const client = await as(made.url);
  const shown = await relations(`nspname = 'bi'`);
  expect(shown.length).toBeGreaterThan(30);
  for (const name of shown) await client.query(`select count(t) from (select * from ${name} offset 0) t`);

  await expect(client.query('create temporary table t (i int)')).rejects.toThrow(
    /permission denied|read-only/,
  );
  await client.query('set default_transaction_read_only = off');
  for (const name of await relations(`nspname <> 'bi'`))
    await expect(client.query(`select from ${name}`), name).rejects.toThrow(/permission denied for schema/);
  for (const statement of [
    'create temporary table t (i int)',
    'create table t (i int)',
    'create table public.t (i int)',
    'create schema mine',
    'create role another',
    `insert into calendar (date_day) values ('2050-01-01')`,
    'select ops.shows_names()',
  ])
    await expect(client.query(statement), statement).rejects.toThrow(
      /permission denied|cannot insert into view/,
    );
  const visible = `select nspname from pg_namespace where has_schema_privilege(oid, 'usage') and nspname !~ '^pg_' order by 1`;
  expect((await client.query(visible)).rows).toEqual([{ nspname: 'bi' }, { nspname: 'information_schema' }]);
});

test('a reader cannot take the locks under which facts are written', async () => {
  const client = await as((await grantReader(warehouse, reader('locking'))).url);
  const locks = await relations(`relname ~ '^(facts|names)_lock'`);
  expect(locks).toHaveLength(16);
  for (const name of [...locks, 'ops.definitions'])
    await expect(
      client.query(`rollback; begin; lock table ${name} in access share mode`),
      name,
    ).rejects.toThrow(/permission denied/);
  await client.query('rollback');
  const writer = await warehouse.pool.connect();
  await writer.query(
    'begin; select tracker.lock_facts(9::smallint, true), tracker.lock_names(9::smallint, true)',
  );
  const { rows } = await writer.query(
    `select locktype, mode, relation::regclass::text as name from pg_locks
      where pid = pg_backend_pid() and (locktype = 'advisory' or relation::regclass::text ~ '^tracker.*_lock') order by 3`,
  );
  await writer.query('rollback');
  writer.release();
  const held = { locktype: 'relation', mode: 'ExclusiveLock' };
  expect(rows).toEqual([
    { ...held, name: 'tracker.facts_lock_1' },
    { ...held, name: 'tracker.names_lock_1' },
  ]);
});

test('a reader may call no function that others may not, also where the owner is a superuser', async () => {
  const own = await testDatabase();
  onTestFinished(() => own.drop());
  const name = reader('of_superuser');
  const { url, left } = await grantReader(own.warehouse, name);
  onTestFinished(() =>
    asOwner(
      async (client) => void (await client.query(`drop owned by ${name}; drop role ${name}`)),
      own.name,
    ),
  );
  expect(left).toEqual([]);
  const client = await as(url);
  const more = `select p.oid::regprocedure::text from pg_proc p where has_function_privilege(p.oid, 'execute')
    and not has_function_privilege('public', p.oid, 'execute')`;
  expect((await client.query(more)).rows).toEqual([]);
  for (const call of [
    `pg_read_file('PG_VERSION')`,
    `pg_ls_dir('.')`,
    `lo_import('/etc/hostname')`,
    'pg_reload_conf()',
  ])
    await expect(client.query(`select ${call}`), call).rejects.toThrow(/permission denied/);
  // A grant of an earlier version is taken away.
  await own.warehouse.pool.query(`grant execute on function pg_catalog.pg_read_file(text) to ${name}`);
  const { done } = await grantReader(own.warehouse, name);
  expect(done).toEqual([`revoke execute on function pg_read_file(text) from ${name}`]);
});

test('no error shows a reader what bi leaves out', async () => {
  await warehouse.pool.query(`
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://one');
    insert into tracker.fields (source_id, id, name, custom, schema_type, schema_custom)
      values (1, 'customfield_1', 'Amount', true, 'string', 'com.atlassian.jira.plugin.system.customfieldtypes:textfield');
    insert into tracker.issues (source_id, id, key, project_id, status_id, summary, security_level, custom_fields, created_at, updated_at) values
      (1, 1, 'P-1', 10, 1, '7', null, '{"customfield_1": "7"}', now(), now()),
      (1, 2, 'P-2', 10, 1, 'a secret', 'Board', '{"customfield_1": "a secret"}', now(), now());
    insert into tracker.issue_changelog (source_id, history_id, item, issue_id, changed_at, field_id, field_name, to_id) values
      (1, 1, 0, 1, now(), 'summary', 'summary', '7'), (1, 2, 0, 2, now(), 'summary', 'summary', 'a secret');
    select ops.make_issues_wide(1::smallint)`);
  const client = await as((await grantReader(warehouse, reader('curious'))).url);
  // With hash joins a condition would be tested as its table is read: an error would show the text that is no number.
  await client.query('set enable_nestloop = off; set enable_mergejoin = off');
  for (const condition of ['issue_changes where new_id', 'issues_wide_tracker where amount'])
    expect((await client.query(`select issue_key from ${condition}::integer > 0`)).rows, condition).toEqual([
      { issue_key: 'P-1' },
    ]);
});

test('a reader is limited', async () => {
  const { url } = await grantReader(warehouse, reader('limited'));
  const client = await as(url);
  const { rows } = await client.query(`select current_setting('default_transaction_read_only') as readonly,
    current_setting('statement_timeout') as timeout, current_setting('idle_in_transaction_session_timeout') as idle,
    current_setting('timezone') as zone, current_setting('search_path') as path,
    current_setting('enable_mergejoin') || current_setting('enable_material') as joins,
    (select rolconnlimit from pg_roles where rolname = current_user) as connections`);
  const limits = {
    readonly: 'on',
    timeout: '1min',
    idle: '1min',
    zone: 'UTC',
    path: 'bi',
    joins: 'offoff',
    connections: 20,
  };
  expect(rows).toEqual([limits]);
});

test('granting again changes nothing, or what has changed since; and a login can be removed', async () => {
  const name = reader('again');
  const first = await grantReader(warehouse, name);
  const again = await grantReader(warehouse, name);
  expect(again).toMatchObject({ isNew: false, done: [], left: [] });
  expect(new URL(again.url).password).toBe('');
  await warehouse.pool.query(
    `alter role ${name} set statement_timeout = '1h'; revoke usage on schema bi from ${name}`,
  );
  const repaired = await grantReader(warehouse, name, { newPassword: true });
  expect(repaired.done).toEqual([
    expect.stringContaining('password'),
    `alter role ${name} set statement_timeout = '60s'`,
    `grant usage on schema bi to ${name}`,
  ]);
  await expect(as(first.url)).rejects.toThrow(/password authentication failed/);
  await as(repaired.url);
  await warehouse.pool.query(`grant ${name} to current_user; drop owned by ${name}; drop role ${name}`);
});

test('personal data have a grant of their own, which can be taken away', async () => {
  const name = reader('pii');
  const { url } = await grantReader(warehouse, name, { pii: true });
  const client = await as(url);
  for (const view of ['users', 'comments', 'worklogs']) await client.query(`select * from bi_pii.${view}`);
  const { done } = await grantReader(warehouse, name);
  expect(done).toEqual([`revoke usage on schema bi_pii from ${name}`]);
  await expect(client.query('select from bi_pii.users')).rejects.toThrow(/permission denied for schema/);
});

test('what the user of the warehouse may not do, an administrator can run', async () => {
  const name = reader('helped');
  await asOwner((client) => client.query(`alter role ${owner} nocreaterole`));
  onTestFinished(() =>
    asOwner(async (client) => void (await client.query(`alter role ${owner} createrole`))),
  );
  const { url, exists, done, left } = await grantReader(warehouse, name);
  expect({ exists, done }).toEqual({ exists: false, done: [] });
  expect(left[0]?.reason).toMatch(/permission denied to create role/);
  await asOwner(async (client) => {
    for (const { statement } of left) await client.query(statement);
  }, database);
  const client = await as(url);
  await client.query('select * from issues');
  expect(await grantReader(warehouse, name)).toMatchObject({ exists: true, left: [] });
});

test('what others rely on is left, with its statement', async () => {
  const name = reader('member');
  const group = reader('group');
  await asOwner(async (client) => {
    await client.query(
      `create role ${group}; create schema theirs; grant usage on schema theirs to public, ${group}`,
    );
    await client.query(`grant usage on schema ops to ${group}; create role ${name} login in role ${group}`);
    await client.query(`grant ${name} to ${owner} with admin option`);
  }, database);
  const { left } = await grantReader(warehouse, name);
  expect(left.map(({ statement }) => statement)).toEqual([
    `revoke usage on schema ops from ${group}`,
    `revoke usage on schema theirs from ${group}`,
    'revoke usage on schema theirs from public',
  ]);
});

test.each(['pg_reader', 'public', 'two words', '', 'a"b', 'x'.repeat(64)])(
  '%j is no name for a login',
  async (name) => {
    await expect(grantReader(warehouse, name)).rejects.toThrow(/no name for a login/);
  },
);

test('the owner of the warehouse is no reader', async () => {
  await expect(grantReader(warehouse, owner)).rejects.toThrow(/more than a reader/);
});
