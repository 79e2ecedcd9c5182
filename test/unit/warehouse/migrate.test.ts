import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { shippedTables } from '../../../src/connectors/index.ts';
import { Misconfigured, Transient } from '../../../src/core/errors.ts';
import { bigint, jsonb, table, text } from '../../../src/core/table.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { migrate, pending } from '../../../src/warehouse/migrate.ts';
import { asOwner, databaseUrl, emptyDatabase, type TestDatabase } from '../../support/postgres.ts';
import { run, until } from '../../support/processes.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-migrations-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());
afterEach(() =>
  database.warehouse.pool.query(`drop schema if exists ops, tracker, ads, workflow, ref, bi, bi_pii, lab, public cascade;
    create schema public`),
);

/** A folder of steps and of views (`views/…`); each is the SQL that it runs. */
function folder(steps: Readonly<Record<string, string>>): URL {
  const directory = fs.mkdtempSync(path.join(root, 'steps-'));
  for (const [name, statements] of Object.entries(steps)) {
    const file = path.join(directory, `${name}.sql`);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, statements);
  }
  return pathToFileURL(`${directory}/`);
}

const rowsOf = async (query: string): Promise<readonly unknown[]> =>
  (await database.warehouse.pool.query({ text: query, rowMode: 'array' })).rows.flat();

const tables = (): Promise<readonly unknown[]> =>
  rowsOf(`select table_name from information_schema.tables where table_schema = 'public' order by 1`);
/** A process of its own that migrates. */
const migrating = (steps: URL) =>
  run(new URL('programs/migrate.ts', import.meta.url), [database.url, steps.href]);

const a = { '0001_a': 'create table public.a ()' };
const b = { '0002_b': 'create table public.b ()' };

test('pending steps are applied once, in the order of their names; what is up to date locks nothing', async () => {
  const { warehouse } = database;
  const steps = { folder: folder({ '0002_b': 'alter table public.a add column b int', ...a }) };
  expect(await pending(warehouse, [], steps)).toEqual(['0001_a', '0002_b']);
  expect(await migrate(warehouse, [], steps)).toEqual(['0001_a', '0002_b']);
  const holder = await warehouse.pool.connect();
  await holder.query('begin; lock table ops.definitions in share row exclusive mode');
  expect(await migrate(warehouse, [], { ...steps, waitMs: 0 })).toEqual([]);
  await holder.query('rollback');
  holder.release();
  const more = { folder: folder({ ...a, ...b, '0003_c': 'create table public.c ()' }) };
  expect(await migrate(warehouse, [], more)).toEqual(['0003_c']);
  expect(await tables()).toEqual(['a', 'c']);
});

test('processes that start together apply each step once', async () => {
  const slow = { '0002_slow': 'create table public.b (); select pg_sleep(0.2)' };
  const steps = folder({ ...a, ...slow, '0003_c': 'create table public.c ()' });
  const programs = [1, 2].map(() => migrating(steps));
  const results = await Promise.all(programs.map(async (one) => JSON.parse(await one.line()) as string[]));
  expect(results.flat().sort()).toEqual(['0001_a', '0002_slow', '0003_c']);
  expect(await Promise.all(programs.map((program) => program.ended()))).toEqual([0, 0]);
});

test('a killed migration leaves nothing and blocks no later one', async () => {
  const steps = { ...a, '0002_b': 'create table public.b (); select pg_sleep(60) /* killed here */' };
  const { warehouse } = database;
  const program = migrating(folder(steps));
  const sleeping = `select pid from pg_stat_activity
    where query like '%killed here%' and pid <> pg_backend_pid() and datname = current_database()`;
  await until('it sleeps within the second step', async () => (await rowsOf(sleeping)).length > 0);
  await program.kill();
  expect(await tables()).toEqual([]);
  // The server notices by itself that the client of the sleeping statement is gone.
  const mended = { folder: folder({ ...a, ...b }), waitMs: 15_000 };
  expect(await migrate(warehouse, [], mended)).toEqual(['0001_a', '0002_b']);
});

