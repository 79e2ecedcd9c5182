import { expect, test } from 'vitest';
import { cutByCount } from '../../../src/engine/sync/cut.ts';

const at = (text: string): Date => new Date(`2026-${text}:00Z`);
const late = new Date('2026-01-01T00:00:00.500Z');
const clock = at('03-10T09:00');
const created = (from?: Date, to?: Date) => ({
  partition: { project: '7' },
  window: { field: 'created' as const, ...(from && { from }), ...(to && { to }) },
});
/** Most records of a part, and counts that are cut in two and in four. */
const most = 10;
const two = 2 * most;
const four = 2 * most + 1;

test.each([
  ['in two', two, at('01-01T00:00'), at('01-05T00:00'), ['01-03T00:00']],
  [
    'in four where halves would be cut again',
    four,
    at('01-01T00:00'),
    at('01-05T00:00'),
    ['01-02T00:00', '01-03T00:00', '01-04T00:00'],
  ],
  ['as if it ended now where its end is open', two, at('03-10T07:00'), undefined, ['03-10T08:00']],
  ['on whole minutes, in fewer parts where it is short', four, late, at('01-01T00:02'), ['01-01T00:01']],
] as const)('a window is cut %s, without gap or overlap, for the same owner', (_, count, from, to, cuts) => {
  const ends = [from, ...cuts.map(at), to];
  const parts = ends.slice(1).map((end, nth) => created(ends[nth], end));
  expect(cutByCount(created(from, to), count, most, clock)).toEqual(parts);
});

test.each([
  ['few records', most, at('01-01T00:00'), at('01-05T00:00')],
  ['a single minute', four, at('01-01T00:00'), at('01-01T00:01')],
  ['an end before its beginning', two, at('01-01T00:01'), at('01-01T00:00')],
  ['no beginning', two, undefined, at('01-01T00:01')],
])('a window of %s is not cut', (_, count, from, to) => {
  expect(cutByCount(created(from, to), count, most, clock)).toBeUndefined();
});
