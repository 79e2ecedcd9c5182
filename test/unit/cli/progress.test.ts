import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Sink } from '../../../src/cli/context.ts';
import { openProgress, type ProgressOptions } from '../../../src/cli/progress.ts';
import { noCounts, type RunEvent, type StreamReport } from '../../../src/core/run.ts';
import { noteRateLimits } from '../../../src/runs/run.ts';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setInterval', 'clearInterval', 'performance', 'Date'],
    now: new Date('2026-01-05T02:00:00Z'),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const pipeline = 'tracker';
const started = (stream: string): RunEvent => ({ type: 'stream.started', pipeline, stream });
const at = (stream: string, received: number, expected?: number): RunEvent => ({
  type: 'stream.progress',
  pipeline,
  stream,
  received,
  expected,
  retries: 0,
});
const counts = { ...noCounts, received: 5000, inserted: 5000 };
const receipt = { expected: 5000, read: 5000, stored: 5000 };
const finished = (stream: string, more: Partial<StreamReport> = {}): RunEvent => ({
  type: 'stream.finished',
  pipeline,
  report: { stream, status: 'ok', counts, receipt, deleted: 0, slices: 1, seconds: 4.1, ...more },
});
const run: RunEvent = { type: 'run.started', pipeline, runId: '7', kind: 'sync' };
const note = (level: 'info' | 'warn', message: string): RunEvent => ({
  type: 'note',
  pipeline,
  level,
  message,
});

/** Keeps what is written. */
function paper(live = false) {
  let text = '';
  const stream = new PassThrough().on('data', (more) => {
    text += more;
  });
  const write = (more: string) => void stream.write(more);
  const sink: Sink = {
    write,
    line: (line = '') => write(`${line}\n`),
    paint: (_, each) => each,
    live,
    columns: 120,
    stream,
    flush: async () => undefined,
  };
  return { ...sink, text: () => text, lines: () => text.split('\n').filter((line) => line !== '') };
}

async function open(live: boolean, options: ProgressOptions & { json?: boolean; quiet?: boolean } = {}) {
  const { json = false, quiet = false, ...rest } = options;
  const out = paper();
  const err = paper(live);
  const progress = await openProgress({ out, err, json, quiet, verbose: false }, rest);
  const tell = (...events: readonly RunEvent[]) => {
    for (const event of events) progress.observe(event);
  };
  return { out, err, progress, tell };
}

test('on a terminal active streams are redrawn below the lines of finished ones, and removed at the end', async () => {
  const { err, progress, tell } = await open(true);
  tell(run, started('issues'), started('users'));
  vi.advanceTimersByTime(2000);
  // A total that only follows what was received is no total.
  tell(at('issues', 1000, 4000), at('users', 60, 60));
  vi.advanceTimersByTime(100);
  expect(err.text()).toContain('tracker: run 7 (sync) started\n');
  expect(err.text()).toContain('tracker.issues: 1,000 of 4,000 (25 %), 2.1 s');
  expect(err.text()).toContain('tracker.users: 60 records, 2.1 s');
  tell(finished('issues', { status: 'failed', reason: 'the server said \x1b[2J' }));
  expect(err.text()).toContain(
    'tracker.issues failed after 4.1 s (5,000 records: 5,000 new): the server said \\x1b[2J\n',
  );
  progress.say('hello');
  expect(progress.aside(() => err.text().endsWith('tracker.users: 60 records, 2.1 s\n'))).toBe(false);
  expect(err.text()).toMatch(/tracker\.users: 60 records, 2\.1 s\n?$/);
  progress.end();
  const { length } = err.text();
  vi.advanceTimersByTime(5000);
  expect(err.text()).toHaveLength(length);
});

test('off a terminal there are start and end lines only, without control characters; brief ones of what is unusual', async () => {
  const plain = await open(false);
  const brief = await open(false, { brief: true });
  for (const { tell } of [plain, brief]) {
    tell(run, started('issues'), at('issues', 100, 4000));
    vi.advanceTimersByTime(60_000);
    tell(finished('issues'), finished('sprints', { status: 'unavailable' }));
    tell(finished('users', { status: 'failed', reason: 'answered 500' }));
    tell(finished('worklogs', { counts: { ...noCounts, received: 2, inserted: 1, rejected: 1 } }));
  }
  const unusual = [
    'tracker: run 7 (sync) started',
    'tracker.users failed after 4.1 s (5,000 records: 5,000 new): answered 500',
    'tracker.worklogs ok after 4.1 s (2 records: 1 new, 1 rejected)',
  ];
  expect(brief.err.lines()).toEqual(unusual);
  expect(plain.err.lines()).toEqual(expect.arrayContaining(unusual));
  expect(plain.err.lines()).toHaveLength(5);
  expect(plain.err.text()).not.toContain('\x1b');
});

test('--json is one event a line on stdout; --quiet lets warnings through', async () => {
  const { out, err, progress, tell } = await open(true, { json: true });
  progress.say('talk');
  const all = [run, started('issues'), at('issues', 100, 4000), finished('issues')];
  tell(...all);
  expect(out.lines().map((line): RunEvent => JSON.parse(line))).toEqual(all);
  expect(err.lines()).toEqual([]);
  const quiet = await open(true, { quiet: true });
  quiet.tell(run, finished('issues'), note('info', 'a'), note('warn', 'its clock is wrong'));
  expect(quiet.err.lines()).toEqual(['warning: tracker: its clock is wrong']);
});

test('a wait for the rate limit becomes a note with its end, and a longer one another', () => {
  const notes: RunEvent[] = [];
  const onHttp = noteRateLimits(pipeline, (event) => notes.push(event));
  const throttled = (seconds: number) =>
    onHttp({ type: 'throttled', endpoint: '/search', untilMs: Date.now() + seconds * 1000, reason: '429' });
  throttled(13);
  throttled(14);
  throttled(60);
  expect(notes).toEqual([
    note('info', 'waiting for the rate limit until 02:00:13 UTC (13 s)'),
    note('info', 'waiting for the rate limit until 02:01:00 UTC (1 m)'),
  ]);
});

test('a limit that other processes do not share for now is a warning with its reason', () => {
  const notes: RunEvent[] = [];
  const onHttp = noteRateLimits(pipeline, (event) => notes.push(event));
  onHttp({ type: 'unshared', endpoint: 'http://x', reason: 'the warehouse did not answer within 2 s' });
  const reason = 'the warehouse did not answer within 2 s';
  expect(notes).toEqual([note('warn', `other processes do not share the rate limit for now: ${reason}`)]);
});
