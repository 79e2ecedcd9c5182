import { expect, test } from 'vitest';
import { between, date } from '../../../src/cli/dates.ts';
import { causes, codeOfAll, codeOfError, codeOfReport, combined, said } from '../../../src/cli/exit.ts';
import { nearest } from '../../../src/cli/nearest.ts';
import { colored } from '../../../src/cli/terminal.ts';
import {
  AuthFailed,
  BadData,
  Interrupted,
  LockHeld,
  Misconfigured,
  Transient,
  Unreachable,
} from '../../../src/core/errors.ts';
import { noCounts, type RunReport, type RunStatus } from '../../../src/core/run.ts';

const report = (status: RunStatus, code?: string): RunReport => ({
  runId: '1',
  pipeline: 'tracker',
  kind: 'sync',
  status,
  streams: [],
  counts: noCounts,
  deleted: 0,
  requests: 0,
  retries: 0,
  throttledMs: 0,
  seconds: 1,
  ...(code === undefined ? {} : { error: { code, message: 'm' } }),
});

test('every class of error has its promised exit code', () => {
  expect(codeOfError(new Misconfigured('m'))).toBe(2);
  expect(codeOfError(new AuthFailed('m'))).toBe(4);
  expect(codeOfError(new Unreachable('m'))).toBe(4);
  expect(codeOfError(new LockHeld('m'))).toBe(5);
  expect(codeOfError(new Transient('m'))).toBe(1);
  expect(codeOfError(new BadData('x', 'm'))).toBe(1);
  expect(codeOfError(new Error('defect'))).toBe(1);
  expect(codeOfError('not even an error')).toBe(1);
  expect(codeOfError(new Interrupted('m'), 'SIGINT')).toBe(130);
  expect(codeOfError(new Interrupted('m'), 'SIGTERM')).toBe(143);
  expect(codeOfError(Object.assign(new Error('m'), { code: 'ECONNREFUSED' }))).toBe(4);
  expect(codeOfError(new AggregateError([Object.assign(new Error('m'), { code: 'ECONNREFUSED' })]))).toBe(4);
});

test('every way a run can end has its promised exit code', () => {
  expect(codeOfReport(report('succeeded'))).toBe(0);
  expect(codeOfReport(report('failed', 'transient'))).toBe(1);
  expect(codeOfReport(report('lost', 'fenced'))).toBe(1);
  expect(codeOfReport(report('partly_failed'))).toBe(3);
  expect(codeOfReport(report('needs_attention'))).toBe(3);
  expect(codeOfReport(report('failed', 'auth'))).toBe(4);
  expect(codeOfReport(report('failed', 'unreachable'))).toBe(4);
  expect(codeOfReport(report('interrupted'), 'SIGTERM')).toBe(143);
});

test('several pipelines end with the code they share, 3 if only some ended well, else 1', () => {
  expect(combined([0, 0])).toBe(0);
  expect(combined([4, 4])).toBe(4);
  expect(combined([0, 4])).toBe(3);
  expect(combined([3, 4])).toBe(3);
  expect(combined([2, 4])).toBe(1);
  expect(combined([])).toBe(0);
});

test('what was stopped before its end ends as stopped, however well the rest went', () => {
  expect(codeOfAll([0], 3, 'SIGTERM')).toBe(143);
  expect(codeOfAll([0, 143], 2, 'SIGTERM')).toBe(143);
  expect(codeOfAll([0, 0], 2, 'SIGINT')).toBe(0);
  expect(codeOfAll([0, 4], 2)).toBe(3);
});

test('a message keeps its lines, loses credentials, and a source cannot forge lines in it', () => {
  expect(said(new Misconfigured('two problems:\n  a\n  b')).message).toBe('two problems:\n    a\n    b');
  expect(said(new Error('at postgres://u:p@h/db\x1b[2J')).message).toBe('at postgres://***@h/db\\x1b[2J');
  expect(said(new LockHeld('m')).code).toBe('lock_held');
});

test('the causes go to the bottom', () => {
  const lines = causes(
    new Unreachable('top', { cause: new Error('middle', { cause: new Error('bottom') }) }),
  );
  expect(lines.slice(0, 2)).toEqual(['because Error: middle', 'because Error: bottom']);
  expect(lines[2]).toMatch(/^\s+at /);
});

test('dates are days or instants in UTC; anything else is refused with the format', () => {
  expect(date('2024-02-29', '--from').toISOString()).toBe('2024-02-29T00:00:00.000Z');
  expect(date('2024-01-31T08:00:00Z', '--from').toISOString()).toBe('2024-01-31T08:00:00.000Z');
  for (const wrong of ['2024-02-30', '2023-02-29', '31.1.2024', 'yesterday', '2024-01-31T08:00:00', ''])
    expect(() => date(wrong, '--from')).toThrow(/--from: .*2024-01-31 \(midnight UTC\)/);
  expect(() => between('2024-02-01', '2024-02-01')).toThrow(/half open/);
});

test('the word that was probably meant is found, and no far-fetched one', () => {
  expect(nearest('isues', ['issues', 'users'])).toBe('issues');
  expect(nearest('trakcer', ['tracker', 'ads'])).toBe('tracker');
  expect(nearest('zzz', ['issues', 'users'])).toBeUndefined();
});

test('colour: --no-color, FORCE_COLOR, NO_COLOR, TERM=dumb and the terminal decide in this order', () => {
  const on = (terminal: boolean, env: Record<string, string>, noColor = false) =>
    colored(terminal, { env, noColor });
  expect(on(true, {})).toBe(true);
  expect(on(false, {})).toBe(false);
  expect(on(true, { NO_COLOR: '1' })).toBe(false);
  expect(on(true, { NO_COLOR: '' })).toBe(true);
  expect(on(true, { TERM: 'dumb' })).toBe(false);
  expect(on(false, { FORCE_COLOR: '1' })).toBe(true);
  expect(on(true, { FORCE_COLOR: '0' })).toBe(false);
  expect(on(false, { FORCE_COLOR: '' })).toBe(false);
  expect(on(true, { FORCE_COLOR: '', NO_COLOR: '1' })).toBe(false);
  expect(on(true, { FORCE_COLOR: '1' }, true)).toBe(false);
});
