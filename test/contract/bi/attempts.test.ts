/**
 * A run that Dagu retries keeps its id and shows the last try alone (measured on 1.30.2), so a failure counted for the day of the retry, or for
 * none. Each try that was seen counts for its own day.
 */
import { expect, test } from 'vitest';
import { reading } from './reading.ts';

const runs =
  'workflow.dag_runs (source_id, dag_name, dag_run_id, earlier_tries, status, state, trigger_type, scheduled_at, queued_at, started_at, finished_at)';

/** An earlier try, as the connector keeps it. */
const tried = (state: string, trigger_type: string, started_at: string | null, finished_at: string) => ({
  status: state,
  state,
  trigger_type,
  started_at,
  finished_at,
});
const earlier = (...tries: readonly object[]) => `'${JSON.stringify(tries)}'`;

const { insert, read, shows } = reading(async () => {
  await insert('ops.sources (name, kind, base_url)', [`'engine', 'workflow', 'http://one'`]);
  await insert('ref.dag_roles', [`'deploy%', 'deployment'`]);
  const source = 'select max(source_id) from ops.sources';
  const [id] = await read(source);
  await insert('workflow.dags (source_id, name)', [`${id}, 'deploy'`, `${id}, 'report'`]);
  const twice = earlier(
    tried('failed', 'scheduler', '2026-03-07T09:02:00.000Z', '2026-03-07T09:10:00.000Z'),
    tried('failed', 'retry', '2026-03-08T09:00:00.000Z', '2026-03-08T09:10:00.000Z'),
  );
  const once = earlier(tried('aborted', 'manual', null, '2026-03-09T08:00:00.000Z'));
  const deploy = `${id}, 'deploy'`;
  await insert(runs, [
    // Failed on Saturday and on Sunday, went well on Monday.
    `${deploy}, 'a', ${twice}, 'succeeded', 'succeeded', 'retry', '2026-03-07 09:00Z', null, '2026-03-09 09:00Z', '2026-03-09 09:10Z'`,
    // Went well between the tries of a.
    `${deploy}, 'b', null, 'succeeded', 'succeeded', 'manual', null, null, '2026-03-07 12:00Z', '2026-03-07 12:10Z'`,
    // Retried, and not over; the try before has no start.
    `${id}, 'report', 'c', ${once}, 'queued', 'active', 'retry', null, '2026-03-10 08:00Z', null, null`,
    // Retried before it was ever seen.
    `${id}, 'report', 'd', null, 'failed', 'failed', 'retry', '2026-03-10 07:00Z', null, '2026-03-11 07:00Z', '2026-03-11 07:01Z'`,
  ]);
});

test('each try counts for its own day, and what is not a later try counts each run once', async () => {
  await shows(
    `select dag_name, date_day, runs, retries, succeeded, failed, aborted, unfinished, late_runs
      from bi.workflow_daily order by dag_name, date_day`,
    [
      'deploy | 2026-03-07 | 2 | 0 | 1 | 1 | 0 | 0 | 1',
      'deploy | 2026-03-08 | 1 | 1 | 0 | 1 | 0 | 0 | 0',
      'deploy | 2026-03-09 | 1 | 1 | 1 | 0 | 0 | 0 | 0',
      'report | 2026-03-09 | 1 | 0 | 0 | 0 | 1 | 0 | 0',
      'report | 2026-03-10 | 1 | 1 | 0 | 0 | 0 | 1 | 0',
      'report | 2026-03-11 | 1 | 0 | 0 | 1 | 0 | 0 | 0',
    ],
  );
  const totals = await read(
    `select sum(runs - retries) = (select count(*) from bi.workflow_runs) from bi.workflow_daily`,
  );
  expect(totals).toEqual(['true']);
});

test('a run keeps the day of its first try, also where only a retry was seen', async () => {
  await shows(
    `select dag_run_id, start_date, run_at::text, started_at::text, duration_seconds from bi.workflow_runs order by dag_run_id`,
    [
      'a | 2026-03-07 | 2026-03-07 09:02:00+00 | 2026-03-09 09:00:00+00 | 600.000',
      'b | 2026-03-07 | 2026-03-07 12:00:00+00 | 2026-03-07 12:00:00+00 | 600.000',
      'c | 2026-03-09 | 2026-03-09 08:00:00+00 | - | -',
      'd | 2026-03-10 | 2026-03-10 07:00:00+00 | 2026-03-11 07:00:00+00 | 60.000',
    ],
  );
});

test('a run says when it first failed, and how it ended', async () => {
  await shows(
    `select dag_run_id, state, attempts, first_failed_at::text, finished_at::text from bi.workflow_runs order by dag_run_id`,
    [
      'a | succeeded | 3 | 2026-03-07 09:10:00+00 | 2026-03-09 09:10:00+00',
      'b | succeeded | 1 | - | 2026-03-07 12:10:00+00',
      'c | active | 2 | - | -',
      'd | failed | 1 | 2026-03-11 07:01:00+00 | 2026-03-11 07:01:00+00',
    ],
  );
  await shows(
    `select dag_name, runs, live_runs, last_state, last_success_at::text, last_failure_at::text from bi.dags order by dag_name`,
    [
      'deploy | 2 | 0 | succeeded | 2026-03-09 09:10:00+00 | 2026-03-08 09:10:00+00',
      'report | 2 | 1 | failed | - | 2026-03-11 07:01:00+00',
    ],
  );
});

test('a failed deployment is an incident until the next success, also one of the same run', async () => {
  await shows(`select incident_id, opened_at::text, resolved_at::text from bi.incidents order by opened_at`, [
    'a | 2026-03-07 09:10:00+00 | 2026-03-07 12:10:00+00',
    'a | 2026-03-08 09:10:00+00 | 2026-03-09 09:10:00+00',
  ]);
  await shows(
    `select week_start, deployments, failed_deployments, opened_incidents, resolved_incidents
      from bi.dora_weekly order by 1 limit 2`,
    ['2026-03-02 | 1 | 2 | 2 | 1', '2026-03-09 | 1 | 0 | 0 | 1'],
  );
});
