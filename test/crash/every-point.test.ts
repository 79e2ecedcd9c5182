import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cut } from '../support/postgres-proxy.ts';
import { everyAct, everyChange } from '../support/postgres-wire.ts';
import * as ads from './ads.ts';
import type { Stage } from './stage.ts';
import * as tracker from './tracker.ts';
import { crashAt, lengthOf } from './walk.ts';

/** The last few points may come too late: no run is quite as long as another. */
const slack = 8;

type Dialect = 'vendor' | 'contract';
const stages: readonly (readonly [name: string, open: (dialect: Dialect) => Promise<Stage>])[] = [
  ...Object.entries(tracker.stages).map(
    ([name, open]) => [name, (dialect: Dialect) => open({ ...tracker.smallest, dialect })] as const,
  ),
  ...Object.entries(ads.stages).map(
    ([name, open]) => [name, (dialect: Dialect) => open({ ...ads.smallest, dialect })] as const,
  ),
];

const cases = stages.flatMap(([name, open]) =>
  (['before', 'after'] as const).map((side) => ({ name, open, side })),
);

/**
 * `CRASH_EVERY=7` goes to each seventh point only. `CRASH_POINTS=all` takes every message upon which the server acts for a point, not only
 * those between which the warehouse can differ: five times as many, some nine hours on two cores.
 */
const every = Number(process.env.CRASH_EVERY ?? 1);
const counting = process.env.CRASH_POINTS === 'all' ? everyAct : everyChange;

describe.each(cases)('$name, killed $side a message', ({ name, open, side }) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await open(side === 'before' ? 'vendor' : 'contract');
  });
  afterAll(() => stage.close());

  test('loses nothing at any of them, and the next run completes it', async () => {
    const length = await lengthOf(stage, counting);
    const cuts: Cut[] = [];
    for (let n = 1; n <= length + slack; n += every) cuts.push({ n, side });
    const outcomes = await crashAt(stage, cuts, counting);
    expect(outcomes.flatMap((one) => one.wrong)).toEqual([]);
    const struck = outcomes.filter((one) => one.struck).length;
    expect(struck).toBeGreaterThanOrEqual(Math.floor((length - slack) / every));
    console.log(`${name}: ${struck} points ${side} one of ${length} messages`);
  });
});
