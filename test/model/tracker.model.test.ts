import { describe, expect, test } from 'vitest';
import { play, seen } from './history.ts';
import { playing, seconds, seed, timeoutFor } from './playing.ts';
import { history, type Step } from './steps.ts';

const time = seconds(7);

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
      total += await playing<Step>(history(blind), (steps) => play(steps, dialect), time);
    },
  );

  test('changes, faults and runs of every outcome were among what happened', () => {
    const happened = [...seen].sort().map(([what, times]) => `${what} × ${times}`);
    console.log(`${total} histories (MODEL_SEED=${seed}): ${happened.join(', ')}`);
    expect(happened).toEqual(expect.arrayContaining([expect.stringMatching(/^census succeeded/)]));
    expect(
      happened.filter((one) => /^(reset|500|503|429|401|truncated|html|short|empty|dropped)/.test(one)),
    ).not.toEqual([]);
    expect(happened.filter((one) => /^(create|edit|label|comment|worklog|touch|delete|move)/.test(one))).not.toEqual(
      [],
    );
  });
});
