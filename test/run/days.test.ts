import { expect, test } from 'vitest';
import type { Days } from '../../src/core/stream.ts';
import { daysDue } from '../../src/run/walk/days.ts';

const at = (day: string): Date => new Date(`2026-${day}T02:00:00Z`);
const days: Days = {
  scope: '',
  column: 'day',
  start: new Date('2026-01-01T00:00:00Z'),
  present: false,
  longest: 90,
  reread: [
    { every: 1, back: 3 },
    { every: 7, back: 14 },
  ],
  rows: async () => 0,
  requests: async () => 0,
  perSecond: 0,
};

test.each([
  ['on the next night', '07-01', '06-30', '06-29', '06-28'],
  ['on the same day', '06-30', '06-30', '06-29', '06-27'],
  ['behind a night without a run', '07-02', '06-30', '06-29', '06-28'],
  ['behind four of them', '07-05', '06-30', '06-29', '06-28'],
  ['when a week is over', '07-07', '07-06', '06-30', '06-23'],
  ['behind three weeks without a run', '07-20', '06-30', '06-29', '06-22'],
])(
  'what is read again %s are the days that may have been restated since',
  async (_, now, watermark, fortnight, from) => {
    expect(await daysDue(days, at(now), at(watermark), async () => at(fortnight))).toEqual({
      field: 'day',
      from: new Date(`2026-${from}T00:00:00Z`),
      to: new Date(`2026-${now}T00:00:00Z`),
    });
  },
);
