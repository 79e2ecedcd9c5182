import { expect, test } from 'vitest';
import { failures } from '../../../../src/connectors/spotify-ads/by-id.ts';
import { Forbidden, passesAfter, Transient } from '../../../../src/core/errors.ts';

test('of several that failed the one is told that may pass by itself, so that the night is tried again', () => {
  const all = failures('GET /ad_accounts', 3);
  all.keep('first', new Forbidden('closed'));
  all.keep('second', new Transient('away', { retryAfterMs: 7000 }));
  const told = all.asOne();
  expect(told && passesAfter(told)).toBe(7000);
  expect(told?.message).toBe('GET /ad_accounts: 2 of 3 failed: first, second (closed)');
});
