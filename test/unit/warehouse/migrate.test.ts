import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Kysely, sql } from 'kysely';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { up as settles } from '../../../migrations/0016_settles.ts';
import { Misconfigured, Transient } from '../../../src/core/errors.ts';
import { connect, type Warehouse } from '../../../src/warehouse/connect.ts';
import { migrate, pending } from '../../../src/warehouse/migrate.ts';
import { asOwner, databaseUrl, emptyDatabase, type TestDatabase } from '../../support/postgres.ts';
import { run, until } from '../../support/processes.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-migrations-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

let database: TestDatabase;
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

/** A folder of steps; each is the SQL that it runs. */
function folder(steps: Readonly<Record<string, string>>): URL {
  const directory = fs.mkdtempSync(path.join(root, 'steps-'));
  for (const [name, statements] of Object.entries(steps)) {
    // No import of kysely: these files lie outside the project.
    const source = `export const up = (db) => db.executeQuery({ sql: ${JSON.stringify(statements)}, parameters: [], query: { kind: 'RawNode' }, queryId: { queryId: '${name}' } });\n`;
    fs.writeFileSync(path.join(directory, `${name}.ts`), source);
  }
  return pathToFileURL(`${directory}/`);
}

const tables = async ({ db }: Warehouse): Promise<readonly string[]> => {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public' order by 1`.execute(
    db,
  );
  return rows.map(({ name }) => name);
};

const applied = async ({ db }: Warehouse): Promise<readonly string[]> => {
  const { rows } = await sql<{ name: string }>`select name from ops.migrations order by name`.execute(db);
  return rows.map(({ name }) => name);
};

test('it applies what is pending in the order of the names, once', async () => {
  const { warehouse } = database;
  const steps = { '0002_b': 'alter table a add column b int', '0001_a': 'create table a ()' };
  const first = folder(steps);
  expect(await pending(warehouse, { folder: first })).toEqual(['0001_a', '0002_b']);
  expect(await migrate(warehouse, { folder: first })).toEqual(['0001_a', '0002_b']);
  expect(await migrate(warehouse, { folder: first })).toEqual([]);
  expect(await migrate(warehouse, { folder: folder({ ...steps, '0003_c': 'create table c ()' }) })).toEqual([
    '0003_c',
  ]);
  expect(await pending(warehouse, { folder: first }).catch((error: unknown) => error)).toBeInstanceOf(
    Misconfigured,
  );
  expect(await tables(warehouse)).toEqual(['a', 'c']);
});

test('runs of before are told apart as well: what settles something of the pipeline, and what was a replay', async () => {
  const { warehouse } = database;
  await migrate(warehouse);
  await warehouse.pool.query(`alter table ops.runs drop column settles;
    insert into ops.runs (pipeline, source_id, kind, status, epoch, params)
      select 'tracker', 1, kind, 'succeeded', 1, params::jsonb from (values
        ('sync', '{}'), ('sync', '{"streams": null, "full": false}'), ('full', '{"streams": []}'), ('reconcile', '{"streams": null}'),
        ('sync', '{"streams": ["projects"]}'), ('reconcile', '{"streams": ["issues"]}'), ('sync', '{"replay": {}}'),
        ('backfill', '{"streams": null, "from": "2026-01-01"}')) v (kind, params)`);
  await settles(warehouse.db as unknown as Kysely<unknown>);
  const { rows } = await warehouse.pool.query('select kind, settles from ops.runs order by run_id');
  expect(rows.map(({ kind, settles }) => `${kind} ${settles}`)).toEqual([
    'sync freshness',
    'sync freshness',
    'full freshness',
    'reconcile deletions',
    'sync null',
    'reconcile null',
    'replay null',
    'backfill null',
  ]);
});

