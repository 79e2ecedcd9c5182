import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { faultNames } from './faults.ts';
import { play, seen } from './history.ts';
import { playing, seconds, seed, timeoutFor } from './playing.ts';
import { history, parade, type Step } from './steps.ts';

const time = seconds(4);
const timeout = timeoutFor(time);

interface History {
  readonly dialect: 'vendor' | 'contract';
  readonly steps: readonly Step[];
}
const histories = (blind: boolean): fc.Arbitrary<History> =>
  fc.record({ dialect: fc.constantFrom('vendor', 'contract'), steps: history(blind) });
const playOne = ({ dialect, steps }: History): Promise<void> => play(steps, dialect);

describe('a tracker that changes while it is read equals the warehouse once it is quiet', () => {
  let total = 0;
  test('where every change can be asked for', { timeout }, async () => {
    const first = (['vendor', 'contract'] as const).map((dialect) => ({ dialect, steps: parade }));
    total += await playing(histories(false), playOne, time, first);
  });

  test('where issues are hidden, restored and changed without a trace', { timeout }, async () => {
    total += await playing(histories(true), playOne, time);
  });

  test('changes, faults and runs of every outcome were among what happened', () => {
    const happened = [...seen].sort().map(([what, times]) => `${what} × ${times}`);
    console.log(`${total} histories (MODEL_SEED=${seed}): ${happened.join(', ')}`);
    const always = ['create', 'edit', 'move', 'delete', 'stop', 'reconcile succeeded', 'sync succeeded'];
    expect([...faultNames, ...always].filter((one) => !seen.has(one))).toEqual([]);
  });
});
