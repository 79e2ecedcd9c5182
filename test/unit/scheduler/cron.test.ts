import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Misconfigured } from '../../../src/core/errors.ts';
import { due } from '../../../src/scheduler/cron.ts';

/** The instants in a stretch of time, oldest first. */
const within = (cron: string, timeZone: string, from: string, to: string): readonly string[] =>
  due({ cron, timeZone })
    .between(new Date(from), new Date(to), 1000)
    .map((at) => at.toISOString().slice(0, 16))
    .toReversed();

test('a local time that does not exist is due once, at the first instant behind the gap', () => {
  // 29 March 2026: clocks go from 02:00 to 03:00 (01:00 UTC).
  expect(within('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00Z', '2026-03-31T00:00Z')).toEqual([
    '2026-03-28T01:30',
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ]);
});

test('a local time that comes twice is due once, the first time', () => {
  // 25 October 2026: clocks go from 03:00 back to 02:00 (01:00 UTC).
  expect(within('30 2 * * *', 'Europe/Berlin', '2026-10-24T00:00Z', '2026-10-27T00:00Z')).toEqual([
    '2026-10-24T00:30',
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ]);
});

test('a gap of half an hour and clocks of half hours are read exactly', () => {
  // Lord Howe Island: 4 October 2026 02:00 +10:30 becomes 02:30 +11:00; 5 April 2026 02:00 +11:00 becomes 01:30 +10:30.
  expect(within('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T12:00Z', '2026-10-05T12:00Z')).toEqual([
    '2026-10-02T15:45',
    '2026-10-03T15:30',
    '2026-10-04T15:15',
  ]);
  expect(within('45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T12:00Z', '2026-04-05T18:00Z')).toEqual([
    '2026-04-03T14:45',
    '2026-04-04T14:45',
    '2026-04-05T15:15',
  ]);
  expect(within('0 2 * * *', 'Asia/Kolkata', '2026-01-01T00:00Z', '2026-01-02T00:00Z')).toEqual([
    '2026-01-01T20:30',
  ]);
});

test('where midnight itself is skipped, and where a whole day is, the tick is not lost', () => {
  // Beirut, 29 March 2026: clocks go from 00:00 to 01:00. Apia had no 30 December 2011.
  expect(within('0 0 * * *', 'Asia/Beirut', '2026-03-28T00:00Z', '2026-03-30T00:00Z')).toEqual([
    '2026-03-28T22:00',
    '2026-03-29T21:00',
  ]);
  expect(within('0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00Z', '2012-01-01T00:00Z')).toEqual([
    '2011-12-29T22:00',
    '2011-12-30T10:00',
    '2011-12-30T22:00',
    '2011-12-31T22:00',
  ]);
});

test('a schedule of every hour goes by elapsed time on both nights', () => {
  const spring = within('0 * * * *', 'Europe/Berlin', '2026-03-28T22:30Z', '2026-03-29T04:30Z');
  const autumn = within('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:45Z', '2026-10-25T02:15Z');
  expect(spring).toEqual(
    ['23:00', '00:00', '01:00', '02:00', '03:00', '04:00'].map(
      (at, index) => `2026-03-2${index === 0 ? 8 : 9}T${at}`,
    ),
  );
  expect(autumn).toEqual(['00:00', '00:30', '01:00', '01:30', '02:00'].map((at) => `2026-10-25T${at}`));
});

test.each([
  ['*/15 9-17 * * mon-fri', '2026-11-20T17:50Z', '2026-11-23T09:00'],
  ['0 2 1 * 0', '2026-11-01T02:00Z', '2026-11-08T02:00'],
  ['0 2 29 2 *', '2026-03-01T00:00Z', '2028-02-29T02:00'],
  ['0 2 29 2 */7', '2026-03-01T00:00Z', '2032-02-29T02:00'],
  ['5-59/20 0,12 * jan,jul sun,7', '2026-07-06T00:00Z', '2026-07-12T00:05'],
  ['0 22-2 * * *', '2026-11-20T23:30Z', '2026-11-21T00:00'],
  ['0 2 ? * mon', '2026-11-20T00:00Z', '2026-11-23T02:00'],
  ['0 2 31 * *', '2026-11-01T00:00Z', '2026-12-31T02:00'],
])('%s after %s is due at %s', (cron, after, expected) => {
  expect(due({ cron, timeZone: 'UTC' }).next(new Date(after)).toISOString().slice(0, 16)).toBe(expected);
});

test.each([
  ['0 2 * *', 'five'],
  ['60 2 * * *', 'minute'],
  ['0 24 * * *', 'hour'],
  ['0 2 0 * *', 'day of month'],
  ['0 2 * * 8', 'day of week'],
  ['5/20 * * * *', 'minute'],
  ['0 2 L * *', '“L” as day of month'],
  ['0 2 * * 5#2', '“5#2” as day of week'],
  ['30 0 2 * * *', 'five'],
  ['*/0 * * * *', 'minute'],
  ['0 2 30 2 *', 'never comes'],
  ['@daily', 'five'],
])('%s is refused: %s', (cron, what) => {
  expect(() => due({ cron, timeZone: 'UTC' })).toThrow(Misconfigured);
  expect(() => due({ cron, timeZone: 'UTC' })).toThrow(what);
});

test('a zone that does not exist is refused by name', () => {
  expect(() => due({ cron: '0 2 * * *', timeZone: 'Europe/Atlantis' })).toThrow('Europe/Atlantis');
});

test('looking forward and looking back tell the same instants, a fixed time once each day, in every zone', () => {
  const zones = [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'Africa/Cairo',
    'Pacific/Apia',
    'America/St_Johns',
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 1439 }),
      fc.date({ min: new Date('2010-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
      (timeZone, minute, from) => {
        const schedule = due({ cron: `${minute % 60} ${Math.floor(minute / 60)} * * *`, timeZone });
        const to = new Date(from.getTime() + 400 * 86_400_000);
        const back = schedule.between(from, to, 1000).toReversed();
        const forward: Date[] = [];
        for (let at = schedule.next(from); at <= to; at = schedule.next(at)) forward.push(at);
        expect(forward).toEqual(back);
        const days = back.map((at) =>
          new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(at),
        );
        // A day that was skipped altogether is due on the day behind it, which keeps its own time.
        expect(days.length - new Set(days).size).toBeLessThanOrEqual(timeZone === 'Pacific/Apia' ? 1 : 0);
        expect(back.length).toBeGreaterThanOrEqual(399);
      },
    ),
    { numRuns: 40 },
  );
});
