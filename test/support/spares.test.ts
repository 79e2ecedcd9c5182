import { afterEach, expect, test } from 'vitest';
import { openRig, type Rig } from './rig.ts';
import { smallSite } from './small-site.ts';
import { isEmptied } from './spares.ts';

let rig: Rig;
afterEach(() => rig.close());

test('a warehouse that was synced is emptied: no row, no number of a sequence, no statistics are left', async () => {
  rig = await openRig({ ...smallSite, issues: 20 });
  await rig.sync();
  await rig.rows('analyze');
  const held = (): Promise<readonly unknown[]> =>
    rig.rows(
      `select relname from pg_class c where relkind = 'r' and relnamespace in ('ops'::regnamespace, 'tracker'::regnamespace)
         and relname <> 'definitions' and (pg_relation_size(c.oid) > 0 or reltuples > 0)
       union all select sequencename from pg_sequences where last_value is not null
       union all select attname from pg_stats where schemaname = 'tracker'`,
    );
  expect((await held()).length).toBeGreaterThan(50);
  expect(await isEmptied(rig.database.name)).toBe(true);
  expect(await held()).toEqual([]);
  // It serves the next one as well.
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', runId: '1' });
});

test.each([
  'alter table tracker.issues add column odd text',
  'create index on tracker.issues (summary)',
  'drop table ops.rejects cascade',
  "comment on column tracker.issues.id is 'odd'",
  'create schema odd',
  'grant select on tracker.issues to pg_monitor',
  'insert into ops.definitions (kind, name, hash, version) select kind, name || 1, hash, version from ops.definitions limit 1',
  'update ops.definitions set hash = hash',
  "do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$",
])('a warehouse that is no longer as it was made is seen to be another: %s', async (statement) => {
  rig = await openRig({ ...smallSite, issues: 0 });
  await rig.rows(statement);
  expect(await isEmptied(rig.database.name)).toBe(false);
});