test('a lost connection is retried, and reported when it is lost each time', async () => {
  const { warehouse } = database;
  const dies = 'perform pg_terminate_backend(pg_backend_pid())';
  await warehouse.pool.query('create sequence public.tries');
  const steps = (death: string) =>
    folder({ ...a, '0002_b': `create table public.b (); do $$ begin ${death}; end $$` });
  const each = migrate(warehouse, [], { folder: steps(dies), retryMs: 2_000 });
  await expect(each).rejects.toThrow(Transient);
  await expect(each).rejects.toThrow(/connection broke each time.*migrate again/);
  expect(await tables()).toEqual([]);

  const once = steps(`if nextval('public.tries') = 1 then ${dies}; end if`);
  expect(await migrate(warehouse, [], { folder: once })).toEqual(['0001_a', '0002_b']);
  expect(await rowsOf('select name from ops.definitions order by 1')).toEqual(['0001_a', '0002_b']);
});

test('a step that fails is named and rolled back; for a table that is locked, the message says what to do', async () => {
  const { warehouse } = database;
  const bad = { folder: folder({ ...a, '0002_bad': 'create table public.b (); select 1/0' }) };
  await expect(migrate(warehouse, [], bad)).rejects.toThrow(/0002_bad.*division by zero/);
  expect(await tables()).toEqual([]);
  await migrate(warehouse, [], { folder: folder(a) });
  const alter = "set local lock_timeout = '100ms'; alter table public.a add column b int";
  const steps = { folder: folder({ ...a, '0002_b': alter }), retryMs: 1_000 };
  const reader = await warehouse.pool.connect();
  await reader.query('begin; select from public.a');
  const refused = migrate(warehouse, [], steps);
  await expect(refused).rejects.toThrow(Transient);
  await expect(refused).rejects.toThrow(/0002_b failed and left no trace.*let it end/);
  await reader.query('rollback');
  reader.release();
  expect(await migrate(warehouse, [], steps)).toEqual(['0002_b']);
});

