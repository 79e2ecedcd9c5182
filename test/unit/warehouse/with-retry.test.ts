import { expect, test } from 'vitest';
import { isPassing } from '../../../src/warehouse/pg-errors.ts';
import { isConnectionLoss, isRepeatable, withRetry } from '../../../src/warehouse/with-retry.ts';

const failing = (code: string, more: object = {}): Error =>
  Object.assign(new Error('it failed'), { code, ...more });

test.each([
  ['a server that shuts down', failing('57P01'), { login: true, work: true, lost: true }],
  ['a connection that is reset', failing('ECONNRESET'), { login: true, work: true, lost: true }],
  [
    'a unix socket that is not there',
    failing('ENOENT', { syscall: 'connect' }),
    { login: true, work: true, lost: true },
  ],
  [
    'a file that is not there',
    failing('ENOENT', { syscall: 'open' }),
    { login: false, work: false, lost: false },
  ],
  // PgBouncer says so of a database that it does not have, and of a server that is gone.
  ["a pooler's protocol violation", failing('08P01'), { login: false, work: true, lost: true }],
  ['too many connections', failing('53300'), { login: true, work: true, lost: false }],
  // `temp_file_limit`: the same statement reaches it again.
  ['a limit that a statement reached', failing('53400'), { login: true, work: false, lost: false }],
  ['a deadlock', failing('40P01'), { login: false, work: true, lost: false }],
  ['a row that is there twice', failing('23505'), { login: false, work: false, lost: false }],
])(
  '%s: tried again at the login, tried again at work, the session lost',
  (_, error, { login, work, lost }) => {
    expect([isPassing(error), isRepeatable(error), isConnectionLoss(error)]).toEqual([login, work, lost]);
  },
);

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
