/** A warehouse of an older program, for which a night was one request with runs of several pipelines. */

import { expect, test } from 'vitest';
import { shippedTables } from '../../../src/connectors/index.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { catalogue, dag } from './orchestra.ts';
import { openRequests } from './requests.ts';

const lab = openRequests(catalogue(dag('nightly', { streams: [] }), dag('tracker'), dag('ads')));
const { query } = lab;

test('nights of an older version have their parts, each with its runs and its end', async () => {
  await query('alter table ops.dag_runs drop column part_of cascade');
  await query(`delete from ops.definitions where name in ('0059_parts_of_nights', 'ops.dag_run_list')`);
  await query(`insert into ops.dag_runs (dag_run_id, pipeline, does, params, trigger, asked_by, status, started_at, finished_at)
    values ('old', 'nightly', 'full', 'FULL=true', 'schedule', 'schedule', 'partly_failed', now(), now()),
      ('open', 'nightly', 'sync', '', 'schedule', 'schedule', 'interrupted', now(), null)`);
  await query(`insert into ops.runs (run_id, pipeline, source_id, kind, trigger, status, epoch, started_at, finished_at, error_code, error_message)
    overriding system value values
      (1, 'tracker', 1, 'full', 'schedule', 'lost', 1, now() - interval '2 hours', now(), null, null),
      (2, 'tracker', 1, 'full', 'schedule', 'succeeded', 1, now(), now(), null, null),
      (3, 'ads', 1, 'full', 'schedule', 'failed', 1, now(), now(), 'auth', 'the token is wrong'),
      (4, 'tracker', 1, 'reconcile', 'schedule', 'succeeded', 1, now(), now(), null, null),
      (5, 'ads', 1, 'sync', 'schedule', 'interrupted', 1, now(), now(), null, null)`);
  await query(
    `insert into ops.dag_run_runs values ('old', 1), ('old', 2), ('old', 3), ('old', 4), ('open', 5)`,
  );

  expect(await migrate(lab.warehouse, shippedTables)).toContain('0059_parts_of_nights');
  const [old] = await lab.control.history('nightly', { limit: 1, before: 'open' });
  expect(old).toMatchObject({ runId: 'old', status: 'partly_failed', runs: ['1', '2', '3', '4'] });
  expect(await lab.control.run('nightly', 'open')).toMatchObject({ status: 'interrupted', runs: ['5'] });
  const tracker = await lab.control.history('tracker', { limit: 5 });
  expect(tracker.map(({ runId, params, status, runs }) => [runId, params, status, runs]).sort()).toEqual([
    ['old.tracker.full', 'FULL=true', 'succeeded', ['1', '2']],
    ['old.tracker.reconcile', 'DOES=reconcile', 'succeeded', ['4']],
  ]);
  const error = { code: 'auth', message: 'the token is wrong' };
  expect(await lab.control.history('ads', { limit: 5 })).toMatchObject([{ status: 'failed', error }]);
});
