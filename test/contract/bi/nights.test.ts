import { test } from 'vitest';
import { reading } from './reading.ts';

/** That many days before today (UTC), for SQL. */
const ago = (days: number, time: string): string =>
  `(date_trunc('day', now(), 'UTC') - interval '${days} days' + interval '${time}')`;

type Night = readonly [source: number, days: number, start: string, end: string, status: string];

const { insert, read, shows } = reading(async () => {
  await insert('ops.sources (name, kind, base_url)', [
    `'tracker', 'tracker', 'http://one'`,
    `'ads', 'ads', 'http://two'`,
    `'midnight', 'tracker', 'http://three'`,
    `'new', 'tracker', 'http://four'`,
  ]);
  await insert(
    'ops.streams (source_id, stream, target, about, endpoint, state, freshness_seconds, excluded)',
    [
      `1, 'issues', '', '', '', 'available', 93600, false`,
      `1, 'users', '', '', '', 'available', 60, true`,
      `1, 'boards', '', '', '', 'forbidden', 60, false`,
      `2, 'ads', '', '', '', 'available', 8 * 86400, false`,
      `3, 'issues', '', '', '', 'available', 93600, false`,
    ],
  );
  const nights: readonly Night[] = [
    [1, 9, '2 hours', '2 hours 10 minutes', 'succeeded'],
    // Mended at ten o'clock.
    [1, 8, '2 hours', '2 hours 5 minutes', 'failed'],
    [1, 8, '10 hours', '10 hours 10 minutes', 'succeeded'],
    [1, 7, '2 hours', '2 hours 5 minutes', 'partly_failed'],
    // Nothing six days ago.
    [1, 5, '2 hours', '2 hours 10 minutes', 'succeeded'],
    // In time, and later broken again.
    [1, 4, '2 hours', '2 hours 10 minutes', 'succeeded'],
    [1, 4, '20 hours', '20 hours 1 minute', 'failed'],
    [1, 3, '2 hours', '5 hours', 'succeeded'],
    // Every week.
    [2, 9, '2 hours', '2 hours 10 minutes', 'succeeded'],
    [2, 2, '2 hours', '2 hours 10 minutes', 'succeeded'],
    // At 23:00; once it began after midnight.
    [3, 6, '23 hours', '23 hours 5 minutes', 'succeeded'],
    [3, 4, '30 minutes', '40 minutes', 'succeeded'],
    [3, 4, '23 hours', '23 hours 5 minutes', 'succeeded'],
    [4, 2, '2 hours', '3 hours', 'failed'],
  ];
  const of = (kind: string, params = '{}') =>
    nights.map(
      ([source, days, start, end, status]) =>
        `'p', ${source}, '${kind}', '${status}', '${params}', 1, ${ago(days, start)}, ${ago(days, end)}`,
    );
  const runs = 'ops.runs (pipeline, source_id, kind, status, params, epoch, started_at, finished_at)';
  await insert(runs, of('sync'));
  // None of these makes a night.
  await insert(runs, [
    `'p', 1, 'sync', 'succeeded', '{"streams": ["issues"]}', 1, ${ago(6, '2 hours')}, ${ago(6, '3 hours')}`,
    `'p', 1, 'backfill', 'succeeded', '{}', 1, ${ago(6, '2 hours')}, ${ago(6, '3 hours')}`,
    `'p', 1, 'reconcile', 'succeeded', '{}', 1, ${ago(6, '2 hours')}, ${ago(6, '3 hours')}`,
  ]);
  await insert('ops.ticks (pipeline, does, scheduled_for, dag_run_id, made_by)', [
    `'nightly', 'sync', ${ago(3, '2 hours')}, 'a', 'x'`,
    `'tracker', 'full', ${ago(3, '1 hour')}, 'b', 'x'`,
    `'tracker', 'reconcile', ${ago(3, '30 minutes')}, 'c', 'x'`,
    `'ads', 'sync', ${ago(3, '10 minutes')}, 'd', 'x'`,
    `'nightly', 'sync', ${ago(4, '2 hours')}, 'e', 'x'`,
  ]);
  await insert('ops.schedules (pipeline, does, cron, time_zone)', [
    `'tracker', 'reconcile', '0 3 * * 0', 'UTC'`,
    `'midnight', 'sync', '0 23 * * *', 'UTC'`,
  ]);
});

const today = `(now() at time zone 'UTC')::date`;
const nightsOf = (source: string) =>
  `select ${today} - night_date, status, is_late, duration_seconds, runs, failed_runs from bi.late_nights
    where source = '${source}' and night_date < ${today} order by night_date`;

test('a night is late, failed or missing by the freshness that was promised', async () => {
  await shows(nightsOf('tracker'), [
    '9 | succeeded | false | 600 | 1 | 0',
    '8 | succeeded | true | 29400 | 2 | 1',
    '7 | partly_failed | true | 300 | 1 | 1',
    '6 | missing | true | - | 0 | 0',
    '5 | succeeded | false | 600 | 1 | 0',
    '4 | failed | false | 600 | 2 | 1',
    '3 | succeeded | true | 10800 | 1 | 0',
    '2 | missing | true | - | 0 | 0',
    '1 | missing | true | - | 0 | 0',
  ]);
});

test('a day between weekly syncs is not missing', async () => {
  await shows(nightsOf('ads'), [
    '9 | succeeded | false | 600 | 1 | 0',
    '2 | succeeded | false | 600 | 1 | 0',
  ]);
});

test('a sync that begins shortly after midnight leaves no night missing', async () => {
  await shows(nightsOf('midnight'), [
    '6 | succeeded | false | 300 | 1 | 0',
    '4 | succeeded | false | 600 | 2 | 0',
    '3 | missing | true | - | 0 | 0',
    '2 | missing | true | - | 0 | 0',
    '1 | missing | true | - | 0 | 0',
  ]);
});

test('a source that was never complete is late, with each day since', async () => {
  await shows(nightsOf('new'), ['2 | failed | true | 3600 | 1 | 1', '1 | missing | true | - | 0 | 0']);
});

test('a night says by when it was due, and when its schedule was', async () => {
  await shows(
    `select promised_at = ${ago(3, '4 hours')}, scheduled_at = ${ago(3, '1 hour')}, started_at = ${ago(3, '2 hours')},
      finished_at = ${ago(3, '5 hours')} from bi.late_nights where source = 'tracker' and night_date = ${today} - 3`,
    ['true | true | true | true'],
  );
});

test('a source with a schedule of its own is not due with nightly', async () => {
  await shows(
    `select source, scheduled_at = ${ago(4, '2 hours')} from bi.late_nights where night_date = ${today} - 4 order by 1`,
    ['midnight | -', 'tracker | true'],
  );
});

test('nights are days of the reporting time zone', async () => {
  await read(
    `create or replace function ops.reporting_time_zone() returns text immutable parallel safe return 'Europe/Berlin'`,
  );
  await shows(
    `select ${today} - night_date from bi.late_nights where source = 'midnight' and status <> 'missing' order by 1 desc`,
    ['5', '4', '3'],
  );
});
