import { expect, test } from 'vitest';
import type { Days } from '../../../src/core/stream.ts';
import { daysDue } from '../../../src/engine/sync/plan.ts';

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
};

test.each([
  ['on the next night', '07-01', '06-30', '06-29', '06-28'],
  ['on the same day', '06-30', '06-30', '06-29', '06-27'],
  ['after a night without a run', '07-02', '06-30', '06-29', '06-28'],
  ['after four of them', '07-05', '06-30', '06-29', '06-28'],
  ['when a week is over', '07-07', '07-06', '06-30', '06-23'],
  ['after three weeks without a run', '07-20', '06-30', '06-29', '06-22'],
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

test('a week is over on the seventh night, also where it begins some minutes earlier than the night that read the last one', async () => {
  const begun = (day: string, time: string): Date => new Date(`2026-${day}T${time}Z`);
  const last = begun('06-30', '02:14:20');
  const readOn = (day: string) =>
    daysDue(days, begun(day, '02:03:05'), begun('07-05', '02:03:05'), async () => last).then(
      (window) => window?.from,
    );
  expect(await readOn('07-06')).toEqual(begun('07-03', '00:00:00'));
  expect(await readOn('07-07')).toEqual(begun('06-23', '00:00:00'));
});

test('what was last read at a time that has not come yet is due: the clock of the source was wrong', async () => {
  const now = new Date('2026-07-05T02:00:00Z');
  const readBack = async (last: string) =>
    (await daysDue(days, now, new Date('2026-07-04T02:00:00Z'), async () => new Date(last)))?.from;
  expect(await readBack('2026-09-01T00:00:00Z')).toEqual(new Date('2026-06-21T00:00:00Z'));
  expect(await readBack('2026-07-05T03:00:00Z')).toEqual(new Date('2026-07-02T00:00:00Z'));
});
