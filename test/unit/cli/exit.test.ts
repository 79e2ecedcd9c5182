import { expect, test } from 'vitest';
import { hasColor } from '../../../src/cli/context.ts';
import { causes, codeOfError, codeOfReport, combined, describe } from '../../../src/cli/exit.ts';
import { dateOf } from '../../../src/cli/run.ts';
import * as errors from '../../../src/core/errors.ts';
import type { RunReport, RunStatus } from '../../../src/core/run.ts';
import { runReport } from '../../support/run-report.ts';

const report = (status: RunStatus, code?: string): RunReport =>
  runReport({ status, ...(code !== undefined && { error: { code, message: 'm' } }) });
const refused = Object.assign(new Error('m'), { code: 'ECONNREFUSED' });

test.each([
  [new errors.Misconfigured('m'), 2],
  [new errors.AuthFailed('m'), 4],
  [new errors.Unreachable('m'), 4],
  [refused, 4],
  [new AggregateError([refused]), 4],
  [new errors.LockHeld('m'), 5],
  [new errors.Transient('m'), 1],
  [new errors.BadData('x', 'm'), 1],
  [new Error('defect'), 1],
  ['not even an error', 1],
  [new errors.Interrupted('m'), 143],
])('%o has exit code %i', (error, code) => {
  expect(codeOfError(error, 'SIGTERM')).toBe(code);
});

test.each<readonly [RunStatus, string | undefined, number]>([
  ['succeeded', undefined, 0],
  ['failed', 'transient', 1],
  ['lost', 'fenced', 1],
  ['partly_failed', undefined, 3],
  ['needs_attention', undefined, 3],
  ['failed', 'auth', 4],
  ['failed', 'unreachable', 4],
  ['interrupted', undefined, 130],
])('a run that is %s (%s) has exit code %i', (status, code, exitCode) => {
  expect(codeOfReport(report(status, code), 'SIGINT')).toBe(exitCode);
});

test.each([
  [[0, 0], 0],
  [[4, 4], 4],
  [[0, 4], 3],
  [[3, 4], 3],
  [[2, 4], 1],
  [[], 0],
  [[0, 143], 143],
])('pipelines that end with %j end together with %i', (codes, together) => {
  expect(combined(codes)).toBe(together);
  // A command that was stopped before its end ends as stopped.
  expect(combined(codes, 'SIGTERM')).toBe(143);
});

test('a message keeps its lines, loses credentials, and cannot be forged by a source', () => {
  const message = (text: string) => describe(new Error(text)).message;
  expect(message('two problems:\n  a\n  b')).toBe('two problems:\n    a\n    b');
  expect(message('at postgres://u:p@h/db\x1b[2J')).toBe('at postgres://***@h/db\\x1b[2J');
  expect(describe(new errors.LockHeld('m')).code).toBe('lock_held');
});

test('the chain of causes ends with where the deepest was thrown', () => {
  const error = new errors.Unreachable('top', { cause: new Error('middle', { cause: new Error('bottom') }) });
  const [first, second, third] = causes(error);
  expect([first, second]).toEqual(['because middle', 'because bottom']);
  expect(third).toMatch(/^\s+at /);
});

test('a date is a day or an instant in UTC; anything else is refused with the format', () => {
  expect(dateOf('2024-02-29', '--from').toISOString()).toBe('2024-02-29T00:00:00.000Z');
  for (const wrong of ['2024-02-30', '31.1.2024', 'yesterday', '2024-01-31T08:00:00', ''])
    expect(() => dateOf(wrong, '--from')).toThrow(/--from: .*2024-01-31 \(midnight UTC\)/);
});

test.each<readonly [boolean, Record<string, string>, boolean, boolean]>([
  [true, {}, false, true],
  [false, {}, false, false],
  [true, { NO_COLOR: '1' }, false, false],
  [true, { NO_COLOR: '' }, false, true],
  [true, { TERM: 'dumb' }, false, false],
  [false, { FORCE_COLOR: '1' }, false, true],
  [true, { FORCE_COLOR: '0' }, false, false],
  [true, { FORCE_COLOR: '', NO_COLOR: '1' }, false, false],
  [true, { FORCE_COLOR: '1' }, true, false],
])('terminal: %s, %j, --no-color: %s → colour: %s', (isTerminal, env, noColor, color) => {
  expect(hasColor(isTerminal, { env, noColor })).toBe(color);
});
