import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { everyAct, everyChange } from '../support/postgres-wire.ts';
import * as ads from './ads.ts';
import { crash, type Stage } from './stage.ts';
import * as tracker from './tracker.ts';

/** The last few points may come too late: no run is quite as long as another. */
const slack = 8;

const cases = [...Object.entries(tracker.stages), ...Object.entries(ads.stages)].flatMap(([name, open]) => [
  { name, side: 'before' as const, open: () => open({ dialect: 'vendor' }) },
  { name, side: 'after' as const, open: () => open({ dialect: 'contract' }) },
]);

/**
 * `CRASH_EVERY=7` goes to each seventh point only. `CRASH_POINTS=all` takes every message upon which the server acts for a point, not only
 * those between which the warehouse can differ: five times as many, some nine hours on two cores.
 */
const every = Number(process.env.CRASH_EVERY ?? 1);
const counting = process.env.CRASH_POINTS === 'all' ? everyAct : everyChange;

describe.each(cases)('$name, killed $side a message', ({ name, open, side }) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await open();
  });
  afterAll(() => stage.close());

  test('loses nothing at any of them, and the next run completes it', async () => {
    const unhurt = await crash(stage, [{ n: Number.POSITIVE_INFINITY, side }], counting);
    expect(unhurt).toMatchObject({ kills: 0, wrong: [] });
    const length = unhurt.messages;
    const points = Array.from({ length: Math.ceil((length + slack) / every) }, (_, i) => 1 + i * every);
    const limit = pLimit(3);
    const outcomes = await Promise.all(points.map((n) => limit(() => crash(stage, [{ n, side }], counting))));
    expect(outcomes.flatMap((one) => one.wrong)).toEqual([]);
    const kills = outcomes.reduce((sum, one) => sum + one.kills, 0);
    expect(kills).toBeGreaterThanOrEqual(Math.floor((length - slack) / every));
    console.log(`${name}: ${kills} points ${side} one of ${length} messages`);
  });
});
