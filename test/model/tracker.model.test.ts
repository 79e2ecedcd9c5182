import { describe, expect, test } from 'vitest';
import { faultNames } from './faults.ts';
import { play, seen } from './history.ts';
import { playing, seconds, seed, timeoutFor } from './playing.ts';
import { history, parade, type Step } from './steps.ts';

const time = seconds(4);

const cases = (['vendor', 'contract'] as const).flatMap((dialect) => [
  { dialect, blind: false, what: 'whose changes can all be asked for' },
  { dialect, blind: true, what: 'that hides, restores and silently changes things' },
]);

describe('a tracker that changes while it is walked', () => {
  let total = 0;
  test.each(cases)(
    '$dialect tongue, $what: the warehouse equals it once it is quiet',
    {
      timeout: timeoutFor(time),
    },
    async ({ dialect, blind }) => {
      total += await playing<Step>(
        history(blind),
        (steps) => play(steps, dialect),
        time,
        blind ? [] : [parade],
      );
    },
  );

  test('changes, faults and runs of every outcome were among what happened', () => {
    const happened = [...seen].sort().map(([what, times]) => `${what} × ${times}`);
    console.log(`${total} histories (MODEL_SEED=${seed}): ${happened.join(', ')}`);
    const always = [
      ...faultNames,
      'create',
      'edit',
      'move',
      'delete',
      'stop',
      'reconcile succeeded',
      'sync succeeded',
    ];
    expect(always.filter((one) => !seen.has(one))).toEqual([]);
  });
});