/** A session of another program in a transaction that has read what `query` reads. */
async function openReader(query: string) {
  const client = new pg.Client({ connectionString: database.url, application_name: 'a BI tool' });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; ${query}`);
  return { pid: Reflect.get(client, 'processID'), end: () => client.query('commit') };
}

test('views that a reader keeps open are left for the next run, what can be applied is, and other readers are answered', async () => {
  const { warehouse } = database;
  await warehouse.pool.query('create schema bi');
  const shown = (number: number) => ({
    'views/bi.shown': `create or replace view bi.shown as select ${number} as n`,
  });
  await migrate(warehouse, [], { folder: folder({ ...a, ...shown(1) }) });
  const reader = await openReader('select * from bi.shown');
  const changed = { folder: folder({ ...a, ...b, ...shown(2) }), retryMs: 1_000 };

  const heard: string[] = [];
  const going = migrate(warehouse, [], { ...changed, goOn: (why) => heard.push(why) });
  const isWaiting = `select from pg_locks where relation = 'bi.shown'::regclass and not granted and mode = 'AccessExclusiveLock'`;
  await until(
    'the migration waits for the view',
    async () => (await warehouse.pool.query(isWaiting)).rows.length > 0,
  );
  const began = performance.now();
  expect(await rowsOf('select n from bi.shown')).toEqual([1]);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(await going).toEqual(['0002_b']);
  expect(heard).toEqual([
    expect.stringMatching(
      `views of bi stay as they were.*session ${reader.pid} of .*\\(a BI tool\\) since 20`,
    ),
  ]);
  expect(await tables()).toEqual(['a', 'b']);

  // Who asks for the migration itself is told that it could not be done.
  const refused = migrate(warehouse, [], changed);
  await expect(refused).rejects.toThrow(Transient);
  await expect(refused).rejects.toThrow(new RegExp(`session ${reader.pid} of`));
  await reader.end();
  expect(await migrate(warehouse, [], changed)).toEqual(['views']);
  expect(await rowsOf('select n from bi.shown')).toEqual([2]);
});

test('a table that a reader keeps locked ends the migration, which names the session', async () => {
  const { warehouse } = database;
  const steps = folder({});
  const things = table('lab.things', 'Things.', { id: bigint('Id.').key() });
  await migrate(warehouse, [things], { folder: steps });
  const reader = await openReader('select * from lab.things');
  const more = table('lab.things', 'Things.', { id: bigint('Id.').key(), name: text('Name.').nullable() });
  const heard: string[] = [];
  const refused = migrate(warehouse, [more], { folder: steps, retryMs: 0, goOn: (why) => heard.push(why) });
  await expect(refused).rejects.toThrow(
    new RegExp(`locked by session ${reader.pid} of .*let it end, then migrate`),
  );
  expect(heard).toEqual([]);
  await reader.end();
  expect(await migrate(warehouse, [more], { folder: steps })).toEqual(['tables']);
});

test('a schema newer than the program is refused unchanged', async () => {
  const { warehouse } = database;
  await migrate(warehouse, [], { folder: folder({ ...a, '0009_future': 'create table public.future ()' }) });
  const older = { folder: folder({ ...a, ...b }) };
  await expect(migrate(warehouse, [], older)).rejects.toThrow(/newer Tidemark.*0009_future/);
  await expect(pending(warehouse, [], older)).rejects.toThrow(Misconfigured);
  expect(await tables()).toEqual(['a', 'future']);
});

test('an ordinary role that owns its database can migrate it', async () => {
  const { name, warehouse } = database;
  const role = `${name}_plain`;
  const admin = (text: string) => asOwner((client) => client.query(text), name);
  await admin(`create role ${role} login password 'p'`);
  const url = Object.assign(new URL(databaseUrl(name)), { username: role, password: 'p' });
  const plain = await connect(url.href);
  try {
    await expect(migrate(plain, shippedTables)).rejects.toThrow(
      /permission denied for database.*may not change the schema.*grant create on database/s,
    );
    await admin(`alter database ${name} owner to ${role}`);
    await admin('create schema bi');
    await expect(migrate(plain, shippedTables)).rejects.toThrow(
      /must be owner of schema bi.*alter … owner to.*a database of its own/s,
    );
    await admin('drop schema bi');
    expect(await migrate(plain, shippedTables)).toContain('0001_ops');
  } finally {
    await plain.close();
    await admin(`alter database ${name} owner to current_user`);
    await warehouse.pool.query(`drop owned by ${role} cascade`);
    await admin(`drop role ${role}`);
  }
});

test('tables of another program are refused and stay', async () => {
  const { warehouse } = database;
  await warehouse.pool.query('create schema ops; create table ops.runs (theirs int)');
  await warehouse.pool.query('create schema lab; create table lab.things (theirs int)');
  const refused = migrate(warehouse, shippedTables);
  await expect(refused).rejects.toThrow(Misconfigured);
  await expect(refused).rejects.toThrow(/"runs" already exists.*another program keeps its tables.*createdb/s);
  const things = table('lab.things', 'Things.', { id: bigint('Id.').key() });
  await expect(migrate(warehouse, [things], { folder: folder({}) })).rejects.toThrow(/another program/);
  expect(await rowsOf('select t.theirs, r.theirs from lab.things t cross join ops.runs r')).toEqual([]);
});

test('an empty database gets the schema, with a comment on everything', async () => {
  const { warehouse } = database;
  const names = await pending(warehouse, shippedTables);
  const files = fs.readdirSync(new URL('../../../migrations/', import.meta.url)).sort();
  const steps = files.flatMap((file) => (file.endsWith('.sql') ? [file.slice(0, -'.sql'.length)] : []));
  expect(names).toEqual([...steps, 'tables', 'facts', 'views']);
  expect(await migrate(warehouse, shippedTables)).toEqual(names);
  expect(await pending(warehouse, shippedTables)).toEqual([]);
  const { rows } = await warehouse.pool.query(`
    select n.nspname || '.' || c.relname || coalesce('.' || a.attname, '') as uncommented
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('ops', 'tracker', 'ads', 'workflow', 'ref', 'bi')
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'v', 'm', 'p') and not c.relispartition
      and (a.attnum is not null and col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)
    order by 1`);
  expect(rows).toEqual([]);
});

test('a comment behind a table, a view or a column is the one that the warehouse shows', async () => {
  const things = `create unlogged table if not exists public.things ( -- All of one's things.
  -- Of no column.
  id bigint primary key, -- Id -- or name.
  kind text
    check (kind in ('a', 'b')), -- Kind: a or b.
  note text,
  size integer -- How big it is.
);`;
  const big = `create or replace view public.big_things with (security_barrier) as -- Big ones.
