import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { progress } from '../../../src/cli/progress/choose.ts';
import { json } from '../../../src/cli/progress/json.ts';
import { live } from '../../../src/cli/progress/live.ts';
import { plain } from '../../../src/cli/progress/plain.ts';
import type { Progress } from '../../../src/cli/progress/types.ts';
import { withWaiting } from '../../../src/cli/waiting.ts';
import { noCounts, type RunEvent, type StreamReport } from '../../../src/core/run.ts';
import { screen } from './screen.ts';

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
const at = (stream: string, received: number, expected: number | undefined, more: object = {}): RunEvent => ({
  type: 'stream.progress',
  pipeline,
  stream,
  received,
  expected,
  retries: 0,
  ...more,
});
const finished = (stream: string, more: Partial<StreamReport> = {}): RunEvent => ({
  type: 'stream.finished',
  pipeline,
  report: {
    stream,
    status: 'ok',
    counts: { ...noCounts, received: 5000, inserted: 5000 },
    receipt: { expected: 5000, fetched: 5000, landed: 5000 },
    deleted: 0,
    slices: 1,
    seconds: 4.1,
    ...more,
  },
});
const run: RunEvent = { type: 'run.started', pipeline, runId: '7', kind: 'sync', resumed: false };
const tell = (to: Progress, ...events: readonly RunEvent[]) => {
  for (const event of events) to.observe(event);
};

