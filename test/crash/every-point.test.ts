import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cut } from '../support/postgresProxy.ts';
import { type Stage, smallest, stages } from './stage.ts';
import { crashAt, lengthOf } from './walk.ts';

/** The last few points may come too late: no run is quite as long as another. */
const slack = 25;

const cases = (Object.keys(stages) as (keyof typeof stages)[]).flatMap((name) =>
  (['before', 'after'] as const).map((side) => ({ name, side })),
);

/** `CRASH_EVERY=7` goes to each seventh point only. All of them take some three hours on two cores. */
const every = Number(process.env.CRASH_EVERY ?? 1);

describe.each(cases)('$name, killed $side a message', ({ name, side }) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await stages[name]({ ...smallest, dialect: side === 'before' ? 'vendor' : 'contract' });
  });
  afterAll(() => stage.close());

  test('loses nothing at any of them, and the next run completes it', async () => {
    const length = await lengthOf(stage);
    const cuts: Cut[] = [];
    for (let n = 1; n <= length + slack; n += every) cuts.push({ n, side });
    const outcomes = await crashAt(stage, cuts);
    expect(outcomes.flatMap((one) => one.wrong)).toEqual([]);
    const struck = outcomes.filter((one) => one.struck).length;
    expect(struck).toBeGreaterThanOrEqual(Math.floor((length - slack) / every));
    console.log(`${name}: ${struck} points ${side} one of ${length} messages`);
  });
});
