import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { play, seen } from './history.ts';
import { history, type Step } from './steps.ts';

/** `MODEL_SECONDS=600` plays for ten minutes a test; `MODEL_SEED` begins where a failure said. */
const seconds = Number(process.env.MODEL_SECONDS ?? 10);
const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** For finding a shorter history that fails as well. */
const shrinkingMs = 60_000;

const cases = (['vendor', 'contract'] as const).flatMap((dialect) => [
  { dialect, blind: false, what: 'whose changes can all be asked for' },
  { dialect, blind: true, what: 'that hides, restores and silently changes things' },
]);

describe('a tracker that changes while it is walked', () => {
  let total = 0;
  test.each(cases)(
    '$dialect tongue, $what: the warehouse equals it once it is quiet',
    {
      timeout: seconds * 1000 + 2 * shrinkingMs,
    },
    async ({ dialect, blind }) => {
      let played = 0;
      let deadline = performance.now() + seconds * 1000;
      const property = fc.asyncProperty(history(blind), async (steps: readonly Step[]) => {
        if (performance.now() > deadline) return;
        played += 1;
        try {
          await play(steps, dialect);
        } catch (error) {
          if (played > 0) deadline = performance.now() + shrinkingMs;
          played = Number.NEGATIVE_INFINITY;
          throw error;
        }
      });
      await fc.assert(property, { seed, numRuns: Math.ceil(10 * seconds) });
      expect(played, 'histories played').toBeGreaterThan(0);
      total += played;
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
