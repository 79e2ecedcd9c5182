import fc from 'fast-check';
import { expect } from 'vitest';

/** `MODEL_SECONDS=600` plays for ten minutes a test; `MODEL_SEED` begins where a failure said. */
export const seconds = (usual: number): number => Number(process.env.MODEL_SECONDS ?? usual);
export const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** For finding a shorter history that fails as well. */
const shrinkingMs = 60_000;

/** Histories that are played however slow the machine is: one that has everything, where there is such a one, and one that nobody thought of. */
const least = 2;
/** How long a test may take that plays for so many seconds. */
export const timeoutFor = (time: number): number => time * 1000 + 2 * shrinkingMs;

/** Plays histories for so long, `first` before all others; how many. A failure is told with a short history that fails as well. */
export async function playing<Step>(
  histories: fc.Arbitrary<readonly Step[]>,
  play: (steps: readonly Step[]) => Promise<void>,
  time: number,
  first: readonly (readonly Step[])[] = [],
): Promise<number> {
  let played = 0;
  let deadline = performance.now() + time * 1000;
  const property = fc.asyncProperty(histories, async (steps: readonly Step[]) => {
    const isEnough = played < 0 || played >= least;
    if (isEnough && performance.now() > deadline) return;
    played += 1;
    try {
      await play(steps);
    } catch (error) {
      if (played > 0) deadline = performance.now() + shrinkingMs;
      played = Number.NEGATIVE_INFINITY;
      throw error;
    }
  });
  await fc.assert(property, { seed, numRuns: Math.ceil(10 * time), examples: first.map((steps) => [steps]) });
  expect(played, 'histories played').toBeGreaterThan(0);
  return played;
}
