import fc from 'fast-check';
import { expect } from 'vitest';

/** `MODEL_SECONDS=600` plays for ten minutes a test; `MODEL_SEED` begins where a failure said. */
export const seconds = (usual: number): number => Number(process.env.MODEL_SECONDS ?? usual);
export const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** For finding a shorter history that fails as well. */
const shrinkingMs = 60_000;

/** Histories that are played however slow the machine is. */
const least = 2;
/** How long a test may take that plays for so many seconds. */
export const timeoutFor = (time: number): number => time * 1000 + 10 * shrinkingMs;

/** Plays histories for so long, `first` before all others; returns how many. A failure comes with a short history that fails as well. */
export async function playing<History>(
  histories: fc.Arbitrary<History>,
  play: (history: History) => Promise<void>,
  time: number,
  first: readonly History[] = [],
): Promise<number> {
  let played = 0;
  let hasFailed = false;
  let deadline = performance.now() + time * 1000;
  const property = fc.asyncProperty(histories, async (history) => {
    if ((hasFailed || played >= Math.max(least, first.length + 1)) && performance.now() > deadline) return;
    played += 1;
    try {
      await play(history);
    } catch (error) {
      if (!hasFailed) deadline = performance.now() + shrinkingMs;
      hasFailed = true;
      throw error;
    }
  });
  await fc.assert(property, { seed, numRuns: Math.ceil(10 * time), examples: first.map((one) => [one]) });
  expect(played, 'histories played').toBeGreaterThan(0);
  return played;
}
