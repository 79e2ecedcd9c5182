import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../support/postgres.ts';

test('foreign keys say where ids lead and never hinder: none on a server that would enforce them', async () => {
  const { warehouse, drop } = await testDatabase();
  onTestFinished(drop);
  const lines = async (query: string) =>
    (await warehouse.pool.query({ text: query, rowMode: 'array' })).rows.map((row) => row.join(' '));
  const [version] = await lines(`select current_setting('server_version_num')`);
  const ofTables = `in (select oid from pg_class where relnamespace in ('tracker'::regnamespace, 'ads'::regnamespace, 'workflow'::regnamespace))`;
  const keys = await lines(
    `select pg_get_constraintdef(oid) from pg_constraint where contype = 'f' and conparentid = 0 and conrelid ${ofTables}`,
  );
  expect(await lines(`select tgname from pg_trigger where tgisinternal and tgrelid ${ofTables}`)).toEqual([]);
  if (Number(version) < 180000) {
    expect(keys).toEqual([]);
    return;
  }
  expect(keys.length).toBeGreaterThan(50);
  expect(keys.filter((key) => !key.endsWith(' NOT ENFORCED'))).toEqual([]);
  for (const key of [
    'FOREIGN KEY (source_id, project_id) REFERENCES tracker.projects(source_id, id)',
    'FOREIGN KEY (source_id, ad_set_id) REFERENCES ads.ad_sets(source_id, id)',
    'FOREIGN KEY (source_id, dag_name, dag_run_id) REFERENCES workflow.dag_runs(source_id, dag_name, dag_run_id)',
  ])
    expect(keys).toContain(`${key} NOT ENFORCED`);
  // A row whose parent is unknown loads without a check, and a parent can be emptied.
  const plan = await lines(
    `explain (analyze, costs off) insert into tracker.board_sprints (source_id, board_id, sprint_id) values (1, 7, 9)`,
  );
  expect(plan.filter((line) => line.includes('Trigger for constraint'))).toEqual([]);
  await lines('truncate tracker.boards');
  expect(await lines('select board_id from tracker.board_sprints')).toEqual(['7']);
});