select
  t.id, -- Of the thing.
  -- Of no column.
  t.kind,
  case
    when t.size > 10 then 'huge'
  end as how_big -- Huge, or null.
from public.things t
where t.size > 5;`;
  await migrate(database.warehouse, [], {
    folder: folder({ '0001_things': things, 'views/public.big_things': big }),
  });
  const comments = (of: string) =>
    rowsOf(`select concat_ws(': ', a.attname, d.description) from pg_description d
      left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and a.attnum > 0
      where d.objoid = '${of}'::regclass order by d.objsubid`);
  expect(await comments('public.things')).toEqual([
    "All of one's things.",
    'id: Id -- or name.',
    'kind: Kind: a or b.',
    'size: How big it is.',
  ]);
  expect(await comments('public.big_things')).toEqual([
    'Big ones.',
    'id: Of the thing.',
    'how_big: Huge, or null.',
  ]);
});

test('a warehouse of the steps that the baseline replaced goes on if it has all of them', async () => {
  const { warehouse } = database;
  const baseline = new URL('../../../migrations/0053_baseline.sql', import.meta.url);
  const { 0: parts = '' } = /'\{[\s\S]*?\}'/.exec(fs.readFileSync(baseline, 'utf8')) ?? [];
  await migrate(warehouse, shippedTables);
  const ledger = `select name from ops.definitions where kind = 'step' order by 1`;
  const steps = await rowsOf(ledger);
  await warehouse.pool.query(`
    insert into ops.definitions (kind, name, hash, version)
    select 'step', name, '', '0.2.0' from unnest(${parts}::text[]) name where name <> '0040_readers';
    delete from ops.definitions where name = '0053_baseline';
    alter table ops.calendar_days rename constraint calendar_days_pkey to calendar_pkey`);
  await expect(migrate(warehouse, shippedTables)).rejects.toThrow(/earlier state.*empty database/);
  await warehouse.pool.query(
    `insert into ops.definitions (kind, name, hash, version) values ('step', '0040_readers', '', '0.2.0')`,
  );
  expect(await migrate(warehouse, shippedTables)).toEqual(['0053_baseline']);
  expect(await rowsOf(ledger)).toEqual(steps);
});

test('a declared table is only added to: rows stay, columns and indexes come, comments change', async () => {
  const { warehouse } = database;
  const steps = { folder: folder({}) };
  const id = bigint('Id.').key();
  const first = table('lab.things', 'Things.', { id, name: text('Name.') });
  expect(await migrate(warehouse, [first], steps)).toEqual(['tables']);
  await warehouse.pool.query(`insert into lab.things (source_id, id, name) values (1, 1, 'a')`);
  const columns = { id, kind: text('Kind.').oneOf('a', 'b'), tags: jsonb('Tags.').default("'[]'") };
  const second = table('lab.things', 'All things.', columns, { indexes: ['(source_id, kind)'] });
  expect(await migrate(warehouse, [second], steps)).toEqual(['tables']);
  expect(await migrate(warehouse, [second], steps)).toEqual([]);
  const all = `select id, name, kind, tags::text, obj_description('lab.things'::regclass),
    to_regclass('lab.things_source_id_kind_idx') is not null from lab.things`;
  expect(await rowsOf(all)).toEqual(['1', 'a', null, '[]', 'All things.', true]);
});

const views = (one: string, two = 'select number from one') =>
  folder({
    // The first by name reads the second.
    'views/public.a_two': `create or replace view public.a_two as ${two.replace('from one', 'from public.one')}`,
    'views/public.one': `create or replace view public.one as ${one}`,
  });

test('a changed view is replaced in place, or made anew with its grants', async () => {
  const { warehouse } = database;
  await migrate(warehouse, [], { folder: views('select 1 as number') });
  await warehouse.pool.query(
    'grant select on public.a_two to public; create view public.theirs as select number from public.one',
  );
  expect(await migrate(warehouse, [], { folder: views('select 2 as number') })).toEqual(['views']);
  expect(await rowsOf('select * from public.theirs')).toEqual([2]);

  const others = views('select 3 as other', 'select other from one');
  await expect(migrate(warehouse, [], { folder: others })).rejects.toThrow(/view public.theirs.*drop yours/s);
  await warehouse.pool.query('drop view public.theirs');
  expect(await migrate(warehouse, [], { folder: others })).toEqual(['views']);
  expect(await rowsOf('select * from public.a_two')).toEqual([3]);
  expect(await rowsOf(`select has_table_privilege('pg_monitor', 'public.a_two', 'select')`)).toEqual([true]);
});

test('a list of columns is each of them, and a longer one makes the view anew', async () => {
  const view = 'create or replace view public.one as select t.{whole}, 3 as c from (select 1 as a, 2 as b) t';
  const steps = (list: string) => ({
    folder: folder({ 'views/public.one': view, 'views/columns/whole': '{two}\n', 'views/columns/two': list }),
  });
  await migrate(database.warehouse, [], steps('a\nb as d\n'));
  const columns = `select string_agg(attname, ' ' order by attnum) from pg_attribute where attrelid = 'public.one'::regclass`;
  expect(await rowsOf(columns)).toEqual(['a d c']);
  expect(await migrate(database.warehouse, [], steps('a\nb as d\nb\n'))).toEqual(['views']);
  expect(await rowsOf(columns)).toEqual(['a d b c']);
  expect(await rowsOf('select * from public.one')).toEqual([1, 2, 2, 3]);
});

test('columns that several views have get the comment of their name, and another one when it changes', async () => {
  const { warehouse } = database;
  const file = fs.readFileSync(
    new URL('../../../migrations/views/ops.meanings.sql', import.meta.url),
    'utf8',
  );
  const views = {
    'views/public.one': `create or replace view public.one as select 1 as id, 2 as n; comment on column public.one.n is 'Own.'`,
    'views/public.two': 'create or replace view public.two as select 1 as id',
    'views/public.three': 'create or replace view public.three as select 1 as id',
  };
  const steps = (rows: string) => {
    const meanings = file.replace('values\n', `values ${rows},\n`);
    return { folder: folder({ ...views, 'views/ops.meanings': meanings }) };
  };
  const comments = () =>
    rowsOf(`select concat_ws(' ', attrelid::regclass, attname, col_description(attrelid, attnum)) from pg_attribute
      where attrelid in ('public.one'::regclass, 'public.two'::regclass, 'public.three'::regclass) order by 1`);
  await migrate(warehouse, [], steps(`('id', '*', 'Id.'), ('id', 'public.two public.four', 'Its id.')`));
  expect(await comments()).toEqual([
    'public.one id Id.',
    'public.one n Own.',
    'public.three id Id.',
    'public.two id Its id.',
  ]);
  const oids = `select array_agg(oid::text order by oid) from pg_class where relname in ('one', 'two', 'three')`;
  const before = await rowsOf(oids);
  await migrate(warehouse, [], steps(`('id', '*', 'The id.')`));
  expect(await comments()).toEqual([
    'public.one id The id.',
    'public.one n Own.',
    'public.three id The id.',
    'public.two id The id.',
  ]);
  expect(await rowsOf(oids)).toEqual(before);
});

test('tables and views of a newer version are refused; of the same hash they are not', async () => {
  const { warehouse } = database;
  const newer = { folder: views('select 2 as number'), version: '1.10.0' };
  await migrate(warehouse, [], newer);
  expect(await migrate(warehouse, [], { ...newer, version: '1.9.0' })).toEqual([]);
  const older = { folder: views('select 1 as number'), version: '1.9.0' };
  await expect(migrate(warehouse, [], older)).rejects.toThrow(/newer Tidemark.*public.one of 1.10.0/);
  expect(await rowsOf('select * from public.one')).toEqual([2]);
});
