import { expect, test } from 'vitest';
import {
  changeColumns,
  doing,
  done,
  issueColumns,
  loadVocabulary,
  reading,
  statusChange,
  toDo,
} from './reading.ts';

const runColumns =
  'workflow.dag_runs (source_id, dag_name, dag_run_id, status, state, trigger_type, scheduled_at, started_at, finished_at, auto_retry_count)';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('ops.sources (name, kind, base_url)', [`'engine', 'workflow', 'http://three'`]);
  await insert('ref.dag_roles', [
    `'deploy%', 'deployment'`,
    `'deploy-dry%', 'rehearsal'`,
    `'%', 'batch'`,
    `'never-%', 'deployment'`,
  ]);
  await insert(
    'workflow.dags (source_id, name, group_name, schedule, is_suspended, tags, errors, _deleted_at)',
    [
      `3, 'deploy-app', 'web', '[{"expression": "0 2 * * *"}, {"at": "2026-04-01T00:00:00Z"}]', false, '{a,b}', null, null`,
      `3, 'deploy-dry-run', 'web', '"5 4 * * *"', true, '{}', '["a", "b"]', null`,
      `3, 'nightly', null, null, null, '{}', null, null`,
      `3, 'gone', null, null, null, '{}', null, now()`,
    ],
  );
  const app = `3, 'deploy-app'`;
  await insert(runColumns, [
    // Sunday in UTC, Monday in Berlin.
    `${app}, 'r0', 'succeeded', 'succeeded', 'scheduler', '2026-03-01 23:30Z', '2026-03-01 23:30:30Z', '2026-03-01 23:40Z', 0`,
    `${app}, 'r1', 'failed', 'failed', 'scheduler', '2026-03-04 09:58Z', '2026-03-04 10:00Z', '2026-03-04 10:20Z', 0`,
    `${app}, 'r2', 'failed', 'failed', 'retry', '2026-03-04 09:58Z', '2026-03-04 11:00Z', '2026-03-04 11:05Z', 0`,
    `${app}, 'r3', 'aborted', 'aborted', 'manual', null, '2026-03-04 12:00Z', '2026-03-04 12:01Z', 0`,
    `${app}, 'r4', 'partially_succeeded', 'succeeded', 'manual', null, '2026-03-05 09:00Z', '2026-03-05 09:20Z', 0`,
    // The same instant: the id decides which was first.
    `${app}, 'r5', 'failed', 'failed', 'scheduler', '2026-03-24 10:00Z', '2026-03-24 10:05Z', '2026-03-24 10:10Z', 1`,
    `${app}, 'r6', 'running', 'active', 'manual', null, '2026-03-24 11:00Z', null, 0`,
    `3, 'deploy-dry-run', 'd1', 'failed', 'failed', 'manual', null, '2026-03-03 10:00Z', '2026-03-03 10:20Z', 0`,
    `3, 'gone', 'g1', 'succeeded', 'succeeded', 'catchup', '2026-03-03 10:00Z', '2026-03-03 10:00:59.5Z', null, null`,
    // A clock that is behind.
    `3, 'gone', 'g2', 'queued', 'active', 'scheduler', '2026-03-03 10:00Z', '2026-03-03 09:59:59Z', null, null`,
    `3, 'gone', 'g3', 'queued', 'active', 'scheduler', null, null, null, null`,
  ]);
  await insert(
    'workflow.dag_run_steps (source_id, dag_name, dag_run_id, step_name, occurrence, position, kind, status, state, started_at, finished_at, error, depends, done_count, _deleted_at)',
    [
      `${app}, 'r1', 'build', 0, 0, 'step', 'succeeded', 'succeeded', '2026-03-04 23:30Z', null, null, '{}', 3, null`,
      `${app}, 'r1', 'b', 0, 1, 'step', 'failed', 'failed', null, null, 'first', '{build,c}', null, null`,
      `${app}, 'r1', 'a', 0, 2, 'step', 'failed', 'failed', null, null, 'second', '{}', null, null`,
      `${app}, 'r1', 'x', 0, 0, 'step', 'failed', 'failed', null, null, 'deleted', '{}', null, now()`,
      `${app}, 'r1', 'onExit', 0, 3, 'onExit', 'succeeded', 'succeeded', null, null, null, '{}', null, null`,
    ],
  );
  // A rule is about the English name, too, where the account's language is another one.
  await insert('tracker.issue_types (source_id, id, name, untranslated_name)', [
    `1, 3, '障害', '[System] Incident'`,
  ]);
  await insert(issueColumns, [
    `1, 1, 'OPS-1', 20, 3, 4, 'ann', 3, '2026-03-10Z', '2026-03-11Z', null`,
    `1, 2, 'OPS-2', 20, 1, 4, 'ann', 3, '2026-03-10Z', '2026-03-11Z', null`,
    `1, 3, 'OPS-3', 20, 3, 1, 'ann', 3, '2026-03-10Z', '2026-03-11Z', null`,
    `1, 4, 'OPS-4', 20, 3, 4, 'ann', 3, '2026-03-10Z', '2026-03-11Z', now()`,
    `1, 5, 'OPS-5', 20, 2, 4, 'ann', 3, '2026-01-01Z', '2026-03-11Z', null`,
  ]);
  await insert('tracker.issue_labels (source_id, issue_id, label)', [
    `1, 1, 'incident'`,
    `1, 2, 'Incident'`,
    `1, 5, 'incidental'`,
  ]);
  await insert(changeColumns, [
    statusChange([1, 0], 1, '2026-03-10 02:00Z', toDo, doing),
    statusChange([2, 0], 1, '2026-03-10 06:00Z', doing, done),
    statusChange([3, 0], 2, '2026-03-12 00:00Z', toDo, done),
    statusChange([4, 0], 5, '2026-03-11 00:00Z', toDo, doing),
    statusChange([5, 0], 5, '2026-03-11 10:00Z', doing, done),
  ]);
});

