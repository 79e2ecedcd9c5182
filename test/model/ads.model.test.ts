import { describe, expect, test } from 'vitest';
import { play, seen } from './ads-history.ts';
import { adsFaults, changeNames, history, parade, type Step } from './ads-steps.ts';
import { playing, seconds, seed, timeoutFor } from './playing.ts';

const time = seconds(4);

describe('an ads platform that changes between and during syncs', () => {
  let total = 0;
  test.each([
    ['vendor', [parade]],
    ['contract', []],
  ] as const)(
    '%s tongue: the warehouse equals it once it is quiet, and its histories tell every change that a run saw',
    {
      timeout: timeoutFor(time),
    },
    async (dialect, first) => {
      total += await playing<readonly Step[]>(history, (steps) => play(steps, dialect), time, first);
    },
  );

  test('every change, every fault and runs of every kind were among what happened', () => {
    const happened = [...seen].sort().map(([what, times]) => `${what} × ${times}`);
    console.log(`${total} histories (MODEL_SEED=${seed}): ${happened.join(', ')}`);
    const missing = [...changeNames, ...adsFaults, 'stop', 'compared at once', 'insights compared'].filter(
      (one) => !seen.has(one),
    );
    expect(missing).toEqual([]);
    for (const run of ['sync succeeded', 'full threw', 'backfill succeeded'])
      expect([...seen.keys()]).toContain(run);
  });
});
