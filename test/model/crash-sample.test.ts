import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, smallest, stages } from '../crash/stage.ts';
import { crashAt, diceOf, lengthOf, sample } from '../crash/walk.ts';

/** Another one each time; `CRASH_SEED` repeats one. */
const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** About forty points in all; `npm run test:crash` goes to every one. */
const plan = [
  ['the first sync', 'vendor', 16],
  ['a sync that finds changes', 'contract', 12],
  ['a census that finds deletions', 'vendor', 6],
  ['a full sync', 'vendor', 3],
  ['the first command ever, migrations included', 'contract', 3],
] as const;

describe.each(plan)('%s of a tracker that speaks %s', (name, dialect, count) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await stages[name]({ ...smallest, dialect });
  });
  afterAll(() => stage.close());

  test(`killed at any of ${count} moments it loses nothing, and the next run completes it`, {
    timeout: 180_000,
  }, async () => {
    const length = await lengthOf(stage);
    const outcomes = await crashAt(stage, sample(length, count, diceOf(seed)));
    const wrong = outcomes.flatMap((one) => one.wrong);
    expect(wrong, `CRASH_SEED=${seed}`).toEqual([]);
    // A run is never quite as long as another: the last point may come too late for it. No other may.
    expect(outcomes.filter((one) => one.struck).length, `CRASH_SEED=${seed}`).toBeGreaterThanOrEqual(count - 1);
  });
});
