import { expect, test } from 'vitest';
import { noCounts } from '../../../src/core/run.ts';
import type { StreamState } from '../../../src/queries/freshness.ts';
import type { RunLine } from '../../../src/queries/run-history.ts';
import { sentence } from '../../../src/queries/summary-text.ts';

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
  expect(last(run('3', 'sync', lost))).toContain('; run 3 ended without a word.');
});
