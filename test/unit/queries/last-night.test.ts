import { expect, onTestFinished, test } from 'vitest';
import { lastNight } from '../../../src/queries/run-history.ts';
import { testDatabase } from '../../support/postgres.ts';

test('the last night is the newest one, with its parts by status, and late where a pipeline broke its promise', async () => {
  const { warehouse, drop } = await testDatabase();
  onTestFinished(drop);
  const { db, pool } = warehouse;
  expect(await lastNight(db)).toEqual([]);
  await pool.query(`insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x'), ('ads', 'ads', 'http://y');
    insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, queued_at, finished_at, part_of) values
      ('before', 'nightly', 'sync', 'schedule', 'schedule', 'succeeded', now() - interval '3 days', now() - interval '3 days', null),
      ('last', 'nightly', 'sync', 'schedule', 'schedule', 'running', now() - interval '1 minute', null, null),
      ('last.ads.sync', 'ads', 'sync', 'schedule', 'nightly', 'running', now() - interval '1 minute', null, 'last'),
      ('last.tracker.sync', 'tracker', 'sync', 'schedule', 'nightly', 'succeeded', now() - interval '1 minute', now(), 'last')`);
  const ran = (pipeline: string, status: string, daysAgo: number) =>
    pool.query(
      `insert into ops.runs (pipeline, source_id, kind, status, params, epoch, started_at, finished_at)
        select $1, source_id, 'sync', $2, '{"streams": null}', 1, now() - $3 * interval '1 day',
          case when $2 <> 'running' then now() - $3 * interval '1 day' end
        from ops.sources where name = $1`,
      [pipeline, status, daysAgo],
    );
  await ran('tracker', 'succeeded', 0);
  await ran('ads', 'running', 0);
  const night = { runId: 'last', status: 'running', finishedAt: null, parts: { running: 1, succeeded: 1 } };
  expect(await lastNight(db)).toMatchObject([{ ...night, timing: 'on time' }]);
  // What was promised after the success of yesterday is over while ads runs.
  await ran('ads', 'succeeded', 1);
  await pool.query(`insert into ops.streams (source_id, stream, target, about, endpoint, freshness_seconds)
    select source_id, 'ads', 'ads.ads', '', '', 60 from ops.sources where name = 'ads'`);
  expect(await lastNight(db)).toMatchObject([{ ...night, timing: 'late' }]);
});
