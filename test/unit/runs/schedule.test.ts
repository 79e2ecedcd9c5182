import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Misconfigured } from '../../../src/core/errors.ts';
import { between, due } from '../../../src/runs/schedule.ts';

/** The instants in a stretch of time, oldest first, to the minute. */
const within = (cron: string, timeZone: string, from: string, to: string): readonly string[] =>
  between(due({ cron, timeZone }), new Date(`${from}Z`), new Date(`${to}Z`)).map((at) =>
    at.toISOString().slice(0, 16),
  );

test.each<[string, string, string, string, string, readonly string[]]>([
  [
    'a local time that does not exist is due once, at the first instant after the gap',
    // 29 March 2026: clocks go from 02:00 to 03:00 (01:00 UTC).
    ...(['30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00', '2026-03-31T00:00'] as const),
    ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'a local time that comes twice is due once, the first time',
    // 25 October 2026: clocks go from 03:00 back to 02:00 (01:00 UTC).
    ...(['30 2 * * *', 'Europe/Berlin', '2026-10-24T00:00', '2026-10-27T00:00'] as const),
    ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  [
    'a gap of half an hour is read exactly',
    // Lord Howe Island, 4 October 2026: 02:00 +10:30 becomes 02:30 +11:00.
    ...(['15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T12:00', '2026-10-05T12:00'] as const),
    ['2026-10-02T15:45', '2026-10-03T15:30', '2026-10-04T15:15'],
  ],
  [
    'clocks set back by half an hour are read exactly',
    // Lord Howe Island, 5 April 2026: 02:00 +11:00 becomes 01:30 +10:30.
    ...(['45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T12:00', '2026-04-05T18:00'] as const),
    ['2026-04-03T14:45', '2026-04-04T14:45', '2026-04-05T15:15'],
  ],
  [
    'a skipped midnight loses no tick',
    // Beirut, 29 March 2026: clocks go from 00:00 to 01:00.
    ...(['0 0 * * *', 'Asia/Beirut', '2026-03-28T00:00', '2026-03-30T00:00'] as const),
    ['2026-03-28T22:00', '2026-03-29T21:00'],
  ],
  [
    'a skipped day loses no tick',
    // Apia had no 30 December 2011.
    ...(['0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00', '2012-01-01T00:00'] as const),
    ['2011-12-29T22:00', '2011-12-30T10:00', '2011-12-30T22:00', '2011-12-31T22:00'],
  ],
  [
    'a schedule of every hour goes by elapsed time in spring',
    ...(['0 * * * *', 'Europe/Berlin', '2026-03-28T23:30', '2026-03-29T03:30'] as const),
    ['2026-03-29T00:00', '2026-03-29T01:00', '2026-03-29T02:00', '2026-03-29T03:00'],
  ],
  [
    'a schedule of every half hour goes by elapsed time in autumn',
    ...(['*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:45', '2026-10-25T01:15'] as const),
    ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00'],
  ],
])('%s', (_promise, cron, timeZone, from, to, expected) => {
  expect(within(cron, timeZone, from, to)).toEqual(expected);
});

test.each([
  ['*/15 9-17 * * mon-fri', '2026-11-20T17:50Z', '2026-11-23T09:00'],
  ['0 2 1 * 0', '2026-11-01T02:00Z', '2026-11-08T02:00'],
  ['0 2 29 2 *', '2026-03-01T00:00Z', '2028-02-29T02:00'],
  ['0 2 29 2 */7', '2026-03-01T00:00Z', '2032-02-29T02:00'],
  ['5-59/20 0,12 * jan,jul sun,7', '2026-07-06T00:00Z', '2026-07-12T00:05'],
  ['0 22-2 * * *', '2026-11-20T23:30Z', '2026-11-21T00:00'],
  ['0 2 ? * mon', '2026-11-20T00:00Z', '2026-11-23T02:00'],
])('%s after %s is due at %s', (cron, after, expected) => {
  expect(due({ cron, timeZone: 'UTC' })(new Date(after)).next().value.toISOString().slice(0, 16)).toBe(
    expected,
  );
});

test.each([
  ['0 2 * *', 'not five'],
  ['30 0 2 * * *', 'not five'],
  ['@daily', 'not five'],
  ['60 2 * * *', 'minute'],
  ['0 24 * * *', 'hour'],
  ['0 2 0 * *', 'day of month'],
  ['0 2 * * 8', 'week day'],
  ['5/20 * * * *', 'minute'],
  ['*/0 * * * *', 'minute'],
  ['0 2 L * *', '“L” is not supported'],
  ['0 2 * * 5#2', '“5#2” is not supported'],
  ['0 2 30 2 *', 'impossible day of month'],
])('%s is refused: %s', (cron, what) => {
  expect(() => due({ cron, timeZone: 'UTC' })).toThrow(Misconfigured);
  expect(() => due({ cron, timeZone: 'UTC' })).toThrow(what);
});

test('a zone that does not exist is refused by name', () => {
  expect(() => due({ cron: '0 2 * * *', timeZone: 'Europe/Atlantis' })).toThrow('Europe/Atlantis');
});

test('a fixed time is due once each day in every zone, and asking from any instant gives the same', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Africa/Cairo'];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones, 'Pacific/Apia', 'America/St_Johns'),
      fc.integer({ min: 0, max: 1439 }),
      fc.date({ min: new Date('2010-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
      (timeZone, minute, from) => {
        const schedule = due({ cron: `${minute % 60} ${Math.floor(minute / 60)} * * *`, timeZone });
        const to = new Date(from.getTime() + 400 * 86_400_000);
        const next = (at: Date) => schedule(at).next().value;
        const all = between(schedule, from, to);
        const stepped: Date[] = [];
        for (let at = next(from); at <= to; at = next(at)) stepped.push(at);
        expect(stepped).toEqual(all);
        const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
        const days = all.map((at) => format.format(at));
        // A day that was skipped altogether is due on the next one, which keeps its own time.
        expect(days.length - new Set(days).size).toBeLessThanOrEqual(timeZone === 'Pacific/Apia' ? 1 : 0);
        expect(all.length).toBeGreaterThanOrEqual(399);
      },
    ),
    { numRuns: 40 },
  );
});
