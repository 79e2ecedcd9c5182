import pLimit from 'p-limit';
import type { Cut } from '../support/postgres-proxy.ts';
import { type Counting, crash, type Outcome } from './point.ts';
import type { Stage } from './stage.ts';

/** How many messages the stage's command sends when nothing happens to it; throws where even that goes wrong. */
export async function lengthOf(stage: Stage, counting: Counting): Promise<number> {
  const unhurt = await crash(stage, { n: Number.POSITIVE_INFINITY, side: 'before' }, counting);
  if (unhurt.struck || unhurt.wrong.length > 0) throw new Error(`the unhurt run: ${unhurt.wrong.join('\n')}`);
  return unhurt.messages;
}

/** Crashes at each of these points, two or three at a time. */
export async function crashAt(
  stage: Stage,
  cuts: readonly Cut[],
  counting: Counting,
  atATime = 3,
): Promise<readonly Outcome[]> {
  const limit = pLimit(atATime);
  return Promise.all(cuts.map((cut) => limit(() => crash(stage, cut, counting))));
}

/** One point in each of `count` equal parts of the way, at places and sides that the seed decides. */
export function sample(length: number, count: number, dice: () => number): readonly Cut[] {
  return Array.from({ length: count }, (_, part) => ({
    n: Math.min(length, 1 + Math.floor(((part + dice()) * length) / count)),
    side: dice() < 0.5 ? 'before' : 'after',
  }));
}

/** A small generator of numbers in [0, 1) that a seed decides (mulberry32). */
export function diceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
