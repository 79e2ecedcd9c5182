import { expect, test } from 'vitest';
import { isPassing } from '../../../src/warehouse/pg-errors.ts';
import { isConnectionLoss, isRepeatable, withRetry } from '../../../src/warehouse/with-retry.ts';

const failing = (code: string, more: object = {}): Error =>
  Object.assign(new Error('it failed'), { code, ...more });

test.each([
  ['a server that shuts down', failing('57P01'), 'login work lost'],
  ['a connection that is reset', failing('ECONNRESET'), 'login work lost'],
  ['a missing unix socket', failing('ENOENT', { syscall: 'connect' }), 'login work lost'],
  ['a missing file', failing('ENOENT', { syscall: 'open' }), ''],
  // PgBouncer says so of a database that it does not have, and of a server that is gone.
  ["a pooler's protocol violation", failing('08P01'), 'work lost'],
  ['too many connections', failing('53300'), 'login work'],
  // `temp_file_limit`: the same statement reaches it a second time.
  ['a limit that a statement reached', failing('53400'), 'login'],
  ['a deadlock', failing('40P01'), 'work'],
  ['a duplicate key', failing('23505'), ''],
])('%s: retried at login or at work, the session lost: %#', (_, error, expected) => {
  const found = { login: isPassing(error), work: isRepeatable(error), lost: isConnectionLoss(error) };
  expect(
    Object.entries(found)
      .flatMap(([name, is]) => (is ? [name] : []))
      .join(' '),
  ).toBe(expected);
});

test('a passing error is waited for until the limit; any other is thrown at once', async () => {
  let tries = 0;
  /** Fails until it is tried for the `last` time. */
  const work = (code: string, last: number) => async () => {
    tries += 1;
    if (tries < last) throw failing(code);
    return 'done';
  };
  const limits = { totalMs: 200, firstMs: 1, longestMs: 5 };
  expect(await withRetry(work('57P03', 4), limits)).toBe('done');
  await expect(withRetry(work('57P03', 1e9), limits)).rejects.toMatchObject({ code: '57P03' });
  tries = 0;
  await expect(withRetry(work('23505', 2), limits)).rejects.toMatchObject({ code: '23505' });
  expect(tries).toBe(1);
});