test('on a terminal each stream has one line that moves, and finished ones scroll up above it', () => {
  const seen = screen(120);
  const shown = live(seen);
  tell(shown, run, started('issues'), started('users'));
  vi.advanceTimersByTime(1000);
  tell(shown, at('issues', 1000, 4000), at('users', 60, undefined));
  vi.advanceTimersByTime(100);
  expect(seen.lines()).toEqual([
    'tracker  run 7, sync',
    expect.stringMatching(/^ {2}issues +█{5}░{15} {2}25 % {2}1,000 of 4,000 {2}\d{3,4}\/s$/),
    expect.stringMatching(/^ {2}users +60 {2}\d+\/s$/),
  ]);
  tell(shown, finished('users', { counts: { ...noCounts, received: 60, unchanged: 60 } }));
  expect(seen.lines()).toEqual([
    'tracker  run 7, sync',
    expect.stringMatching(/^✓ users +60 records: 60 as before {2}4.1 s$/),
    expect.stringMatching(/^ {2}issues /),
  ]);
  tell(shown, finished('issues', { status: 'failed', reason: 'the server said \x1b[2J' }));
  shown.end();
  expect(seen.lines()).toEqual([
    'tracker  run 7, sync',
    expect.stringMatching(/^✓ users/),
    expect.stringMatching(/^✗ issues +failed: the server said \\x1b\[2J {2}5,000 records/),
  ]);
});

test('a line never wraps, however narrow the terminal: the picture stays in its place', () => {
  const seen = screen(30);
  const shown = live(seen);
  tell(shown, started('issues'), at('issues', 1000, 4_000_000, { retries: 12 }));
  for (let times = 0; times < 5; times++) vi.advanceTimersByTime(100);
  shown.end();
  expect(seen.lines()).toEqual([]);
});

test('a total that is only ever what has arrived is no total', () => {
  const seen = screen();
  const shown = live(seen);
  tell(shown, started('sprint_issues'), at('sprint_issues', 52, 52));
  vi.advanceTimersByTime(100);
  expect(seen.lines()).toEqual([expect.stringMatching(/^ {2}sprint_issues +52$/)]);
  shown.end();
});

test('talk does not tear the display, and the end leaves nothing behind', () => {
  const seen = screen();
  const shown = live(seen);
  tell(shown, started('issues'));
  shown.say('hello');
  expect(seen.lines()).toEqual(['hello', expect.stringMatching(/^ {2}issues/)]);
  shown.end();
  const length = seen.raw().length;
  vi.advanceTimersByTime(5000);
  expect(seen.lines()).toEqual(['hello']);
  expect(seen.raw().length).toBe(length);
});

test('a source that asks for quiet is shown as the reason why nothing moves', () => {
  const seen = screen(120);
  const shown = live(seen);
  const told = withWaiting(shown.observe);
  told.observe(started('issues'));
  told.observe(at('issues', 10, 100));
  told.http({ type: 'throttled', endpoint: '/search', untilMs: Date.now() + 13_000, reason: '429' });
  vi.advanceTimersByTime(100);
  expect(seen.lines()[0]).toContain('waiting for the rate limit until 02:00:13 UTC (13 s)');
  vi.advanceTimersByTime(14_000);
  expect(seen.lines()[0]).not.toContain('waiting');
});

test('off a terminal there are start and end lines, a sign of life every half minute, and no control characters', () => {
  const seen = screen(200);
  const shown = plain(seen);
  tell(shown, run, started('issues'), at('issues', 100, 4000));
  vi.advanceTimersByTime(29_000);
  expect(seen.lines()).toEqual(['tracker: run 7 (sync) started']);
  vi.advanceTimersByTime(1000);
  expect(seen.lines()[1]).toMatch(/^tracker\.issues: 100 of 4,000, .*going for 30 s$/);
  tell(shown, finished('issues', { status: 'partial', reason: 'expected 5,000, could read 4,999' }));
  vi.advanceTimersByTime(60_000);
  expect(seen.lines().slice(2)).toEqual([
    'tracker.issues: partial: expected 5,000, could read 4,999 (5,000 records, 4.1 s)',
  ]);
  expect(seen.raw()).not.toContain('\x1b');
  shown.end();
});

test('brief progress hides streams that ended as expected, and no others', () => {
  const rejecting = finished('worklogs', { counts: { ...noCounts, received: 2, inserted: 1, rejected: 1 } });
  for (const show of [live, plain]) {
    const seen = screen(200);
    const shown = show(seen, true);
    tell(shown, finished('issues'), finished('sprints', { status: 'unavailable' }));
    expect(seen.lines()).toEqual([]);
    tell(shown, finished('users', { status: 'failed', reason: 'answered 500' }), rejecting);
    expect(seen.lines()).toEqual([
      expect.stringMatching(/users.*failed: answered 500/),
      expect.stringMatching(/worklogs.*1 rejected/),
    ]);
    shown.end();
  }
});

test('--json is one event a line on stdout and silence on stderr; --quiet lets only warnings through', () => {
  const [out, err] = [screen(1000), screen()];
  const told = { out, err, logging: false };
  const json = progress({ ...told, json: true, quiet: false });
  json.say('talk');
  tell(json, run, at('issues', 1, undefined));
  expect(out.lines().map((line) => JSON.parse(line))).toEqual([run, at('issues', 1, undefined)]);
  const quiet = progress({ ...told, json: false, quiet: true });
  tell(quiet, run, finished('issues'), { type: 'note', pipeline, level: 'info', message: 'a' });
  expect(err.lines()).toEqual([]);
  tell(quiet, { type: 'note', pipeline, level: 'warn', message: 'its clock is wrong' });
  expect(err.lines()).toEqual(['warning: its clock is wrong']);
});

test('a log and a live display never share the screen', () => {
  const [out, err] = [screen(), screen()];
  tell(
    progress({ out, err, json: false, quiet: false, logging: true }),
    run,
    started('issues'),
    at('issues', 1, 2),
  );
  vi.advanceTimersByTime(1000);
  expect(err.raw()).not.toContain('\x1b');
  tell(
    progress({ out, err, json: false, quiet: false, logging: false }),
    run,
    started('issues'),
    at('issues', 1, 2),
  );
  expect(err.raw()).toContain('\x1b');
});

test('for programs progress is told four times a second at most, and everything else as it comes', () => {
  const lines: string[] = [];
  const observe = json({ ...screen(80), line: (text) => void lines.push(text ?? '') });
  observe(run);
  for (let page = 1; page <= 1000; page += 1) {
    observe(at('issues', page * 100, undefined));
    observe(at('users', page, undefined));
    vi.advanceTimersByTime(1);
  }
  observe(at('issues', 100_000, undefined, { waitingUntil: Date.now() + 60_000 }));
  observe(finished('issues'));
  const events = lines.map((line): RunEvent => JSON.parse(line));
  expect(events.filter((one) => one.type === 'stream.progress' && one.stream === 'issues')).toHaveLength(5);
  expect(events.filter((one) => one.type === 'stream.progress' && one.stream === 'users')).toHaveLength(4);
  expect(events.slice(-2)).toMatchObject([{ waitingUntil: expect.any(Number) }, { type: 'stream.finished' }]);
});
