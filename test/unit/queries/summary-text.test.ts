import { expect, test } from 'vitest';
import { noCounts } from '../../../src/core/run.ts';
import type { StreamState } from '../../../src/queries/freshness.ts';
import type { RunLine } from '../../../src/queries/run-history.ts';
import { receiptText, sentence } from '../../../src/queries/summary-text.ts';

const now = new Date('2026-03-02T12:00:00Z');
const stream: StreamState = {
  pipeline: 'tracker',
  stream: 'issues',
  target: 'tracker.issues',
  about: '',
  endpoint: '',
  freshness: 'fresh',
  reason: null,
  freshAt: now,
  promiseSeconds: 3600,
  watermark: null,
  fullAt: null,
  openRejects: 0,
  last: null,
};
const run = (runId: string, kind: string, more: Partial<RunLine> = {}): RunLine => ({
  runId,
  pipeline: 'tracker',
  kind,
  settles: kind === 'sync' ? 'freshness' : null,
  trigger: 'manual',
  status: 'succeeded',
  alive: null,
  startedAt: new Date('2026-03-02T02:00:00Z'),
  finishedAt: new Date('2026-03-02T02:00:03Z'),
  seconds: 3,
  counts: { ...noCounts, deleted: 0 },
  requests: 0,
  retries: 0,
  throttled: 0,
  throttledMs: 0,
  error: null,
  ...more,
});
const lost = { status: 'running', alive: false, finishedAt: null } as const;

test('the last run of the sentence is the last of every stream, or else the last run that ended', () => {
  const last = (...runs: readonly RunLine[]) => sentence([stream], runs, now);
  expect(last(run('2', 'reconcile'), run('1', 'sync'))).toContain('; last run 02:00 UTC, 3.0 s.');
  expect(last(run('3', 'reconcile'), run('2', 'backfill'))).toContain('; last reconcile 02:00 UTC, 3.0 s.');
  expect(last(run('3', 'reconcile', lost), run('2', 'backfill'))).toContain('; last backfill 02:00 UTC');
  expect(last(run('3', 'sync', lost))).toContain('; run 3 ended without an error message.');
});

test('the sentence begins with what is wrong: which stream, what, and since when', () => {
  const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
  const told = (...streams: readonly Partial<StreamState>[]) =>
    sentence(
      streams.map((each) => ({ ...stream, ...each })),
      [run('1', 'sync')],
      now,
    ).split('; last run')[0];
  const failed = {
    runId: '1',
    kind: 'sync',
    finishedAt: ago(3),
    receipt: { expected: null, fetched: 0, landed: 0 },
  };
  expect(told({}, {})).toBe('All 2 streams fresh');
  expect(told({}, { freshness: 'unavailable' }, { freshness: 'excluded' })).toBe(
    'All 1 stream fresh, 1 not available from the source, 1 excluded',
  );
  expect(told({ freshness: 'unavailable' })).toBe('No stream to keep fresh, 1 not available from the source');
  expect(told({}, { stream: 'boards', freshness: 'stale', freshAt: ago(5) })).toBe(
    '1 of 2 streams needs attention (tracker.boards stale, as of 5 h ago), 1 fresh',
  );
  expect(
    told(
      {},
      { stream: 'users', last: { ...failed, status: 'failed' } },
      { stream: 'epics', freshness: 'forbidden', freshAt: null },
      { stream: 'boards', freshness: 'never', freshAt: null },
    ),
  ).toBe(
    '3 of 4 streams need attention (tracker.boards never loaded; tracker.epics forbidden, never loaded; ' +
      'tracker.users failed 3 h ago, as of just now), 2 fresh',
  );
  const late = { freshness: 'stale', freshAt: ago(30) } as const;
  expect(told(late, late, late, late, late)).toContain('; and 2 more), 0 fresh');
});

test('a receipt says what its numbers are', () => {
  expect(receiptText({ expected: 5000, fetched: 5000, landed: 4999 })).toBe(
    'expected 5,000 · read 5,000 · stored 4,999',
  );
  expect(receiptText({ expected: null, fetched: 5, landed: 5 })).toBe('expected – · read 5 · stored 5');
});
