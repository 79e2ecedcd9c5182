import { describe, expect, test } from 'vitest';
import { noCounts } from '../../../src/core/run.ts';
import type { StreamState } from '../../../src/queries/freshness.ts';
import type { RunLine } from '../../../src/queries/run-history.ts';
import {
  outcome,
  receiptProblem,
  receiptText,
  type SummaryInput,
  summary as stateIn,
} from '../../../src/queries/summary-text.ts';

const now = new Date('2026-03-02T12:00:00Z');
const stream: StreamState = {
  pipeline: 'tracker',
  stream: 'issues',
  target: 'tracker.issues',
  childTables: [],
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
  tokenEndsAt: null,
};
const run = (runId: string, kind: string, more: Partial<RunLine> = {}): RunLine => ({
  runId,
  pipeline: 'tracker',
  kind,
  settles: kind === 'sync' ? 'freshness' : null,
  trigger: 'manual',
  status: 'succeeded',
  alive: null,
  seconds: 3,
  counts: { ...noCounts, deleted: 0 },
  error: null,
  startedAt: new Date('2026-03-02T02:00:00Z'),
  finishedAt: new Date('2026-03-02T02:00:03Z'),
  requests: 0,
  retries: 0,
  throttled: 0,
  throttledMs: 0,
  ...more,
});
const lost = { status: 'running', alive: false, finishedAt: null } as const;

const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const nothing: SummaryInput = { streams: [], last: [], configured: [], ill: [] };
const all = (streams: readonly Partial<StreamState>[], runs: readonly RunLine[] = []): SummaryInput => ({
  ...nothing,
  streams: streams.map((each) => ({ ...stream, ...each })),
  last: runs.length === 0 ? [run('1', 'sync')] : runs,
});
const textOf = (state: SummaryInput): string => {
  const { lead, rest } = stateIn(state, now);
  return `${lead} ${rest}`;
};
const summary = (streams: readonly Partial<StreamState>[], ...runs: readonly RunLine[]) =>
  textOf(all(streams, runs));

test('the last run of the summary is the last of every stream, or else the last run that ended', () => {
  const last = (...runs: readonly RunLine[]) => summary([{}], ...runs);
  expect(last(run('2', 'reconcile'), run('1', 'sync'))).toBe(
    'All 1 stream fresh. The last run began at 02:00 UTC, took 3.0 s and changed 0 rows.',
  );
  expect(last(run('3', 'reconcile'), run('2', 'backfill'))).toContain(
    'The last reconcile began at 02:00 UTC',
  );
  expect(last(run('3', 'reconcile', lost), run('2', 'backfill'))).toContain(
    'The last backfill began at 02:00',
  );
  expect(last(run('3', 'sync', lost))).toMatch(
    /^The process of run 3 has died; the next run continues\. .* No run has ended/,
  );
});

test('the summary begins with what is wrong: a source, a stream, or a run', () => {
  expect(textOf(nothing)).toMatch(/^No data yet\./);
  expect(summary([{}, {}])).toMatch(/^All 2 streams fresh\. /);
  expect(summary([{}, { freshness: 'unavailable' }, { freshness: 'excluded' }])).toMatch(
    /^All 1 stream fresh, 1 not available from the source, 1 excluded\. /,
  );
  expect(summary([{ freshness: 'unavailable' }])).toMatch(/^No stream to keep fresh, 1 not available/);
  const ending = { tokenEndsAt: ago(-73) };
  expect(summary([ending, ending, { pipeline: 'ads' }])).toMatch(
    /^tracker: the token ends on 2026-03-05, in 4 days: make a new one before\. All 3 streams fresh\. /,
  );
  expect(summary([{ tokenEndsAt: ago(-24 * 15) }])).toMatch(/^All 1 stream fresh\. /);
  expect(summary([{ tokenEndsAt: ago(1) }])).toMatch(
    /^tracker: the token ended on 2026-03-02, as far as is known/,
  );
  const late = {
    stream: 'boards',
    freshness: 'stale',
    freshAt: ago(49),
    reason: 'account 7 answers 403',
  } as const;
  expect(summary([{}, late])).toMatch(
    /^tracker\.boards is 2 d 1 h old: account 7 answers 403\. 1 of 2 streams fresh and complete\. /,
  );
  const failed = { runId: '1', kind: 'sync', finishedAt: ago(3), status: 'failed' };
  const receipt = { expected: null, read: 0, stored: 0 };
  expect(
    summary([
      {},
      { stream: 'users', last: { ...failed, receipt } },
      { stream: 'epics', freshness: 'forbidden', freshAt: null },
      { stream: 'boards', freshness: 'never', freshAt: null },
    ]),
  ).toMatch(
    /^tracker\.boards was never loaded\. tracker\.epics is forbidden, and was never loaded\. tracker\.users failed 3 h ago\. 1 of 4/,
  );
  expect(summary([late, late, late, late, late])).toContain('2 more streams need attention.');
  const error = { code: 'unreachable', message: 'connect ECONNREFUSED' };
  expect(summary([late, {}], run('2', 'sync', { status: 'failed', error }))).toMatch(
    /^tracker is not answering \(connect ECONNREFUSED, since 02:00 UTC\)\. 1 stream needs attention\. 1 of 2/,
  );
  expect(summary([{}], run('2', 'sync', { status: 'partly_failed' }))).toMatch(
    /^Run 2 of tracker ended partly failed\. All 1/,
  );
});

