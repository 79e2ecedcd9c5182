import fs from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { shippedTables } from '../../src/connectors/index.ts';
import { openQueue } from '../../src/scheduler/queue.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { fillDemoWarehouse } from '../support/demo-warehouse.ts';
import { staleFacts } from '../support/facts.ts';
import { hostile, hostileUrl } from '../support/hostile.ts';
import { emptyDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

const rowsOf =
  (client: Pick<pg.Pool, 'query'>) =>
  async <R extends object>(query: string): Promise<R[]> =>
    (await client.query<R>(query)).rows;

type Rows = ReturnType<typeof rowsOf>;

/** A session with the defaults of its role, as another program's is, but without its time-outs. */
async function bareSession(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`select pg_catalog.set_config(name, value, false) from (values
    ('statement_timeout', '0'), ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
    ('default_transaction_read_only', 'off'), ('session_replication_role', 'origin'), ('transaction_timeout', '0'), ('exit_on_error', 'off'), ('jit', 'off'),
    ('restrict_nonsystem_relation_kind', '')) as settings (name, value) where pg_catalog.current_setting(name, true) is not null`);
  return client;
}

test('a role whose defaults are all hostile migrates and syncs every source, and what is shown is the same in any session', async () => {
  const url = await hostileUrl(database.name);
  const inBare = rowsOf(await bareSession(url));
  expect(await inBare('show datestyle')).toEqual([{ DateStyle: 'SQL, DMY' }]);
  const warehouse = await connect(url);
  onTestFinished(() => warehouse.close());
  await migrate(warehouse, shippedTables);
  // No default of the role is left in any session of ours.
  expect(await rowsOf(warehouse.pool)(namedSettings)).toEqual(
    await rowsOf(database.warehouse.pool)(namedSettings),
  );
  const queue = await openQueue(warehouse, (error) => expect.fail(String(error)));
  await queue.end();
  await fillDemoWarehouse(warehouse, 100);
  const rows = rowsOf(warehouse.pool);

  expect(await staleFacts(rows)).toEqual([]);
  // Facts that a hostile session derives are those of ours.
  await inBare('update tracker.issues set summary = summary');
  expect(await staleFacts(rows)).toEqual([]);

  expect(await differingViews(rows, inBare)).toEqual([]);
  expect(await rows(textualFunctions)).toEqual([]);
});

const namedSettings = `select name, setting from pg_settings
  where lower(name) = any ('{${Object.keys(hostile).join(',')}}') order by name`;

test('every connection of the program is given its settings', () => {
  const src = new URL('../../src/', import.meta.url);
  const files = fs
    .readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'));
  const textOf = (file: string): string => fs.readFileSync(new URL(file, src), 'utf8');
  const opening = files.filter((file) => /new pg\.(Client|Pool)\(/.test(textOf(file)));
  expect(opening.sort()).toEqual(['warehouse/connect.ts', 'warehouse/upkeep.ts']);
  expect(opening.filter((file) => !/\bprepareSession\(client/.test(textOf(file)))).toEqual([]);
});

/** Functions that views call and Postgres parses anew in each session: a reader's path and settings decide what they do. */
const textualFunctions = `
  select distinct p.oid::regprocedure::text as name
  from pg_rewrite r
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
  join pg_proc p on p.oid = d.refobjid and p.oid >= 16384
  where p.prosqlbody is null`;

/** Views whose rows differ between a bare session and one with our settings, as values and not as texts; both at one moment. */
async function differingViews(ours: Rows, bare: Rows): Promise<readonly string[]> {
  const views = await ours<{
    name: string;
  }>(`select format('%I.%I', schemaname, viewname) as name from pg_views
    where schemaname in ('bi', 'bi_pii', 'ops') order by 1`);
  const settings = await ours<{ name: string; setting: string }>(namedSettings);
  const asOurs = settings.map(
    ({ name, setting }) => `pg_catalog.set_config('${name}', '${setting.replaceAll('"', '')}', true)`,
  );
  const found: string[] = [];
  for (const { name } of views) {
    await bare('begin');
    await bare(`create table public.seen as select * from ${name}`);
    await bare(`select ${asOurs.join(', ')}`);
    const differences = await bare(`
      (select t::text from public.seen t except all select t::text from ${name} t)
      union all (select t::text from ${name} t except all select t::text from public.seen t) limit 1`);
    await bare('rollback');
    if (differences.length > 0) found.push(name);
  }
  return found;
}