test('the real steps leave no table, view or column without a comment, and can be looked at before', async () => {
  const { warehouse } = database;
  const names = await pending(warehouse);
  expect(names[0]).toBe('0001_ops');
  expect(await migrate(warehouse)).toEqual(names);
  expect(await pending(warehouse)).toEqual([]);
  const { rows } = await sql`
    select n.nspname || '.' || c.relname || coalesce('.' || a.attname, '') as uncommented
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('ops', 'tracker', 'ads', 'workflow', 'bi')
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'v', 'm', 'p') and not c.relispartition
      and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)
    order by 1`.execute(warehouse.db);
  expect(rows).toEqual([]);
});

test('a schema that is up to date is seen to be: nothing is locked, made or loaded; comments that a killed one left out are made up for', async () => {
  const { warehouse } = database;
  const steps = { '0001_a': 'create table a ()' };
  await migrate(warehouse, { folder: folder(steps) });
  const broken = folder({});
  fs.writeFileSync(new URL('0001_a.ts', broken), 'throw new Error("nobody may load this")');
  const holder = await warehouse.pool.connect();
  await holder.query('begin; lock table ops.migration_lock');
  expect(await migrate(warehouse, { folder: broken, patience: 0 })).toEqual([]);
  await holder.query('rollback; comment on table ops.migrations is null');
  holder.release();
  expect(await migrate(warehouse, { folder: folder(steps) })).toEqual([]);
  const { rows } = await warehouse.pool.query("select obj_description('ops.migrations'::regclass) as text");
  expect(rows[0].text).toMatch(/Steps of the schema/);
});

test('processes that start at once take turns: each step is applied by exactly one', async () => {
  const steps = folder({
    '0001_a': 'create table a ()',
    '0002_slow': 'create table b (); select pg_sleep(0.2)',
    '0003_c': 'create table c ()',
  });
  const programs = [1, 2, 3].map(() =>
    run(new URL('programs/migrate.ts', import.meta.url), [database.url, steps.href]),
  );
  const results = await Promise.all(
    programs.map(async (program) => JSON.parse(await program.line()) as string[]),
  );
  expect(results.flat().sort()).toEqual(['0001_a', '0002_slow', '0003_c']);
  expect(await Promise.all(programs.map((program) => program.ended()))).toEqual([0, 0, 0]);
});

test('one that is killed within a step leaves the steps before it and nothing of it, and does not lock out the next', async () => {
  const steps = {
    '0001_a': 'create table a ()',
    '0002_b': 'create table b (); select pg_sleep(60) /* killed here */',
  };
  const { warehouse } = database;
  const program = run(new URL('programs/migrate.ts', import.meta.url), [database.url, folder(steps).href]);
  await until('it sleeps within the second step', async () => {
    const { rows } = await sql`
      select 1 from pg_stat_activity
      where query like '%killed here%' and pid <> pg_backend_pid() and datname = current_database()`.execute(
      warehouse.db,
    );
    return rows.length > 0;
  });
  await program.kill();
  expect(await applied(warehouse)).toEqual(['0001_a']);
  expect(await tables(warehouse)).toEqual(['a']);
  // The server notices by itself that nobody waits for the sleeping statement any more.
  const mended = folder({ ...steps, '0002_b': 'create table b ()' });
  expect(await migrate(warehouse, { folder: mended, patience: 15_000 })).toEqual(['0002_b']);
});

test('a server that ends the connection within a step costs time only; where it does so each time, that is said', async () => {
  const { warehouse } = database;
  const dies = `select pg_terminate_backend(pg_backend_pid())`;
  await warehouse.pool.query('create sequence tries');
  const once = folder({
    '0001_a': 'create table a ()',
    '0002_b': `create table b (); do $$ begin if nextval('tries') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; end $$`,
  });
  expect(await migrate(warehouse, { folder: once })).toEqual(['0001_a', '0002_b']);
  expect(await tables(warehouse)).toEqual(['a', 'b']);
  expect(await applied(warehouse)).toEqual(['0001_a', '0002_b']);

  await warehouse.pool.query('drop table a, b; drop schema ops cascade');
  const each = folder({ '0001_a': 'create table a ()', '0002_b': `create table b (); ${dies}` });
  const error = await migrate(warehouse, { folder: each }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Transient);
  expect(String(error)).toMatch(/connection broke each time.*migrate again/);
  expect(await applied(warehouse)).toEqual(['0001_a']);
});