test('a DAG has its role by the longest pattern, its schedule in words, and its last run', async () => {
  await shows(
    `select dag_name, dag_group, dag_role, schedule, is_suspended, tags, definition_errors, runs, live_runs, last_dag_run_id,
      last_state, last_run_at::text, last_success_at::text, last_failure_at::text from bi.dags order by dag_name`,
    [
      'deploy-app | web | deployment | 0 2 * * *, 2026-04-01T00:00:00Z | false | a, b | 0 | 7 | 1 | r6 | active | 2026-03-24 11:00:00+00 | 2026-03-05 09:20:00+00 | 2026-03-24 10:10:00+00',
      'deploy-dry-run | web | rehearsal | 5 4 * * * | true |  | 2 | 1 | 0 | d1 | failed | 2026-03-03 10:00:00+00 | - | 2026-03-03 10:20:00+00',
      'nightly | - | batch | - | - |  | 0 | 0 | 0 | - | - | - | - | -',
    ],
  );
});

test('a run is late by its schedule; of a retried one the first start is not known', async () => {
  await shows(
    `select dag_run_id, dag_role, lateness_seconds, is_late, start_date from bi.workflow_runs order by dag_run_id`,
    [
      'd1 | rehearsal | - | - | 2026-03-03',
      'g1 | batch | 59.500 | false | 2026-03-03',
      'g2 | batch | 0.000 | false | 2026-03-03',
      'g3 | batch | - | - | -',
      'r0 | deployment | 30.000 | false | 2026-03-01',
      'r1 | deployment | 120.000 | true | 2026-03-04',
      'r2 | deployment | - | - | 2026-03-04',
      'r3 | deployment | - | - | 2026-03-04',
      'r4 | deployment | - | - | 2026-03-05',
      'r5 | deployment | - | - | 2026-03-24',
      'r6 | deployment | - | - | 2026-03-24',
    ],
  );
  await shows(
    `select steps, failed_steps, first_failed_step, error from bi.workflow_runs where dag_run_id in ('r0', 'r1') order by dag_run_id`,
    ['0 | 0 | - | -', '3 | 2 | b | first'],
  );
  await shows(
    `select step_name, dag_role, run_state, start_date, depends_on, repetitions from bi.workflow_steps order by step_position limit 2`,
    ['build | deployment | failed | 2026-03-04 |  | 3', 'b | deployment | failed | - | build, c | -'],
  );
  await shows(
    `select dag_name, date_day, runs, failed, unfinished, scheduled_runs, late_runs, p95_lateness_seconds, dag_role
      from bi.workflow_daily where date_day < '2026-03-05' order by dag_name, date_day`,
    [
      'deploy-app | 2026-03-01 | 1 | 0 | 0 | 1 | 0 | 30.000 | deployment',
      'deploy-app | 2026-03-04 | 3 | 2 | 0 | 1 | 1 | 120.000 | deployment',
      'deploy-dry-run | 2026-03-03 | 1 | 1 | 0 | 0 | 0 | - | rehearsal',
      'gone | 2026-03-03 | 2 | 0 | 1 | 2 | 0 | 56.525 | batch',
    ],
  );
});

