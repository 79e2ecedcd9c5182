import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { play, seen } from './ads-history.ts';
import { adsFaults, changeNames, history, parade, type Step } from './ads-steps.ts';
import { playing, seconds, seed, timeoutFor } from './playing.ts';

const time = seconds(4);
const timeout = timeoutFor(time);
interface History {
  readonly dialect: 'contract' | 'vendor';
  readonly steps: readonly Step[];
}
const histories: fc.Arbitrary<History> = fc.record({
  dialect: fc.constantFrom('contract', 'vendor'),
  steps: history,
});
const all = { dialect: 'vendor', steps: parade } as const;

describe('an ads platform that changes between and during syncs', () => {
  let total = 0;
  test('is equal to the warehouse once it is quiet, which has kept every change that a run saw', {
    timeout,
  }, async () => {
    total += await playing<History>(histories, ({ steps, dialect }) => play(steps, dialect), time, [all]);
  });

  test('every change, every fault and runs of every kind were among what happened', () => {
    const happened = [...seen].sort().map(([what, times]) => `${what} × ${times}`);
    console.log(`${total} histories (MODEL_SEED=${seed}): ${happened.join(', ')}`);
    const needed = [...changeNames, ...adsFaults, 'stop', 'compared at once'];
    const runs = ['sync succeeded', 'full threw', 'backfill succeeded'];
    expect([...needed, ...runs].filter((what) => !seen.has(what))).toEqual([]);
  });
});
