import { expect, onTestFinished, test } from 'vitest';
import { fillDemoWarehouse } from '../support/demo-warehouse.ts';
import { testDatabase } from '../support/postgres.ts';
import { testRig } from '../support/rig.ts';

/** The tables that views of `bi` read, their parts included. */
const tables = `
  with recursive readers as (
    select oid from pg_class where relkind = 'v' and relnamespace = 'bi'::regnamespace
    union
    select d.refobjid
    from readers v
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
  )
  select c.oid, c.oid::regclass::text as name, c.relkind, c.reltuples
  from readers v
  cross join lateral (select v.oid union select relid from pg_partition_tree(v.oid)) p
  join pg_class c on c.oid = p.oid and c.relkind in ('r', 'p')`;

/** Tables of which the planner knows nothing, or too little. */
const unknown = `
  select name from (${tables}) t
  where reltuples < 0 or reltuples > 0 and not exists (select from pg_statistic where starelid = t.oid)
    or reltuples = 0 and (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || name, false, true, '')))[1]::text::int > 0`;

/** Of tables that a run itself keeps, a few rows come after. */
const stale = `
  select name from (${tables}) t
  where name not like 'ops.%' and pg_stat_get_mod_since_analyze(oid) > reltuples / 10`;

test('after the first syncs, and after a night of changes, the planner knows every table that bi reads', async () => {
  const { warehouse, drop } = await testDatabase();
  onTestFinished(drop);
  const names = async (query: string) =>
    (await warehouse.pool.query<{ name: string }>(query)).rows.map(({ name }) => name);
  // As in a new warehouse: a test that leaves a table empty may have left what is known of it.
  await warehouse.pool.query('update pg_class set reltuples = -1 where oid >= 16384 and reltuples = 0');
  await fillDemoWarehouse(warehouse, 150);
  const read = await names(tables);
  for (const name of ['tracker.issues', 'ops.sources', 'ads.report_daily', 'ads.report_daily_default'])
    expect(read).toContain(name);
  expect(read.length).toBeGreaterThan(60);
  expect(await names(unknown)).toEqual([]);
  expect(await names(stale)).toEqual([]);
});

test('a tenth of the issues changed: their tables are analyzed, in a night without changes none is', async () => {
  const rig = await testRig();
  const analyzed = async () => {
    const counted = await rig.rows<{ name: string; times: string }>(
      `select oid::regclass::text as name, pg_stat_get_analyze_count(oid) as times from pg_class
        where relkind = 'r' and relnamespace = 'tracker'::regnamespace`,
    );
    return new Map(counted.map(({ name, times }) => [name, Number(times)]));
  };
  const during = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const before = await analyzed();
    await work();
    return [...(await analyzed())].flatMap(([name, times]) => (times > (before.get(name) ?? 0) ? name : []));
  };
  const night = async () => {
    rig.tracker.clock.advance(86_400_000);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  };
  expect(await during(night)).toContain('tracker.issues');
  expect(await rig.rows(unknown)).toEqual([]);
  const ids = [...rig.tracker.oracle().issues.keys()];
  for (const id of ids.slice(0, ids.length / 6)) rig.tracker.state.update(id, { summary: 'Changed' });
  const ofChanges = await during(night);
  expect(ofChanges).toContain('tracker.issues');
  expect(ofChanges).not.toContain('tracker.comments');
  expect(await rig.rows(stale)).toEqual([]);
  expect(await during(night)).toEqual([]);
});
