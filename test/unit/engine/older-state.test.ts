/** A warehouse of an older program, which wrote what a walk is for and what it covers as sentences. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { shippedTables } from '../../../src/connectors/index.ts';
import { Interrupted, Transient } from '../../../src/core/errors.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { openRig } from '../../support/rig.ts';
import { type Lab, makeFacts, openLab } from './facts.ts';

/** Writes the sentences in place of the columns. */
const asBefore = `
  alter table ops.walks add column words text;
  alter table ops.checkpoints add column scope text not null default '';
  create function pg_temp.scope(selection text, edition text, mapping text) returns text return
    selection || case when edition = '' then '' else E'\\nread by ' || edition || '; ' || mapping end;
  create function pg_temp.iso(at timestamptz) returns text return
    to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  update ops.checkpoints set scope = pg_temp.scope(selection, edition, mapping);
  update ops.walks set words = case
    when kind = 'backfill' then case purpose when 'beside' then 'beside' when 'missing' then 'reconcile ' || run_id
      else format('backfill {"from":"%s","to":"%s"} %s', pg_temp.iso(window_from), pg_temp.iso(window_to), selection) end
    when field is null then 'list'
    when kind = 'full' then 'full ' || case when forced then 'forced ' else '' end || pg_temp.scope(selection, edition, mapping)
    else case field when 'day' then 'days' when 'updated' then 'changes' else 'recent' end end;
  alter table ops.walks alter column words set not null, drop column purpose, drop column forced,
    drop column selection, drop column edition, drop column mapping;
  alter table ops.checkpoints drop column selection, drop column edition, drop column mapping;
  delete from ops.definitions where name = '0056_walk_columns'`;

/** Migrates the warehouse as the older program left it; gives the open walks as it had called them. */
async function migrated({ warehouse }: Pick<TestDatabase, 'warehouse'>): Promise<readonly string[]> {
  const { pool } = warehouse;
  await pool.query(asBefore);
  const { rows } = await pool.query<{ words: string }>("select words from ops.walks where status = 'open'");
  expect(await migrate(warehouse, shippedTables)).toEqual(['0056_walk_columns']);
  return rows.map(({ words }) => words);
}

describe('an older warehouse in the middle of a read goes on where it was', () => {
  let database: TestDatabase;
  let lab: Lab;

  beforeEach(async () => {
    database = await testDatabase();
    await makeFacts(database.warehouse);
    lab = openLab(database.warehouse, { longest: 30 });
    lab.owners = ['a', 'b'].map((id) => ({ id, status: 'ACTIVE', budget: '10', updatedAt: 1n }));
    lab.answer = ({ partition }) => {
      if (partition?.owner === 'b') throw new Transient('the report failed');
    };
  });
  afterEach(() => database.drop());

  /** Which days are read once the warehouse is migrated and the source is well. */
  const readAfter = async (run: () => Promise<unknown>): Promise<readonly string[]> => {
    lab.answer = () => undefined;
    lab.asked.length = 0;
    expect(await run()).toMatchObject({ status: 'succeeded' });
    return lab.asked.filter((line) => line.startsWith('a'));
  };

  test('of everything', async () => {
    await lab.run({ full: true });
    expect(await migrated(database)).toEqual(['full forced all']);
    expect(await readAfter(() => lab.run())).toEqual(['a 2026-06-27/2026-06-30']);
    const walks = await database.warehouse.pool.query(
      `select kind, forced, status from ops.walks where stream = 'facts' order by walk_id`,
    );
    expect(walks.rows).toEqual([
      { kind: 'full', forced: true, status: 'abandoned' },
      { kind: 'full', forced: true, status: 'done' },
    ]);
  });

  test('of what is due', async () => {
    lab.answer = () => undefined;
    await lab.run();
    lab.answer = () => {
      throw new Transient('the report failed');
    };
    lab.now = new Date('2026-07-01T02:00:00Z');
    await lab.run();
    expect(await migrated(database)).toEqual(['days']);
    expect(await readAfter(() => lab.run())).toEqual(['a 2026-06-28/2026-07-01']);
  });

  test('of a window that was asked for, and not of another one', async () => {
    lab.answer = () => undefined;
    await lab.run();
    lab.answer = ({ partition }) => {
      if (partition?.owner === 'b') throw new Transient('the report failed');
    };
    await lab.backfill('2026-03-01', '2026-03-20');
    expect(await migrated(database)).toEqual([
      'backfill {"from":"2026-03-01T00:00:00.000Z","to":"2026-03-20T00:00:00.000Z"} all',
    ]);
    expect(await readAfter(() => lab.backfill('2026-03-01', '2026-03-21'))).toHaveLength(1);
    expect(await readAfter(() => lab.backfill('2026-03-01', '2026-03-20'))).toEqual([]);
  });
});

