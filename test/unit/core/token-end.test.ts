import { expect, test } from 'vitest';
import { endsSoon } from '../../../src/core/token-end.ts';

const now = new Date('2026-03-10T09:00:00Z');

test.each([
  [undefined, undefined],
  ['2026-03-25T00:00:00Z', undefined],
  ['2026-03-24T09:00:00Z', 'the token ends on 2026-03-24, in 14 days: make a new one before'],
  ['2026-03-11T00:00:00Z', 'the token ends on 2026-03-11, in 1 day: make a new one before'],
  ['2026-03-10T09:00:00Z', 'the token ended on 2026-03-10, as far as is known: make a new one'],
])('a token that ends at %s: %s', (ends, warning) => {
  expect(endsSoon(ends === undefined ? undefined : new Date(ends), now)).toBe(warning);
});
