import { expect, test } from 'vitest';
import { reading } from './reading.ts';

const { insert, shows } = reading(async () => {
  await insert('ops.sources (name, kind, base_url)', [`'tracker', 'tracker', 'http://one'`]);
  await insert('ops.streams (source_id, stream, target, about, endpoint, state, reason)', [
    `1, 'issues', 'tracker.issues', '', '', 'available', null`,
    `1, 'projects', 'tracker.projects', '', '', 'available', null`,
    `1, 'boards', 'tracker.boards', '', '', 'unavailable', 'no such endpoint'`,
    `1, 'sprints', 'tracker.sprints', '', '', 'unknown', null`,
    `1, 'users', 'tracker.users', '', '', 'available', null`,
  ]);
  await insert(
    'ops.runs (pipeline, source_id, kind, status, epoch, started_at, finished_at, received, inserted, unchanged, requests, throttled_ms)',
    [
      `'tracker', 1, 'sync', 'succeeded', 1, '2024-01-01Z', '2024-01-01 00:01:30.5Z', 12, 10, 2, 7, 1500`,
      `'tracker', 1, 'backfill', 'partly_failed', 2, now() - interval '1 hour', now(), 5, 0, 5, 3, 0`,
      `'tracker', 1, 'sync', 'running', 3, now(), null, 0, 0, 0, 0, 0`,
    ],
  );
  await insert(
    'ops.run_streams (run_id, source_id, stream, status, reason, started_at, finished_at, expected, read, stored, received)',
    [
      `1, 1, 'issues', 'ok', null, '2024-01-01Z', '2024-01-01 00:01Z', 10, 10, 10, 10`,
      `1, 1, 'projects', 'ok', null, '2024-01-01Z', '2024-01-01 00:00:01Z', 2, 2, 2, 2`,
      `1, 1, 'users', 'ok', null, now() - interval '1 hour', now() - interval '59 minutes', null, 2, 2, 2`,
      `2, 1, 'issues', 'partial', 'one is missing', now() - interval '1 hour', now(), 6, 5, 5, 5`,
      `3, 1, 'issues', 'running', null, now(), null, null, 0, 0, 0`,
    ],
  );
  await insert('ops.walks (source_id, stream, kind, purpose, status, run_id, opened_at)', [
    `1, 'issues', 'full', null, 'done', 1, '2024-01-01Z'`,
    `1, 'issues', 'backfill', 'requested', 'done', 2, now()`,
    `1, 'issues', 'incremental', null, 'open', 3, now()`,
    `1, 'projects', 'full', null, 'done', 1, now() - interval '1 hour'`,
  ]);
  await insert('ops.checkpoints (source_id, stream, watermark, full_at, run_id)', [
    `1, 'issues', '2023-12-31 23:59Z', '2023-12-31 23:59Z', 1`,
  ]);
  await insert(
    'ops.rejects (source_id, stream, sha256, payload, stage, code, message, first_run_id, last_run_id, status)',
    [
      `1, 'issues', 'a', '', 'transform', 'bad_instant', '', 1, 1, 'open'`,
      `1, 'issues', 'b', '', 'transform', 'bad_instant', '', 1, 1, 'resolved'`,
    ],
  );
});

test('a stream is as fresh as its last complete read, which neither a backfill nor an open read is', async () => {
  await shows(
    `select stream, freshness, is_stale from bi.data_freshness where source = 'tracker' order by stream`,
    [
      'boards | unavailable | false',
      'issues | stale | true',
      'projects | fresh | false',
      'sprints | never | true',
      'users | fresh | false',
    ],
  );
  await shows(
    `select fresh_at::text, seconds_since_fresh > 60000000, watermark_at::text, last_run_id, last_status, last_success_at::text,
      open_rejects from bi.data_freshness where stream = 'issues'`,
    ['2024-01-01 | true | 2023-12-31 23:59:00+00 | 3 | running | 2024-01-01 00:01:00+00 | 1'],
  );
  await shows(
    `select seconds_since_fresh, last_status, reason from bi.data_freshness
      where stream in ('boards', 'sprints') order by stream`,
    ['- | - | no such endpoint', '- | - | -'],
  );
});

test('a run has its counts, the streams that failed, and a length once it is over', async () => {
  await shows(
    `select run_id, source, run_kind, status, streams, failed_streams, rows_received, rows_inserted, rows_unchanged,
      http_requests from bi.sync_runs order by run_id`,
    [
      '1 | tracker | sync | succeeded | 3 | 0 | 12 | 10 | 2 | 7',
      '2 | tracker | backfill | partly_failed | 1 | 1 | 5 | 0 | 5 | 3',
      '3 | tracker | sync | running | 1 | 0 | 0 | 0 | 0 | 0',
    ],
  );
  await shows(
    `select duration_seconds, throttled_seconds, started_date, finished_at::text from bi.sync_runs
      where run_id in ('1', '3') order by run_id`,
    ['90.5 | 1.5 | 2024-01-01 | 2024-01-01 00:01:30.5+00', expect.stringMatching(/^- \| 0 \| [\d-]+ \| -$/)],
  );
});

test('a stream of a run has its receipt', async () => {
  await shows(
    `select run_id, stream, run_kind, status, reason, records_expected, records_fetched, records_landed
      from bi.stream_runs where stream = 'issues' order by run_id`,
    [
      '1 | issues | sync | ok | - | 10 | 10 | 10',
      '2 | issues | backfill | partial | one is missing | 6 | 5 | 5',
      '3 | issues | sync | running | - | - | 0 | 0',
    ],
  );
});