test('an older warehouse of issues goes on where it was, and then reads only changes', async () => {
  const rig = await openRig({ dialect: 'vendor', issues: 350, history: 0 });
  const issues = { streams: ['issues'] };
  const stop = new AbortController();
  const search = { endpoint: '/rest/api/3/search/jql', nth: 5 } as const;
  const rule = rig.tracker.script.at(search, () => stop.abort(new Interrupted('stopped')));
  await expect(rig.sync(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  expect(await migrated(rig.database)).toEqual([
    expect.stringMatching(/^full created >= .*\nread by edition \d+; story_points,.*; sprint,/),
  ]);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  const kinds = `select kind from ops.walks where stream = 'issues' order by walk_id`;
  expect(await rig.rows(kinds)).toEqual([{ kind: 'full' }, { kind: 'incremental' }]);
  expect(await migrated(rig.database)).toEqual([]);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows(kinds)).toEqual([{ kind: 'full' }, ...Array(2).fill({ kind: 'incremental' })]);
  await rig.close();
});

test('the sentences of an older program become columns', async () => {
  const database = await testDatabase();
  const { warehouse } = database;
  await warehouse.pool.query(asBefore);
  const covered = 'created >= 2020\nread by edition 7; sprint,customfield_1; team';
  const walks = {
    list: 'full',
    [`full ${covered}`]: 'full',
    [`full forced ${covered}`]: 'full',
    'full all runs': 'full',
    changes: 'incremental',
    'backfill {"from":"2026-01-01T00:00:00.000Z","to":"2026-02-01T00:00:00.000Z"} created >= 2020\nAND x = {}':
      'backfill',
    beside: 'backfill',
    'reconcile 12': 'backfill',
  };
  for (const [words, kind] of Object.entries(walks))
    await warehouse.pool.query(
      `insert into ops.walks (source_id, stream, kind, words, run_id) values (1, 'issues', $2, $1, 1)`,
      [words, kind],
    );
  for (const [stream, scope] of Object.entries({
    issues: covered,
    narrowed: 'x\nread by edition 7; ',
    facts: '',
  }))
    await warehouse.pool.query(
      'insert into ops.checkpoints (source_id, stream, watermark, scope, run_id) values (1, $1, now(), $2, 1)',
      [stream, scope],
    );
  await migrate(warehouse, shippedTables);
  const lines = async (from: string): Promise<readonly string[]> => {
    const { rows } = await warehouse.pool.query<{ line: string }>(`select concat_ws(' | ', ${from}`);
    return rows.map(({ line }) => line);
  };
  const mapping = 'created >= 2020 | edition 7 | sprint,customfield_1; team';
  expect(
    await lines(`kind, purpose, case when forced then 'forced' end, selection, edition, mapping) as line
      from ops.walks order by walk_id`),
  ).toEqual([
    'full |  |  | ',
    `full | ${mapping}`,
    `full | forced | ${mapping}`,
    'full | all runs |  | ',
    'incremental |  |  | ',
    'backfill | requested | created >= 2020\nAND x = {} |  | ',
    'backfill | beside |  |  | ',
    'backfill | missing |  |  | ',
  ]);
  expect(
    await lines('stream, selection, edition, mapping) as line from ops.checkpoints order by stream'),
  ).toEqual(['facts |  |  | ', `issues | ${mapping}`, 'narrowed | x | edition 7 | ']);
  await database.drop();
});
