import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as ads from '../crash/ads.ts';
import type { Stage } from '../crash/stage.ts';
import * as tracker from '../crash/tracker.ts';
import { crashAt, diceOf, lengthOf, sample } from '../crash/walk.ts';
import { everyAct } from '../support/postgres-wire.ts';

/** Another one each time; `CRASH_SEED` repeats one. */
const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));

const { smallest } = tracker;

/** Sixteen points in all, any message; `npm run test:crash` goes to every one that can make a difference. */
const plan: readonly (readonly [name: string, open: () => Promise<Stage>, points: number])[] = [
  ['the first sync of a tracker', () => tracker.firstSync({ ...smallest, dialect: 'vendor' }), 2],
  ['a sync that finds changes', () => tracker.laterSync({ ...smallest, dialect: 'contract' }), 2],
  ['a reconciliation that finds deletions', () => tracker.deletions({ ...smallest, dialect: 'vendor' }), 2],
  [
    'a reconciliation that finds what came into sight',
    () => tracker.sightings({ ...smallest, dialect: 'contract' }),
    2,
  ],
  ['a full sync', () => tracker.fullSync({ ...smallest, dialect: 'vendor' }), 2],
  [
    'a first command, with its migrations',
    () => tracker.firstCommand({ ...smallest, dialect: 'contract' }),
    2,
  ],
  ['the first sync of the ads', () => ads.firstSync({ ...ads.smallest, dialect: 'contract' }), 2],
  ['a sync of the ads that finds changes', () => ads.laterSync({ ...ads.smallest, dialect: 'vendor' }), 2],
];

describe.each(plan)('%s', (_, open, count) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await open();
  });
  afterAll(() => stage.close());

  test(`killed at any of ${count} moments it loses nothing, and the next run completes it`, {
    timeout: 180_000,
  }, async () => {
    const length = await lengthOf(stage, everyAct);
    const outcomes = await crashAt(stage, sample(length, count, diceOf(seed)), everyAct);
    const wrong = outcomes.flatMap((one) => one.wrong);
    expect(wrong, `CRASH_SEED=${seed}`).toEqual([]);
    // A run is never quite as long as another: the last point may come too late for it. No other may.
    expect(outcomes.filter((one) => one.struck).length, `CRASH_SEED=${seed}`).toBeGreaterThanOrEqual(
      count - 1,
    );
  });
});