describe('the state is good only where nothing is wrong', () => {
  const well = all([{}, {}], [run('2', 'sync')]);
  test('as where every stream is fresh and the last runs succeeded', () => {
    expect(stateIn({ ...well, configured: ['tracker'] }, now)).toMatchObject({
      tone: 'good',
      lead: 'All 2 streams fresh.',
    });
  });

  const failed = { status: 'failed' } as const;
  const held = { status: 'needs_attention', settles: 'deletions' };
  const receipt = { expected: null, read: 0, stored: 0 };
  const partly = { runId: '1', kind: 'sync', finishedAt: ago(3), status: 'partial', receipt };
  test.each<[string, Partial<SummaryInput>, string]>([
    ['a configured pipeline has never run', { configured: ['tracker', 'ads'] }, 'ads has never run.'],
    [
      'a stream never began',
      all([{}, { freshness: 'never', freshAt: null }]),
      'tracker.issues was never loaded.',
    ],
    ['a stream is stale', all([{ freshness: 'stale', freshAt: ago(49) }]), 'tracker.issues is 2 d 1 h old.'],
    ['a stream was partly read', all([{ last: partly }]), 'tracker.issues was partly read 3 h ago.'],
    [
      'a record was rejected',
      all([{ openRejects: 1 }]),
      'tracker.issues has 1 record that could not become rows.',
    ],
    [
      'a request failed before it had a run',
      { ill: [{ pipeline: 'nightly', state: 'failed', since: ago(10) }] },
      'nightly is marked as failed since 02:00 UTC.',
    ],
    [
      'the newest run succeeded and the own run of another pipeline failed',
      { last: [run('3', 'sync', { pipeline: 'ads' }), run('2', 'sync', failed)] },
      'Run 2 of tracker ended failed.',
    ],
    [
      'its own run after the night failed',
      { last: [run('4', 'sync', { pipeline: 'ads' }), run('3', 'backfill', failed), run('2', 'sync')] },
      'Run 3 of tracker ended failed.',
    ],
    [
      'the deletion guard held, and the night after it succeeded',
      { last: [run('3', 'sync'), run('2', 'reconcile', held)] },
      'Run 2 of tracker ended needs attention.',
    ],
  ])('not where %s', (_, differs, lead) => {
    expect(stateIn({ ...well, ...differs }, now)).toMatchObject({ tone: 'warn', lead });
  });

  test('nor while a run goes on beside what is wrong; a failed part is mended by a later run of every stream', () => {
    const active = { status: 'running', alive: true, finishedAt: null } as const;
    const last = [run('3', 'sync', { ...active, pipeline: 'ads' }), run('2', 'sync', failed)];
    expect(stateIn({ ...well, last }, now)).toMatchObject({ tone: 'warn' });
    const mended = [run('3', 'sync'), run('2', 'backfill', failed), run('1', 'sync')];
    expect(stateIn({ ...well, last: mended }, now)).toMatchObject({ tone: 'good' });
  });
});

test('an active run says how long it runs, and how long it may take', () => {
  const active = {
    status: 'running',
    alive: true,
    finishedAt: null,
    seconds: 60,
    startedAt: ago(1 / 60),
  } as const;
  expect(summary([{}], run('2', 'sync', active), run('1', 'sync', { seconds: 300 }))).toMatch(
    /^Run 2 \(tracker sync\) has been running for 1 m, about 4 m left\. All 1 stream fresh\./,
  );
});

test('records of a first sync that came twice are stored already; nothing was there before it', () => {
  const counts = { ...noCounts, received: 68, inserted: 45, unchanged: 23 };
  const receipt = { read: 68 };
  expect(outcome({ counts, deleted: 0, receipt })).toBe('68 records: 45 new, 23 already stored');
});

test('a receipt says what its numbers are', () => {
  const text = 'expected 5,000 · read 5,000 · stored 4,999';
  expect(receiptText({ expected: 5000, read: 5000, stored: 4999 })).toBe(text);
  expect(receiptText({ expected: null, read: 5, stored: 5 })).toBe('expected – · read 5 · stored 5');
});

test.each([
  [5, 5, 5, undefined],
  [null, 5, 5, undefined],
  [5, 5, 4, '1 record fewer stored than read'],
  [5, 3, 3, '2 records fewer read than the source stated'],
  [3, 5, 5, '2 records more read than the source stated'],
])('a receipt of %s expected, %s read and %s stored: %s', (expected, read, stored, problem) => {
  expect(receiptProblem({ expected, read, stored })).toBe(problem);
});