test('steps and roles are not read by queries that do not ask for them', async () => {
  const plan = (
    await read(`explain select status, avg(duration_seconds) from bi.workflow_runs group by 1`)
  ).join();
  expect(plan).not.toMatch(/dag_run_steps|dag_roles/);
});

test('an incident is an issue by the rules, or a failed deployment until the next success of its DAG', async () => {
  await shows(
    `select source, incident_kind, incident_id, incident_name, opened_at::text, resolved_at::text, restore_hours, is_open
      from bi.incidents order by opened_at, incident_id`,
    [
      'engine | failed_deployment | r1 | deploy-app | 2026-03-04 10:20:00+00 | 2026-03-05 09:20:00+00 | 23.000 | false',
      'tracker | issue | 1 | OPS-1 | 2026-03-10 | 2026-03-10 06:00:00+00 | 6.000 | false',
      'tracker | issue | 2 | OPS-2 | 2026-03-10 | 2026-03-12 | 48.000 | false',
      'tracker | issue | 3 | OPS-3 | 2026-03-10 | - | - | true',
      'engine | failed_deployment | r5 | deploy-app | 2026-03-24 10:10:00+00 | - | - | true',
    ],
  );
});

const weekly = `select week_start, deployments, failed_deployments, change_failure_ratio, done_issues, median_cycle_time_hours,
  opened_incidents, resolved_incidents, median_restore_hours from bi.dora_weekly where week_start < '2026-03-30' order by week_start`;

test('DORA counts by weeks, without a gap from the first deployment to today', async () => {
  await shows(weekly, [
    '2026-02-23 | 1 | 0 | 0.0000 | 0 | - | 0 | 0 | -',
    '2026-03-02 | 1 | 2 | 0.6667 | 0 | - | 1 | 1 | 23.000',
    '2026-03-09 | 0 | 0 | - | 3 | 7.000 | 3 | 2 | 27.000',
    '2026-03-16 | 0 | 0 | - | 0 | - | 0 | 0 | -',
    '2026-03-23 | 0 | 1 | 1.0000 | 0 | - | 1 | 0 | -',
  ]);
  await shows(
    `select count(*), max(week_start) from bi.dora_weekly`,
    await read(`select count(*), max(week_start) from bi.calendar where day_of_week = 1
      and week_start between '2026-02-23' and (now() at time zone 'UTC')::date`),
  );
});

test('weeks are those of the reporting time zone', async () => {
  await read(
    `create or replace function ops.reporting_time_zone() returns text immutable parallel safe return 'Europe/Berlin'`,
  );
  expect((await read(weekly))[0]).toBe('2026-03-02 | 2 | 2 | 0.5000 | 0 | - | 1 | 1 | 23.000');
  await shows(`select start_date from bi.workflow_runs where dag_run_id = 'r0'`, ['2026-03-02']);
});