test('a step that fails is rolled back entirely and named', async () => {
  const { warehouse } = database;
  const steps = folder({ '0001_a': 'create table a ()', '0002_bad': 'create table b (); select 1/0' });
  await expect(migrate(warehouse, { folder: steps })).rejects.toThrow(/0002_bad.*division by zero/);
  expect(await applied(warehouse)).toEqual(['0001_a']);
  expect(await tables(warehouse)).toEqual(['a']);
});

test('a step whose tables somebody else keeps locked says so, and what to do; then it goes on', async () => {
  const { warehouse } = database;
  const table = { '0001_a': 'create table a ()' };
  await migrate(warehouse, { folder: folder(table) });
  const steps = folder({
    ...table,
    '0002_b': "set local lock_timeout = '100ms'; alter table a add column b int",
  });
  const reader = await warehouse.pool.connect();
  await reader.query('begin; select from a');
  const refused = await migrate(warehouse, { folder: steps }).catch((error: unknown) => error);
  await reader.query('rollback');
  reader.release();
  expect(refused).toBeInstanceOf(Transient);
  expect(refused).toHaveProperty(
    'message',
    expect.stringMatching(/0002_b failed and left no trace.*let it end/),
  );
  expect(await migrate(warehouse, { folder: steps })).toEqual(['0002_b']);
});

test('a schema that is newer than the program is refused before anything is changed', async () => {
  const { warehouse } = database;
  await migrate(warehouse, {
    folder: folder({ '0001_a': 'create table a ()', '0009_future': 'create table future ()' }),
  });
  const older = folder({ '0001_a': 'create table a ()', '0002_b': 'create table b ()' });
  await expect(migrate(warehouse, { folder: older })).rejects.toThrow(/newer Tidemark.*0009_future/);
  await expect(pending(warehouse, { folder: older })).rejects.toThrow(Misconfigured);
  expect(await tables(warehouse)).toEqual(['a', 'future']);
});

test('an ordinary role that owns its database, or may create schemas in it, needs no more', async () => {
  const role = `${database.name}_plain`;
  await asOwner((client) => client.query(`create role ${role} login password 'p'`));
  const url = new URL(databaseUrl(database.name));
  url.username = role;
  url.password = 'p';
  const plain = await connect(url.href);
  try {
    await expect(migrate(plain)).rejects.toThrow(/may not change the schema.*grant create on database/s);
    await asOwner((client) => client.query(`alter database ${database.name} owner to ${role}`));
    await asOwner((client) => client.query('create schema bi'), database.name);
    await expect(migrate(plain)).rejects.toThrow(
      /the schema bi belongs to another user.*a database of its own/s,
    );
    await asOwner((client) => client.query('drop schema bi'), database.name);
    expect(await migrate(plain)).toContain('0001_ops');
  } finally {
    await plain.close();
    await asOwner((client) => client.query(`alter database ${database.name} owner to current_user`));
    await sql.raw(`drop owned by ${role} cascade`).execute(database.warehouse.db);
    await asOwner((client) => client.query(`drop role ${role}`));
  }
});

test('a database where another program has tables of the same names is refused, and they stay as they are', async () => {
  const { warehouse } = database;
  await warehouse.pool.query('create schema ops; create table ops.runs (theirs int)');
  const refused = migrate(warehouse);
  await expect(refused).rejects.toThrow(Misconfigured);
  await expect(refused).rejects.toThrow(/another program keeps its tables.*"runs" already exists.*createdb/s);
  expect((await warehouse.pool.query('select theirs from ops.runs')).rows).toEqual([]);
});
